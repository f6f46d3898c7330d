/** Copies: on the server, through this side, and from one server to another. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { Progress } from '../../src/sftp/options.ts';
import { type MemoryFiles, memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned, ScriptedSftp } from '../support/scripted_sftp.ts';
import { collect, withMemory } from '../support/sftp_memory.ts';

const MIB = 1024 * 1024;
const content = patterned(300_001);

/** The whole content of a file in memory. */
async function read(sftp: SftpClient, path: string): Promise<Uint8Array> {
  return sftp.readFile(path);
}

/** Names in the root. */
async function names(sftp: SftpClient): Promise<string[]> {
  return (await collect(sftp.list('/'))).map(({ name }) => name).sort();
}

function files(): MemoryFiles {
  const memory = memoryFiles({ files: { '/a': content, '/d/x': '' } });
  memory.setstat('/a', { permissions: 0o750, atime: 1000, mtime: 2000 });
  return memory;
}

describe('SftpClient.copy', () => {
  for (const by of ['server', 'client', undefined] as const) {
    it(`copies a file: ${by ?? 'the server where it can'}`, async () => {
      await withMemory(files(), async ({ sftp }) => {
        const seen: Progress[] = [];
        const result = await sftp.copy('/a', '/b', { by, onProgress: (progress) => void seen.push(progress) });
        assert.equal(result.by, by ?? 'server');
        assert.equal(result.bytes, content.length);
        assert.deepEqual(result.warnings, []);
        assert.ok(equalBytes(await read(sftp, '/b'), content));
        const { permissions, mtime } = await sftp.stat('/b');
        assert.equal(permissions, 0o100750);
        assert.notEqual(mtime, 2000);
        assert.deepEqual([seen.at(-1)?.bytes, seen.at(-1)?.total], [content.length, content.length]);
        assert.deepEqual(await names(sftp), ['a', 'b', 'd']);
      });
    });

    it(`replaces a file, or does not, and keeps what is wanted: ${by ?? 'default'}`, async () => {
      await withMemory(files(), async ({ sftp }) => {
        await sftp.writeFile('/b', 'old');
        await rejectsWith(sftp.copy('/a', '/b', { by, overwrite: false }), 'target-exists');
        await rejectsWith(sftp.copy('/a', '/d', { by }), 'target-exists');
        assert.equal((await read(sftp, '/b')).length, 3);
        await sftp.copy('/a', '/b', { by, preserve: true });
        const { permissions, mtime, atime } = await sftp.stat('/b');
        assert.deepEqual([permissions, mtime], [0o100750, 2000], String(atime));
        await sftp.copy('/a', '/c', { by, permissions: 0o600, sync: true, atomic: false });
        assert.equal((await sftp.stat('/c')).permissions, 0o100600);
        assert.deepEqual(await names(sftp), ['a', 'b', 'c', 'd']);
      });
    });

    it(`refuses one file under two names, directories and what is missing: ${by ?? 'default'}`, async () => {
      const memory = files();
      memory.symlink('/a', '/link');
      await withMemory(memory, async ({ sftp }) => {
        for (const [from, to] of [
          ['/a', '/a'],
          ['/a', '/d/../a'],
          ['/a', '/link'],
          ['/link', '/a'],
        ] as const) {
          await rejectsWith(sftp.copy(from, to, { by, atomic: false }), 'bad-argument');
        }
        await rejectsWith(sftp.copy('/d', '/e', { by }), 'bad-argument');
        const missing = await rejectsWith(sftp.copy('/none', '/e', { by }), 'sftp-status');
        assert.deepEqual([missing.path, missing.status], ['/none', 2]);
        await rejectsWith(sftp.copy('/a', '/none/e', { by }), 'sftp-status');
        assert.ok(equalBytes(await read(sftp, '/a'), content));
        assert.deepEqual(await names(sftp), ['a', 'd', 'link']);
      });
    });
  }

  it('asks the server in pieces that it can stop between, and is aborted', async () => {
    await withMemory(memoryFiles({ files: { '/big': '' } }), async ({ sftp }) => {
      const steps: number[] = [];
      await sftp.setstat('/big', { size: 40 * MIB });
      await sftp.copy('/big', '/copy', { onProgress: ({ bytes }) => void steps.push(bytes / MIB) });
      assert.deepEqual(steps, [16, 32, 40]);
      assert.equal((await sftp.stat('/copy')).size, 40 * MIB);
      const controller = new AbortController();
      const aborted = sftp.copy('/big', '/other', { signal: controller.signal, onProgress: () => controller.abort() });
      await rejectsWith(aborted, 'aborted');
      await sftp.stat('/');
      assert.deepEqual(await names(sftp), ['big', 'copy']);
      const thrown = sftp.copy('/big', '/other', {
        onProgress: () => {
          throw new Error('mine');
        },
      });
      assert.equal((await rejectsWith(thrown, 'bad-argument')).operation, 'onProgress');
      assert.deepEqual(await names(sftp), ['big', 'copy']);
    });
  });

  it('goes through this side where the server has no copy-data, or announces it in vain', async () => {
    for (const offered of [[], ['copy-data']]) {
      const server = new ScriptedSftp({ extensions: ['posix-rename@openssh.com', ...offered] });
      server.add('/a', content, 0o100640);
      const sftp = await SftpClient.open(server);
      const { by, bytes } = await sftp.copy('/a', '/b');
      assert.deepEqual([by, bytes], ['client', content.length]);
      assert.ok(equalBytes(server.files.get('/b')?.bytes ?? content.subarray(1), content));
      assert.equal(server.files.get('/b')?.permissions, 0o100640);
      assert.equal(
        server.log.some((line) => line.includes('SETSTAT')),
        false,
      );
      assert.deepEqual([...server.files.keys()], ['/a', '/b']);
      await sftp.stat('/a');
      assert.equal(server.openHandles.size, 0);
      await rejectsWith(
        sftp.copy('/a', '/c', { by: 'server' }),
        offered.length === 0 ? 'not-supported' : 'sftp-status',
      );
      await rejectsWith(sftp.copy('/a', '/c', { by: 'me' as 'server' }), 'bad-argument');
      await sftp.close();
    }
  });

  it('an original that becomes shorter is incomplete, and leaves nothing', async () => {
    const server = new ScriptedSftp({
      extensions: ['copy-data'],
      request: (name) => (name === 'EXTENDED' ? 1 : 'honest'),
    });
    server.add('/a', content);
    const sftp = await SftpClient.open(server);
    assert.equal((await rejectsWith(sftp.copy('/a', '/b'), 'incomplete')).operation, 'copy');
    await sftp.stat('/a');
    assert.deepEqual([...server.files.keys()], ['/a']);
    await sftp.close();
  });
});

