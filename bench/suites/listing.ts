/** The names in a large directory. */

import { listCase } from '../cases.ts';
import { SFTP } from '../peers.ts';
import { able, delaysOf, type Suite } from './suite.ts';

export const listing: Suite = {
  name: 'listing',
  title: 'A large directory',
  text: 'puressh and `sftp` list all entries, the others a fifth of them.',
  cases(bench) {
    const { plan, stage, own, others } = bench;
    const full = plan.quick ? 10_000 : 50_000;
    const part = full / 5; // those who ask after each answer take as long for each
    const programs = able([...own, ...others.filter(({ name }) => name !== 'sftp')], 'list');
    return delaysOf(bench, [50], [50]).flatMap((delay) =>
      programs.map((program) => {
        const isFull = program.runtime !== undefined || program.name === SFTP;
        return listCase(stage, program, { work: 'list', delay, count: isFull ? full : part });
      }),
    );
  },
};
