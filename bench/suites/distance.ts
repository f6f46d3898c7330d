/** One large file over a long line. */

import { fileCase } from '../cases.ts';
import { SFTP } from '../peers.ts';
import { MEBI } from '../plan.ts';
import { able, delaysOf, type Suite } from './suite.ts';

/** Round trips of the figures that the project grew from. */
const GET_DELAYS = [0, 20, 40, 60, 80, 100, 150];
const PUT_DELAYS = [0, 20, 60, 100, 150];

/** Same engine as another row, and nothing about distance in the difference. */
const LEFT_OUT = ['sftp', 'ssh2', 'ssh2-sftp-client'];

/** curl waits for an answer to every few KiB that it uploads: more would take minutes and say the same. */
const CURL_PUT = 8 * MEBI;

export const distance: Suite = {
  name: 'distance',
  title: 'One large file over distance',
  text: 'puressh and `sftp` move the whole file, the others 64 MiB of it, in which start and login weigh more: at 150 ms about a seventh; curl uploads 8 MiB.',
  cases(bench) {
    const { plan, stage, own, others } = bench;
    // Others get 4 to 16 MB/s over distance, whatever the size: a part is enough to know it.
    const part = Math.min(plan.bytes, (plan.quick ? 16 : 64) * MEBI);
    const programs = [...own, ...others.filter(({ name }) => !LEFT_OUT.includes(name))];
    return (['get', 'put'] as const).flatMap((work) =>
      delaysOf(bench, work === 'get' ? GET_DELAYS : PUT_DELAYS, [0, 20, 100]).flatMap((delay) =>
        able(programs, work).map((program) => {
          const isFull = program.runtime !== undefined || program.name === SFTP;
          const least = program.name === 'curl' && work === 'put' ? Math.min(part, CURL_PUT) : part;
          return fileCase(stage, program, { work, delay, bytes: isFull ? plan.bytes : least });
        }),
      ),
    );
  },
};
