/**
 * A program that echoes what connections bring, to be run with few descriptors. A while after the first connection it says
 * how many there are and how much of the processor it used in a second; it stops listening when a connection brings `end`,
 * and then has to end by itself.
 */

import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Accepted } from '../../src/io/listen.ts';
import { listen } from './listen.ts';

let count = 0;
let report = async (): Promise<void> => {
  report = async () => {};
  await sleep(500);
  const before = process.cpuUsage();
  await sleep(1000);
  const { user, system } = process.cpuUsage(before);
  console.log(`${count} connections, ${Math.round((user + system) / 1000)} ms`);
};

function accept({ pipe }: Accepted): void {
  count++;
  report();
  pipe.open({
    data(bytes) {
      pipe.consumed(bytes.length);
      if (new TextDecoder().decode(bytes) === 'end') listener.close();
      pipe.write([bytes]);
    },
    end: () => pipe.end(),
    drain() {},
    closed() {},
  });
}

// Deno opens what it needs for signals a while after it has started, and dies if it finds no descriptor then.
const ignore = (): void => {};
process.on('SIGHUP', ignore).off('SIGHUP', ignore);

const listener = await listen({ host: '127.0.0.1', port: 0 }, accept);
console.log(String(listener.address.port));
