/** The names in a large directory. */

import { listCase } from '../cases.ts';
import { able, delaysOf, type Suite } from './suite.ts';

/** The same engine as another row. */
const LEFT_OUT = ['sftp', 'ssh2, aes128-gcm', 'ssh2-sftp-client'];

export const listing: Suite = {
  name: 'listing',
  title: 'A large directory',
  text: 'Whatever order and form each prints by itself; `sftp` runs `ls -f`, `puressh` sorts.',
  cases(bench) {
    const { plan, stage, own, others } = bench;
    const count = plan.quick ? 10_000 : 50_000;
    const programs = able([...own, ...others.filter(({ name }) => !LEFT_OUT.includes(name))], 'list');
    return delaysOf(bench, [50], [50]).flatMap((delay) =>
      programs.map((program) => listCase(stage, program, { work: 'list', delay, count })),
    );
  },
};
