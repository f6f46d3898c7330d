/** rclone, which has its SFTP from Go's packages, against puressh's server. */

import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { useOwnServer } from '../../support/clients/own_server.ts';
import { mustRun } from '../../support/clients/process.ts';
import { rclone, rcloneClient, remote } from '../../support/clients/rclone.ts';
import { clientTests } from '../../support/clients/suite.ts';

const LIMIT = { timeout: 60_000 };
const LONG_AGO = 981_173_106; // 2001-02-03 04:05:06 UTC

/** A tree with files of several sizes and ages. */
function tree(place: string): string {
  mkdirSync(join(place, 'deep', 'er'), { recursive: true });
  for (let i = 0; i < 40; i++) writeFileSync(join(place, 'deep', `file ${i}`), 'x'.repeat(i * 1000));
  writeFileSync(join(place, 'deep', 'er', 'bottom'), 'bottom');
  utimesSync(join(place, 'deep', 'file 1'), LONG_AGO, LONG_AGO);
  return place;
}

describe('rclone', () => {
  const clients = clientTests(rcloneClient);
  const options = { ...clients.options, ...LIMIT };

  it('copies a tree, compares all of it, and copies only what has changed', options, async () => {
    const { server } = clients;
    const source = tree(join(server.local, 'tree'));
    const target = join(server.files, 'tree');
    await rclone(server, 'key', ['copy', source, remote('/tree')]);
    await rclone(server, 'key', ['check', '--download', source, remote('/tree')]);
    await mustRun(['diff', '-r', source, target]);
    assert.equal(statSync(join(target, 'deep', 'file 1')).mtimeMs / 1000, LONG_AGO);
    const before = statSync(join(target, 'deep', 'file 2')).ino;
    appendFileSync(join(source, 'deep', 'file 3'), 'more');
    writeFileSync(join(target, 'extra'), 'extra');
    await rclone(server, 'key', ['sync', source, remote('/tree')]);
    await mustRun(['diff', '-r', source, target]);
    assert.equal(statSync(join(target, 'deep', 'file 2')).ino, before);
    appendFileSync(join(target, 'deep', 'file 4'), 'more');
    await assert.rejects(rclone(server, 'key', ['check', '--download', source, remote('/tree')]));
  });

  it('tells what there is', options, async () => {
    const { server } = clients;
    const place = join(server.files, 'told');
    mkdirSync(place);
    writeFileSync(join(place, 'grün'), 'twelve bytes');
    utimesSync(join(place, 'grün'), LONG_AGO, LONG_AGO);
    mkdirSync(join(place, 'folder'));
    const { stdout } = await rclone(server, 'key', ['lsjson', remote('/told')]);
    const entries = JSON.parse(stdout.toString()) as { Name: string; Size: number; ModTime: string; IsDir: boolean }[];
    const [folder, file] = entries.sort((a, b) => (a.Name < b.Name ? -1 : 1));
    assert.deepEqual([folder?.Name, folder?.IsDir], ['folder', true]);
    assert.deepEqual([file?.Name, file?.Size, Date.parse(file?.ModTime ?? '') / 1000], ['grün', 12, LONG_AGO]);
    const part = await rclone(server, 'key', ['cat', '--offset', '7', '--count', '3', remote('/told/grün')]);
    assert.equal(part.stdout.toString(), 'byt');
    const about = await rclone(server, 'key', ['about', '--json', remote('/')]);
    const { total } = JSON.parse(about.stdout.toString()) as { total: number };
    assert.ok(total > 0);
  });
});

describe('rclone on a server that runs no commands', () => {
  const clients = useOwnServer(rcloneClient.unavailable, { session: {} });

  it('looks for a shell and does without', { ...clients.options, ...LIMIT }, async () => {
    const { server } = clients;
    const source = tree(join(server.local, 'tree'));
    await rclone(server, 'key', ['copy', source, remote('/tree')], { RCLONE_SFTP_SHELL_TYPE: '' });
    await rclone(server, 'key', ['purge', remote('/tree/deep/er')], { RCLONE_SFTP_SHELL_TYPE: '' });
    assert.ok(!readdirSync(join(server.files, 'tree', 'deep')).includes('er'));
  });
});
