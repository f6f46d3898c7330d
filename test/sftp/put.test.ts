/** Uploads to a server in memory. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { LocalSource, PutOptions, PutResult } from '../../src/sftp/put_options.ts';
import { chunkings } from '../support/feed.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { orders, patterned, reply, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const BYTES = patterned(500_000);

interface Outcome {
  readonly server: ScriptedSftp;
  readonly files: MemoryFiles;
  readonly result: PutResult | SshError;
}

/** One put of `source` to /f, after which nothing may be left open, and the session must work. */
async function put(
  script: Script,
  source: LocalSource = BYTES,
  options: PutOptions = {},
  prepare: (server: ScriptedSftp, files: MemoryFiles) => void = () => undefined,
): Promise<Outcome> {
  const server = new ScriptedSftp(script);
  const files = new MemoryFiles();
  prepare(server, files);
  const client = await SftpClient.open(server, { localFiles: files });
  const result = await client.put(source, '/f', options).catch((error: SshError) => error);
  await client.stat('/').catch(() => undefined);
  assert.equal(server.openHandles.size, 0, 'remote handles');
  assert.equal(files.opened, 0, 'local files');
  await client.close();
  return { server, files, result };
}

const content = (server: ScriptedSftp, path = '/f'): Uint8Array => {
  const node = server.files.get(path);
  assert.ok(node !== undefined, `${path} is there`);
  return node.bytes;
};

const names = (server: ScriptedSftp): string[] => [...server.files.keys()];

function failure({ result }: Outcome): SshError {
  assert.ok(result instanceof SshError, 'the put failed');
  return result;
}

/** The log without INIT, with temporary names as TEMP. */
const steps = (server: ScriptedSftp): string[] =>
  server.log.slice(1, -1).map((line) => line.replace(/\/\.f\.[0-9a-f]{16}\.part/g, 'TEMP'));

