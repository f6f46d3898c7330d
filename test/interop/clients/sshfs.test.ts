/** sshfs against puressh's server: what programs do with files, through it. */

import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { lines } from '../../support/clients/client.ts';
import { mustRun } from '../../support/clients/process.ts';
import { mounted, sshfs } from '../../support/clients/sshfs.ts';
import { clientTests, content } from '../../support/clients/suite.ts';

const LIMIT = { timeout: 60_000 };
const LONG_AGO = 981_173_106; // 2001-02-03 04:05:06 UTC

describe('sshfs', () => {
  const clients = clientTests(sshfs);
  const options = { ...clients.options, ...LIMIT };

  /** Runs a script of the shell in a new directory of the served tree, through the mount; returns its output. */
  async function inside(name: string, script: string): Promise<string[]> {
    const { server } = clients;
    mkdirSync(join(server.files, name));
    return mounted(server, 'key', async (place) => {
      const cwd = join(place, name);
      return lines((await mustRun(['/bin/sh', '-e', '-c', `cd '${cwd}'; ${script}`])).stdout);
    });
  }

  it('shows and changes attributes', options, async () => {
    const said = await inside(
      'attributes',
      `printf 'twelve bytes' >file; chmod 640 file; touch -d @${LONG_AGO} file; stat -c '%s %a %Y %F' file; ln -s file soft; readlink soft; mkdir -m 700 private; stat -c '%a %F' private; df -P . | tail -1 | wc -w`,
    );
    assert.deepEqual(said, [`12 640 ${LONG_AGO} regular file`, 'file', '700 directory', '6']);
    const at = (name: string): string => join(clients.server.files, 'attributes', name);
    const { mode, mtimeMs } = statSync(at('file'));
    assert.deepEqual([mode & 0o7777, mtimeMs / 1000], [0o640, LONG_AGO]);
    assert.deepEqual([readlinkSync(at('soft')), lstatSync(at('private')).mode & 0o7777], ['file', 0o700]);
  });

  it('writes anywhere in a file, cuts it and appends', options, async () => {
    await inside(
      'anywhere',
      `printf 0123456789 >file; printf XY | dd of=file bs=1 seek=4 conv=notrunc status=none; printf '!' >>file; truncate -s 8 file; printf Z >>file; truncate -s 12 file; printf end | dd of=file bs=1 seek=20 conv=notrunc status=none`,
    );
    const found = readFileSync(join(clients.server.files, 'anywhere', 'file'), 'latin1');
    assert.equal(found, `0123XY67Z${'\0'.repeat(11)}end`);
  });

  it('replaces a file by another, and keeps what is open', options, async () => {
    const said = await inside('replaced', 'echo old >a; echo new >b; exec 3<a; mv b a; cat a; cat <&3; rm a; ls');
    assert.deepEqual(said, ['new', 'old']);
  });

  it('unpacks and compares a tree', options, async () => {
    const { server } = clients;
    const source = join(server.local, 'tree');
    mkdirSync(join(source, 'deep', 'er'), { recursive: true });
    for (let i = 0; i < 50; i++) writeFileSync(join(source, 'deep', `file ${i}`), content(i * 997 + 4));
    await inside('unpacked', `tar -C '${source}' -cf - . | tar -xf -; diff -r '${source}' .; find . -type f | wc -l`);
    await mustRun(['diff', '-r', source, join(server.files, 'unpacked')]);
    assert.equal(readdirSync(join(server.files, 'unpacked', 'deep')).length, 51);
  });
});
