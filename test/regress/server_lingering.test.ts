/** Clients that break the protocol and then do not hang up: each takes a socket of the server for a while, which counts. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { utf8 } from '../../src/bytes/text.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import { it } from '../support/limited.ts';
import { REMOTE, Serving, turn } from '../support/serving.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

/** A client that says what is no SSH, takes all that comes, and stays. */
function lingering(): BytePipe {
  const [near, far] = memoryPipes();
  near.open({ data: (bytes) => near.consumed(bytes.length), end: () => {}, drain: () => {}, closed: () => {} });
  near.write([utf8('SSH-1.5-old\r\n')]);
  return far;
}

describe('a connection that has ended and whose client stays', () => {
  for (const capacity of [{ connections: 2 }, { unauthenticated: 2 }]) {
    it(`counts for ${Object.keys(capacity)} until its stream is down`, async () => {
      const clock = new VirtualClock();
      await using serving = await Serving.start({ capacity }, clock);
      const { server } = serving;
      for (let i = 0; i < 2; i++) assert.ok(server.accept(lingering(), REMOTE) !== undefined);
      for (const index of [0, 1]) assert.ok((await serving.cause(index)) !== undefined);
      assert.equal(server.connections.size, 0, 'they live no more');
      assert.equal(server.accept(lingering(), REMOTE), undefined, 'but their streams are there');
      await clock.pass(2000);
      await turn();
      assert.ok(server.accept(lingering(), REMOTE) !== undefined);
      await serving.cause(2);
      await clock.pass(2000);
    });
  }
});