describe('put', () => {
  for (const chunking of chunkings) {
    for (const requests of [1, 8, 128]) {
      it(`is whole, acknowledged in any order: ${requests} requests, ${chunking}`, async () => {
        const { server, result } = await put({ chunking, order: orders.dribble }, BYTES, { requests });
        assert.ok(!(result instanceof SshError), String(result));
        assert.ok(equalBytes(content(server), BYTES));
        assert.equal(result.bytes, BYTES.length);
        assert.ok(result.maxRequestsInFlight <= requests);
        if (requests === 8) assert.equal(result.maxRequestsInFlight, 8);
        assert.deepEqual(names(server), ['/f']);
      });
    }

    it(`sends OPEN and CLOSE and no WRITE for an empty file: ${chunking} (T45)`, async () => {
      const { server, result } = await put({ chunking }, new Uint8Array(0));
      assert.ok(!(result instanceof SshError));
      assert.deepEqual(steps(server), [
        'LSTAT /f',
        'OPEN TEMP 26',
        'FSTAT',
        'CLOSE',
        'EXTENDED posix-rename@openssh.com',
      ]);
      assert.equal(content(server).length, 0);
    });

    it(`sends no SETSTAT of any kind, and needs none: ${chunking} (T41)`, async () => {
      const refuse: Script = { chunking, request: (name) => (/SETSTAT/.test(name) ? 8 : 'honest') };
      const { server, result } = await put(refuse, BYTES);
      assert.ok(!(result instanceof SshError));
      assert.deepEqual(result.warnings, []);
      assert.ok(!server.log.some((line) => line.includes('SETSTAT')));
      const asked = await put(refuse, BYTES, { permissions: 0o600 }, (_, files) => files.add('x', BYTES));
      assert.ok(!(asked.result instanceof SshError));
      assert.deepEqual(asked.result.warnings, []); // OPEN did it
    });
  }

  it('needs three round trips for little: all that leaves together is answered backwards, and nothing is renamed before', async () => {
    const little = BYTES.subarray(0, 100_000);
    const { server, result } = await put({ order: orders.reverse, gather: 2 }, little);
    assert.ok(!(result instanceof SshError), String(result));
    assert.ok(equalBytes(content(server), little));
    const writes = [0, 32768, 65536, 98304].map((at) => `WRITE ${at}+${Math.min(32768, 100_000 - at)}`);
    assert.deepEqual(steps(server), [
      'LSTAT /f',
      'OPEN TEMP 26',
      ...writes,
      'FSTAT',
      'CLOSE',
      'EXTENDED posix-rename@openssh.com',
    ]);
  });

  it('waits for each answer where one request at a time is all that the server takes', async () => {
    let most = 0;
    const script: Script = {
      // the request that comes is not counted, those that wait for an answer are
      order: (waiting) => {
        most = Math.max(most, waiting);
        return 0;
      },
    };
    const { result } = await put(script, BYTES.subarray(0, 40_000), { requests: 1 });
    assert.ok(!(result instanceof SshError));
    assert.equal(most, 1);
  });

  it('removes the file that it opened for nothing, empty, where the target wants another', async () => {
    const targets = [0o100600, 0o120777, 0o040755];
    for (const mode of targets) {
      const { server, result } = await put(
        {},
        new Uint8Array(3),
        {},
        (to) => void to.add('/f', new Uint8Array(1), mode),
      );
      assert.equal(result instanceof SshError, mode === 0o040755);
      assert.deepEqual(names(server), ['/f']);
      const log = steps(server);
      assert.ok(log.indexOf('REMOVE TEMP') > 0, String(mode));
      assert.ok(log.findIndex((line) => line.startsWith('WRITE')) < 0 || content(server).length === 3);
    }
  });

  it('warns where permissions that were asked for are refused', async () => {
    const script: Script = {
      request: (name, id) => {
        if (name === 'FSTAT') return [reply.attrs(id, { size: 3, permissions: 0o100600 })];
        return name === 'FSETSTAT' ? 8 : 'honest';
      },
    };
    const { result } = await put(script, new Uint8Array(3), { permissions: 0o644 });
    assert.ok(!(result instanceof SshError));
    assert.equal(result.warnings.length, 1);
    assert.match(result.warnings[0] as string, /permissions.*fsetstat.*not supported/);
  });

  it('puts the permissions into OPEN: those asked for, else those replaced, else the local ones', async () => {
    const local = (_: ScriptedSftp, files: MemoryFiles): void => void files.add('x', BYTES, 0o755);
    const opened = ({ server }: Outcome): string | undefined => server.log.findLast((line) => line.startsWith('OPEN'));
    assert.match(opened(await put({}, 'x', {}, local)) as string, / 755$/);
    const both = (server: ScriptedSftp, files: MemoryFiles): void => {
      local(server, files);
      server.add('/f', new Uint8Array(1), 0o100640);
    };
    assert.match(opened(await put({}, 'x', {}, both)) as string, / 640$/);
    assert.match(opened(await put({}, 'x', { permissions: 0o600 }, both)) as string, / 600$/);
    assert.match(opened(await put({}, BYTES)) as string, / 26$/);
  });

  it('reads a local file to its end, whatever its size was', async () => {
    const { server, result } = await put({}, 'x', {}, (_, files) => {
      files.add('x', BYTES);
      files.delay = 1;
    });
    assert.ok(!(result instanceof SshError));
    assert.ok(equalBytes(content(server), BYTES));
  });

  it('takes iterables and Web Streams, and gathers what is small', async () => {
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < BYTES.length; at += 1000) yield BYTES.subarray(at, at + 1000);
    }
    const iterated = await put({}, pieces());
    assert.ok(equalBytes(content(iterated.server), BYTES));
    const writes = iterated.server.log.filter((line) => line.startsWith('WRITE'));
    assert.ok(writes.length < 60, `${writes.length} WRITEs`);
    const streamed = await put({}, new Blob([BYTES as BlobPart]).stream());
    assert.ok(equalBytes(content(streamed.server), BYTES));
    assert.equal(
      failure(
        await put({}, new ReadableStream<Uint8Array>({ pull: (c) => c.enqueue('text' as unknown as Uint8Array) })),
      ).code,
      'bad-argument',
    );
  });

  it('copies what the caller gave: the pipe may do with it what it wants', async () => {
    const mine = patterned(100_000);
    await put({}, mine);
    assert.ok(equalBytes(mine, patterned(100_000)));
  });

  it('takes an iterable that uses one buffer for all its pieces', async () => {
    for (const buffer of [new Uint8Array(1000), Buffer.alloc(1000)]) {
      async function* pieces(): AsyncGenerator<Uint8Array> {
        for (let at = 0; at < BYTES.length; at += buffer.length) {
          buffer.set(BYTES.subarray(at, at + buffer.length));
          yield buffer;
        }
      }
      const { server } = await put({}, pieces());
      assert.ok(equalBytes(content(server), BYTES), buffer.constructor.name);
    }
  });

  it('never has more queued than the pipe takes and one write', async () => {
    const room = 64 * 1024;
    const { server, result } = await put({ room }, patterned(4_000_000));
    assert.ok(!(result instanceof SshError));
    assert.ok(equalBytes(content(server), patterned(4_000_000)));
    assert.ok(server.maxQueued < room + 2 * 65536, `${server.maxQueued}`);
  });

  it('goes on when the pipe takes something again, even if it never says that it drained', async () => {
    const server = new ScriptedSftp();
    const take = server.write.bind(server);
    let isFull = false;
    server.write = (pieces) => {
      isFull = server.log.at(-1)?.startsWith('WRITE') ? !isFull : false;
      take(pieces);
      return !isFull;
    };
    const client = await SftpClient.open(server);
    const putting = client.put(BYTES, '/f');
    let done = false;
    void putting.then(() => {
      done = true;
    });
    while (!done) await client.stat('/').catch(() => undefined);
    assert.ok(equalBytes(content(server), BYTES));
    await client.close();
  });

  it('writes as much at once as the server states', async () => {
    const { server } = await put({ limits: [262144, 0, 261120, 0] }, patterned(1_000_000));
    assert.equal(
      server.log.find((line) => line.startsWith('WRITE')),
      'WRITE 0+261120',
    );
    const small = await put({ limits: [1000, 0, 261120, 0] }, BYTES.subarray(0, 3000));
    // Length, type, id, handle of 2, offset, length: 27 bytes are left to the header.
    assert.equal(
      small.server.log.find((line) => line.startsWith('WRITE')),
      'WRITE 0+973',
    );
  });
});

