/** Each request of SFTP 3 by hand, with its edges: draft-ietf-secsh-filexfer-02 §6, and OpenSSH where the draft is silent. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex, utf8 } from '../../../src/bytes/text.ts';
import { OpenFlag } from '../../../src/sftp/proto/packets.ts';
import { Status } from '../../../src/sftp/proto/status.ts';
import type { SftpBackend } from '../../../src/sftp/server/backend.ts';
import { refuse } from '../../../src/sftp/server/errors.ts';
import { type MemoryFiles, memoryFiles } from '../../../src/sftp/server/memory_fs.ts';
import { chunkings } from '../../support/feed.ts';
import { ask, RawSftp } from '../../support/sftp_raw.ts';

const { read: READ, write: WRITE, append: APPEND, create: CREAT, truncate: TRUNC, exclusive: EXCL } = OpenFlag;
const NOW = Date.UTC(2026, 10, 30, 12, 0, 0);

function tree(): MemoryFiles {
  const files = memoryFiles({
    files: { '/home/ada/a.txt': 'hello world', '/home/ada/sub/b.txt': 'b', '/top.txt': 'top' },
    home: '/home/ada',
    now: () => NOW,
  });
  files.symlink('a.txt', '/home/ada/link');
  files.symlink('nowhere', '/home/ada/dangling');
  return files;
}

describe('serveSftp: a session', () => {
  for (const chunking of chunkings) {
    it(`opens, reads, writes and closes, fed ${chunking}`, async () => {
      const files = tree();
      const raw = await RawSftp.connect(files, { chunking });
      const handle = await raw.open(1, 'a.txt', READ | WRITE);
      assert.ok(handle.length >= 1 && handle.length <= 256);
      raw.send(
        ask.read(2, handle, 0, 5),
        ask.write(3, handle, 6, 'WORLD'),
        ask.read(4, handle, 6, 100),
        ask.read(5, handle, 11, 1),
        ask.handle('close', 6, handle),
      );
      assert.equal((await raw.reply(6)).code, Status.ok);
      assert.deepEqual(raw.order, [1, 2, 3, 4, 5, 6]);
      assert.equal((await raw.reply(2)).text, 'hello');
      assert.equal((await raw.reply(3)).code, Status.ok);
      assert.equal((await raw.reply(4)).text, 'WORLD');
      assert.equal((await raw.reply(5)).code, Status.eof);
      assert.equal(Buffer.from(files.get('/home/ada/a.txt') ?? []).toString(), 'hello WORLD');
      assert.equal(await raw.end(), undefined);
      await raw.until(() => raw.ended, 'the end of what the server sends');
    });
  }

  it('echoes ids as they are, the same one twice', async () => {
    const raw = await RawSftp.connect(tree());
    raw.send(
      ask.path('stat', 0xffffffff, '/'),
      ask.path('stat', 0, '/'),
      ask.path('stat', 7, '/'),
      ask.path('stat', 7, '/'),
    );
    await raw.until(() => raw.replies.length === 4, 'four replies');
    assert.deepEqual(raw.order, [0xffffffff, 0, 7, 7]);
    await raw.end();
  });

  it('answers a malformed body and goes on', async () => {
    const raw = await RawSftp.connect(tree());
    raw.send(fromHex('0000000911000000010000ffff'), ask.path('stat', 2, '/'));
    assert.equal((await raw.reply(1)).code, Status.badMessage);
    assert.equal((await raw.reply(2)).attrs.permissions, 0o40755);
    await raw.end();
  });

  it('answers what is no request of the backend with OP_UNSUPPORTED, each one', async () => {
    const raw = await RawSftp.connect({ open: () => ({ close: () => undefined }), list: () => [] });
    const file = await raw.open(100, '/x', READ | WRITE);
    const requests = [
      ask.path('stat', 1, '/'),
      ask.path('lstat', 2, '/'),
      ask.setstat(3, '/', {}),
      ask.mkdir(4, '/'),
      ask.path('rmdir', 5, '/'),
      ask.path('remove', 6, '/'),
      ask.rename(7, '/a', '/b'),
      ask.path('readlink', 8, '/'),
      ask.symlink(9, 'a', '/b'),
      ask.read(10, file, 0, 1),
      ask.write(11, file, 0, 'x'),
      ask.handle('fstat', 12, file),
      ask.fsetstat(13, file, {}),
    ];
    for (const [i, packet] of requests.entries()) {
      assert.equal((await raw.request(packet)).code, Status.opUnsupported, String(i + 1));
    }
    assert.equal((await raw.request(ask.path('realpath', 20, 'x'))).name, '/x');
    await raw.end();

    const bare = await RawSftp.connect({});
    assert.equal((await bare.request(ask.open(1, '/a', READ))).code, Status.opUnsupported);
    assert.equal((await bare.request(ask.path('opendir', 2, '/'))).code, Status.opUnsupported);
    await bare.end();
  });
});

describe('serveSftp: OPEN', () => {
  const cases: readonly [name: string, path: string, flags: number, code: number | undefined, content?: string][] = [
    ['READ of a file', 'a.txt', READ, undefined, 'hello world'],
    ['READ of nothing', 'none', READ, Status.noSuchFile],
    ['READ under a file', 'a.txt/x', READ, Status.noSuchFile],
    ['READ of a directory', 'sub', READ, Status.failure],
    ['WRITE of a directory', 'sub', WRITE, Status.failure],
    ['WRITE of nothing without CREAT', 'none', WRITE, Status.noSuchFile],
    ['CREAT of something', 'a.txt', WRITE | CREAT, undefined, 'hello world'],
    ['CREAT of nothing', 'new', WRITE | CREAT, undefined, ''],
    ['CREAT in no directory', 'none/new', WRITE | CREAT, Status.noSuchFile],
    ['CREAT and TRUNC', 'a.txt', WRITE | CREAT | TRUNC, undefined, ''],
    ['TRUNC alone empties, as open(2)', 'a.txt', WRITE | TRUNC, undefined, ''],
    ['CREAT and EXCL of something', 'a.txt', WRITE | CREAT | EXCL, Status.failure, 'hello world'],
    ['CREAT and EXCL of a dangling link', 'dangling', WRITE | CREAT | EXCL, Status.failure],
    ['CREAT through a dangling link', 'dangling', WRITE | CREAT, undefined],
    ['EXCL alone', 'a.txt', READ | EXCL, undefined, 'hello world'],
    ['no flag at all reads', 'a.txt', 0, undefined, 'hello world'],
    ['a flag of later versions', 'a.txt', READ | 0x40, undefined, 'hello world'],
    ['an empty path is the start directory', '', READ, Status.failure],
  ];
  for (const [name, path, flags, code, content] of cases) {
    it(name, async () => {
      const files = tree();
      const raw = await RawSftp.connect(files);
      const reply = await raw.request(ask.open(1, path, flags));
      if (code === undefined) assert.ok(reply.handle.length > 0);
      else assert.equal(reply.code, code);
      if (content !== undefined) {
        assert.equal(Buffer.from(files.get(`/home/ada/${path}`) ?? fromHex('ff')).toString(), content);
      }
      await raw.end();
    });
  }

  it('gives the permissions to what is made, less type bits and umask, and not to what is there', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    await raw.open(1, 'new', WRITE | CREAT, { permissions: 0o140666 });
    await raw.open(2, 'a.txt', WRITE | CREAT, { permissions: 0o600 });
    assert.equal(files.stat('/home/ada/new').permissions, 0o100644);
    assert.equal(files.stat('/home/ada/a.txt').permissions, 0o100644);
    await raw.end();
  });

  it('with APPEND writes to the end, whatever the offset', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const handle = await raw.open(1, 'a.txt', READ | WRITE | APPEND);
    raw.send(ask.write(2, handle, 0, '1'), ask.write(3, handle, 2 ** 52, '2'), ask.write(4, handle, 0, '3'));
    raw.send(ask.read(5, handle, 0, 100));
    assert.equal((await raw.reply(5)).text, 'hello world123');
    await raw.end();
  });

  it('allows no READ where the file is open for writing only, and no WRITE the other way', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const writer = await raw.open(1, 'a.txt', WRITE);
    const reader = await raw.open(2, 'a.txt', READ);
    const appender = await raw.open(3, 'a.txt', APPEND);
    assert.equal((await raw.request(ask.read(4, writer, 0, 10))).code, Status.permissionDenied);
    assert.equal((await raw.request(ask.write(5, reader, 0, 'x'))).code, Status.permissionDenied);
    assert.equal((await raw.request(ask.write(6, appender, 0, 'x'))).code, Status.permissionDenied);
    assert.equal((await raw.request(ask.fsetstat(7, reader, { size: 0 }))).code, Status.permissionDenied);
    assert.equal((await raw.request(ask.fsetstat(8, reader, { permissions: 0o600 }))).code, Status.ok);
    assert.equal(Buffer.from(files.get('/home/ada/a.txt') ?? []).toString(), 'hello world');
    await raw.end();
  });

  it('refuses one more than the limit, and takes it again once one is closed', async () => {
    const raw = await RawSftp.connect(tree(), { limits: { openHandles: 3 } });
    const handles = [await raw.open(1, 'a.txt', READ), await raw.open(2, 'a.txt', READ)];
    const directory = (await raw.request(ask.path('opendir', 3, '/'))).handle;
    assert.equal((await raw.request(ask.open(4, 'a.txt', READ))).code, Status.failure);
    assert.equal((await raw.request(ask.path('opendir', 5, '/'))).code, Status.failure);
    assert.equal((await raw.request(ask.handle('close', 6, directory))).code, Status.ok);
    handles.push(await raw.open(7, 'a.txt', READ));
    assert.equal(new Set(handles.map(hex)).size, 3);
    await raw.end();
  });
});

describe('serveSftp: READ and WRITE', () => {
  it('READ gives up to the end and no more, and EOF only where nothing is', async () => {
    const raw = await RawSftp.connect(tree());
    const handle = await raw.open(1, 'a.txt', READ);
    assert.equal((await raw.request(ask.read(2, handle, 6, 0xffffffff))).text, 'world');
    assert.equal((await raw.request(ask.read(3, handle, 10, 1))).text, 'd');
    assert.equal((await raw.request(ask.read(4, handle, 11, 1))).code, Status.eof);
    assert.equal((await raw.request(ask.read(5, handle, 4, 0))).text, '');
    assert.equal((await raw.request(ask.read(6, handle, 4000, 0))).text, '');
    await raw.end();
  });

  it('READ of more than the limit gives as much as the limit, from a file that has it', async () => {
    const raw = await RawSftp.connect(memoryFiles({ files: { '/big': new Uint8Array(600_000).fill(7) } }));
    const handle = await raw.open(1, '/big', READ);
    assert.equal((await raw.request(ask.read(2, handle, 0, 0xffffffff))).data.length, 261120);
    assert.equal((await raw.request(ask.read(3, handle, 1, 261120))).data.length, 261120);
    await raw.end();
    const clamped = await RawSftp.connect(memoryFiles({ files: { '/big': new Uint8Array(600_000) } }), {
      limits: { readLength: 1000 },
    });
    const other = await clamped.open(1, '/big', READ);
    assert.equal((await clamped.request(ask.read(2, other, 0, 32768))).data.length, 1000);
    await clamped.end();
  });

  it('offsets past 2^53 are past every end', async () => {
    const raw = await RawSftp.connect(tree());
    const handle = await raw.open(1, 'a.txt', READ | WRITE);
    for (const [i, offset] of [
      '7fffffffffffffff',
      '8000000000000000',
      'ffffffffffffffff',
      '0020000000000000',
    ].entries()) {
      const tail = `00000008${hex(handle)}${offset}`;
      const read = await raw.request(fromHex(`0000001d05${(10 + i).toString(16).padStart(8, '0')}${tail}00000010`));
      assert.equal(read.code, Status.eof, offset);
      const write = await raw.request(fromHex(`0000001e06${(20 + i).toString(16).padStart(8, '0')}${tail}0000000141`));
      assert.equal(write.code, Status.failure, offset);
    }
    assert.equal((await raw.request(ask.read(2, handle, 0, 100))).text, 'hello world');
    await raw.end();
  });

  it('WRITE past the end leaves zeros between, and an empty one changes nothing', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const handle = await raw.open(1, 'new', READ | WRITE | CREAT);
    assert.equal((await raw.request(ask.write(2, handle, 1000, ''))).code, Status.ok);
    assert.equal((await raw.request(ask.handle('fstat', 3, handle))).attrs.size, 0);
    assert.equal((await raw.request(ask.write(4, handle, 1000, 'x'))).code, Status.ok);
    const content = (await raw.request(ask.read(5, handle, 0, 2000))).data;
    assert.equal(content.length, 1001);
    assert.ok(content.subarray(0, 1000).every((byte) => byte === 0));
    await raw.end();
  });

  it('takes a packet of 34000 bytes and a WRITE of 255 KiB', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const handle = await raw.open(1, 'new', WRITE | CREAT);
    assert.equal((await raw.request(ask.write(2, handle, 0, new Uint8Array(33_900).fill(1)))).code, Status.ok);
    assert.equal((await raw.request(ask.write(3, handle, 33_900, new Uint8Array(261_120).fill(2)))).code, Status.ok);
    assert.equal(files.stat('/home/ada/new').size, 33_900 + 261_120);
    await raw.end();
  });

  it('answers handles that are not open with FAILURE', async () => {
    const raw = await RawSftp.connect(tree());
    const handle = await raw.open(1, 'a.txt', READ);
    assert.equal((await raw.request(ask.handle('close', 2, handle))).code, Status.ok);
    const other = handle.map((byte, i) => (i === 0 ? byte ^ 1 : byte));
    const bogus = [
      handle,
      other,
      new Uint8Array(0),
      new Uint8Array(4),
      new Uint8Array(8).fill(255),
      new Uint8Array(256),
    ];
    for (const [i, each] of bogus.entries()) {
      const id = 100 * (i + 1);
      raw.send(
        ask.read(id, each, 0, 1),
        ask.write(id + 1, each, 0, 'x'),
        ask.handle('fstat', id + 2, each),
        ask.handle('readdir', id + 3, each),
        ask.handle('close', id + 4, each),
        ask.fsetstat(id + 5, each, {}),
      );
      for (let k = 0; k < 6; k++) assert.equal((await raw.reply(id + k)).code, Status.failure, `${i} ${k}`);
    }
    await raw.end();
  });

  it('answers handles of another session, and of the other kind, with FAILURE', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const other = await RawSftp.connect(files);
    const foreign = await other.open(1, 'a.txt', READ | WRITE);
    await raw.open(1, 'a.txt', READ | WRITE);
    assert.equal((await raw.request(ask.read(2, foreign, 0, 1))).code, Status.failure);
    const directory = (await raw.request(ask.path('opendir', 3, '/'))).handle;
    const file = await raw.open(4, 'a.txt', READ);
    assert.equal((await raw.request(ask.read(5, directory, 0, 1))).code, Status.failure);
    assert.equal((await raw.request(ask.write(6, directory, 0, 'x'))).code, Status.failure);
    assert.equal((await raw.request(ask.handle('readdir', 7, file))).code, Status.failure);
    assert.equal((await raw.request(ask.fsetstat(8, directory, {}))).code, Status.failure);
    assert.equal((await raw.request(ask.handle('fstat', 9, directory))).attrs.permissions, 0o40755);
    await raw.end();
    await other.end();
  });
});

describe('serveSftp: attributes', () => {
  it('STAT follows links, LSTAT does not, FSTAT is of what is open', async () => {
    const raw = await RawSftp.connect(tree());
    const stat = (await raw.request(ask.path('stat', 1, 'link'))).attrs;
    const seconds = NOW / 1000;
    assert.deepEqual(stat, { size: 11, uid: 0, gid: 0, permissions: 0o100644, atime: seconds, mtime: seconds });
    assert.equal((await raw.request(ask.path('lstat', 2, 'link'))).attrs.permissions, 0o120777);
    assert.equal((await raw.request(ask.path('stat', 3, 'dangling'))).code, Status.noSuchFile);
    assert.equal((await raw.request(ask.path('lstat', 4, 'dangling'))).attrs.size, 7);
    assert.equal((await raw.request(ask.path('stat', 5, ''))).attrs.permissions, 0o40755);
    const handle = await raw.open(6, 'a.txt', READ);
    assert.deepEqual((await raw.request(ask.handle('fstat', 7, handle))).attrs, stat);
    await raw.end();
  });

  it('LSTAT is STAT where the backend has nothing of its own', async () => {
    const raw = await RawSftp.connect({ stat: () => ({ size: 5 }) });
    assert.deepEqual((await raw.request(ask.path('lstat', 1, '/'))).attrs, { size: 5 });
    await raw.end();
  });

  it('SETSTAT and FSETSTAT change exactly what is given', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const before = files.stat('/top.txt');
    const changes = [{ size: 2 }, { permissions: 0o100600 }, { atime: 5, mtime: 0xffffffff }, { uid: 7, gid: 8 }, {}];
    const expected = { ...before };
    for (const [i, attrs] of changes.entries()) {
      assert.equal((await raw.request(ask.setstat(i, '/top.txt', attrs))).code, Status.ok);
      Object.assign(expected, attrs);
      assert.deepEqual(files.stat('/top.txt'), expected);
    }
    const handle = await raw.open(10, '/top.txt', WRITE);
    assert.equal((await raw.request(ask.fsetstat(11, handle, { size: 4, permissions: 0o644 }))).code, Status.ok);
    assert.equal(hex(files.get('/top.txt') ?? utf8('')), '746f0000');
    assert.equal((await raw.request(ask.setstat(12, '/none', {}))).code, Status.noSuchFile);
    assert.equal((await raw.request(ask.setstat(13, '/top.txt', { size: 2 ** 53 - 1 }))).code, Status.ok);
    const huge = fromHex(`0000001d09${'0000000e'}00000008${hex(utf8('/top.txt'))}000000018000000000000000`);
    assert.equal((await raw.request(huge)).code, Status.failure);
    await raw.end();
  });

  it('vendor attributes never reach the backend', async () => {
    const seen: unknown[] = [];
    const backend: SftpBackend = { setstat: (_path, attrs) => void seen.push(attrs) };
    const raw = await RawSftp.connect(backend);
    const attrs = { size: 1, extended: [{ type: 'x@y', data: utf8('z') }] };
    assert.equal((await raw.request(ask.setstat(1, '/a', attrs))).code, Status.ok);
    assert.deepEqual(seen, [{ size: 1 }]);
    await raw.end();
  });

  it('times that no uint32 holds are sent as the nearest (T46)', async () => {
    const raw = await RawSftp.connect({ stat: () => ({ atime: -5, mtime: 7.2e9 }) });
    assert.deepEqual((await raw.request(ask.path('stat', 1, '/'))).attrs, { atime: 0, mtime: 0xffffffff });
    await raw.end();
  });
});

describe('serveSftp: names', () => {
  it('REMOVE, MKDIR and RMDIR', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const codes: [Uint8Array, number][] = [
      [ask.path('remove', 1, 'link'), Status.ok],
      [ask.path('remove', 2, 'link'), Status.noSuchFile],
      [ask.path('remove', 3, 'sub'), Status.failure],
      [ask.mkdir(4, 'dir', { permissions: 0o700 }), Status.ok],
      [ask.mkdir(5, 'dir'), Status.failure],
      [ask.mkdir(6, 'a.txt'), Status.failure],
      [ask.mkdir(7, 'none/dir'), Status.noSuchFile],
      [ask.path('rmdir', 8, 'sub'), Status.failure],
      [ask.path('rmdir', 9, 'dir'), Status.ok],
      [ask.path('rmdir', 10, 'dir'), Status.noSuchFile],
      [ask.path('rmdir', 11, 'a.txt'), Status.noSuchFile],
    ];
    for (const [i, [packet, code]] of codes.entries()) {
      assert.equal((await raw.request(packet)).code, code, String(i + 1));
      if (i === 3) assert.equal(files.stat('/home/ada/dir').permissions, 0o40700);
    }
    assert.ok(files.get('/home/ada/a.txt'));
    await raw.end();
  });

  it('RENAME moves, and never replaces (T42)', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    assert.equal((await raw.request(ask.rename(1, 'a.txt', '/top.txt'))).code, Status.failure);
    assert.equal(Buffer.from(files.get('/top.txt') ?? []).toString(), 'top');
    assert.equal((await raw.request(ask.rename(2, 'a.txt', '/new.txt'))).code, Status.ok);
    assert.equal((await raw.request(ask.rename(3, 'a.txt', '/new2.txt'))).code, Status.noSuchFile);
    assert.equal((await raw.request(ask.rename(4, 'sub', 'dir'))).code, Status.ok);
    assert.equal(Buffer.from(files.get('/home/ada/dir/b.txt') ?? []).toString(), 'b');
    assert.equal((await raw.request(ask.rename(5, 'dir', 'dir/inside'))).code, Status.badMessage);
    await raw.end();
  });

  it('READLINK says what the link says, and SYMLINK takes it first, as OpenSSH', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    assert.equal((await raw.request(ask.path('readlink', 1, 'link'))).name, 'a.txt');
    assert.equal((await raw.request(ask.path('readlink', 2, 'a.txt'))).code, Status.badMessage);
    assert.equal((await raw.request(ask.path('readlink', 3, 'none'))).code, Status.noSuchFile);
    assert.equal((await raw.request(ask.symlink(4, '../../x//./y', 'l'))).code, Status.ok);
    assert.equal((await raw.request(ask.path('readlink', 5, '/home/ada/l'))).name, '../../x//./y');
    assert.equal((await raw.request(ask.symlink(6, 'x', 'l'))).code, Status.failure);
    assert.equal((await raw.request(ask.symlink(7, '', 'm'))).code, Status.noSuchFile);
    await raw.end();
  });

  it('REALPATH: absolute and normalised, existing or not, with one name', async () => {
    const raw = await RawSftp.connect(tree());
    const cases = [
      ['.', '/home/ada'],
      ['', '/home/ada'],
      ['sub/..', '/home/ada'],
      ['//home//', '/home'],
      ['/../..', '/'],
      ['/', '/'],
      ['./sub/./b.txt', '/home/ada/sub/b.txt'],
      ['none', '/home/ada/none'],
      ['link', '/home/ada/a.txt'],
      ['../..', '/'],
      ['../../../../etc', '/etc'],
    ] as const;
    for (const [i, [path, expected]] of cases.entries()) {
      const reply = await raw.request(ask.path('realpath', i, path));
      assert.equal(reply.name, expected, path);
      assert.deepEqual(reply.names[0]?.attrs, {});
    }
    await raw.end();
  });

  it('relative paths begin at the option home, at the home of the backend, or at the root', async () => {
    const homes: [SftpBackend, string | undefined, string][] = [
      [{ home: () => '/backend' }, '/option/./x', '/option/x'],
      [{ home: () => '/backend/' }, undefined, '/backend'],
      [{ home: async () => '/late' }, undefined, '/late'],
      [{}, undefined, '/'],
    ];
    for (const [backend, home, expected] of homes) {
      const raw = await RawSftp.connect(backend, { home });
      assert.equal((await raw.request(ask.path('realpath', 1, ''))).name, expected);
      await raw.end();
    }
    const failing = await RawSftp.connect({ home: () => Promise.reject(new Error('no')) });
    assert.equal((await failing.request(ask.path('realpath', 1, ''))).code, Status.failure);
    assert.equal((await failing.request(ask.path('realpath', 2, '/x'))).name, '/x');
    await failing.end();
  });

  it('names of any bytes come back as they were (T43)', async () => {
    const raw = await RawSftp.connect(memoryFiles());
    const names = ['ff', 'c3', 'fffe', 'e282', 'c3a4', 'f09f9880ff', '0aff'].map(fromHex);
    for (const [i, name] of names.entries()) {
      assert.ok((await raw.request(ask.open(i, name, WRITE | CREAT))).handle);
    }
    const directory = (await raw.request(ask.path('opendir', 20, '/'))).handle;
    const entries = (await raw.request(ask.handle('readdir', 21, directory))).names;
    assert.deepEqual(
      entries.slice(2).map(({ name }) => hex(name)),
      names.map(hex),
    );
    for (const entry of entries.slice(2)) assert.ok(hex(entry.longname).endsWith(hex(entry.name)));
    for (const [i, name] of names.entries()) {
      assert.equal((await raw.request(ask.path('remove', 30 + i, name))).code, Status.ok);
    }
    await raw.end();
  });

  it('refuses a null byte, and paths and links longer than PATH_MAX', async () => {
    const raw = await RawSftp.connect(tree());
    assert.equal((await raw.request(ask.path('stat', 1, '/home\0/x'))).code, Status.badMessage);
    assert.equal((await raw.request(ask.path('stat', 2, '/'.repeat(4097)))).code, Status.badMessage);
    assert.equal((await raw.request(ask.path('stat', 3, '/'.repeat(4096)))).attrs.permissions, 0o40755);
    assert.equal((await raw.request(ask.symlink(4, 'a\0b', 'l'))).code, Status.badMessage);
    assert.equal((await raw.request(ask.symlink(5, 'x'.repeat(4097), 'l'))).code, Status.badMessage);
    assert.equal((await raw.request(ask.open(6, 'x'.repeat(256), WRITE | CREAT))).code, Status.badMessage);
    await raw.end();
  });
});

describe('serveSftp: readOnly', () => {
  it('answers everything that would change something with PERMISSION_DENIED, and changes nothing', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files, { readOnly: true });
    const handle = await raw.open(100, 'a.txt', READ);
    const changes = [
      ask.open(1, 'a.txt', WRITE),
      ask.open(2, 'a.txt', READ | WRITE),
      ask.open(3, 'new', READ | CREAT),
      ask.open(4, 'a.txt', READ | TRUNC),
      ask.write(5, handle, 0, 'x'),
      ask.fsetstat(6, handle, { permissions: 0 }),
      ask.setstat(7, 'a.txt', { size: 0 }),
      ask.mkdir(8, 'new'),
      ask.path('rmdir', 9, 'sub'),
      ask.path('remove', 10, 'a.txt'),
      ask.rename(11, 'a.txt', 'new'),
      ask.symlink(12, 'a.txt', 'new'),
    ];
    for (const [i, packet] of changes.entries()) {
      assert.equal((await raw.request(packet)).code, Status.permissionDenied, String(i + 1));
    }
    assert.equal((await raw.request(ask.read(50, handle, 0, 100))).text, 'hello world');
    assert.deepEqual(
      [...files.list('/home/ada')].map(({ name }) => name),
      ['a.txt', 'sub', 'link', 'dangling'],
    );
    await raw.end();
  });
});

describe('serveSftp: errors of a backend', () => {
  const failing = (error: unknown): SftpBackend => ({
    stat() {
      throw error;
    },
    lstat: () => Promise.reject(error),
  });

  const cases: readonly [error: unknown, code: number, message: RegExp, unexpected: boolean][] = [
    [refuse(Status.permissionDenied, 'not on Sundays'), 3, /^not on Sundays$/, false],
    [refuse(Status.eof, 'at the end'), 1, /^at the end$/, false],
    [refuse(0, 'x'), 4, /^x$/, false],
    [refuse(6, 'x'), 4, /^x$/, false],
    [refuse(11, 'x\u001b[31m'), 4, /^x\\x1b\[31m$/, false],
    [Object.assign(new Error('/secret'), { code: 'ENOENT' }), 2, /^no such file$/, false],
    [Object.assign(new Error('/secret'), { code: 'EACCES' }), 3, /^permission denied$/, false],
    [Object.assign(new Error('/secret'), { code: 'EEXIST' }), 4, /exists/, false],
    [Object.assign(new Error('/secret'), { code: 'ENOSPC' }), 4, /space/, false],
    [Object.assign(new Error('/secret'), { code: 'EINVAL' }), 5, /invalid/, false],
    [Object.assign(new Error('/secret'), { code: 'ENOSYS' }), 8, /not supported/, false],
    [new Error('/secret', { cause: Object.assign(new Error('x'), { code: 'ENOENT' }) }), 2, /^no such file$/, false],
    [Object.assign(new Error('/secret'), { code: 'toString' }), 4, /^failure$/, true],
    [new Error('/secret'), 4, /^failure$/, true],
    ['/secret', 4, /^failure$/, true],
    [undefined, 4, /^failure$/, true],
    [null, 4, /^failure$/, true],
  ];
  for (const [i, [error, code, message, unexpected]] of cases.entries()) {
    it(`become the status that fits, and nothing unexpected is told: ${i + 1}`, async () => {
      const reported: unknown[] = [];
      const raw = await RawSftp.connect(failing(error), { onError: (each) => reported.push(each) });
      for (const row of ['stat', 'lstat'] as const) {
        const reply = await raw.request(ask.path(row, row === 'stat' ? 1 : 2, '/'));
        assert.equal(reply.code, code);
        assert.match(reply.message, message);
      }
      assert.deepEqual(reported, unexpected ? [error, error] : []);
      await raw.end();
    });
  }

  it('survive an onError that throws, and attributes that make no sense', async () => {
    const raw = await RawSftp.connect(
      { stat: () => ({ size: -1 }), realpath: () => '\ud800' },
      {
        onError: () => {
          throw new Error('again');
        },
      },
    );
    assert.equal((await raw.request(ask.path('stat', 1, '/'))).code, Status.failure);
    assert.equal((await raw.request(ask.path('realpath', 2, '/'))).code, Status.failure);
    assert.equal(await raw.end(), undefined);
  });
});
