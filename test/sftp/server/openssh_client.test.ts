/** OpenSSH's own sftp as the client: it starts the server itself and talks to its standard input and output. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { equalBytes } from '../../../src/bytes/bytes.ts';
import { pattern } from '../../support/pipe_end.ts';

const SFTP = '/usr/bin/sftp';
const skip = existsSync(SFTP) ? false : `${SFTP} is not installed`;
const LIMIT = 60_000;

let directory = '';

const local = (name: string): string => join(directory, name);

/** The server as a program: this runtime with the script, compiled or not, as this file is. */
function serverProgram(): string {
  const url = new URL('../../support/sftp_stdio.ts', import.meta.url);
  const script = fileURLToPath(url).replace(/ts$/, import.meta.url.endsWith('.js') ? 'js' : 'ts');
  const run = 'Deno' in globalThis ? 'run -A --no-check ' : '';
  return `exec "${process.execPath}" ${run}"${script}" "$@"`;
}

/** Runs a batch; gives what it prints and its exit code. */
async function batch(
  lines: readonly string[],
  options: readonly string[] = [],
): Promise<{ text: string; code: number }> {
  writeFileSync(local('batch'), `${lines.join('\n')}\n`);
  const child = spawn(SFTP, ['-D', local('server'), ...options, '-b', local('batch')], { cwd: directory });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes) => {
      text += String(bytes);
    });
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT);
  const code = await new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? -1)));
  clearTimeout(timer);
  return { text, code };
}

/** Lines that the client printed for one command. */
function outputOf(text: string, command: string): string[] {
  const lines = text.split('\n');
  const from = lines.indexOf(`sftp> ${command}`) + 1;
  assert.ok(from > 0, text);
  const to = lines.findIndex((line, i) => i >= from && line.startsWith('sftp> '));
  return lines.slice(from, to < 0 ? lines.length : to).filter((line) => line !== '');
}

function check(name: string, run: () => Promise<void>): void {
  it(name, { skip }, run);
}

describe('sftp of OpenSSH and serveSftp', () => {
  const content = pattern(20_000_003);

  before(() => {
    if (skip) return;
    directory = mkdtempSync(join(tmpdir(), 'puressh-server-'));
    writeFileSync(local('server'), `#!/bin/sh\n${serverProgram()}\n`);
    chmodSync(local('server'), 0o755);
    writeFileSync(local('big'), content);
    writeFileSync(local('part'), content.subarray(0, 5_000_000));
    writeFileSync(local('small'), 'abc', { mode: 0o640 });
    chmodSync(local('small'), 0o640);
  });

  after(() => {
    if (!skip) rmSync(directory, { recursive: true });
  });

  const same = (name: string): void => assert.ok(equalBytes(readFileSync(local(name)), content), name);

  check('put, get, reput and reget', async () => {
    writeFileSync(local('regot'), content.subarray(0, 7_000_001));
    const { text, code } = await batch([
      'put big',
      'get big got',
      'put part resumed',
      'reput big resumed',
      'get resumed resumed',
      'reget big regot',
      'put -fp small kept',
      'get -p kept kept',
    ]);
    assert.equal(code, 0, text);
    for (const name of ['got', 'resumed', 'regot']) same(name);
    assert.equal(readFileSync(local('kept'), 'utf8'), 'abc');
  });

  check('small requests, many of them', async () => {
    // Not more at a time: Deno's standard output blocks, as does the client, which reads nothing meanwhile.
    const { text, code } = await batch(['put big', 'get big small-requests'], ['-B', '4096', '-R', '64']);
    assert.equal(code, 0, text);
    same('small-requests');
  });

  check('ls, rename, ln, mkdir, chmod, chown, rm and rmdir', async () => {
    const { text, code } = await batch([
      'pwd',
      'put small s.txt',
      'rename s.txt t.txt',
      'ln t.txt hard.txt',
      'ln -s t.txt soft.txt',
      'mkdir d',
      'chmod 640 t.txt',
      'chown 1000 t.txt',
      'ls -la',
      'ls -l t.txt',
      'rm hard.txt',
      'rm soft.txt',
      'rmdir d',
      'ls',
      'cd /',
      'ls -a',
    ]);
    assert.equal(code, 0, text);
    assert.deepEqual(outputOf(text, 'pwd'), ['Remote working directory: /srv']);
    const columns = outputOf(text, 'ls -la').map((line) => line.split(/\s+/));
    assert.deepEqual(
      columns.map((line) => [line[0], line[2], line[4], line.at(-1)].join(' ')).sort(),
      [
        '-rw-r--r-- root 6 hello.txt',
        '-rw-r----- 1000 3 hard.txt',
        '-rw-r----- 1000 3 t.txt',
        'drwxr-xr-x root 4096 .',
        'drwxr-xr-x root 4096 ..',
        'drwxr-xr-x root 4096 d',
        'lrwxrwxrwx root 5 soft.txt',
      ].sort(),
    );
    assert.match(outputOf(text, 'ls -l t.txt')[0] ?? '', /^-rw-r----- +\S+ 1000 +root +3 .* t\.txt$/);
    assert.deepEqual(outputOf(text, 'ls').join(' ').split(/\s+/).filter(Boolean), ['hello.txt', 't.txt']);
    assert.deepEqual(outputOf(text, 'ls -a').join(' ').split(/\s+/).filter(Boolean), ['.', '..', 'srv']);
  });

  check('df and cp', async () => {
    const { text, code } = await batch(['put big', 'df', 'df -i', 'cp big copy', 'get copy copied']);
    assert.equal(code, 0, text);
    assert.match(outputOf(text, 'df')[1] ?? '', /^ +1048576 +\d+ +\d+ +\d+ +1%$/);
    assert.match(outputOf(text, 'df -i')[1] ?? '', /^ +100000 +3 +99997 +99997 +0%$/);
    same('copied');
  });

  check('what fails says why, and the session goes on', async () => {
    const { text, code } = await batch([
      '-get nothing',
      '-rmdir hello.txt',
      '-mkdir hello.txt',
      '-ln hello.txt hello.txt',
      '-cd nowhere',
      '-rm /srv',
      'get hello.txt',
    ]);
    assert.equal(code, 0, text);
    assert.match(text, /"\/srv\/nothing" not found/);
    assert.match(text, /remote rmdir "\/srv\/hello\.txt": No such file/);
    assert.match(text, /remote mkdir "\/srv\/hello\.txt": Failure/);
    assert.equal(readFileSync(local('hello.txt'), 'utf8'), 'hello\n');
  });

  check('a server that is read-only', async () => {
    writeFileSync(local('server'), `#!/bin/sh\n${serverProgram().replace('"$@"', '--read-only')}\n`);
    const { text, code } = await batch(['-put small', '-rm hello.txt', '-chmod 600 hello.txt', 'get hello.txt', 'ls']);
    assert.equal(code, 0, text);
    assert.match(text, /Permission denied/);
    assert.deepEqual(outputOf(text, 'ls').join('').trim(), 'hello.txt');
  });
});
