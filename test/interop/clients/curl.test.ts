/** curl, which has its SFTP from libssh2, against puressh's server. */

import assert from 'node:assert/strict';
import { readFileSync, readlinkSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { lines } from '../../support/clients/client.ts';
import { curl, curlClient } from '../../support/clients/curl.ts';
import { clientTests } from '../../support/clients/suite.ts';

const LIMIT = { timeout: 60_000 };
const LONG_AGO = 981_173_106; // 2001-02-03 04:05:06 UTC

describe('curl', () => {
  const clients = clientTests(curlClient);
  const options = { ...clients.options, ...LIMIT };

  it('gets a part of a file, and its time', options, async () => {
    const { server } = clients;
    const [path, local] = [join(server.files, 'part'), join(server.local, 'part')];
    writeFileSync(path, '0123456789abcdef');
    utimesSync(path, LONG_AGO, LONG_AGO);
    for (const [range, expected] of [
      ['4-7', '4567'],
      ['-3', 'def'],
      ['12-', 'cdef'],
    ] as const) {
      assert.equal((await curl(server, 'key', '/part', '-r', range)).stdout.toString(), expected);
    }
    await curl(server, 'key', '/part', '-R', '-o', local);
    assert.equal(statSync(local).mtimeMs / 1000, LONG_AGO);
  });

  it('makes directories on the way, and gives the file its permissions', options, async () => {
    const { server } = clients;
    const local = join(server.local, 'deep');
    writeFileSync(local, 'deep');
    await curl(server, 'key', '/made/by/curl', '--ftp-create-dirs', '--create-file-mode', '0604', '-T', local);
    const path = join(server.files, 'made', 'by', 'curl');
    assert.deepEqual([readFileSync(path, 'utf8'), statSync(path).mode & 0o777], ['deep', 0o604]);
  });

  it('lists with attributes, and runs commands', options, async () => {
    const { server } = clients;
    writeFileSync(join(server.files, 'quoted'), 'twelve bytes', { mode: 0o644 });
    const commands = ['chmod 640 /quoted', 'symlink /quoted /soft', 'statvfs /'].flatMap((each) => ['-Q', each]);
    const { stdout } = await curl(server, 'key', '/', ...commands);
    const said = lines(stdout);
    assert.match(said.find((line) => line.endsWith(' quoted')) ?? '', /^-rw-r----- .* 12 /);
    assert.match(said.find((line) => / soft( |$)/.test(line)) ?? '', /^lrwxrwxrwx /);
    assert.ok(readlinkSync(join(server.files, 'soft')).endsWith('quoted'));
  });

  it('takes a connection without compression where it asks for one with', options, async () => {
    const { server } = clients;
    writeFileSync(join(server.files, 'plain'), 'plain');
    const { stdout } = await curl(server, 'password', '/plain', '--compressed-ssh');
    assert.equal(stdout.toString(), 'plain');
  });

  it('is told what is not there, and who is not let in', options, async () => {
    const { server } = clients;
    await assert.rejects(curl(server, 'key', '/missing'), /code 78/); // CURLE_REMOTE_FILE_NOT_FOUND
    const stranger = { ...server, password: 'wrong' };
    await assert.rejects(curl(stranger, 'password', '/plain'), /code 67/); // CURLE_LOGIN_DENIED
  });
});