describe('SftpClient.copyTo', () => {
  it('copies to another server, and tells the total', async () => {
    await withMemory(files(), async ({ sftp }) => {
      const other = memoryFiles();
      await withMemory(other, async ({ sftp: target }) => {
        let last: Progress | undefined;
        const result = await sftp.copyTo('/a', target, '/there', {
          preserve: true,
          onProgress: (progress) => {
            last = progress;
          },
        });
        assert.deepEqual([result.by, result.bytes], ['client', content.length]);
        assert.ok(equalBytes(await read(target, '/there'), content));
        const { permissions, mtime } = await target.stat('/there');
        assert.deepEqual([permissions, mtime, last?.total], [0o100750, 2000, content.length]);
        await rejectsWith(sftp.copyTo('/none', target, '/x'), 'sftp-status');
        await rejectsWith(sftp.copyTo('/a', target, '/no/such'), 'sftp-status');
        await rejectsWith(sftp.copyTo('/a', sftp, '/a'), 'bad-argument');
        assert.deepEqual(await names(target), ['there']);
      });
    });
  });

  it('reads no further ahead than what is under way, and ends when the other side does', async () => {
    const source = new ScriptedSftp();
    source.add('/big', patterned(64 * MIB));
    const target = new ScriptedSftp({ write: () => 'silence' });
    const from = await SftpClient.open(source);
    const to = await SftpClient.open(target);
    const copying = rejectsWith(from.copyTo('/big', to, '/copy'), 'connection-closed');
    let before = -1;
    for (let reads = 0; reads !== before || reads === 0; ) {
      before = reads;
      for (let i = 0; i < 50; i++) await new Promise((resolve) => setTimeout(resolve, 0));
      reads = source.log.filter((line) => line.startsWith('READ ')).length;
    }
    // 128 READs of 32 KiB, 128 WRITEs, and what lies between, half a mebibyte of it read ahead.
    assert.ok(before * 32768 <= 13 * MIB, `${(before * 32768) / MIB} MiB were read`);
    await to.close();
    await copying;
    await from.stat('/big');
    assert.equal(source.openHandles.size, 0);
    await from.close();
  });
});
