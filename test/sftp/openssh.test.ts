/** The client against OpenSSH's own sftp-server, over its standard input and output. */

import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { SshError, type SshErrorInfo } from '../../src/errors.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { fileKind } from '../../src/sftp/proto/attrs.ts';
import { nodeFiles } from '../../src/transports/node_files.ts';
import { delayPipe } from '../support/delay_pipe.ts';
import { tryOperations } from '../support/operations.ts';
import { ownLogin } from '../support/peers/user.ts';
import { patterned } from '../support/scripted_sftp.ts';
import { type StdioPipe, stdioPipe } from '../support/stdio_pipe.ts';

const SERVER = '/usr/lib/openssh/sftp-server';
const skip = existsSync(SERVER) ? false : `${SERVER} is not installed`;
const MIB = 1024 * 1024;

let directory = '';
let pipe: StdioPipe;
let sftp: SftpClient;

const local = (name: string): string => join(directory, name);
const server = (args: readonly string[] = []): StdioPipe => stdioPipe(SERVER, args, directory);

async function rejects(promise: Promise<unknown>, code: string, info: SshErrorInfo = {}): Promise<SshError> {
  const error = await promise.then(
    () => assert.fail(`resolved instead of rejecting with ${code}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SshError, String(error));
  assert.equal(error.code, code, error.message);
  for (const [key, value] of Object.entries(info)) assert.equal(error[key as keyof SshError], value, key);
  return error;
}

/** Names in the local directory that a transfer left behind. */
const leftovers = (): string[] => readdirSync(directory).filter((name) => name.endsWith('.part'));

interface Options {
  readonly skip?: boolean;
  readonly timeout?: number;
}

/** A test that needs the server. */
function check(name: string, options: Options | (() => Promise<void>), run?: () => Promise<void>): void {
  const given = typeof options === 'function' ? {} : options;
  it(name, { ...given, skip: skip || (given.skip ?? false) }, typeof options === 'function' ? options : run);
}

describe('SftpClient and sftp-server of OpenSSH', () => {
  before(async () => {
    if (skip) return;
    directory = mkdtempSync(join(tmpdir(), 'puressh-sftp-'));
    pipe = server();
    sftp = await SftpClient.open(pipe, { localFiles: nodeFiles });
  });

  after(async () => {
    if (skip) return;
    await sftp.close();
    await pipe.exited;
    rmSync(directory, { recursive: true });
  });

  check('learns the extensions and the limits', async () => {
    await sftp.stat('.');
    assert.equal(sftp.extensions.get('posix-rename@openssh.com'), '1');
    assert.equal(sftp.limits.maxReadLength, 261120);
    assert.equal(sftp.limits.maxWriteLength, 261120);
  });

  check('realpath: the working directory', async () => {
    assert.equal(await sftp.realpath('.'), directory);
  });

  check('stat and lstat: attributes, and links followed or not', async () => {
    writeFileSync(local('attrs'), 'hello', { mode: 0o640 });
    symlinkSync('attrs', local('attrs-link'));
    const attrs = await sftp.stat('attrs-link');
    const { size, mode, uid } = statSync(local('attrs'));
    assert.equal(attrs.size, size);
    assert.equal(attrs.permissions, mode);
    assert.equal(attrs.uid, uid);
    assert.equal(fileKind(await sftp.lstat('attrs-link')), 'symlink');
    assert.equal(await sftp.readlink('attrs-link'), 'attrs');
  });

  check('stat: an error with status, operation and path', async () => {
    const error = await rejects(sftp.stat('missing'), 'sftp-status', { status: 2, operation: 'stat', path: 'missing' });
    assert.equal(error.message, 'stat missing: no such file');
  });

  check('setstat: exactly what is given', async () => {
    writeFileSync(local('set'), 'hello', { mode: 0o600 });
    await sftp.setstat('set', { atime: 1, mtime: 4000000000 });
    assert.equal(statSync(local('set')).mtimeMs, 4000000000_000);
    assert.equal(statSync(local('set')).mode & 0o777, 0o600);
    await sftp.setstat('set', { size: 2, permissions: 0o644 });
    assert.equal(readFileSync(local('set'), 'utf8'), 'he');
  });

  check('mkdir, rmdir, remove', async () => {
    await sftp.mkdir('made', { attrs: { permissions: 0o700 } });
    assert.equal(statSync(local('made')).mode & 0o777, 0o700);
    writeFileSync(local('made/file'), '');
    await rejects(sftp.rmdir('made'), 'sftp-status', { operation: 'rmdir', status: 4 });
    await sftp.remove('made/file');
    await sftp.rmdir('made');
    assert.equal(existsSync(local('made')), false);
  });

  check('rename: onto nothing, refused onto a file, and replacing it when told to (T42)', async () => {
    writeFileSync(local('from'), 'new');
    await sftp.rename('from', 'to');
    writeFileSync(local('from'), 'newer');
    await rejects(sftp.rename('from', 'to'), 'target-exists', { operation: 'rename', path: 'to' });
    assert.equal(readFileSync(local('to'), 'utf8'), 'new');
    await sftp.rename('from', 'to', { overwrite: true });
    assert.equal(readFileSync(local('to'), 'utf8'), 'newer');
    await rejects(sftp.rename('nowhere', 'to2'), 'sftp-status', { status: 2 });
  });

  check("symlink: OpenSSH's order", async () => {
    await sftp.symlink('what it holds', 'sym');
    assert.equal(await sftp.readlink('sym'), 'what it holds');
    assert.ok(lstatSync(local('sym')).isSymbolicLink());
  });

  check('list: every entry of many, raw names, no dots unless asked for (T43)', async () => {
    mkdirSync(local('many'));
    for (let i = 0; i < 1234; i++) writeFileSync(local(`many/file ${i}`), '');
    const odd = new Uint8Array([...utf8('many/caf'), 0xff]);
    await sftp.writeFile(odd, 'odd');
    const names = new Set<string>();
    for await (const entry of sftp.list('many')) names.add(hex(entry.nameBytes));
    assert.equal(names.size, 1235);
    assert.ok(names.has('636166ff') && !names.has('2e'));
    assert.equal(utf8('odd').length, (await sftp.readFile(odd)).length);
    const all: string[] = [];
    for await (const entry of sftp.list('many', { dots: true })) all.push(entry.name);
    assert.ok(all.includes('.') && all.includes('..') && all.includes('caf\ufffd'));
  });

  check('list: leaving early closes the directory; a missing one rejects', async () => {
    for (let i = 0; i < 3; i++) {
      for await (const entry of sftp.list('many')) {
        assert.match(entry.longname, /^-rw/);
        break;
      }
    }
    await rejects(sftp.list('none').next(), 'sftp-status', { operation: 'opendir', status: 2 });
  });

  check('open, write, read, stat, sync, close: a file by its handle', async () => {
    await using file = await sftp.open('handle', { read: true, write: true, create: true });
    await file.write(3, utf8('def'));
    await file.write(0, utf8('abc'));
    await file.sync();
    assert.equal((await file.stat()).size, 6);
    assert.deepEqual(await file.read(1, 3), utf8('bcd'));
    assert.deepEqual(await file.read(4, 100), utf8('ef'));
    assert.deepEqual(await file.read(6, 1), new Uint8Array(0));
    await file.setstat({ size: 1 });
    await file.close();
    await rejects(file.read(0, 1), 'bad-argument');
    assert.equal(readFileSync(local('handle'), 'utf8'), 'a');
  });

  check('open: modes', async () => {
    writeFileSync(local('modes'), 'old');
    await rejects(sftp.open('modes', 'wx'), 'sftp-status', { operation: 'open' });
    await rejects(sftp.open('modes', 'rw' as 'r'), 'bad-argument');
    await using file = await sftp.open('modes', 'a');
    await file.write(0, utf8('+new'));
    assert.equal(readFileSync(local('modes'), 'utf8'), 'old+new');
  });

  check('readFile and writeFile: small, empty, and over several requests', async () => {
    for (const size of [0, 1, 32768, 32769, 3 * MIB + 7]) {
      const bytes = patterned(size);
      await sftp.writeFile('whole', bytes);
      assert.ok(equalBytes(readFileSync(local('whole')), bytes), `written ${size}`);
      assert.ok(equalBytes(await sftp.readFile('whole'), bytes), `read ${size}`);
    }
    await sftp.writeFile('whole', 'text é');
    assert.equal(readFileSync(local('whole'), 'utf8'), 'text é');
    await rejects(sftp.readFile('whole', { maxBytes: 3 }), 'limit');
  });

  check('readFile: a file of procfs, whose stated size is 0', { skip: !existsSync('/proc/self/maps') }, async () => {
    const text = new TextDecoder().decode(await sftp.readFile('/proc/self/maps'));
    assert.match(text, /sftp-server/);
    assert.ok(text.endsWith('\n'));
  });

  check(
    'readFile: a file of sysfs, which ends before its stated size',
    {
      skip: !existsSync('/sys/kernel/profiling') && !existsSync('/sys/kernel/mm/transparent_hugepage/enabled'),
    },
    async () => {
      const path = existsSync('/sys/kernel/profiling')
        ? '/sys/kernel/profiling'
        : '/sys/kernel/mm/transparent_hugepage/enabled';
      await rejects(sftp.readFile(path), 'incomplete');
      assert.deepEqual(await sftp.readFile(path, { trustEof: true }), new Uint8Array(readFileSync(path)));
    },
  );

  check('chunks and readable: in order, in part, and left early', async () => {
    const bytes = patterned(MIB + 3);
    writeFileSync(local('parts'), bytes);
    const parts: Uint8Array[] = [];
    for await (const chunk of sftp.chunks('parts', { start: 5, end: MIB })) parts.push(chunk);
    assert.ok(equalBytes(Buffer.concat(parts), bytes.subarray(5, MIB)));
    for await (const chunk of sftp.chunks('parts')) {
      assert.ok(chunk.length > 0);
      break;
    }
    const whole = new Uint8Array(await new Response(sftp.readable('parts')).arrayBuffer());
    assert.ok(equalBytes(whole, bytes));
    await rejects(new Response(sftp.readable('missing')).arrayBuffer(), 'sftp-status', { operation: 'open' });
  });

  check('writable: chunks of any size, acknowledged before it is closed', async () => {
    const bytes = patterned(MIB + 11);
    const writer = sftp.writable('streamed').getWriter();
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + ((at * 7) % 99_991);
      await writer.write(bytes.slice(at, at + size));
      at += size;
    }
    await writer.close();
    assert.ok(equalBytes(readFileSync(local('streamed')), bytes));
  });

  for (const requests of [1, 8, 128]) {
    check(`get and put: 64 MiB are the same with ${requests} requests pending`, { timeout: 120_000 }, async () => {
      const bytes = patterned(64 * MIB, `${requests}`);
      writeFileSync(local('big'), bytes);
      let last = 0;
      const stats = await sftp.get('big', local('big-down'), {
        requests,
        onProgress: ({ bytes: done, total }) => {
          assert.equal(total, 64 * MIB);
          assert.ok(done >= last);
          last = done;
        },
      });
      assert.ok(equalBytes(readFileSync(local('big-down')), bytes));
      assert.equal(stats.bytes, 64 * MIB);
      assert.equal(last, 64 * MIB);
      assert.ok(stats.maxRequestsInFlight <= requests);
      const up = await sftp.put(local('big'), 'big-up', { requests });
      assert.ok(equalBytes(readFileSync(local('big-up')), bytes));
      assert.equal(up.bytes, 64 * MIB);
      assert.ok(up.maxRequestsInFlight <= requests);
      if (requests === 1) assert.deepEqual([stats.maxRequestsInFlight, up.maxRequestsInFlight], [1, 1]);
      assert.deepEqual(leftovers(), []);
    });
  }

  check(
    'put: replaces a file in one step and keeps its permissions; a new one has those of the local file',
    async () => {
      writeFileSync(local('source'), 'content', { mode: 0o700 });
      writeFileSync(local('kept'), 'old', { mode: 0o600 });
      assert.deepEqual((await sftp.put(local('source'), 'kept')).warnings, []);
      assert.equal(statSync(local('kept')).mode & 0o777, 0o600);
      await sftp.put(local('source'), 'fresh');
      assert.equal(statSync(local('fresh')).mode & 0o777, 0o700);
      await sftp.put(local('source'), 'fresh', { permissions: 0o666, sync: true });
      assert.equal(statSync(local('fresh')).mode & 0o777, 0o666);
    },
  );

  check('put: writes through a symbolic link, and refuses a directory', async () => {
    writeFileSync(local('behind'), 'old and longer');
    symlinkSync('behind', local('front'));
    await sftp.put(utf8('new'), 'front');
    assert.equal(readFileSync(local('behind'), 'utf8'), 'new');
    assert.ok(lstatSync(local('front')).isSymbolicLink());
    await rejects(sftp.put(utf8('new'), 'many'), 'target-exists');
    await rejects(sftp.put(utf8('new'), 'behind', { overwrite: false }), 'target-exists');
  });

  check('get: replaces a local file and keeps its permissions, follows a local link', async () => {
    writeFileSync(local('remote'), 'content');
    writeFileSync(local('mine'), 'old', { mode: 0o600 });
    symlinkSync('mine', local('mine-link'));
    await sftp.get('remote', local('mine-link'));
    assert.equal(readFileSync(local('mine'), 'utf8'), 'content');
    assert.equal(statSync(local('mine')).mode & 0o777, 0o600);
    assert.ok(lstatSync(local('mine-link')).isSymbolicLink());
    await rejects(sftp.get('remote', local('many')), 'bad-local-file');
    await rejects(sftp.get('missing', local('nothing')), 'sftp-status', { operation: 'open', status: 2 });
    assert.equal(existsSync(local('nothing')), false);
  });

  check('get: rejects where the local directory is missing, and the client stays usable (T08)', async () => {
    await rejects(sftp.get('remote', local('no/such/directory')), 'bad-local-file', { fault: 'local' });
    assert.equal((await sftp.stat('remote')).size, 7);
  });

  check('names, links, whole directories, copies', () => tryOperations(sftp, ownLogin().username, directory));

  check('copy: on the server and through this side, onto what is there, and not onto itself', async () => {
    const bytes = patterned(3 * MIB + 1);
    writeFileSync(local('original'), bytes, { mode: 0o750 });
    for (const by of ['server', 'client'] as const) {
      const result = await sftp.copy('original', 'duplicate', { by, preserve: true });
      assert.deepEqual([result.by, result.bytes, result.warnings], [by, bytes.length, []]);
      assert.ok(equalBytes(readFileSync(local('duplicate')), bytes));
      assert.equal(statSync(local('duplicate')).mode & 0o777, 0o750);
      assert.equal(
        Math.floor(statSync(local('duplicate')).mtimeMs / 1000),
        Math.floor(statSync(local('original')).mtimeMs / 1000),
      );
      await rejects(sftp.copy('original', join(directory, 'original'), { by, atomic: false }), 'bad-argument');
    }
    symlinkSync('original', local('original-link'));
    await rejects(sftp.copy('original', 'original-link'), 'bad-argument');
    assert.ok(equalBytes(readFileSync(local('original')), bytes));
    assert.deepEqual(leftovers(), []);
  });

  check('copy: a file of procfs, whose stated size is 0', { skip: !existsSync('/proc/self/maps') }, async () => {
    for (const by of ['server', 'client'] as const) {
      await sftp.copy('/proc/self/maps', `maps-${by}`, { by });
      assert.match(readFileSync(local(`maps-${by}`), 'utf8'), /sftp-server/);
    }
  });

  check('many transfers at once are all whole', { timeout: 60_000 }, async () => {
    const files = Array.from({ length: 40 }, (_, i) => patterned(i * 10_007, `${i}`));
    await Promise.all(files.map((bytes, i) => sftp.put(bytes, `at-once-${i}`)));
    const read = await Promise.all(files.map((_, i) => sftp.readFile(`at-once-${i}`)));
    for (const [i, bytes] of read.entries()) assert.ok(equalBytes(bytes, files[i] as Uint8Array), `file ${i}`);
  });

  check('128 requests are under way at once over a distance', { timeout: 60_000 }, async () => {
    const delay = 50;
    const bytes = patterned(16 * MIB);
    writeFileSync(local('far'), bytes);
    const far = await SftpClient.open(delayPipe(server(), delay), { localFiles: nodeFiles });
    try {
      const stats = await far.get('far', local('far-down'), { requestSize: 32768 });
      assert.ok(equalBytes(readFileSync(local('far-down')), bytes));
      assert.equal(stats.maxRequestsInFlight, 128);
      // Out of memory, which is ready at once: how many are sent before the first answer is no matter of the disk.
      const up = await far.put(bytes, 'far-up', { requestSize: 32768 });
      assert.equal(up.maxRequestsInFlight, 128);
      assert.ok(equalBytes(readFileSync(local('far-up')), bytes));
    } finally {
      await far.close();
    }
  });

  check('a read-only server refuses a put with its status, and nothing stays', async () => {
    const guarded = await SftpClient.open(server(['-R']), { localFiles: nodeFiles });
    try {
      await rejects(guarded.put(utf8('x'), 'refused'), 'sftp-status', { operation: 'open', status: 3 });
      assert.equal(existsSync(local('refused')), false);
    } finally {
      await guarded.close();
    }
  });

  check(
    'a server that dies: everything pending rejects with one cause, later calls too',
    { timeout: 20_000 },
    async () => {
      const doomed = server();
      const client = await SftpClient.open(doomed, { localFiles: nodeFiles });
      try {
        // Too long for any of them to be through before all three have moved something, which is when the server dies.
        writeFileSync(local('doomed'), '');
        truncateSync(local('doomed'), 1024 * MIB);
        const piece = patterned(MIB);
        const endless = async function* (): AsyncGenerator<Uint8Array> {
          for (;;) yield piece;
        };
        const moving = new Set<string>();
        const onProgress = (name: string) => (): void => {
          if (moving.add(name).size === 3) doomed.kill();
        };
        const pending = [
          client.get('doomed', local('doomed-down'), { onProgress: onProgress('get') }),
          client.readFile('doomed', { onProgress: onProgress('readFile') }),
          client.put(endless(), 'doomed-up', { onProgress: onProgress('put') }),
        ];
        const errors = await Promise.all(pending.map((promise) => rejects(promise, 'channel-closed')));
        assert.equal(await rejects(client.stat('.'), 'channel-closed'), client.cause);
        for (const error of errors) {
          assert.equal(error.cause, client.cause);
          assert.ok((error.transferred as number) > 0, String(error));
        }
        assert.equal(existsSync(local('doomed-down')), false);
        const down = leftovers().filter((name) => name.startsWith('.doomed-down'));
        assert.deepEqual(down, []);
      } finally {
        await client.close();
      }
    },
  );

  check('a program that is no SFTP server is named so', async () => {
    const shell = stdioPipe('/bin/sh', ['-c', 'echo Welcome to this machine'], directory);
    const error = await rejects(SftpClient.open(shell), 'sftp-unavailable');
    assert.match(error.message, /"Welcome to this machine\\x0a".*start-up file/);
    await rejects(SftpClient.open(stdioPipe('/bin/true', [], directory)), 'sftp-unavailable');
  });
});
