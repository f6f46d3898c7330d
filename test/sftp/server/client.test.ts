/** The server and the client of this package together, in memory: whole behaviours, as programs use them. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../../src/bytes/text.ts';
import { SshError, type SshErrorInfo } from '../../../src/errors.ts';
import { type MemoryPipeOptions, memoryPipes } from '../../../src/io/memory_pipe.ts';
import { SftpClient } from '../../../src/sftp/client.ts';
import { Status } from '../../../src/sftp/proto/status.ts';
import type { BackendFile, SftpBackend } from '../../../src/sftp/server/backend.ts';
import type { MaybePromise } from '../../../src/sftp/server/maybe_promise.ts';
import { type MemoryFiles, memoryFiles } from '../../../src/sftp/server/memory_fs.ts';
import { type SftpServerOptions, serveSftp } from '../../../src/sftp/server/server.ts';
import { cut, drawBelow } from '../../support/feed.ts';
import { pattern } from '../../support/pipe_end.ts';
import { seededRandom } from '../../support/random.ts';

const MIB = 1024 * 1024;

/** Runs `use` with a client of a server for `backend`. */
async function withClient(
  backend: SftpBackend,
  use: (sftp: SftpClient) => Promise<void>,
  options: Omit<SftpServerOptions, 'backend'> & { readonly pipes?: MemoryPipeOptions } = {},
): Promise<void> {
  const { pipes, ...server } = options;
  const [own, theirs] = memoryPipes(pipes);
  const errors: unknown[] = [];
  const served = serveSftp(theirs, { backend, onError: (error) => errors.push(error), ...server }).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  const sftp = await SftpClient.open(own);
  try {
    await use(sftp);
  } finally {
    await sftp.close();
  }
  const cause = await served;
  assert.ok(cause instanceof SshError && cause.code === 'connection-lost', String(cause));
  assert.deepEqual(errors, []);
}

