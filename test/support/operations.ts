/** Every operation that works on names, with one server, through whatever joins it: the same for all of them. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { SshError } from '../../src/errors.ts';
import type { SftpClient } from '../../src/sftp/client.ts';
import { collect } from './sftp_memory.ts';

/** Paths without the directory, in order. */
function below(directory: string, entries: readonly { readonly path: string | Uint8Array }[]): string[] {
  return entries.map(({ path }) => String(path).slice(directory.length + 1)).sort();
}

/** Tries them in the directory `files`, which both sides see. */
export async function tryOperations(sftp: SftpClient, username: string, files: string): Promise<void> {
  const at = `${files}/operations`;
  await sftp.mkdir(`${at}/a/b/c`, { recursive: true });
  await sftp.mkdir(`${at}/a/b/c`, { recursive: true });
  await sftp.writeFile(`${at}/a/b/one.txt`, 'one');
  await sftp.writeFile(`${at}/a/two.log`, 'two');
  await assert.rejects(sftp.mkdir(`${at}/a/two.log/x`, { recursive: true }), { code: 'target-exists' });
  assert.deepEqual(
    [await sftp.exists(`${at}/a`), await sftp.exists(`${at}/x`), await sftp.exists(`${at}/x/y`)],
    [true, false, false],
  );
  // The order of the paths in SYMLINK shows in the link that comes of it.
  await sftp.writeFile(`${files}/operations-kept`, 'kept');
  await sftp.symlink(`${files}/operations-kept`, `${at}/a/link`);
  assert.equal(readlinkSync(`${at}/a/link`), `${files}/operations-kept`);
  assert.equal(await sftp.readlink(`${at}/a/link`), `${files}/operations-kept`);
  const all = below(at, await collect(sftp.walk(at)));
  assert.deepEqual(all, ['a', 'a/b', 'a/b/c', 'a/b/one.txt', 'a/link', 'a/two.log']);
  assert.deepEqual(below(at, await collect(sftp.glob(`${at}/**/*.{txt,log}`))), ['a/b/one.txt', 'a/two.log']);
  assert.deepEqual(below(at, await collect(sftp.glob(`${at}/?/[!b]*`))), ['a/link', 'a/two.log']);
  const { bytes, warnings } = await sftp.copy(`${at}/a/two.log`, `${at}/copy`);
  assert.deepEqual([bytes, warnings, readFileSync(`${at}/copy`, 'utf8')], [3, [], 'two']);
  await tryDigests(sftp, at);
  await tryExtended(sftp, username, files);
  await sftp.remove(at, { recursive: true });
  assert.equal(existsSync(at), false);
  assert.equal(readFileSync(`${files}/operations-kept`, 'utf8'), 'kept');
}

async function tryDigests(sftp: SftpClient, at: string): Promise<void> {
  const offered = ['check-file-handle', 'check-file'].find((name) => sftp.extensions.has(name));
  if (offered === undefined) {
    await assert.rejects(sftp.checkFile(`${at}/copy`), { code: 'not-supported' });
    return;
  }
  const content = new Uint8Array(200_000).map((_, i) => i % 251);
  await sftp.writeFile(`${at}/digests`, content);
  const expected = (from: number, to: number): string =>
    createHash('sha1').update(content.subarray(from, to)).digest('hex');
  const found = async (options: Parameters<SftpClient['checkFile']>[1]): Promise<string[]> => {
    const { digests } = await sftp.checkFile(`${at}/digests`, { algorithms: ['sha1'], ...options });
    return digests.map((digest) => Buffer.from(digest).toString('hex'));
  };
  const size = 65536;
  const blocks = [0, 1, 2, 3].map((i) => expected(i * size, (i + 1) * size));
  assert.deepEqual(await found({ blockSize: size }), blocks);
  assert.deepEqual(await found({ start: size, length: 2 * size, blockSize: size }), blocks.slice(1, 3));
  assert.deepEqual(await found({ start: 70_000, length: 1000 }), [expected(70_000, 71_000)]);
  await using file = await sftp.open(`${at}/digests`);
  const { digests } = await file.checkFile({ algorithms: ['sha1'], length: 1000 });
  assert.equal(Buffer.from(digests[0] ?? []).toString('hex'), expected(0, 1000));
}

/** What is not offered is `not-supported`, and nothing else breaks. */
async function tryExtended(sftp: SftpClient, username: string, files: string): Promise<void> {
  const at = `${files}/operations`;
  const offered = async (name: string, run: () => Promise<void>): Promise<void> => {
    if (sftp.extensions.has(name)) await run();
    else await assert.rejects(run(), (error) => error instanceof SshError && error.code === 'not-supported');
  };
  await offered('hardlink@openssh.com', async () => {
    await sftp.hardlink(`${at}/copy`, `${at}/second`);
    assert.equal(lstatSync(`${at}/second`).nlink, 2);
  });
  await offered('statvfs@openssh.com', async () => {
    const { blocks, maxName, blockSize } = await sftp.statvfs(at);
    assert.ok(blocks > 0 && maxName > 0 && blockSize > 0);
  });
  await offered('lsetstat@openssh.com', async () => {
    await sftp.lsetstat(`${at}/a/link`, { atime: 5, mtime: 6 });
    assert.equal(lstatSync(`${at}/a/link`).mtimeMs, 6000);
    assert.ok(lstatSync(`${files}/operations-kept`).mtimeMs > 6000);
  });
  await offered('users-groups-by-id@openssh.com', async () => {
    assert.deepEqual((await sftp.ownerNames({ users: [0, 987654], groups: [0] })).users, ['root', '']);
  });
  const home = await sftp.homeDirectory();
  assert.equal(await sftp.expandPath('~'), home);
  assert.equal(await sftp.expandPath('~/x'), `${home === '/' ? '' : home}/x`);
  // OpenSSH (9.2) gives the own home whoever is asked for. Where it was started is `~`, which need not be the home.
  await offered('home-directory', async () => assert.match(String(await sftp.homeDirectory(username)), /^\//));
  await offered('expand-path@openssh.com', async () =>
    assert.match(String(await sftp.expandPath(`~${username}`)), /^\//),
  );
}
