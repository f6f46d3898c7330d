/**
 * A program whose connections break in the middle of a session and which then has to end by itself: see
 * `protocol/ending.test.ts`. It runs on the runtime's own clock, so a timer that is left keeps it alive.
 */

import { systemClock } from '../../src/io/clock.ts';
import { ApiLink, type Direction } from './api_link.ts';
import { playApiSession, sessionKey } from './api_session.ts';

const cuts: [Direction, number, 'reset' | 'fin'][] = [
  ['toClient', 1, 'fin'],
  ['toClient', 4, 'reset'],
  ['toPeer', 6, 'reset'],
  ['toClient', 9, 'fin'],
  ['toPeer', 14, 'reset'],
  ['toClient', 17, 'reset'],
  ['toClient', 20, 'fin'],
];
for (const [direction, packets, how] of cuts) {
  const link = new ApiLink('random', {
    client: { auth: [sessionKey] },
    cut: { direction, packets, how },
    clock: systemClock,
  });
  const all: Promise<unknown>[] = [];
  await playApiSession(link, (promise) => {
    all.push(Promise.allSettled([promise]));
    return promise;
  }).catch(() => {});
  await Promise.all(all);
  if (!link.broken) throw new Error('the line was not cut');
}
console.log(`${cuts.length} lines were cut`);
