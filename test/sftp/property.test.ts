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
import { FarSessions } from '../support/far_sessions.ts';
import { type Chunking, drawBelow } from '../support/feed.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { seededRandom } from '../support/random.ts';
import { type BulkAsk, orders, patterned, reply, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const ROUNDS = 60;

const gone: SshError = new SshError('connection-lost', 'gone', { fault: 'network' });

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

/** Every way to read: what of the file came out, and with which error it ended, if it did. */
const readers: Readonly<
  Record<string, (client: SftpClient, requests: number, take: (bytes: Uint8Array) => void) => Promise<void>>
> = {
  readFile: async (client, requests, take) => take(await client.readFile('/f', { requests })),
  chunks: async (client, requests, take) => {
    for await (const bytes of client.chunks('/f', { requests })) take(bytes);
  },
  readable: async (client, requests, take) => {
    for await (const bytes of client.readable('/f', { requests })) take(bytes);
  },
  'RemoteFile.read': async (client, requests, take) => {
    const file = await client.open('/f');
    try {
      take(await file.read(0, 1_000_000, { requests }));
    } finally {
      await file.close().catch(() => undefined);
    }
  },
};

/** What goes wrong, and what it becomes. */
const faults = {
  'too much': 'protocol',
  cut: 'connection-lost',
  'hang up': 'channel-closed',
  refusal: 'sftp-status',
} as const;

describe('transfers under servers that break off', () => {
  const ways = Object.entries(readers);
  for (let round = 0; round < 48; round++) {
    const [name, read] = ways[round % ways.length] as (typeof ways)[number];
    it(`${name}, world ${round}`, async () => {
      const { bytes, script, requests, random } = world(`break ${round}`);
      const fault = pick(random, Object.keys(faults) as (keyof typeof faults)[]);
      const at = drawBelow(random, 7);
      const served = new Extents();
      const server = new ScriptedSftp({
        ...script,
        request: () => 'honest',
        read: (ask, honest) => {
          if (ask.index === at) {
            if (fault === 'too much') return new Uint8Array(ask.length + 1);
            if (fault === 'refusal') return 3;
            queueMicrotask(() => (fault === 'cut' ? server.cut(gone) : server.hangUp()));
          }
          if (typeof honest === 'number') return honest;
          served.add(ask.offset, ask.offset + honest.length);
          return honest;
        },
      }).add('/f', bytes);
      const client = await SftpClient.open(server);
      let got = 0;
      const error = await read(client, requests, (piece) => {
        assert.ok(equalBytes(piece, bytes.subarray(got, got + piece.length)), `bytes from ${got} on`);
        got += piece.length;
      }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error === undefined) {
        assert.equal(got, bytes.length);
      } else {
        assert.ok(error instanceof SshError, String(error));
        assert.equal(error.code, faults[fault], error.message);
        assert.ok((error.transferred ?? 0) <= served.contiguousFrom(0), `${error.transferred} bytes are not there`);
        assert.ok(got <= (error.transferred ?? 0), `${got} bytes came out`);
      }
      await client.close();
    });
  }
});

describe('uploads over lanes under random servers', () => {
  for (let round = 0; round < 40; round++) {
    it(`put, world ${round}`, async () => {
      const random = seededRandom(`lanes ${round}`);
      const bytes = patterned(300_000 + drawBelow(random, 50_000) * 10, `lanes ${round}`);
      const badAt =
        drawBelow(random, 3) === 0 ? Math.floor((drawBelow(random, 1000) / 1000) * bytes.length) : undefined;
      /** There and a little after it, a WRITE is refused, and all others are taken. */
      const bad: readonly (readonly [number, number])[] =
        badAt === undefined
          ? []
          : [
              [badAt, 4],
              [badAt + 4000, 3],
            ];
      const dying = pick(random, [undefined, undefined, 0, 1, 2]);
      const clock = new VirtualClock();
      const controller = new AbortController();
      const abortAfter = drawBelow(random, 4) === 0 ? drawBelow(random, 4000) : undefined;
      const far = new FarSessions({
        clock,
        roundTrip: 20 + drawBelow(random, 200),
        window: 8192 + drawBelow(random, 8192),
      });
      const order = pick(random, [orders.reverse, orders.random, orders.dribble, () => 0]);
      const confirmed = new Extents();
      far.script = (session) => ({
        seed: `${round} ${session}`,
        order,
        write: ({ index, offset, length }) => {
          if (session === dying && index === 8) queueMicrotask(() => far.sessions[session]?.server.cut(gone));
          const refusal = bad.find(([position]) => offset <= position && position < offset + length);
          if (refusal !== undefined) return refusal[1];
          confirmed.add(offset, offset + length);
          return 'honest';
        },
      });
      const opening = far.open();
      const run = async <T>(promise: Promise<T>): Promise<T> => {
        let settled = false;
        const note = (): void => {
          settled = true;
        };
        promise.then(note, note);
        for (let i = 0; i < 5000 && !settled; i++) await clock.pass(50);
        assert.ok(settled, 'it hangs');
        return promise;
      };
      const client = await run(SftpClient.open(await run(opening), { clock, openLane: far.open }));
      const { signal } = controller;
      const options = { requests: pick(random, [4, 16, 128]), requestSize: 1024 + drawBelow(random, 2048), signal };
      if (abortAfter !== undefined) clock.after(abortAfter, () => controller.abort());
      const result = await run(client.put(bytes, '/f', options).catch((error: SshError) => error));
      if (result instanceof SshError) {
        assert.ok(badAt !== undefined || dying !== undefined || abortAfter !== undefined, result.message);
        const safe = confirmed.contiguousFrom(0);
        assert.ok((result.transferred ?? 0) <= safe, `${result.transferred} is more than ${safe}`);
        if (result.code === 'sftp-status') assert.equal(result.status, 4);
        else assert.ok(['connection-lost', 'aborted'].includes(result.code), result.message);
        if (result.code === 'sftp-status' && dying === undefined) assert.equal(result.transferred, safe);
      } else {
        assert.equal(badAt, undefined);
        assert.ok(equalBytes(far.files.get('/f')?.bytes as Uint8Array, bytes));
      }
      await clock.pass(10_000);
      assert.ok(far.count <= 1, 'open sessions');
      assert.equal(far.handles, 0);
      if (dying !== 0) assert.deepEqual([...far.files.keys()], result instanceof SshError ? [] : ['/f']);
      await run(client.close());
      assert.equal(clock.timers, 0);
    });
  }
});
