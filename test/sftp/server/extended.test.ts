/** Extended requests: OpenSSH PROTOCOL §4. Names and versions are those that OpenSSH's sftp-server announces. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeFields } from '../../../src/bytes/schema.ts';
import { decodeLenient, fromHex, hex, utf8 } from '../../../src/bytes/text.ts';
import { encodeAttributes } from '../../../src/sftp/proto/attrs.ts';
import type { FileSystemStats } from '../../../src/sftp/proto/extensions.ts';
import { extensions } from '../../../src/sftp/proto/extensions.ts';
import { decodePacket, encodePacket, OpenFlag, packets, readPairs } from '../../../src/sftp/proto/packets.ts';
import { Status } from '../../../src/sftp/proto/status.ts';
import type { SftpBackend } from '../../../src/sftp/server/backend.ts';
import { type MemoryFiles, memoryFiles } from '../../../src/sftp/server/memory_fs.ts';
import { ask, RawSftp } from '../../support/sftp_raw.ts';

const { read: READ, write: WRITE } = OpenFlag;

function tree(): MemoryFiles {
  const files = memoryFiles({
    files: { '/home/ada/a.txt': 'aaaa', '/home/ada/b.txt': 'bb' },
    home: '/home/ada',
    owner: { uid: 1000, gid: 100, user: 'ada', group: 'users' },
    maxBytes: 4096 * 1000,
    maxFiles: 500,
    now: () => 0,
  });
  files.symlink('a.txt', '/home/ada/link');
  return files;
}

/** What VERSION announces, as `name version`. */
function announced(raw: RawSftp): string[] {
  const { extensions: pairs } = decodePacket(packets.version, raw.version as Uint8Array);
  return readPairs(pairs).map(({ name, value }) => `${name} ${decodeLenient(value)}`);
}

const ALL = [
  'posix-rename@openssh.com 1',
  'statvfs@openssh.com 2',
  'fstatvfs@openssh.com 2',
  'hardlink@openssh.com 1',
  'fsync@openssh.com 1',
  'lsetstat@openssh.com 1',
  'limits@openssh.com 1',
  'expand-path@openssh.com 1',
  'copy-data 1',
  'home-directory 1',
  'users-groups-by-id@openssh.com 1',
];

/** A body for each request, by its name. */
function bodies(handle: Uint8Array): Readonly<Record<string, Uint8Array>> {
  const path = utf8('/home/ada/a.txt');
  const all = {
    [extensions.posixRename.request]: ask.extended(0, extensions.posixRename, { from: path, to: utf8('/x') }),
    [extensions.statvfs.request]: ask.extended(0, extensions.statvfs, { path }),
    [extensions.fstatvfs.request]: ask.extended(0, extensions.fstatvfs, { handle }),
    [extensions.hardlink.request]: ask.extended(0, extensions.hardlink, { from: path, to: utf8('/y') }),
    [extensions.fsync.request]: ask.extended(0, extensions.fsync, { handle }),
    [extensions.lsetstat.request]: ask.extended(0, extensions.lsetstat, { path, attrs: encodeAttributes({}) }),
    [extensions.limits.request]: ask.extended(0, extensions.limits, {}),
    [extensions.expandPath.request]: ask.extended(0, extensions.expandPath, { path: utf8('~') }),
    [extensions.copyData.request]: ask.extended(0, extensions.copyData, {
      from: handle,
      fromOffset: 0n,
      length: 0n,
      to: handle,
      toOffset: 0n,
    }),
    [extensions.homeDirectory.request]: ask.extended(0, extensions.homeDirectory, { username: utf8('') }),
    [extensions.ownerNames.request]: ask.extended(0, extensions.ownerNames, { users: utf8(''), groups: utf8('') }),
  };
  return Object.fromEntries(
    Object.entries(all).map(([name, packet]) => [name, decodePacket(packets.extended, packet.subarray(4)).body]),
  );
}

const extendedRequest = (id: number, request: string, body: Uint8Array): Uint8Array =>
  encodePacket(packets.extended, { id, request, body });

