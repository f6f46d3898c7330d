/** Whole directories between OpenSSH's sftp-server and the files of the machine, with those of the runtime that runs this. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SftpClient } from '../../../src/sftp/client.ts';
import { api } from '../../support/connect.ts';
import { patterned } from '../../support/scripted_sftp.ts';
import { type StdioPipe, stdioPipe } from '../../support/stdio_pipe.ts';

const SERVER = '/usr/lib/openssh/sftp-server';
const skip = existsSync(SERVER) ? false : `${SERVER} is not installed`;

/** All below a directory: kind, permissions, time, and content or what a link holds. */
function snapshot(directory: string, path = ''): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(directory, path))) {
    const below = join(path, name);
    const full = join(directory, below);
    const { mode, mtimeMs } = lstatSync(full);
    const kept = `${mode.toString(8)} ${Math.floor(mtimeMs / 1000)}`;
    const kind = mode >>> 12;
    if (kind === 10) found[below] = `-> ${readlinkSync(full)}`;
    else if (kind === 8) found[below] = `${kept} ${readFileSync(full).toString('latin1')}`;
    else Object.assign(found, { [below]: kept }, kind === 4 ? snapshot(directory, below) : {});
  }
  return found;
}

/** A tree with what makes trees hard. */
function plant(root: string): void {
  for (const path of ['', 'b', 'b/d', 'b/empty', 'read-only', 'é ü']) mkdirSync(join(root, path));
  for (let i = 0; i < 80; i++) writeFileSync(join(root, i % 2 === 0 ? 'b' : 'b/d', `f${i}`), patterned(i * 97, `${i}`));
  writeFileSync(join(root, 'big'), patterned(5 * 1024 * 1024 + 7));
  writeFileSync(join(root, 'é ü', '*?[x] -r'), 'odd name');
  writeFileSync(join(root, 'read-only', 'f'), 'x', { mode: 0o400 });
  writeFileSync(join(root, 'b/script'), '#!/bin/sh\n', { mode: 0o755 });
  symlinkSync('b/f0', join(root, 'link'));
  symlinkSync('../big', join(root, 'b/up'));
  symlinkSync('nothing', join(root, 'b/dangling'));
  utimesSync(join(root, 'b/f0'), 1_000_000_000, 1_100_000_000);
  chmodSync(join(root, 'read-only'), 0o555);
  for (const path of ['read-only', 'b/d', 'b/empty', 'b', 'é ü'])
    utimesSync(join(root, path), 1_200_000_000, 1_300_000_000);
}

describe('trees and sftp-server of OpenSSH', () => {
  let directory = '';
  let pipe: StdioPipe;
  let sftp: SftpClient;

  before(async () => {
    if (skip) return;
    directory = mkdtempSync(join(tmpdir(), 'puressh-tree-'));
    plant(join(directory, 'source'));
    pipe = stdioPipe(SERVER, [], directory);
    sftp = await SftpClient.open(pipe, { localFiles: api.localFiles });
  });

  after(async () => {
    if (skip) return;
    await sftp.close();
    await pipe.exited;
    execFileSync('chmod', ['-R', 'u+rwx', directory]);
    rmSync(directory, { recursive: true });
  });

  it('there and back again: the same content, permissions, times and links', { skip, timeout: 60_000 }, async () => {
    const source = snapshot(join(directory, 'source'));
    const options = { preserve: true, symlinks: 'copy' } as const;
    const down = await sftp.getTree('source', join(directory, 'down'), options);
    assert.deepEqual([down.files, down.directories, down.links, down.failed, down.warnings], [84, 5, 3, [], []]);
    assert.deepEqual(snapshot(join(directory, 'down')), source);
    const up = await sftp.putTree(join(directory, 'down'), 'up', options);
    assert.deepEqual([up.files, up.directories, up.links, up.failed, up.warnings], [84, 5, 3, [], []]);
    assert.deepEqual(snapshot(join(directory, 'up')), source);
    // once more over what is there
    for (const overwrite of ['always', 'different'] as const) {
      const [again, back] = [
        await sftp.getTree('source', join(directory, 'down'), { ...options, overwrite }),
        await sftp.putTree(join(directory, 'down'), 'up', { ...options, overwrite }),
      ];
      const files = overwrite === 'always' ? 84 : 0;
      assert.deepEqual([again.files, again.failed, back.files, back.failed], [files, [], files, []]);
      assert.deepEqual(snapshot(join(directory, 'down')), source);
      assert.deepEqual(snapshot(join(directory, 'up')), source);
    }
  });

  it('special files are skipped, and nobody waits for them', { skip, timeout: 20_000 }, async () => {
    mkdirSync(join(directory, 'special'));
    execFileSync('mkfifo', [join(directory, 'special/pipe')]);
    writeFileSync(join(directory, 'special/f'), 'x');
    const down = await sftp.getTree('special', join(directory, 'special-down'));
    const up = await sftp.putTree(join(directory, 'special'), 'special-up');
    for (const { files, skipped } of [down, up])
      assert.deepEqual([files, skipped.map(({ path }) => path)], [1, ['pipe']]);
    assert.deepEqual(readdirSync(join(directory, 'special-down')), ['f']);
    assert.deepEqual(readdirSync(join(directory, 'special-up')), ['f']);
  });

  it('links in the target are not followed: what they lead to stays as it is', { skip }, async () => {
    for (const [name, side] of [
      ['into', 'local'],
      ['onto', 'remote'],
    ] as const) {
      const [secret, target] = [join(directory, `secret-${side}`), join(directory, name)];
      for (const path of [secret, target, join(directory, `plain-${side}`), join(directory, `plain-${side}/d`)])
        mkdirSync(path);
      writeFileSync(join(secret, 'f'), 'secret');
      writeFileSync(join(directory, `plain-${side}/d/f`), 'new');
      writeFileSync(join(directory, `plain-${side}/f`), 'new');
      symlinkSync(secret, join(target, 'd'));
      symlinkSync(join(secret, 'f'), join(target, 'f'));
      const source = join(directory, `plain-${side}`);
      const result = side === 'local' ? await sftp.getTree(source, target) : await sftp.putTree(source, target);
      assert.deepEqual(
        result.failed.map(({ path }) => path),
        ['d'],
      );
      assert.equal(readFileSync(join(secret, 'f'), 'utf8'), 'secret');
      assert.equal(readFileSync(join(target, 'f'), 'utf8'), 'new');
      assert.ok(lstatSync(join(target, 'f')).isFile());
    }
  });

  it('names that are not UTF-8 are told by name, either way, and the rest is moved', { skip }, async () => {
    execFileSync('/bin/sh', ['-c', 'mkdir raw && cd raw && printf x > "$(printf \'a\\377\')" && printf ok > fine'], {
      cwd: directory,
    });
    const down = await sftp.getTree('raw', join(directory, 'raw-down'));
    const up = await sftp.putTree(join(directory, 'raw'), 'raw-up');
    for (const { files, failed } of [down, up]) {
      assert.equal(files, 1);
      assert.equal(failed.length, 1);
      assert.match(failed[0]?.error.message ?? '', /not UTF-8/);
    }
    assert.deepEqual(readdirSync(join(directory, 'raw-down')), ['fine']);
    assert.deepEqual(readdirSync(join(directory, 'raw-up')), ['fine']);
  });
});
