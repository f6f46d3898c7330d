/**
 * Nonsense of every kind, from seeds: whatever arrives, a client connection throws nothing, goes on or ends with a typed error,
 * and keeps a bounded amount of anything.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import type { RandomSource } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { connection } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { CoreClient, clientConfig } from '../support/core_client.ts';
import { playSession, sessionScript } from '../support/core_session.ts';
import { drawBelow } from '../support/feed.ts';
import { Link, openLink } from '../support/link.ts';
import { seededRandom } from '../support/random.ts';

/** Whatever happened, the client must have stayed within its contract, and must end when the line does. */
function endsWell(client: CoreClient, what: string): void {
  if (!client.connection.closed) client.endOfInput();
  assert.deepEqual(client.thrown, [], what);
  assert.ok(client.cause instanceof SshError, what);
  const inner = client.cause.cause;
  assert.ok(inner === undefined || inner instanceof SshError, `${what}: a mistake of ours became an error: ${inner}`);
  assert.ok(client.cause.message.length < 2000, 'messages quote a bounded part of what came');
  client.advance(24 * 60 * 60_000);
}

/** In pieces that hold the end of one packet at most: the client must have asked before it is answered. */
function feed(client: CoreClient, bytes: Uint8Array, random: RandomSource): void {
  client.takeOutput();
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + drawBelow(random, 16);
    client.receive(bytes.slice(at, at + size));
    client.takeOutput();
    at += size;
  }
}

/** One to four changes: a bit, a byte, a run left out, a run repeated, a run of anything put in. */
function mutate(bytes: Uint8Array, random: RandomSource): Uint8Array {
  let result: Uint8Array = bytes.slice();
  for (let changes = 1 + drawBelow(random, 4); changes > 0; changes--) {
    const at = drawBelow(random, Math.max(1, Math.min(result.length, 65_535)));
    const run = 1 + drawBelow(random, drawBelow(random, 2) === 0 ? 4 : 300);
    const [before, after] = [result.subarray(0, at), result.subarray(at)];
    switch (drawBelow(random, 5)) {
      case 0:
        if (result.length > at) result[at] = (result[at] as number) ^ (1 << drawBelow(random, 8));
        break;
      case 1:
        if (result.length > at) result[at] = [0, 1, 0x7f, 0x80, 0xff][drawBelow(random, 5)] as number;
        break;
      case 2:
        result = concat(before, after.subarray(run));
        break;
      case 3:
        result = concat(before, after.subarray(0, run), after);
        break;
      default:
        result = concat(before, random(run), after);
    }
  }
  return result;
}

/** The bytes of a whole session to the client; the same seeds make the client send the same, so they fit it again. */
function record(): Uint8Array {
  const link = new Link('whole', { script: sessionScript });
  const pieces: Uint8Array[] = [];
  const take = link.peer.takeOutput.bind(link.peer);
  link.peer.takeOutput = () => {
    const output = take();
    for (const piece of output) pieces.push(piece.slice());
    return output;
  };
  playSession(link);
  return concat(...pieces);
}

