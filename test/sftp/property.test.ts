/**
 * Transfers under random servers: whatever one does within the protocol, the result is the file, or a typed error that
 * says truly how much of it came through.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import type { RandomSource } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { Extents } from '../../src/sftp/extents.ts';
import { type Chunking, drawBelow } from '../support/feed.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { seededRandom } from '../support/random.ts';
import { type BulkAsk, orders, patterned, reply, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';

const ROUNDS = 60;

/** One of the values. */
function pick<T>(random: RandomSource, values: readonly T[]): T {
  return values[drawBelow(random, values.length)] as T;
}

interface World {
  readonly random: RandomSource;
  readonly bytes: Uint8Array;
  readonly script: Script;
  readonly requests: number;
  /** Where the server answers with an error instead. */
  readonly badAt: number | undefined;
}

/** A server that answers short, out of order and in pieces; and, in some worlds, refuses from some byte on. */
function world(seed: string): World {
  const random = seededRandom(seed);
  const bytes = patterned(drawBelow(random, 5) * 60_000 + drawBelow(random, 40_000), seed);
  const badAt = drawBelow(random, 3) === 0 ? drawBelow(random, 50_000) * 5 : undefined;
  const shortness = pick(random, [0, 0, 1, 4, 100]);
  const stated = pick(random, ['right', 'right', 'zero', 'none', 'refused']);
  const window = pick(random, [undefined, 40_000, 200_000, 2_000_000]);
  const bad = (ask: BulkAsk): boolean => badAt !== undefined && ask.offset + ask.length > badAt;
  const script: Script = {
    seed,
    chunking: pick<Chunking>(random, ['whole', 'random', 'random']),
    order: pick(random, [orders.reverse, orders.random, orders.dribble, () => 0]),
    gather: drawBelow(random, 20),
    room: pick(random, [50_000, 1_000_000]),
    ...(window === undefined ? {} : { window }),
    ...(drawBelow(random, 2) === 0 ? {} : { limits: [262144, 261120, 261120, 10] as const }),
    read: (ask, honest) => {
      if (typeof honest === 'number') return honest;
      if (badAt !== undefined && ask.offset >= badAt) return 4;
      const most = badAt === undefined ? honest.length : Math.min(honest.length, badAt - ask.offset);
      const short = shortness > 0 && drawBelow(random, shortness) === 0;
      return honest.slice(0, short ? 1 + drawBelow(random, most) : most);
    },
    write: (ask) => (bad(ask) ? 4 : 'honest'),
    request: (name, id) => {
      if (name !== 'FSTAT' || stated === 'right') return 'honest';
      if (stated === 'refused') return 8;
      return [reply.attrs(id, stated === 'zero' ? { size: 0, permissions: 0o100644 } : {})];
    },
  };
  return { random, bytes, script, requests: pick(random, [1, 2, 7, 64, 128]), badAt };
}

describe('transfers under random servers', () => {
  for (let round = 0; round < ROUNDS; round++) {
    it(`get and readFile, world ${round}`, async () => {
      const { bytes, script, requests, badAt, random } = world(`get ${round}`);
      const server = new ScriptedSftp(script).add('/f', bytes);
      const files = new MemoryFiles();
      files.delay = drawBelow(random, 3) === 0 ? 1 : 0;
      const client = await SftpClient.open(server, { localFiles: files });
      const [got, read] = await Promise.allSettled([
        client.get('/f', 'out', { requests }),
        client.readFile('/f', { requests }),
      ]);
      const readable = badAt !== undefined && badAt <= bytes.length ? badAt : undefined;
      for (const result of [got, read]) {
        if (result.status === 'fulfilled') {
          assert.equal(readable, undefined, 'it should have failed');
          continue;
        }
        const error = result.reason as SshError;
        assert.ok(error instanceof SshError, String(error));
        assert.equal(error.code, 'sftp-status', error.message);
        assert.equal(error.transferred, readable);
      }
      if (read.status === 'fulfilled') assert.ok(equalBytes(read.value, bytes));
      if (got.status === 'fulfilled') assert.ok(equalBytes(files.content('out'), bytes));
      assert.deepEqual([...files.nodes.keys()], got.status === 'fulfilled' ? ['out'] : []);
      assert.ok(server.maxReads <= 2 * requests);
      assert.equal(server.overruns, 0);
      await client.lstat('/f');
      assert.equal(server.openHandles.size, 0);
      assert.equal(server.unconsumed, 0);
      assert.equal(files.opened, 0);
      await client.close();
    });

    it(`put, world ${round}`, async () => {
      const { bytes, script, requests, badAt } = world(`put ${round}`);
      const server = new ScriptedSftp({ ...script, request: () => 'honest' });
      const client = await SftpClient.open(server);
      const written = new Extents();
      const result = await client.put(bytes, '/f', { requests }).catch((error: SshError) => error);
      for (const line of server.log) {
        const [, offset = '', length = ''] = /^WRITE (\d+)\+(\d+)$/.exec(line) ?? [];
        if (offset === '') continue;
        assert.ok(Number(length) > 0, 'no WRITE is empty');
        if (badAt === undefined || Number(offset) + Number(length) <= badAt)
          written.add(Number(offset), Number(offset) + Number(length));
      }
      if (result instanceof SshError) {
        assert.ok(badAt !== undefined && badAt < bytes.length, result.message);
        assert.equal(result.code, 'sftp-status');
        assert.equal(result.transferred, written.contiguousFrom(0));
        assert.deepEqual([...server.files.keys()], []);
      } else {
        assert.ok(badAt === undefined || badAt >= bytes.length);
        assert.ok(equalBytes(server.files.get('/f')?.bytes as Uint8Array, bytes));
        assert.ok(result.maxRequestsInFlight <= requests);
      }
      await client.stat('/f').catch(() => undefined);
      assert.equal(server.openHandles.size, 0);
      await client.close();
    });
  }
});