describe('VERSION announces', () => {
  it('everything that the backend can do', async () => {
    const raw = await RawSftp.connect(tree());
    assert.deepEqual(announced(raw), ALL);
    await raw.end();
  });

  it('nothing that changes anything, where nothing may be changed', async () => {
    const raw = await RawSftp.connect(tree(), { readOnly: true });
    const changing = ['posix-rename@openssh.com', 'hardlink@openssh.com', 'lsetstat@openssh.com', 'copy-data'];
    assert.deepEqual(
      announced(raw),
      ALL.filter((each) => !changing.includes(each.split(' ')[0] ?? '')),
    );
    await raw.end();
  });

  const none = (): never => {
    throw new Error('not asked for');
  };
  const single: readonly [backend: SftpBackend, names: string[]][] = [
    [{}, []],
    [{ stat: none, rename: none, list: none }, []],
    [{ posixRename: none }, ['posix-rename@openssh.com 1']],
    [{ statvfs: none }, ['statvfs@openssh.com 2']],
    [{ files: { statvfs: true } }, ['fstatvfs@openssh.com 2']],
    [{ hardlink: none }, ['hardlink@openssh.com 1']],
    [{ files: { sync: true } }, ['fsync@openssh.com 1']],
    [{ files: { sync: false } }, []],
    [{ lsetstat: none }, ['lsetstat@openssh.com 1']],
    [{ home: none }, ['expand-path@openssh.com 1', 'home-directory 1']],
    [{ open: none }, ['copy-data 1']],
    [{ ownerNames: none }, ['users-groups-by-id@openssh.com 1']],
  ];
  for (const [i, [backend, names]] of single.entries()) {
    it(`what a backend with ${Object.keys(backend).join(', ') || 'nothing'} can do, ${i}`, async () => {
      const raw = await RawSftp.connect(backend);
      assert.deepEqual(
        announced(raw),
        ALL.filter((each) => names.includes(each) || each.startsWith('limits')),
      );
      await raw.end();
    });
  }
});