describe('a client connection', () => {
  it('lives through bytes of every kind where the identification must stand', () => {
    for (let seed = 0; seed < 200; seed++) {
      const random = seededRandom(`greeting ${seed}`);
      const client = new CoreClient();
      const noise = random(1 + drawBelow(random, 3000));
      feed(client, seed % 3 === 0 ? noise : concat(new TextEncoder().encode('SSH-2.0-x\r\n'), noise), random);
      endsWell(client, `seed ${seed}`);
    }
  });

  it('lives through changes in the bytes of a whole session', () => {
    const whole = record();
    const replay = new CoreClient(clientConfig(), sessionScript);
    feed(replay, whole.subarray(0, 4000), seededRandom('replay'));
    assert.ok(replay.has('authenticated'), `without a change the recording plays: ${replay.cause}`);
    for (let seed = 0; seed < 200; seed++) {
      const random = seededRandom(`session ${seed}`);
      const client = new CoreClient(clientConfig(), sessionScript);
      // the first 1600 bytes are in the clear, where changes reach furthest
      const part = seed % 2 === 0 ? 1600 : 3000;
      feed(client, concat(mutate(whole.subarray(0, part), random), whole.subarray(part, 4000)), random);
      endsWell(client, `seed ${seed}`);
    }
  });

  it('lives through changes in what the packets say', () => {
    let ends = 0;
    for (let seed = 0; seed < 300; seed++) {
      const random = seededRandom(`payload ${seed}`);
      const link = new Link('whole', { script: sessionScript });
      const { peer, client } = link;
      const send = peer.send.bind(peer);
      // one packet of the session, often the first ones
      let left = drawBelow(random, 1 + drawBelow(random, 28));
      peer.send = (payload) => {
        const changed = left-- === 0 ? mutate(payload, random) : payload;
        send(changed.length === 0 ? Uint8Array.of(0) : changed);
      };
      try {
        playSession(link);
      } catch {
        // the script misses what the client does not send any more
      }
      if (client.connection.closed) ends++;
      endsWell(client, `seed ${seed}`);
    }
    assert.ok(ends > 100, `${ends} of 300 changes were noticed`);
  });

  it('lives through messages of every number with any body, in every phase', () => {
    for (let seed = 0; seed < 250; seed++) {
      const random = seededRandom(`message ${seed}`);
      const link = new Link('whole', { script: sessionScript, peer: { strict: seed % 2 === 0 } });
      const { peer, client } = link;
      const send = peer.send.bind(peer);
      let left = drawBelow(random, 28);
      peer.send = (payload) => {
        if (left-- === 0) {
          const noise = random(1 + drawBelow(random, 60));
          const known = [
            1, 2, 3, 4, 5, 6, 7, 20, 21, 30, 31, 50, 51, 52, 53, 60, 61, 80, 90, 91, 92, 93, 94, 95, 96, 98, 192,
          ];
          if (drawBelow(random, 4) > 0) noise[0] = known[drawBelow(random, known.length)] as number;
          send(noise);
        }
        send(payload);
      };
      try {
        playSession(link);
      } catch {
        // as above
      }
      endsWell(client, `seed ${seed}`);
    }
  });
});

/** Sends a message again and again to a client whose output nobody takes, until it wants no more; returns the bytes. */
function flood(payload: Uint8Array): { fed: number; answered: number } {
  const link = openLink('whole');
  const { peer, client } = link;
  let fed = 0;
  while (fed < 16 * 1024 * 1024 && !client.connection.holdsInput && !client.connection.closed) {
    for (let i = 0; i < 50; i++) peer.send(payload);
    const bytes = concat(...peer.takeOutput());
    fed += bytes.length;
    client.receive(bytes);
  }
  let answered = 0;
  let pieces = client.takeOutput();
  while (pieces.length > 0) {
    for (const piece of pieces) answered += piece.length;
    pieces = client.takeOutput();
  }
  assert.ok(!client.connection.holdsInput, 'input goes on once the answers have left');
  client.alive();
  return { fed, answered };
}

describe('a client connection whose answers nobody takes', () => {
  const empty = new Uint8Array(0);
  const floods: [string, Uint8Array][] = [
    ['global requests', encode(connection.globalRequest, { request: 'x', wantReply: true, body: empty })],
    ['pings', encode(transport.ping, { data: new Uint8Array(30_000) })],
    ['unknown messages', Uint8Array.of(200)],
    ['channels', encode(connection.channelOpen, { kind: 'x', sender: 1, window: 1, maxPacket: 1, body: empty })],
  ];
  for (const [name, payload] of floods) {
    it(`stops reading ${name}, and goes on when they have left`, () => {
      const { fed, answered } = flood(payload);
      assert.ok(fed <= 4 * 1024 * 1024, `${fed} bytes were read`);
      assert.ok(answered <= 4 * 1024 * 1024, `${answered} bytes were kept`);
    });
  }
});

describe('a client connection that is fed without end', () => {
  it('ends at a bounded amount of greeting, of identification, of a packet that never comes', () => {
    const line = new Uint8Array(1024).fill(0x61);
    const client = new CoreClient();
    let fed = 0;
    for (; !client.connection.closed && fed < 1 << 20; fed += line.length) client.receive(line.slice());
    assert.ok(fed <= 8192, `${fed} bytes of a line`);
    endsWell(client, 'line');

    const talker = new CoreClient();
    const text = new TextEncoder().encode(`${'a'.repeat(8000)}\n`);
    for (fed = 0; !talker.connection.closed && fed < 1 << 24; fed += text.length) talker.receive(text.slice());
    assert.ok(fed <= 1025 * text.length, `${fed} bytes of greeting`);
    endsWell(talker, 'greeting');
  });
});
