/** Walking: what is handed on, in which order, how many round trips it takes, and what a server cannot make it do. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SftpClient } from '../../src/sftp/client.ts';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { PosixError } from '../../src/sftp/server/posix_error.ts';
import { DIRECTORY, FILE, LINK, type Listed, listedSftp } from '../support/listed_sftp.ts';
import { rejectsWith } from '../support/rejects.ts';
import { bent, collect, withMemory } from '../support/sftp_memory.ts';

const shown = ({ path, kind, depth }: { path: string | Uint8Array; kind: string; depth: number }): string =>
  `${depth} ${kind} ${path}`;

describe('SftpClient.walk', () => {
  it('hands on everything below, a directory before what is in it, links as links', async () => {
    const files = memoryFiles({ files: { '/d/a': '1', '/d/b/c': '2', '/d/b/e/f': '3', '/x': '4' } });
    files.symlink('/', '/d/b/loop');
    await withMemory(files, async ({ sftp }) => {
      const entries = (await collect(sftp.walk('/d'))).map(shown);
      assert.deepEqual([...entries].sort(), [
        '1 directory /d/b',
        '1 file /d/a',
        '2 directory /d/b/e',
        '2 file /d/b/c',
        '2 symlink /d/b/loop',
        '3 file /d/b/e/f',
      ]);
      assert.ok(entries.indexOf('1 directory /d/b') < entries.indexOf('2 directory /d/b/e'));
      assert.ok(entries.indexOf('2 directory /d/b/e') < entries.indexOf('3 file /d/b/e/f'));
      // The start may be a link, and it may be where the session starts.
      assert.equal((await collect(sftp.walk('/d/b/loop'))).length, 8);
      assert.ok((await collect(sftp.walk(''))).some(({ path }) => path === 'd/b/c'));
      assert.ok((await collect(sftp.walk('.'))).some(({ path }) => path === './d/b/c'));
    });
  });

  it('maxDepth and filter', async () => {
    const files = memoryFiles({ files: { '/a/b/c/d': '1', '/a/x': '2', '/y': '3' } });
    await withMemory(files, async ({ sftp }) => {
      const paths = async (options: Parameters<SftpClient['walk']>[1]): Promise<unknown[]> =>
        (await collect(sftp.walk('/', options))).map(({ path }) => path).sort();
      assert.deepEqual(await paths({ maxDepth: 1 }), ['/a', '/y']);
      assert.deepEqual(await paths({ maxDepth: 2 }), ['/a', '/a/b', '/a/x', '/y']);
      assert.deepEqual(await paths({ filter: ({ name }) => name !== 'b' }), ['/a', '/a/x', '/y']);
      await rejectsWith(
        collect(
          (async function* () {
            yield* sftp.walk('/', { maxDepth: 0 });
          })(),
        ),
        'bad-argument',
      );
    });
  });

  it('reads many directories at once: a round trip for many of them, not for each', async () => {
    const tree: Record<string, string> = {};
    for (let i = 0; i < 10; i++) for (let j = 0; j < 10; j++) tree[`/${i}/${j}/file`] = '';
    await withMemory(memoryFiles({ files: tree }), async ({ sftp, pipe }) => {
      assert.equal((await collect(sftp.walk('/'))).length, 10 + 100 + 100);
      // 111 directories, each of which takes two in itself: OPENDIR, READDIR.
      assert.ok(pipe.rounds < 20, `${pipe.rounds} round trips`);
    });
  });

  it('closes every directory, also when it is left early', async () => {
    const server = listedSftp({
      directories: (path) =>
        path.length > 3 ? [] : Array.from({ length: 5 }, (_, i) => ({ name: `${i}`, attrs: DIRECTORY })),
      lstat: () => DIRECTORY,
    });
    const client = await SftpClient.open(server);
    for await (const { depth } of client.walk('/')) if (depth === 2) break;
    await client.stat('/').catch(() => undefined);
    assert.equal(server.openHandles.size, 0);
    assert.ok((await collect(client.walk('/'))).length > 5);
    await client.stat('/').catch(() => undefined);
    assert.equal(server.openHandles.size, 0);
    await client.close();
  });

  it('opens no more directories than half of the handles that the server states', async () => {
    let most = 0;
    const server = listedSftp({
      limits: [0, 0, 0, 6],
      directories: (path) => {
        most = Math.max(most, server.openHandles.size + 1);
        return path === '/' ? Array.from({ length: 50 }, (_, i) => ({ name: `${i}`, attrs: DIRECTORY })) : [];
      },
      lstat: () => DIRECTORY,
    });
    const client = await SftpClient.open(server);
    await client.stat('/').catch(() => undefined);
    assert.equal((await collect(client.walk('/'))).length, 50);
    assert.ok(most <= 4, `${most}`); // one that is being closed counts at the server still
    await client.close();
  });

  it('a directory that cannot be read ends it, or is told to onError', async () => {
    const files = memoryFiles({ files: { '/a/b/c': '1', '/a/d/e': '2' } });
    const backend = bent(files, {
      list: (path) => {
        if (path === '/a/b') throw new PosixError('EACCES', 'no');
        return files.list(path);
      },
    });
    await withMemory(backend, async ({ sftp }) => {
      assert.equal((await rejectsWith(collect(sftp.walk('/')), 'sftp-status')).path, '/a/b');
      const told: unknown[] = [];
      const onError = (error: { status: number | undefined }, path: unknown): void =>
        void told.push([error.status, path]);
      assert.equal((await collect(sftp.walk('/', { onError }))).length, 4);
      assert.deepEqual(told, [[3, '/a/b']]);
      await rejectsWith(collect(sftp.walk('/nowhere', { onError })), 'sftp-status');
      const controller = new AbortController();
      controller.abort();
      await rejectsWith(collect(sftp.walk('/', { onError, signal: controller.signal })), 'aborted');
    });
  });
});

describe('SftpClient.walk and a server that means ill', () => {
  it('leaves out names that lead elsewhere, and tells of them (T57)', async () => {
    const names: Listed[] = ['.', '..', '../x', 'a/b', '', 'a\0b', '/etc', 'C:x', '..\\x', 'ok'].map((name) => ({
      name,
    }));
    const server = listedSftp({ directories: () => names });
    const client = await SftpClient.open(server);
    const refused: string[] = [];
    const options = { onRefused: (_: unknown, name: Uint8Array) => void refused.push(new TextDecoder().decode(name)) };
    const entries = (await collect(client.walk('/d', options))).map(({ path }) => path);
    assert.deepEqual(entries, ['/d/C:x', '/d/..\\x', '/d/ok']);
    assert.deepEqual(refused, ['../x', 'a/b', '', 'a\0b', '/etc']);
    await client.close();
  });

  it('does not enter what a listing calls a directory and LSTAT a link', async () => {
    const server = listedSftp({
      directories: (path) => (path.length > 20 ? [] : [{ name: 'self', attrs: DIRECTORY }]),
      lstat: () => LINK,
    });
    const client = await SftpClient.open(server);
    assert.deepEqual((await collect(client.walk('/d'))).map(shown), ['1 directory /d/self']);
    await client.close();
  });

  it('ends with limit in a tree without a bottom', async () => {
    const server = listedSftp({ directories: () => [{ name: 'd', attrs: DIRECTORY }], lstat: () => DIRECTORY });
    const client = await SftpClient.open(server);
    await rejectsWith(collect(client.walk('/')), 'limit');
    await client.close();
  });

  it('asks LSTAT what listings do not tell, then the line for people', async () => {
    const asked: Record<string, typeof FILE | number> = { '/f': FILE, '/l': LINK, '/gone': 2, '/line': {}, '/deny': 3 };
    const names = ['f', 'l', 'gone', 'line', 'deny'];
    const server = listedSftp({
      directories: () => names.map((name) => ({ name, attrs: {}, longname: name === 'line' ? 'lrwxrwxrwx 1' : '' })),
      lstat: (path) => asked[path] ?? 4,
    });
    const client = await SftpClient.open(server);
    assert.deepEqual((await collect(client.walk('/'))).map(shown), [
      '1 file /f',
      '1 symlink /l',
      '1 symlink /line',
      '1 unknown /deny',
    ]);
    await client.close();
  });
});