describe('extended requests', () => {
  it('unknown ones, and those that the backend cannot do, are OP_UNSUPPORTED', async () => {
    const raw = await RawSftp.connect({});
    const all = { ...bodies(new Uint8Array(8)), 'bogus@example.com': utf8('x'), '': utf8('') };
    for (const [i, [name, body]] of Object.entries(all).entries()) {
      if (name === 'limits@openssh.com') continue;
      const reply = await raw.request(extendedRequest(i, name, body));
      assert.equal(reply.code, Status.opUnsupported, name);
    }
    await raw.end();
  });

  it('with a body cut short or too long are BAD_MESSAGE, and nothing is done', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const handle = await raw.open(1, 'a.txt', READ | WRITE);
    let id = 10;
    for (const [name, body] of Object.entries(bodies(handle))) {
      for (const bad of [body.subarray(0, -1), new Uint8Array([...body, 0])]) {
        if (name === 'limits@openssh.com' && bad.length === 0) continue;
        assert.equal((await raw.request(extendedRequest(id++, name, bad))).code, Status.badMessage, name);
      }
    }
    assert.deepEqual(
      [...files.list('/')].map(({ name }) => name),
      ['home'],
    );
    await raw.end();
  });

  it('that change something are PERMISSION_DENIED where nothing may be changed', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files, { readOnly: true });
    const all = bodies(await raw.open(1, 'a.txt', READ));
    for (const [i, name] of [
      'posix-rename@openssh.com',
      'hardlink@openssh.com',
      'lsetstat@openssh.com',
      'copy-data',
    ].entries()) {
      const reply = await raw.request(extendedRequest(10 + i, name, all[name] ?? utf8('')));
      assert.equal(reply.code, Status.permissionDenied, name);
    }
    assert.deepEqual(
      [...files.list('/')].map(({ name }) => name),
      ['home'],
    );
    await raw.end();
  });

  it('posix-rename replaces, hardlink does not (T42)', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const paths = (from: string, to: string): { from: Uint8Array; to: Uint8Array } => ({
      from: utf8(from),
      to: utf8(to),
    });
    assert.equal(
      (await raw.request(ask.extended(1, extensions.hardlink, paths('a.txt', 'b.txt')))).code,
      Status.failure,
    );
    assert.equal((await raw.request(ask.extended(2, extensions.hardlink, paths('a.txt', 'c.txt')))).code, Status.ok);
    assert.equal(
      (await raw.request(ask.extended(3, extensions.hardlink, paths('none', 'd.txt')))).code,
      Status.noSuchFile,
    );
    assert.equal((await raw.request(ask.extended(4, extensions.posixRename, paths('a.txt', 'b.txt')))).code, Status.ok);
    assert.equal(
      (await raw.request(ask.extended(5, extensions.posixRename, paths('a.txt', 'b.txt')))).code,
      Status.noSuchFile,
    );
    assert.equal(decodeLenient(files.get('/home/ada/b.txt') ?? utf8('')), 'aaaa');
    assert.equal(decodeLenient(files.get('/home/ada/c.txt') ?? utf8('')), 'aaaa');
    await raw.end();
  });

  it('statvfs and fstatvfs: the figures in the order of the protocol', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const handle = await raw.open(1, 'a.txt', READ);
    const figures = {
      blockSize: 4096n,
      fragmentSize: 4096n,
      blocks: 1000n,
      freeBlocks: 999n,
      availableBlocks: 999n,
      files: 500n,
      freeFiles: 495n,
      availableFiles: 495n,
      id: 0n,
      flags: 2n,
      maxName: 255n,
    };
    const byPath = (await raw.request(ask.extended(2, extensions.statvfs, { path: utf8('.') }))).body;
    assert.deepEqual(decodeFields(extensions.statvfs.reply, byPath), figures);
    assert.equal(hex(byPath.subarray(0, 24)), '0000000000001000000000000000100000000000000003e8');
    const byHandle = (await raw.request(ask.extended(3, extensions.fstatvfs, { handle }))).body;
    assert.deepEqual(byHandle, byPath);
    assert.equal(
      (await raw.request(ask.extended(4, extensions.statvfs, { path: utf8('none') }))).code,
      Status.noSuchFile,
    );
    await raw.end();
    const fixed = await RawSftp.connect(files, { readOnly: true });
    const body = (await fixed.request(ask.extended(2, extensions.statvfs, { path: utf8('/') }))).body;
    assert.equal(decodeFields(extensions.statvfs.reply, body).flags, 3n);
    await fixed.end();
  });

  it('statvfs: what a system does not count is 0', async () => {
    const stats = {
      blockSize: 512.7,
      blocks: -1,
      files: Number.NaN,
      id: 2 ** 53 - 1,
      readOnly: true,
    } as FileSystemStats;
    const raw = await RawSftp.connect({ statvfs: () => ({ ...tree().statvfs(), ...stats }) });
    const body = (await raw.request(ask.extended(1, extensions.statvfs, { path: utf8('/') }))).body;
    const { blockSize, blocks, files, id, flags } = decodeFields(extensions.statvfs.reply, body);
    assert.deepEqual([blockSize, blocks, files, id, flags], [512n, 0n, 0n, 9007199254740991n, 3n]);
    await raw.end();
  });

  it('fsync', async () => {
    let synced = 0;
    const file = { sync: () => void synced++, close: () => undefined };
    const raw = await RawSftp.connect({
      open: (path) => (path === '/no' ? { close: () => undefined } : file),
      files: { sync: true },
    });
    const handle = await raw.open(1, '/a', READ);
    assert.equal((await raw.request(ask.extended(2, extensions.fsync, { handle }))).code, Status.ok);
    assert.equal(synced, 1);
    const without = await raw.open(3, '/no', READ);
    assert.equal(
      (await raw.request(ask.extended(4, extensions.fsync, { handle: without }))).code,
      Status.opUnsupported,
    );
    assert.equal((await raw.request(ask.extended(5, extensions.fsync, { handle: utf8('') }))).code, Status.failure);
    await raw.end();
  });

  it('lsetstat changes the link itself, and has no size to change', async () => {
    const files = tree();
    const raw = await RawSftp.connect(files);
    const set = (id: number, attrs: object): Uint8Array =>
      ask.extended(id, extensions.lsetstat, { path: utf8('link'), attrs: encodeAttributes(attrs) });
    assert.equal((await raw.request(set(1, { atime: 5, mtime: 6 }))).code, Status.ok);
    assert.equal(files.lstat('/home/ada/link').mtime, 6);
    assert.equal(files.stat('/home/ada/link').mtime, 0);
    assert.equal((await raw.request(set(2, { size: 1 }))).code, Status.badMessage);
    await raw.end();
  });

  it('limits says what is enforced', async () => {
    const raw = await RawSftp.connect(tree());
    const body = (await raw.request(ask.extended(1, extensions.limits, {}))).body;
    assert.deepEqual(decodeFields(extensions.limits.reply, body), {
      maxPacketLength: 262144n,
      maxReadLength: 261120n,
      maxWriteLength: 261120n,
      maxOpenHandles: 256n,
    });
    await raw.end();
    const limits = { openHandles: 7, packetLength: 40_000, readLength: 5000 };
    const other = await RawSftp.connect(tree(), { limits });
    const small = (await other.request(ask.extended(1, extensions.limits, {}))).body;
    assert.deepEqual(decodeFields(extensions.limits.reply, small), {
      maxPacketLength: 40_000n,
      maxReadLength: 5000n,
      maxWriteLength: 38_976n,
      maxOpenHandles: 7n,
    });
    const handle = await other.open(2, 'a.txt', WRITE);
    assert.equal((await other.request(ask.write(3, handle, 0, new Uint8Array(38_976)))).code, Status.ok);
    await other.end();
  });

  it('expand-path and home-directory', async () => {
    const raw = await RawSftp.connect(tree(), { username: 'me', home: '/home/ada/start' });
    const expand = (id: number, path: string): Uint8Array =>
      ask.extended(id, extensions.expandPath, { path: utf8(path) });
    const cases = [
      ['~', '/home/ada/start'],
      ['', '/home/ada/start'],
      ['~/', '/home/ada/start'],
      ['~/../link', '/home/ada/a.txt'],
      ['~me/x', '/home/ada/x'],
      ['~ada', '/home/ada'],
      ['~ada/../..', '/'],
      ['x/~', '/home/ada/start/x/~'],
      ['/home/ada/link', '/home/ada/a.txt'],
    ] as const;
    // the home that the backend knows is there; where the session begins need not be
    for (const [i, [path, expected]] of cases.entries()) {
      const reply = await raw.request(expand(i, path));
      if (path === '~/../link' || path === '/home/ada/link') assert.equal(reply.name, '/home/ada/a.txt', path);
      else if (expected.startsWith('/home/ada/start/')) assert.equal(reply.code, Status.noSuchFile, path);
      else assert.equal(reply.name, expected, path);
    }
    assert.equal((await raw.request(expand(20, '~nobody'))).code, Status.noSuchFile);
    const home = (id: number, name: string): Uint8Array =>
      ask.extended(id, extensions.homeDirectory, { username: utf8(name) });
    for (const [i, name] of ['', 'me', 'ada'].entries()) {
      assert.equal((await raw.request(home(30 + i, name))).name, '/home/ada');
    }
    assert.equal((await raw.request(home(40, 'nobody'))).code, Status.noSuchFile);
    await raw.end();
  });

  it('users-groups-by-id gives a string for each id, empty where there is no name', async () => {
    const raw = await RawSftp.connect(tree());
    const names = (id: number, users: string, groups: string): Uint8Array =>
      ask.extended(id, extensions.ownerNames, { users: fromHex(users), groups: fromHex(groups) });
    const body = (await raw.request(names(1, '000003e8000003e9', '000000640000006400000000'))).body;
    assert.equal(
      hex(body),
      '0000000b' +
        '00000003616461' +
        '00000000' +
        '00000016' +
        '000000057573657273' +
        '000000057573657273' +
        '00000000',
    );
    assert.equal(hex((await raw.request(names(2, '', ''))).body), '0000000000000000');
    assert.equal((await raw.request(names(3, '0000', ''))).code, Status.badMessage);
    assert.equal((await raw.request(names(4, '00000001'.repeat(4097), ''))).code, Status.failure);
    await raw.end();
    const short = await RawSftp.connect({ ownerNames: () => ({ users: [], groups: ['g', 'more'] }) });
    const filled = (await short.request(names(1, '00000001', '00000001'))).body;
    assert.equal(hex(filled), '0000000400000000' + '000000050000000167');
    await short.end();
  });
});
