/** lftp against puressh's server. */

import assert from 'node:assert/strict';
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { lines } from '../../support/clients/client.ts';
import { lftp, quoted, script } from '../../support/clients/lftp.ts';
import { mustRun } from '../../support/clients/process.ts';
import { clientTests } from '../../support/clients/suite.ts';

const LIMIT = { timeout: 60_000 };
const LONG_AGO = 981_173_106; // 2001-02-03 04:05:06 UTC

describe('lftp', () => {
  const clients = clientTests(lftp);
  const options = { ...clients.options, ...LIMIT };

  it('mirrors a tree up and down, and then finds nothing left to do', options, async () => {
    const { server } = clients;
    const source = join(server.local, 'tree');
    const again = join(server.local, 'again');
    mkdirSync(join(source, 'deep', 'er'), { recursive: true });
    for (let i = 0; i < 50; i++) writeFileSync(join(source, 'deep', `file ${i}`), `content ${i}`);
    writeFileSync(join(source, 'deep', 'er', 'exec'), '#!/bin/sh\n', { mode: 0o750 });
    symlinkSync('deep/er/exec', join(source, 'link'));
    utimesSync(join(source, 'deep', 'file 1'), LONG_AGO, LONG_AGO);
    await script(server, 'key', [`mirror -R ${quoted(source)} /tree`, `mirror /tree ${quoted(again)}`]);
    for (const place of [join(server.files, 'tree'), again]) {
      await mustRun(['diff', '-r', source, place]);
      assert.equal(statSync(join(place, 'deep', 'er', 'exec')).mode & 0o777, 0o750);
      assert.equal(statSync(join(place, 'deep', 'file 1')).mtimeMs / 1000, LONG_AGO);
      assert.equal(readlinkSync(join(place, 'link')), 'deep/er/exec');
    }
    const second = await script(server, 'key', [
      `mirror -R -v ${quoted(source)} /tree`,
      `mirror -v /tree ${quoted(again)}`,
    ]);
    assert.doesNotMatch(second.toString(), /Transferring file/);
  });

  it('shows attributes, and changes them', options, async () => {
    const { server } = clients;
    mkdirSync(join(server.files, 'shown'));
    const path = join(server.files, 'shown', 'with a space');
    writeFileSync(path, 'twelve bytes');
    utimesSync(path, LONG_AGO, LONG_AGO);
    const output = await script(server, 'key', [
      'cd /shown',
      'chmod 640 "with a space"',
      'ln -s "with a space" soft',
      'ls',
      'cls -l --time-style=+%s',
      'du -b',
      'find',
    ]);
    const said = lines(output);
    const owner = lines((await mustRun(['stat', '-c', '%U', path])).stdout)[0];
    assert.match(said.find((line) => line.endsWith('2001 with a space')) ?? '', new RegExp(`^-rw-r----- +1 ${owner} `));
    assert.match(said.find((line) => line.includes(String(LONG_AGO))) ?? '', /^-rw-r-----.* 12 .*with a space$/);
    assert.ok(said.includes('./with a space'), said.join('\n'));
    assert.equal(statSync(path).mode & 0o777, 0o640);
    assert.ok(lstatSync(join(server.files, 'shown', 'soft')).isSymbolicLink());
  });

  it('uses several connections for one file', options, async () => {
    const { server } = clients;
    const bytes = Buffer.alloc(8 * 1024 * 1024, 'lftp divides it ');
    writeFileSync(join(server.files, 'divided'), bytes);
    const target = join(server.local, 'divided');
    const before = server.connections.length;
    await script(server, 'key', [`pget -n 4 /divided -o ${quoted(target)}`]);
    assert.equal(Buffer.compare(readFileSync(target), bytes), 0);
    assert.ok(server.connections.length - before > 1, 'there was one connection');
  });
});
