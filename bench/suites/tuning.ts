/** How a transfer depends, by distance, on one option: reads pending, receive window, lanes. */

import { fileCase } from '../cases.ts';
import { MEBI } from '../plan.ts';
import type { Tuning } from '../program.ts';
import type { Case } from '../runner.ts';
import { type Bench, delaysOf, type Suite } from './suite.ts';

const DELAYS = [0, 20, 40, 60, 80, 100];
const QUICK_DELAYS = [0, 40, 100];
const LANE_DELAYS = [20, 100, 150];
const REQUESTS = [1, 8, 16, 32, 64, 128];
const WINDOWS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64];

const LANES = [1, 2, 4, 8];

/** What OpenSSH's server lets a channel send. */
const THEIR_WINDOW = 2 * MEBI;

/** The largest READ that OpenSSH's server answers in full: 256 KiB less its header. */
const LARGEST_READ = 255 * 1024;

const SECONDS = 4; // that a transfer held by what is varied may take
const FEWEST_BYTES = MEBI;
const MOST_BYTES = 128 * MEBI;

/** Bytes that take some seconds where no more than `inFlight` bytes are on the way. */
function bytesFor(inFlight: number, delay: number, most: number): number {
  const bytes = delay === 0 ? most : (inFlight * SECONDS * 1000) / delay;
  return Math.floor(Math.min(most, Math.max(FEWEST_BYTES, bytes)) / MEBI) * MEBI;
}

function grid(
  bench: Bench,
  name: 'requests' | 'window' | 'lanes',
  values: readonly number[],
  inFlight: (value: number) => number,
): Case[] {
  const program = bench.own[0];
  if (program === undefined) return [];
  const most = Math.min(MOST_BYTES, bench.plan.bytes) / (bench.plan.quick ? 2 : 1);
  const work = name === 'lanes' ? 'put' : 'get';
  const delays = name === 'lanes' ? delaysOf(bench, LANE_DELAYS, [100]) : delaysOf(bench, DELAYS, QUICK_DELAYS);
  return delays.flatMap((delay) =>
    values.map((value) => {
      const bytes = bytesFor(inFlight(value), delay, most);
      const tuning: Tuning = { [name]: value };
      return fileCase(bench.stage, program, { work, delay, bytes, tuning, parameter: { name, value } });
    }),
  );
}

export const requests: Suite = {
  name: 'requests',
  title: 'Reads pending at once',
  text: 'The size of the file fits what can be on the way: some seconds each. Default is 128.',
  cases: (bench) =>
    grid(bench, 'requests', bench.plan.quick ? [1, 16, 128] : REQUESTS, (value) => value * LARGEST_READ),
};

export const windows: Suite = {
  name: 'window',
  title: 'The receive window, not growing',
  text: 'The window is set, with `--window` and `--max-window`, and does not grow. Default is 2 MiB that grow up to 64. The size of the file fits what can be on the way: some seconds each.',
  cases: (bench) =>
    grid(
      bench,
      'window',
      (bench.plan.quick ? [0.25, 2, 16, 64] : WINDOWS).map((mebi) => mebi * MEBI),
      (value) => value,
    ),
};

export const lanes: Suite = {
  name: 'lanes',
  title: 'Channels that an upload may spread over',
  text: 'The window of OpenSSH lets a channel have 2 MiB on the way. Default is 8 lanes. The size of the file fits what can be on the way: some seconds each.',
  cases: (bench) => grid(bench, 'lanes', LANES, (value) => value * THEIR_WINDOW),
};