describe('put and the target', () => {
  const existing = (server: ScriptedSftp): void => void server.add('/f', new Uint8Array([1]), 0o100600);

  it('replaces with posix-rename where it is offered', async () => {
    const { server, result } = await put({}, BYTES, {}, existing);
    assert.ok(!(result instanceof SshError));
    assert.ok(equalBytes(content(server), BYTES));
    assert.ok(server.log.includes('EXTENDED posix-rename@openssh.com'));
    assert.ok(!server.log.includes('REMOVE /f'));
  });

  it('renames plainly where it is not offered and nothing stands there', async () => {
    const { server, result } = await put({ extensions: [] }, BYTES);
    assert.ok(!(result instanceof SshError));
    assert.ok(equalBytes(content(server), BYTES));
    assert.equal(steps(server).at(-1), 'RENAME TEMP /f');
  });

  it('gives up with target-exists otherwise, leaves the target alone and removes its own file', async () => {
    const outcome = await put({ extensions: [] }, BYTES, {}, existing);
    const error = failure(outcome);
    assert.equal(error.code, 'target-exists');
    assert.match(error.message, /\/f.*atomic: false/);
    assert.deepEqual(names(outcome.server), ['/f']);
    assert.deepEqual(content(outcome.server), new Uint8Array([1]));
    assert.deepEqual(steps(outcome.server).slice(-3), ['RENAME TEMP /f', 'LSTAT /f', 'REMOVE TEMP']);
  });

  it('renames plainly where posix-rename is offered and then refused as unknown', async () => {
    const { server, result } = await put({ request: (name) => (name === 'EXTENDED' ? 8 : 'honest') });
    assert.ok(!(result instanceof SshError));
    assert.ok(equalBytes(content(server), BYTES));
  });

  it('atomic: false writes in place, and asks for nothing else', async () => {
    const { server, result } = await put({ extensions: [] }, BYTES, { atomic: false }, existing);
    assert.ok(!(result instanceof SshError));
    assert.ok(equalBytes(content(server), BYTES));
    assert.deepEqual(steps(server).slice(0, 2), ['OPEN /f 26', 'WRITE 0+32768']);
    assert.deepEqual(steps(server).slice(-2), ['FSTAT', 'CLOSE']);
  });

  it('overwrite: false respects what is there, in place and not', async () => {
    for (const options of [{ overwrite: false }, { overwrite: false, atomic: false }]) {
      const outcome = await put({}, BYTES, options, existing);
      assert.ok(['target-exists', 'sftp-status'].includes(failure(outcome).code));
      assert.deepEqual(content(outcome.server), new Uint8Array([1]));
      const fresh = await put({}, BYTES, options);
      assert.ok(!(fresh.result instanceof SshError));
      assert.ok(equalBytes(content(fresh.server), BYTES));
      assert.ok(!fresh.server.log.includes('EXTENDED posix-rename@openssh.com'));
    }
  });

  it('writes through a symbolic link or a device, and not over a directory', async () => {
    for (const type of [0o120777, 0o020666]) {
      const { server, result } = await put({}, BYTES, {}, (to) => void to.add('/f', new Uint8Array(0), type));
      assert.ok(!(result instanceof SshError), String(result));
      assert.ok(server.log.includes('OPEN /f 26'));
    }
    const outcome = await put({}, BYTES, {}, (to) => void to.add('/f', new Uint8Array(0), 0o040755));
    assert.equal(failure(outcome).code, 'target-exists');
  });

  it('sync: true flushes before it renames, and says at once where that is not offered', async () => {
    const { server } = await put({}, BYTES, { sync: true });
    assert.deepEqual(steps(server).slice(-4), [
      'FSTAT',
      'EXTENDED fsync@openssh.com',
      'CLOSE',
      'EXTENDED posix-rename@openssh.com',
    ]);
    const refused = await put({ extensions: [] }, BYTES, { sync: true });
    assert.equal(failure(refused).code, 'not-supported');
    assert.deepEqual(steps(refused.server), []);
  });
});

