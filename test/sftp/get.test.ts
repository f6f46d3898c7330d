/** Downloads into a local file system in memory, from a server in memory. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import type { LocalFile } from '../../src/io/local_files.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { chunkings } from '../support/feed.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { orders, patterned, reply, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';

const BYTES = patterned(500_000);

async function setUp(
  script: Script = {},
): Promise<{ readonly server: ScriptedSftp; readonly files: MemoryFiles; readonly client: SftpClient }> {
  const server = new ScriptedSftp(script).add('/f', BYTES);
  const files = new MemoryFiles();
  const client = await SftpClient.open(server, { localFiles: files });
  return { server, files, client };
}

/** Whether nothing is left open on either side and the session works. */
async function assertClean(server: ScriptedSftp, files: MemoryFiles, client: SftpClient): Promise<void> {
  await client.stat('/f');
  assert.equal(server.openHandles.size, 0, 'remote handles');
  assert.equal(files.opened, 0, 'local files');
  assert.equal(server.unconsumed, 0, 'bytes not given back');
  assert.deepEqual(
    [...files.nodes.keys()].filter((name) => name.endsWith('.part')),
    [],
  );
  await client.close();
}

describe('get', () => {
  for (const chunking of chunkings) {
    it(`writes under a temporary name and renames when whole: ${chunking}`, async () => {
      const { server, files, client } = await setUp({ chunking, order: orders.dribble });
      const bytes = chunking === 'bytes' ? BYTES.subarray(0, 100_000) : BYTES; // single bytes take their time
      server.add('/f', bytes);
      const stats = await client.get('/f', 'dir/out');
      assert.ok(equalBytes(files.content('dir/out'), bytes));
      assert.equal(stats.bytes, bytes.length);
      assert.match(
        files.log.join('\n'),
        /^open (dir\/\.out\.[0-9a-f]{16}\.part) new\n(.*\n)*close \1\nrename \1 dir\/out$/,
      );
      await assertClean(server, files, client);
    });
  }

  it('asks for the size with OPEN, and then reads a small file and what may be behind it at once', async () => {
    const { server, client } = await setUp({ order: orders.reverse, gather: 2 });
    server.add('/f', BYTES.subarray(0, 3));
    const { bytes } = await client.get('/f', 'out');
    assert.equal(bytes, 3);
    // answers come two at a time, the later one first: nothing of a line waited for the line before
    assert.deepEqual(server.log, ['INIT', 'OPEN /f 1', 'STAT /f', 'FSTAT', 'READ 0+3', 'READ 3+32768', 'CLOSE']);
  });

  it('reads on where STAT told of a smaller file, and where it is refused', async () => {
    for (const answer of [[0], [3], 4] as const) {
      const { server, files, client } = await setUp({
        request: (name, id) => {
          if (name !== 'STAT') return 'honest';
          return typeof answer === 'number' ? answer : [reply.attrs(id, { size: answer[0], permissions: 0o100644 })];
        },
      });
      await client.get('/f', 'out');
      assert.ok(equalBytes(files.content('out'), BYTES));
      assert.equal(server.openHandles.size, 0);
    }
  });

  it('does not take a size that STAT told of another file for that of this one', async () => {
    const { files, client } = await setUp({
      request: (name, id) =>
        name === 'STAT' ? [reply.attrs(id, { size: BYTES.length + 100_000, permissions: 0o100644 })] : 'honest',
    });
    await client.get('/f', 'out');
    assert.ok(equalBytes(files.content('out'), BYTES));
  });

  it('keeps the permissions of the file that it replaces', async () => {
    const { server, files, client } = await setUp();
    files.add('out', new Uint8Array(3), 0o600);
    await client.get('/f', 'out');
    assert.equal(files.nodes.get('out')?.permissions, 0o600);
    assert.ok(equalBytes(files.content('out'), BYTES));
    await assertClean(server, files, client);
  });

  it('atomic: false writes in place', async () => {
    const { server, files, client } = await setUp();
    await client.get('/f', 'out', { atomic: false, sync: true });
    assert.ok(equalBytes(files.content('out'), BYTES));
    assert.equal(files.log[0], 'open out replace');
    assert.ok(files.log.includes('sync out'));
    await assertClean(server, files, client);
  });

  it('writes a device in order, whatever the order of the answers', async () => {
    const { server, files, client } = await setUp({ order: orders.random, gather: 8 });
    files.add('device', new Uint8Array(0), 0o600, 'other');
    await client.get('/f', 'device');
    assert.ok(equalBytes(files.content('device'), BYTES));
    await assertClean(server, files, client);
  });

  it('rejects and closes the remote file when the local one cannot be made (T08)', async () => {
    const { server, files, client } = await setUp();
    files.fail = ({ operation }) => operation === 'open';
    await assert.rejects(client.get('/f', 'no/such/out'), { name: 'SshError', code: 'bad-local-file', fault: 'local' });
    assert.ok(!server.log.some((line) => line.startsWith('READ')));
    await assertClean(server, files, client);
  });

  it('makes no local file when the remote one is not there', async () => {
    const { server, files, client } = await setUp();
    await assert.rejects(client.get('/none', 'out'), {
      code: 'sftp-status',
      status: 2,
      operation: 'open',
      path: '/none',
    });
    assert.deepEqual(files.log, []);
    await assertClean(server, files, client);
  });

  for (const failing of ['write', 'close', 'rename', 'sync']) {
    it(`leaves nothing behind when the local ${failing} fails`, async () => {
      const { server, files, client } = await setUp();
      let count = 0;
      files.fail = ({ operation }) => operation === failing && ++count === (failing === 'write' ? 2 : 1);
      const error = (await client.get('/f', 'out', { sync: true }).catch((value: unknown) => value)) as SshError;
      assert.equal(error.code, 'bad-local-file');
      if (failing === 'write')
        assert.ok((error.transferred as number) > 0 && (error.transferred as number) < BYTES.length);
      assert.equal(files.nodes.has('out'), false);
      await assertClean(server, files, client);
    });
  }

  it('leaves an old file as it was when the transfer fails', async () => {
    const { server, files, client } = await setUp({ read: ({ offset }) => (offset >= 98304 ? 4 : 'honest') });
    files.add('out', new Uint8Array([7]), 0o600);
    await assert.rejects(client.get('/f', 'out'), { code: 'sftp-status', status: 4, transferred: 98304 });
    assert.deepEqual(files.content('out'), new Uint8Array([7]));
    await assertClean(server, files, client);
  });

  it('cuts a file written in place behind what is sure', async () => {
    const { server, files, client } = await setUp({
      order: orders.random,
      read: ({ offset }) => (offset === 98304 ? 3 : 'honest'),
    });
    await assert.rejects(client.get('/f', 'out', { atomic: false }), { status: 3, transferred: 98304 });
    assert.ok(equalBytes(files.content('out'), BYTES.subarray(0, 98304)));
    await assertClean(server, files, client);
  });

  it('calls a file that ended early incomplete, and leaves nothing that looks whole', async () => {
    const { server, files, client } = await setUp({ read: ({ offset }) => (offset >= 400_000 ? 1 : 'honest') });
    await assert.rejects(client.get('/f', 'out'), { code: 'incomplete', fault: 'peer', transferred: 425_984 });
    assert.equal(files.nodes.has('out'), false);
    await assertClean(server, files, client);
  });

  it('an abort while the disk is slow waits for the disk only', async () => {
    const { server, files, client } = await setUp();
    files.delay = 20;
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 30);
    await assert.rejects(client.get('/f', 'out', { signal: controller.signal }), { code: 'aborted' });
    assert.equal(files.nodes.has('out'), false);
    await assertClean(server, files, client);
  });

  it('a slow disk holds the server back', async () => {
    const window = 128 * 1024;
    const { server, files, client } = await setUp({ window });
    files.delay = 2;
    let most = 0;
    const onProgress = (): void => {
      most = Math.max(most, server.unconsumed);
    };
    await client.get('/f', 'out', { onProgress });
    assert.ok(equalBytes(files.content('out'), BYTES));
    assert.ok(most > 0 && most <= window, `${most}`);
    assert.equal(server.overruns, 0);
    await assertClean(server, files, client);
  });

  it('writes into an open local file and leaves it open', async () => {
    const { server, files, client } = await setUp();
    const file: LocalFile = await files.open('mine', { access: 'write' });
    await client.get('/f', file);
    assert.equal(files.opened, 1);
    await file.close();
    assert.ok(equalBytes(files.content('mine'), BYTES));
    await assertClean(server, files, client);
  });

  it('writes into a Web Stream at its pace, closes it, and aborts it on failure', async () => {
    const { server, files, client } = await setUp({ order: orders.random });
    const parts: Uint8Array[] = [];
    let closed = false;
    const slow = new WritableStream<Uint8Array>({
      write: async (chunk) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        parts.push(chunk);
      },
      close: () => {
        closed = true;
      },
    });
    await client.get('/f', slow);
    assert.ok(closed);
    assert.ok(equalBytes(new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer()), BYTES));
    const broken = new WritableStream<Uint8Array>({
      write: () => {
        throw new Error('full');
      },
    });
    await assert.rejects(client.get('/f', broken), { code: 'bad-local-file', message: /full/ });
    let reason: unknown;
    const told = new WritableStream<Uint8Array>({
      abort: (why) => {
        reason = why;
      },
    });
    server.add('/dir', new Uint8Array(0), 0o040755);
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = client.get('/f', told, { signal, onProgress: () => controller.abort() });
    await assert.rejects(aborted, { code: 'aborted' });
    assert.ok(reason instanceof SshError);
    await assertClean(server, files, client);
  });

  it('wants local files for a local path', async () => {
    const client = await SftpClient.open(new ScriptedSftp().add('/f', BYTES));
    await assert.rejects(client.get('/f', 'out'), { code: 'bad-argument' });
    await client.close();
  });
});
