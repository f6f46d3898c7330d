/** Many small files, both ways. */

import { treeCase } from '../cases.ts';
import { SFTP } from '../peers.ts';
import { able, delaysOf, type Suite } from './suite.ts';

export const trees: Suite = {
  name: 'trees',
  title: 'Many files of 4 KiB',
  text: 'puressh and `sftp` move all files, the others a quarter of them, each at its defaults: file by file, but for rclone, which takes four at a time.',
  cases(bench) {
    const { plan, stage, own, others } = bench;
    const full = plan.quick ? 200 : 1000;
    const part = full / 4; // those who go file by file take as long for each
    const programs = [...own, ...others.filter(({ name }) => name !== 'sftp')];
    return (['get-tree', 'put-tree'] as const).flatMap((work) =>
      delaysOf(bench, [20], [20]).flatMap((delay) =>
        able(programs, work).map((program) => {
          const isFull = program.runtime !== undefined || program.name === SFTP;
          return treeCase(stage, program, { work, delay, count: isFull ? full : part });
        }),
      ),
    );
  },
};