describe('put that fails', () => {
  for (const chunking of chunkings) {
    it(`says how much was acknowledged without a gap, and leaves nothing: ${chunking}`, async () => {
      const bad = 5 * 32768;
      const outcome = await put({
        chunking,
        order: orders.random,
        write: ({ offset }) => (offset === bad ? 4 : 'honest'),
      });
      const { code, status, operation, path, transferred } = failure(outcome);
      assert.deepEqual(
        { code, status, operation, path, transferred },
        { code: 'sftp-status', status: 4, operation: 'write', path: '/f', transferred: bad },
      );
      assert.deepEqual(names(outcome.server), []);
      assert.equal(steps(outcome.server).at(-1), 'REMOVE TEMP');
    });
  }

  for (const refused of ['WRITE', 'FSTAT', 'EXTENDED']) {
    it(`renames nothing where ${refused} is refused after all has left`, async () => {
      const script: Script = {
        order: orders.reverse,
        gather: 3,
        request: (name, id) => {
          if (name === 'STAT') return [reply.attrs(id, { size: 2 })];
          if (name !== refused) return 'honest';
          return name === 'FSTAT' ? [reply.attrs(id, { size: 2 })] : 4;
        },
      };
      const outcome = await put(script, new Uint8Array(3), { sync: true });
      assert.equal(failure(outcome).code, refused === 'FSTAT' ? 'incomplete' : 'sftp-status');
      assert.deepEqual(names(outcome.server), []);
      assert.equal(steps(outcome.server).at(-1), 'REMOVE TEMP');
      assert.ok(!outcome.server.log.includes('EXTENDED posix-rename@openssh.com') || refused === 'EXTENDED');
    });
  }

  it('asks again where FSTAT was answered before the WRITEs were done', async () => {
    const { server, result } = await put(
      { request: (name, id) => (name === 'FSTAT' ? [reply.attrs(id, { size: 0 })] : 'honest') },
      new Uint8Array(3),
    );
    assert.ok(!(result instanceof SshError), String(result));
    assert.deepEqual(names(server), ['/f']);
  });

  it('tells a size that is not what was acknowledged', async () => {
    const script: Script = {
      request: (name, id) =>
        name === 'FSTAT' ? [reply.attrs(id, { size: 499_999, permissions: 0o100644 })] : 'honest',
    };
    const outcome = await put(script);
    assert.equal(failure(outcome).code, 'incomplete');
    assert.match(failure(outcome).message, /499999.*500000/);
    assert.deepEqual(names(outcome.server), []);
  });

  it('is content where FSTAT is refused', async () => {
    const { server, result } = await put({ request: (name) => (name === 'FSTAT' ? 8 : 'honest') });
    assert.ok(!(result instanceof SshError));
    assert.ok(equalBytes(content(server), BYTES));
  });

  it('believes a CLOSE that reports a delayed failure', async () => {
    for (const bytes of [BYTES, BYTES.subarray(0, 3)]) {
      const server = new ScriptedSftp({ request: (name) => (name === 'CLOSE' ? 4 : 'honest') });
      const client = await SftpClient.open(server);
      await assert.rejects(client.put(bytes, '/f'), { code: 'sftp-status', operation: 'close', status: 4 });
      assert.deepEqual(names(server), []);
      assert.equal(server.log.filter((line) => line === 'CLOSE').length, 1);
      await client.close();
    }
  });

  it('passes on what the local file says, and lets go of it', async () => {
    const outcome = await put({}, 'x', {}, (_, files) => {
      files.add('x', patterned(2_000_000));
      let reads = 0;
      files.fail = ({ operation }) => operation === 'read' && ++reads === 3;
    });
    assert.equal(failure(outcome).code, 'bad-local-file');
    assert.equal(failure(outcome).transferred, 1024 * 1024);
    assert.deepEqual(names(outcome.server), []);
    assert.equal(failure(await put({}, 'missing')).code, 'bad-local-file');
    const directory = await put({}, 'd', {}, (_, files) => void files.add('d', BYTES, 0o755, 'directory'));
    assert.equal(failure(directory).code, 'bad-local-file');
    assert.deepEqual(steps(directory.server), []);
  });

  it('ends at an abort, with the temporary file removed and the source told', async () => {
    const controller = new AbortController();
    let left = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield new Uint8Array(10_000);
      } finally {
        left = true;
      }
    }
    const outcome = await put({}, endless(), {
      signal: controller.signal,
      onProgress: ({ bytes }) => {
        if (bytes > 1_000_000) controller.abort();
      },
    });
    assert.equal(failure(outcome).code, 'aborted');
    assert.ok(left);
    assert.deepEqual(names(outcome.server), []);
  });

  it('an abort before the file is open leaves no file behind', async () => {
    const controller = new AbortController();
    const script: Script = {
      request: (name) => {
        if (name === 'OPEN') queueMicrotask(() => controller.abort());
        return 'honest';
      },
    };
    const outcome = await put(script, BYTES, { signal: controller.signal });
    assert.equal(failure(outcome).code, 'aborted');
    assert.match(failure(outcome).message, /^(lstat|open) \/f was aborted$/);
    assert.deepEqual(names(outcome.server), []);
    assert.equal(outcome.server.log.filter((line) => line === 'CLOSE').length, 1);
  });

  it('reports a server that stops to acknowledge', async () => {
    const clock = new VirtualClock();
    const server = new ScriptedSftp({ write: ({ index }) => (index >= 3 ? 'silence' : 'honest') });
    const client = await SftpClient.open(server, { clock, stallTimeout: 5000 });
    const failed = client.put(BYTES, '/f').catch((error: SshError) => error);
    for (let i = 0; i < 4; i++) await clock.pass(2000);
    const error = (await failed) as SshError;
    assert.equal(error.code, 'timeout');
    assert.match(error.message, /write \/f: no answer for 5 s, 13 WRITEs pending, the first for byte 98304/);
    assert.equal(error.transferred, 98_304);
    await client.close();
    assert.equal(clock.timers, 0);
  });
});
