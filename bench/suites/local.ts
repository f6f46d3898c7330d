/** One large file on loopback, by everybody. */

import { fileCase } from '../cases.ts';
import { MEBI } from '../plan.ts';
import { able, type Suite } from './suite.ts';

/** Who is compared at full size; for the others a part is enough to know their rate. */
const FULL_SIZE = ['sftp', 'sftp, aes128-gcm', 'ssh2', 'ssh2, aes128-gcm'];

export const local: Suite = {
  name: 'local',
  title: 'One large file, no delay',
  text: 'Processor time is that of the client and its children, memory their highest resident set.',
  cases({ plan, stage, own, others }) {
    const part = Math.min(plan.bytes, (plan.quick ? 32 : 256) * MEBI);
    return [...own, ...others].flatMap((program) =>
      able([program], 'get').flatMap(() =>
        (['get', 'put'] as const).map((work) => {
          const isFull = program.runtime !== undefined || FULL_SIZE.includes(program.name);
          return fileCase(stage, program, { work, delay: 0, bytes: isFull ? plan.bytes : part });
        }),
      ),
    );
  },
};
