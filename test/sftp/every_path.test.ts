/** What the engine promises, in every path that leads to it: short answers, any order, silence, one request at a time, nothing at all. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { TransferOptions } from '../../src/sftp/options.ts';
import { drawBelow } from '../support/feed.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { seededRandom } from '../support/random.ts';
import { orders, patterned, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const BYTES = patterned(300_007);

async function all(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const taken: Uint8Array[] = [];
  for await (const piece of pieces) taken.push(piece.slice());
  return concat(...taken);
}

async function withFile<T>(
  client: SftpClient,
  mode: 'r' | 'w',
  use: (file: Awaited<ReturnType<SftpClient['open']>>) => Promise<T>,
): Promise<T> {
  const file = await client.open('/f', mode);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

type Reader = (client: SftpClient, options: TransferOptions, files: MemoryFiles) => Promise<Uint8Array>;

const readers: Readonly<Record<string, Reader>> = {
  get: async (client, options, files) => {
    await client.get('/f', 'out', options);
    return files.content('out');
  },
  'get into a stream': async (client, options) => {
    const taken: Uint8Array[] = [];
    await client.get('/f', new WritableStream({ write: (piece) => void taken.push(piece.slice()) }), options);
    return concat(...taken);
  },
  readFile: (client, options) => client.readFile('/f', options),
  chunks: (client, options) => all(client.chunks('/f', options)),
  readable: (client, options) => all(client.readable('/f', options)),
  'RemoteFile.read': (client, options) => withFile(client, 'r', (file) => file.read(0, 1_000_000, options)),
  'RemoteFile.chunks': (client, options) => withFile(client, 'r', (file) => all(file.chunks(options))),
  'RemoteFile.readable': (client, options) => withFile(client, 'r', (file) => all(file.readable(options))),
};

/** Pieces of other sizes than any request. */
async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 7001) yield bytes.subarray(at, at + 7001);
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  const source = pieces(bytes);
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

type Writer = (client: SftpClient, bytes: Uint8Array, options: TransferOptions, files: MemoryFiles) => Promise<unknown>;

const writers: Readonly<Record<string, Writer>> = {
  put: (client, bytes, options, files) => {
    files.add('in', bytes);
    return client.put('in', '/f', options);
  },
  'put of an iterable': (client, bytes, options) => client.put(pieces(bytes), '/f', options),
  'put of a stream': (client, bytes, options) => client.put(streamOf(bytes), '/f', options),
  writeFile: (client, bytes, options) => client.writeFile('/f', bytes, options),
  writable: (client, bytes, options) => streamOf(bytes).pipeTo(client.writable('/f', options)),
  'RemoteFile.write': (client, bytes, options) => withFile(client, 'w', (file) => file.write(0, bytes, options)),
  'RemoteFile.writable': (client, bytes, options) =>
    withFile(client, 'w', (file) => streamOf(bytes).pipeTo(file.writable(options))),
};

interface World {
  readonly server: ScriptedSftp;
  readonly client: SftpClient;
  readonly files: MemoryFiles;
}

async function world(script: Script, clock?: VirtualClock): Promise<World> {
  const server = new ScriptedSftp(script);
  const files = new MemoryFiles();
  const client = await SftpClient.open(server, { localFiles: files, stallTimeout: 5000, ...(clock ? { clock } : {}) });
  return { server, client, files };
}

const count = (server: ScriptedSftp, what: RegExp): number => server.log.filter((line) => what.test(line)).length;

for (const [name, read] of Object.entries(readers)) {
  describe(`${name}`, () => {
    const run = async (script: Script, options: TransferOptions, bytes = BYTES): Promise<ScriptedSftp> => {
      const { server, client, files } = await world(script);
      server.add('/f', bytes);
      assert.ok(equalBytes(await read(client, options, files), bytes));
      await client.close();
      return server;
    };

    it('is whole when each READ of n gets 1 to n bytes, in any order (T01, T03)', async () => {
      const random = seededRandom(name);
      await run(
        {
          order: orders.random,
          read: (_, honest) =>
            typeof honest === 'number' ? honest : honest.slice(0, 1 + drawBelow(random, honest.length)),
        },
        { requests: 8 },
      );
    });

    it('has one READ pending where requests is 1, of as many bytes as requestSize', async () => {
      const server = await run({}, { requests: 1, requestSize: 20_000 });
      assert.equal(server.maxReads, 1);
      const lengths = server.log.flatMap((line) => /^READ \d+\+(\d+)/.exec(line)?.[1] ?? []).map(Number);
      assert.ok(Math.max(...lengths) <= 20_000);
      assert.ok(lengths.length >= 16);
    });

    it('is nothing where there is nothing', async () => {
      await run({}, {}, new Uint8Array(0));
    });

    it('tells a stall where more than two READs silence the server (T04)', async () => {
      const clock = new VirtualClock();
      const { server, client, files } = await world(
        { read: ({ pending }) => (pending > 2 ? 'silence' : 'honest') },
        clock,
      );
      server.add('/f', BYTES);
      const failed = read(client, {}, files).then(
        () => undefined,
        (error: unknown) => error,
      );
      for (let i = 0; i < 4; i++) await clock.pass(2000);
      const error = await failed;
      assert.ok(error instanceof SshError, String(error));
      assert.deepEqual([error.code, error.fault], ['timeout', 'peer']);
      assert.match(error.message, /requests: 1/);
      await client.close();
      assert.equal(clock.timers, 0);
    });
  });
}

for (const [name, write] of Object.entries(writers)) {
  describe(`${name}`, () => {
    const run = async (script: Script, options: TransferOptions, bytes = BYTES): Promise<ScriptedSftp> => {
      const { server, client, files } = await world(script);
      await write(client, bytes, options, files);
      assert.ok(equalBytes(server.files.get('/f')?.bytes ?? assert.fail('/f is not there'), bytes));
      await client.close();
      assert.equal(server.openHandles.size, 0);
      return server;
    };

    it('is whole, acknowledged in any order', async () => {
      await run({ order: orders.dribble, room: 50_000 }, { requests: 8 });
    });

    it('has one WRITE pending where requests is 1, of as many bytes as requestSize', async () => {
      let pending = 0;
      let most = 0;
      const script: Script = {
        write: () => {
          most = Math.max(most, ++pending);
          return 'honest';
        },
        order: () => {
          pending = 0; // the answers are on their way
          return 0;
        },
      };
      const server = await run(script, { requests: 1, requestSize: 20_000 });
      assert.equal(most, 1);
      const lengths = server.log.flatMap((line) => /^WRITE \d+\+(\d+)/.exec(line)?.[1] ?? []).map(Number);
      assert.equal(Math.max(...lengths), 20_000);
    });

    it('sends no WRITE for nothing (T45)', async () => {
      const server = await run({}, {}, new Uint8Array(0));
      assert.equal(count(server, /^WRITE/), 0);
      assert.equal(count(server, /^OPEN/), 1);
      assert.equal(count(server, /^CLOSE/), 1);
    });

    it('says how much was acknowledged without a gap when one WRITE is refused', async () => {
      let refused = -1;
      const { client, files } = await world({
        order: orders.random,
        write: ({ offset, length }) => {
          if (offset > 100_000 || offset + length <= 100_000) return 'honest';
          refused = offset;
          return 4;
        },
      });
      const error = await write(client, BYTES, { requestSize: 10_000 }, files).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof SshError, String(error));
      assert.deepEqual([error.code, error.status, error.transferred], ['sftp-status', 4, refused]);
      await client.close();
    });
  });
}