async function rejects(promise: Promise<unknown>, code: string, info: SshErrorInfo = {}): Promise<void> {
  const error = await promise.then(
    () => assert.fail(`resolved instead of rejecting with ${code}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SshError, String(error));
  assert.equal(error.code, code, error.message);
  for (const [key, value] of Object.entries(info)) assert.equal(error[key as keyof SshError], value, key);
}

/** `memory` behind promises that take their time, in an order of their own, and reads of odd lengths. */
function slow(memory: MemoryFiles, seed: string): SftpBackend {
  const random = seededRandom(seed);
  const later = async <T>(run: () => MaybePromise<T>): Promise<T> => {
    for (let i = drawBelow(random, 4); i > 0; i--) await Promise.resolve();
    if (drawBelow(random, 8) === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    return run();
  };
  const file = (inner: ReturnType<MemoryFiles['open']>): BackendFile => ({
    read: (offset, length) => later(() => inner.read(offset, 1 + drawBelow(random, Math.min(length, 65536)))),
    write: (offset, pieces) => later(() => inner.write(offset, pieces)),
    stat: () => later(() => inner.stat()),
    setstat: (attrs) => later(() => inner.setstat(attrs)),
    sync: () => later(() => inner.sync()),
    close: () => later(() => inner.close()),
  });
  return {
    open: (path, request) => later(() => file(memory.open(path, request))),
    list: (path) => later(() => memory.list(path)),
    stat: (path) => later(() => memory.stat(path)),
    lstat: (path) => later(() => memory.lstat(path)),
    setstat: (path, attrs) => later(() => memory.setstat(path, attrs)),
    rename: (from, to) => later(() => memory.rename(from, to)),
    posixRename: (from, to) => later(() => memory.posixRename(from, to)),
    remove: (path) => later(() => memory.remove(path)),
    files: { sync: true },
  };
}

describe('SftpClient and serveSftp', () => {
  it('put and get 8 MiB', async () => {
    const content = pattern(8 * MIB + 123);
    const files = memoryFiles();
    await withClient(files, async (sftp) => {
      const put = await sftp.put(content, '/big.bin', { sync: true });
      assert.equal(put.bytes, content.length);
      assert.ok(equalBytes(files.get('/big.bin') ?? utf8(''), content));
      assert.deepEqual(
        [...files.list('/')].map(({ name }) => name),
        ['big.bin'],
        'no temporary name is left',
      );
      assert.ok(equalBytes(await sftp.readFile('/big.bin'), content));
    });
  });

  for (const bound of [20_000, 100_000, 4 * MIB]) {
    it(`through a pipe of ${bound} bytes and random cuts, with a backend that is slow and reads odd lengths`, async () => {
      const content = pattern(3 * MIB + 7);
      const memory = memoryFiles();
      const random = seededRandom(`cut ${bound}`);
      await withClient(
        slow(memory, `slow ${bound}`),
        async (sftp) => {
          const other = content.slice().reverse();
          await Promise.all([sftp.put(content, '/a'), sftp.writeFile('/b', other)]);
          const [a, b] = await Promise.all([sftp.readFile('/a'), sftp.readFile('/b')]);
          assert.ok(equalBytes(a, content));
          assert.ok(equalBytes(b, other));
        },
        { pipes: { bound, chunk: (bytes) => cut(bytes, 'random', random) } },
      );
    });
  }

  it('streams and ranges', async () => {
    const content = pattern(MIB);
    await withClient(memoryFiles({ files: { '/a': content } }), async (sftp) => {
      let length = 0;
      for await (const chunk of sftp.chunks('/a', { start: 1000, end: 500_000 })) {
        assert.ok(equalBytes(chunk, content.subarray(1000 + length, 1000 + length + chunk.length)));
        length += chunk.length;
      }
      assert.equal(length, 499_000);
      await sftp.readable('/a').pipeTo(sftp.writable('/copy'));
      assert.ok(equalBytes(await sftp.readFile('/copy'), content));
    });
  });

  it('lists 10 000 entries', async () => {
    const files = memoryFiles();
    for (let i = 0; i < 10_000; i++) files.put(`/dir/file ${i}`, `${i}`);
    await withClient(files, async (sftp) => {
      let count = 0;
      for await (const entry of sftp.list('/dir')) {
        assert.equal(entry.name, `file ${count}`);
        assert.equal(entry.attrs.size, `${count}`.length);
        count++;
      }
      assert.equal(count, 10_000);
      for await (const { name } of sftp.list('/dir')) if (name === 'file 500') break;
      assert.equal(await sftp.realpath('dir/..'), '/');
    });
  });

  it('names, attributes and links', async () => {
    const files = memoryFiles({ files: { '/a.txt': 'a', '/b.txt': 'b' } });
    await withClient(files, async (sftp) => {
      await rejects(sftp.rename('/a.txt', '/b.txt'), 'target-exists');
      await sftp.rename('/a.txt', '/b.txt', { overwrite: true });
      assert.equal(Buffer.from(await sftp.readFile('/b.txt')).toString(), 'a');
      await rejects(sftp.stat('/a.txt'), 'sftp-status', { status: Status.noSuchFile, operation: 'stat' });
      await sftp.symlink('b.txt', '/link');
      assert.equal(await sftp.readlink('/link'), 'b.txt');
      assert.equal((await sftp.lstat('/link')).permissions, 0o120777);
      await sftp.setstat('/link', { permissions: 0o600, atime: 1, mtime: 2 });
      assert.deepEqual([files.stat('/b.txt').permissions, files.stat('/b.txt').mtime], [0o100600, 2]);
      await sftp.mkdir('/dir', { attrs: { permissions: 0o750 } });
      await rejects(sftp.rmdir('/'), 'sftp-status', { status: Status.failure });
      await sftp.rmdir('/dir');
      await sftp.remove('/link');
      const strange = fromHex('2fff');
      await sftp.writeFile(strange, 'odd');
      for await (const entry of sftp.list('/')) {
        if (entry.name !== 'b.txt') assert.equal(hex(entry.nameBytes), 'ff');
      }
      assert.equal(Buffer.from(await sftp.readFile(strange)).toString(), 'odd');
    });
  });

  it('a server that is read-only', async () => {
    const files = memoryFiles({ files: { '/a.txt': 'a' } });
    await withClient(
      files,
      async (sftp) => {
        assert.equal(sftp.extensions.has('posix-rename@openssh.com'), false);
        await rejects(sftp.writeFile('/a.txt', 'x'), 'sftp-status', { status: Status.permissionDenied });
        await rejects(sftp.remove('/a.txt'), 'sftp-status', { status: Status.permissionDenied });
        assert.equal(Buffer.from(await sftp.readFile('/a.txt')).toString(), 'a');
      },
      { readOnly: true },
    );
  });

  it('a disk that is full', async () => {
    const files = memoryFiles({ maxBytes: MIB });
    await withClient(files, async (sftp) => {
      await rejects(sftp.writeFile('/a', new Uint8Array(2 * MIB)), 'sftp-status', { status: Status.failure });
      await sftp.remove('/a');
      await sftp.writeFile('/a', new Uint8Array(MIB));
    });
  });

  it('many files at once', async () => {
    const files = memoryFiles();
    await withClient(
      slow(files, 'many'),
      async (sftp) => {
        const all = Array.from({ length: 40 }, (_, i) => [`/f${i}`, pattern(1000 * i, i)] as const);
        await Promise.all(all.map(([path, content]) => sftp.writeFile(path, content)));
        await Promise.all(
          all.map(async ([path, content]) => assert.ok(equalBytes(await sftp.readFile(path), content), path)),
        );
      },
      { limits: { openHandles: 40 } },
    );
  });
});
