/** What comes before what: draft-ietf-secsh-filexfer-02 §3, and what clients that do not wait rely on. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, equalBytes } from '../../../src/bytes/bytes.ts';
import { decodeLenient, hex, utf8 } from '../../../src/bytes/text.ts';
import { extensions } from '../../../src/sftp/proto/extensions.ts';
import { OpenFlag } from '../../../src/sftp/proto/packets.ts';
import { Status } from '../../../src/sftp/proto/status.ts';
import { chunkings } from '../../support/feed.ts';
import { GatedFiles } from '../../support/gated_files.ts';
import { pattern } from '../../support/pipe_end.ts';
import { ask, RawSftp, settle } from '../../support/sftp_raw.ts';

const { read: READ, write: WRITE, append: APPEND, create: CREAT } = OpenFlag;
const BLOCK = 32 * 1024;

/** A session on gated files. */
async function session(
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<{ gated: GatedFiles; raw: RawSftp }> {
  const gated = new GatedFiles(files);
  const raw = await RawSftp.connect(gated.backend);
  return { gated, raw };
}

const since = (gated: GatedFiles, from: number): string[] => gated.log.slice(from);

describe('order on one handle', () => {
  it('WRITE, READ, FSETSTAT, FSTAT and CLOSE take effect and are answered as they came', async () => {
    const { gated, raw } = await session({ '/a': 'aaaa' });
    const handle = await raw.open(1, '/a', READ | WRITE);
    raw.send(
      ask.write(2, handle, 0, 'bb'),
      ask.read(3, handle, 0, 10),
      ask.fsetstat(4, handle, { size: 3 }),
      ask.read(5, handle, 0, 10),
      ask.handle('fstat', 6, handle),
      ask.write(7, handle, 2, 'cc'),
      ask.extended(8, extensions.fsync, { handle }),
      ask.read(9, handle, 0, 10),
      ask.handle('close', 10, handle),
      ask.read(11, handle, 0, 10),
      ask.handle('close', 12, handle),
    );
    await raw.reply(12);
    assert.deepEqual(raw.order, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    assert.equal((await raw.reply(3)).text, 'bbaa');
    assert.equal((await raw.reply(5)).text, 'bba');
    assert.equal((await raw.reply(6)).attrs.size, 3);
    assert.equal((await raw.reply(9)).text, 'bbcc');
    assert.equal((await raw.reply(10)).code, Status.ok);
    assert.equal((await raw.reply(11)).code, Status.failure);
    assert.equal((await raw.reply(12)).code, Status.failure);
    assert.equal(gated.overlaps, 0);
    await raw.end();
  });

  for (const chunking of chunkings) {
    it(`each READ sees the WRITEs before it, fed ${chunking}, with a backend that takes its time`, async () => {
      const gated = new GatedFiles({ '/a': '' });
      const raw = await RawSftp.connect(gated.backend, { chunking });
      const handle = await raw.open(1, '/a', READ | WRITE);
      const requests: Uint8Array[] = [];
      for (let i = 0; i < 50; i++) {
        requests.push(ask.write(100 + 2 * i, handle, 10 * i, `${i}`.padStart(10, '.')));
        requests.push(ask.read(101 + 2 * i, handle, 10 * i, 10));
      }
      raw.send(...requests);
      await raw.reply(199);
      for (let i = 0; i < 50; i++) assert.equal((await raw.reply(101 + 2 * i)).text, `${i}`.padStart(10, '.'));
      assert.equal(gated.overlaps, 0);
      await raw.end();
    });
  }

  it('one call at a time, also when calls take long', async () => {
    const { gated, raw } = await session({ '/a': 'aaaa' });
    const handle = await raw.open(1, '/a', READ | WRITE);
    gated.hold('read');
    gated.hold('write');
    raw.send(ask.read(2, handle, 0, 4), ask.write(3, handle, 0, 'bbbb'), ask.read(4, handle, 0, 4));
    await settle();
    assert.deepEqual(gated.waiting, ['read']);
    gated.release('read', false);
    await settle();
    assert.deepEqual(gated.waiting, ['write']);
    gated.release('write');
    await settle();
    gated.release('read');
    assert.equal((await raw.reply(4)).text, 'bbbb');
    assert.equal((await raw.reply(2)).text, 'aaaa');
    assert.equal(gated.overlaps, 0);
    await raw.end();
  });
});

describe('READs that follow on each other', () => {
  it('become one call of up to 256 KiB, and are answered one by one', async () => {
    const content = pattern(20 * BLOCK + 100);
    const { gated, raw } = await session({ '/a': content });
    const handle = await raw.open(1, '/a', READ);
    const from = gated.log.length;
    raw.send(...Array.from({ length: 22 }, (_, i) => ask.read(100 + i, handle, i * BLOCK, BLOCK)));
    await raw.reply(121);
    assert.deepEqual(since(gated, from), [
      'read /a 0+262144',
      'read /a 262144+262144',
      'read /a 524288+196608',
      'read /a 655460+65436',
      'read /a 688128+32768',
    ]);
    for (let i = 0; i < 20; i++) {
      assert.ok(equalBytes((await raw.reply(100 + i)).data, content.subarray(i * BLOCK, (i + 1) * BLOCK)), String(i));
    }
    assert.equal((await raw.reply(120)).data.length, 100);
    assert.equal((await raw.reply(121)).code, Status.eof);
    await raw.end();
  });

  it('are not joined over a gap, an overlap, an empty one or another request', async () => {
    const { gated, raw } = await session({ '/a': pattern(1000) });
    const handle = await raw.open(1, '/a', READ);
    const from = gated.log.length;
    raw.send(
      ask.read(2, handle, 0, 10),
      ask.read(3, handle, 20, 10),
      ask.read(4, handle, 25, 10),
      ask.read(5, handle, 35, 0),
      ask.read(6, handle, 35, 5),
      ask.handle('fstat', 7, handle),
      ask.read(8, handle, 40, 5),
    );
    await raw.reply(8);
    assert.deepEqual(since(gated, from), [
      'read /a 0+10',
      'read /a 20+10',
      'read /a 25+10',
      'read /a 35+5',
      'fstat /a',
      'read /a 40+5',
    ]);
    await raw.end();
  });

  it('a backend that gives less than asked is asked for the rest: every READ is full, none is EOF', async () => {
    for (const clamp of [1, 7, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 100_000]) {
      const content = pattern(clamp < 10 ? 300 : 4 * BLOCK + 17);
      const size = clamp < 10 ? 64 : BLOCK;
      const { gated, raw } = await session({ '/a': content });
      gated.clamp = clamp;
      const handle = await raw.open(1, '/a', READ);
      const count = Math.ceil(content.length / size);
      raw.send(...Array.from({ length: count + 1 }, (_, i) => ask.read(10 + i, handle, i * size, size)));
      await raw.reply(10 + count);
      for (let i = 0; i < count; i++) {
        assert.equal(
          hex((await raw.reply(10 + i)).data),
          hex(content.subarray(i * size, (i + 1) * size)),
          `${clamp} ${i}`,
        );
      }
      assert.equal((await raw.reply(10 + count)).code, Status.eof);
      await raw.end();
    }
  });

  it('of a pipe or terminal are answered with what came', async () => {
    const gated = new GatedFiles({ '/a': pattern(1000) });
    gated.stream = true;
    gated.clamp = 150;
    const raw = await RawSftp.connect(gated.backend);
    const handle = await raw.open(1, '/a', READ);
    const from = gated.log.length;
    raw.send(ask.read(2, handle, 0, 100), ask.read(3, handle, 100, 100), ask.read(4, handle, 200, 100));
    await raw.reply(4);
    assert.deepEqual(
      [2, 3, 4].map((id) => raw.replies.find((reply) => reply.id === id)?.data.length),
      [100, 50, 100],
    );
    assert.deepEqual(since(gated, from), ['read /a 0+300', 'read /a 200+100']);
    await raw.end();
  });

  it('are tried one by one when the call for all fails: only the one that fails is told', async () => {
    const { gated, raw } = await session({ '/a': pattern(1000) });
    gated.fails = (call, _path, offset, length) =>
      call === 'read' && offset <= 250 && offset + length > 250
        ? Object.assign(new Error(), { code: 'EIO' })
        : undefined;
    const handle = await raw.open(1, '/a', READ);
    raw.send(...[0, 1, 2, 3, 4].map((i) => ask.read(10 + i, handle, i * 100, 100)));
    await raw.reply(14);
    assert.deepEqual(raw.order.slice(1), [10, 11, 12, 13, 14]);
    for (const i of [0, 1, 3, 4]) assert.equal((await raw.reply(10 + i)).data.length, 100);
    assert.equal((await raw.reply(12)).code, Status.failure);
    await raw.end();
  });

  it('an error behind the beginning is told when the rest is asked for', async () => {
    const { gated, raw } = await session({ '/a': pattern(1000) });
    gated.clamp = 60;
    gated.fails = (call, _path, offset) =>
      call === 'read' && offset >= 60 ? Object.assign(new Error(), { code: 'EACCES' }) : undefined;
    const handle = await raw.open(1, '/a', READ);
    assert.equal((await raw.request(ask.read(2, handle, 0, 100))).data.length, 60);
    assert.equal((await raw.request(ask.read(3, handle, 60, 40))).code, Status.permissionDenied);
    await raw.end();
  });

  it('a backend that gives more than asked, or no bytes at all, does no harm', async () => {
    const answers: unknown[] = [new Uint8Array(50).fill(1), 'text', undefined, null];
    const raw = await RawSftp.connect({
      open: () => ({ read: () => answers.shift() as Uint8Array, close: () => undefined }),
    });
    const handle = await raw.open(1, '/a', READ);
    assert.equal((await raw.request(ask.read(2, handle, 0, 10))).data.length, 10);
    for (const id of [3, 4, 5]) assert.equal((await raw.request(ask.read(id, handle, 0, 10))).code, Status.failure);
    await raw.end();
  });
});

describe('WRITEs that follow on each other', () => {
  it('become one call while another runs, and are acknowledged one by one when it is done', async () => {
    const { gated, raw } = await session({ '/a': '' });
    const handle = await raw.open(1, '/a', WRITE);
    const content = pattern(40 * BLOCK);
    gated.hold('write');
    const from = gated.log.length;
    const write = (i: number): Uint8Array =>
      ask.write(100 + i, handle, i * BLOCK, content.subarray(i * BLOCK, (i + 1) * BLOCK));
    raw.send(write(0));
    await settle();
    raw.send(...Array.from({ length: 39 }, (_, i) => write(i + 1)));
    await settle();
    assert.deepEqual(raw.order, [1], 'nothing is acknowledged before the backend took it');
    gated.release('write', false);
    await raw.reply(100);
    await settle();
    assert.deepEqual(raw.order, [1, 100]);
    gated.release('write');
    await raw.reply(139);
    assert.deepEqual(since(gated, from), ['write /a 0+32768', 'write /a 32768+1048576', 'write /a 1081344+229376']);
    assert.deepEqual(
      raw.order.slice(1),
      Array.from({ length: 40 }, (_, i) => 100 + i),
    );
    assert.ok(equalBytes(gated.memory.get('/a') ?? utf8(''), content));
    await raw.end();
  });

  it('are not joined over a gap or another request', async () => {
    const { gated, raw } = await session({ '/a': '' });
    const handle = await raw.open(1, '/a', READ | WRITE);
    const from = gated.log.length;
    raw.send(
      ask.write(2, handle, 0, 'ab'),
      ask.write(3, handle, 2, 'cd'),
      ask.write(4, handle, 5, 'gh'),
      ask.read(5, handle, 0, 10),
      ask.write(6, handle, 4, 'ef'),
    );
    await raw.reply(6);
    assert.deepEqual(since(gated, from), [
      'write /a 0+4',
      'write /a 5+2',
      'read /a 0+10',
      'read /a 7+3',
      'write /a 4+2',
    ]);
    assert.equal((await raw.reply(5)).text, 'abcd\0gh');
    await raw.end();
  });

  it('are tried one by one when the call for all fails: those before the one that fails are acknowledged', async () => {
    const { gated, raw } = await session({ '/a': '' });
    gated.fails = (call, _path, offset, length) =>
      call === 'write' && offset + length > 300 ? Object.assign(new Error(), { code: 'ENOSPC' }) : undefined;
    const handle = await raw.open(1, '/a', WRITE);
    raw.send(...[0, 1, 2, 3, 4].map((i) => ask.write(10 + i, handle, i * 100, new Uint8Array(100))));
    await raw.reply(14);
    const codes = await Promise.all([0, 1, 2, 3, 4].map(async (i) => (await raw.reply(10 + i)).code));
    assert.deepEqual(codes, [0, 0, 0, 4, 4]);
    await raw.end();
  });

  it('that append are tried once, since some of it may be there', async () => {
    const { gated, raw } = await session({ '/a': '' });
    let failures = 0;
    gated.fails = (call) => (call === 'write' && failures++ === 0 ? new Error('once') : undefined);
    const handle = await raw.open(1, '/a', WRITE | APPEND);
    raw.send(...[0, 1, 2].map((i) => ask.write(10 + i, handle, 0, `${i}`)));
    await raw.reply(12);
    const codes = await Promise.all([0, 1, 2].map(async (i) => (await raw.reply(10 + i)).code));
    assert.deepEqual(codes, [4, 4, 4]);
    assert.equal(gated.log.filter((call) => call.startsWith('write')).length, 1);
    assert.equal((await raw.request(ask.write(20, handle, 0, 'x'))).code, Status.ok);
    await raw.end();
  });
});

describe('handles do not wait for each other', () => {
  it('a read, a write or a close that never settles holds up nobody else', async () => {
    const { gated, raw } = await session({ '/a': 'a', '/b': 'b', '/c': 'c', '/d': 'd' });
    const [a, b, c, d] = [
      await raw.open(1, '/a', READ),
      await raw.open(2, '/b', WRITE),
      await raw.open(3, '/c', READ | WRITE),
      await raw.open(4, '/d', READ),
    ] as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    gated.hold('read', '/a');
    gated.hold('write', '/b');
    gated.hold('close', '/d');
    raw.send(ask.read(10, a, 0, 1), ask.write(11, b, 0, 'x'), ask.handle('close', 12, d));
    for (let i = 0; i < 5; i++) {
      assert.equal((await raw.request(ask.write(20 + 2 * i, c, 0, `${i}`))).code, Status.ok);
      assert.equal((await raw.request(ask.read(21 + 2 * i, c, 0, 1))).text, `${i}`);
    }
    assert.deepEqual(
      raw.order.filter((id) => id >= 10 && id < 20),
      [],
    );
    for (const call of ['read', 'write', 'close'] as const) gated.release(call);
    for (const id of [10, 11, 12]) await raw.reply(id);
    await raw.end();
  });

  it('take turns: a handle with many requests does not keep another waiting', async () => {
    const { raw } = await session({ '/a': pattern(100 * BLOCK), '/b': 'b' });
    const a = await raw.open(1, '/a', READ);
    const b = await raw.open(2, '/b', READ);
    raw.send(
      ...Array.from({ length: 64 }, (_, i) => ask.read(100 + i, a, 2 * i * BLOCK, BLOCK)),
      ask.read(10, b, 0, 1),
    );
    await raw.until(() => raw.replies.length === 67, 'all replies');
    assert.ok(raw.order.indexOf(10) <= 4, String(raw.order));
    await raw.end();
  });
});

describe('requests with a path', () => {
  it('are done and answered in order', async () => {
    const { gated, raw } = await session({ '/a': 'a' });
    gated.hold('rename');
    raw.send(
      ask.path('stat', 1, '/a'),
      ask.rename(2, '/a', '/b'),
      ask.path('stat', 3, '/b'),
      ask.path('realpath', 4, '/x/..'),
      ask.path('remove', 5, '/b'),
      ask.path('stat', 6, '/b'),
    );
    await raw.reply(1);
    await settle();
    assert.deepEqual(raw.order, [1]);
    gated.release('rename');
    await raw.reply(6);
    assert.deepEqual(raw.order, [1, 2, 3, 4, 5, 6]);
    const codes = await Promise.all([2, 5, 6].map(async (id) => (await raw.reply(id)).code));
    assert.deepEqual(codes, [0, 0, 2]);
    await raw.end();
  });

  it('wait for WRITE, FSETSTAT and CLOSE of any handle before them, and not for those after', async () => {
    const { gated, raw } = await session({ '/a': 'a', '/b': 'b' });
    const a = await raw.open(1, '/a', READ | WRITE);
    const b = await raw.open(2, '/b', WRITE);
    for (const [i, held] of (['write', 'fsetstat', 'close'] as const).entries()) {
      const id = 100 * (i + 1);
      gated.hold(held);
      const change =
        held === 'write'
          ? ask.write(id, a, 0, 'A')
          : held === 'fsetstat'
            ? ask.fsetstat(id, a, {})
            : ask.handle('close', id, a);
      raw.send(change, ask.path('stat', id + 1, '/a'), ask.path('stat', id + 2, '/b'), ask.write(id + 3, b, 0, 'B'));
      await settle();
      assert.deepEqual(raw.replies.filter((reply) => reply.id > id && reply.id < id + 3).length, 0, held);
      gated.release(held, false);
      await raw.reply(id + 2);
      gated.release(held);
      await raw.reply(id + 3);
    }
    await raw.end();
  });

  it('do not wait for changes that came later', async () => {
    const { gated, raw } = await session({ '/a': 'a', '/b': 'b' });
    const a = await raw.open(1, '/a', WRITE);
    const b = await raw.open(2, '/b', WRITE);
    gated.hold('fsetstat');
    gated.hold('write');
    raw.send(ask.fsetstat(3, a, {}), ask.path('stat', 4, '/a'), ask.write(5, b, 0, 'B'), ask.path('stat', 6, '/b'));
    await settle();
    assert.deepEqual(raw.order, [1, 2]);
    gated.release('fsetstat');
    await raw.reply(4);
    await settle();
    assert.deepEqual(raw.order, [1, 2, 3, 4]);
    gated.release('write');
    await raw.reply(6);
    await raw.end();
  });

  it('do not wait for READs', async () => {
    const { gated, raw } = await session({ '/a': 'a' });
    const a = await raw.open(1, '/a', READ);
    gated.hold('read');
    raw.send(ask.read(2, a, 0, 1));
    assert.equal((await raw.request(ask.path('stat', 3, '/a'))).attrs.size, 1);
    gated.release('read');
    await raw.reply(2);
    await raw.end();
  });

  it('WRITE, CLOSE and RENAME, none of them waited for', async () => {
    const { gated, raw } = await session({});
    gated.hold('open');
    gated.hold('write');
    raw.send(ask.open(1, '/f.part', WRITE | CREAT), ask.open(2, '/f.part', READ));
    await settle();
    gated.release('open');
    const handle = (await raw.reply(1)).handle;
    raw.send(
      ...Array.from({ length: 10 }, (_, i) => ask.write(10 + i, handle, i, `${i}`)),
      ask.handle('close', 20, handle),
      ask.rename(21, '/f.part', '/f'),
      ask.open(22, '/f', READ),
    );
    await settle();
    assert.deepEqual(raw.order, [1, 2]);
    gated.release('write');
    await raw.reply(22);
    assert.deepEqual(raw.order.slice(-3), [20, 21, 22]);
    assert.equal(decodeLenient(gated.memory.get('/f') ?? utf8('')), '0123456789');
    await raw.end();
  });
});

describe('copy-data', () => {
  const copy = (id: number, from: Uint8Array, at: number, length: number, to: Uint8Array, toAt: number): Uint8Array =>
    ask.extended(id, extensions.copyData, {
      from,
      fromOffset: BigInt(at),
      length: BigInt(length),
      to,
      toOffset: BigInt(toAt),
    });

  it('comes in the order of both handles', async () => {
    const { raw } = await session({ '/a': 'aaaa', '/b': 'bbbb' });
    const a = await raw.open(1, '/a', READ | WRITE);
    const b = await raw.open(2, '/b', READ | WRITE);
    raw.send(
      ask.write(3, a, 0, 'AA'),
      ask.write(4, b, 0, 'BB'),
      copy(5, a, 0, 3, b, 1),
      ask.write(6, a, 0, 'xx'),
      ask.read(7, b, 0, 10),
      copy(8, b, 0, 0, a, 4),
      ask.read(9, a, 0, 20),
      ask.path('stat', 10, '/a'),
    );
    await raw.until(() => raw.replies.length === 10, 'all replies');
    assert.deepEqual([(await raw.reply(5)).code, (await raw.reply(8)).code], [Status.ok, Status.ok]);
    assert.equal((await raw.reply(7)).text, 'BAAa');
    assert.equal((await raw.reply(9)).text, 'xxaaBAAa');
    assert.equal((await raw.reply(10)).attrs.size, 8);
    await raw.end();
  });

  it('waits for calls on either handle, and holds up both and no other', async () => {
    const { gated, raw } = await session({ '/a': 'aaaa', '/b': 'bbbb', '/c': 'cccc' });
    const [a, b, c] = [
      await raw.open(1, '/a', READ | WRITE),
      await raw.open(2, '/b', READ | WRITE),
      await raw.open(3, '/c', READ | WRITE),
    ] as [Uint8Array, Uint8Array, Uint8Array];
    gated.hold('read', '/a');
    raw.send(ask.read(10, a, 0, 1), copy(11, b, 0, 0, a, 0), ask.write(12, b, 0, 'B'), ask.read(13, c, 0, 4));
    await raw.reply(13);
    await settle();
    assert.deepEqual(raw.order, [1, 2, 3, 13]);
    gated.release('read');
    await raw.reply(12);
    assert.equal(decodeLenient(gated.memory.get('/a') ?? utf8('')), 'bbbb');
    assert.equal(decodeLenient(gated.memory.get('/b') ?? utf8('')), 'Bbbb');
    assert.equal(gated.overlaps, 0);
    await raw.end();
  });

  it('copies to the end in pieces, and says EOF where there is less than asked, as OpenSSH', async () => {
    const content = pattern(10 * 1024 * 1024 + 5);
    const { gated, raw } = await session({ '/a': content, '/b': '' });
    const a = await raw.open(1, '/a', READ);
    const b = await raw.open(2, '/b', WRITE);
    assert.equal((await raw.request(copy(3, a, 0, 0, b, 0))).code, Status.ok);
    assert.ok(equalBytes(gated.memory.get('/b') ?? utf8(''), content));
    assert.equal((await raw.request(copy(4, a, 1000, content.length, b, 0))).code, Status.eof);
    assert.equal((await raw.request(copy(5, a, content.length - 5, 5, b, 0))).code, Status.ok);
    assert.equal((await raw.request(copy(6, a, content.length, 0, b, 0))).code, Status.ok);
    await raw.end();
  });

  it('refuses a file onto itself, and handles of the wrong kind', async () => {
    const { gated, raw } = await session({ '/a': 'aaaa', '/b': 'bbbb' });
    const a = await raw.open(1, '/a', READ | WRITE);
    const again = await raw.open(2, '/x/../a', READ | WRITE);
    const b = await raw.open(3, '/b', READ);
    const writer = await raw.open(4, '/b', WRITE);
    const directory = (await raw.request(ask.path('opendir', 5, '/'))).handle;
    const cases: [Uint8Array, Uint8Array, number][] = [
      [a, a, Status.failure],
      [a, again, Status.failure],
      [a, b, Status.permissionDenied],
      [writer, a, Status.permissionDenied],
      [directory, a, Status.failure],
      [a, directory, Status.failure],
      [a, new Uint8Array(8), Status.failure],
      [new Uint8Array(8), a, Status.failure],
    ];
    for (const [i, [from, to, code]] of cases.entries()) {
      assert.equal((await raw.request(copy(10 + i, from, 0, 0, to, 2))).code, code, String(i));
    }
    assert.equal(decodeLenient(gated.memory.get('/a') ?? utf8('')), 'aaaa');
    assert.equal((await raw.request(copy(30, a, 2 ** 52, 0, writer, Number.MAX_SAFE_INTEGER))).code, Status.failure);
    await raw.end();
  });

  it('of a handle that was closed before is refused, and frees the other', async () => {
    const { raw } = await session({ '/a': 'aaaa', '/b': 'bbbb' });
    const a = await raw.open(1, '/a', READ);
    const b = await raw.open(2, '/b', READ | WRITE);
    raw.send(ask.handle('close', 3, a), copy(4, a, 0, 0, b, 0), ask.read(5, b, 0, 10));
    await raw.reply(5);
    assert.equal((await raw.reply(4)).code, Status.failure);
    assert.equal((await raw.reply(5)).text, 'bbbb');
    await raw.end();
  });
});

describe('replies', () => {
  it('of one turn are written together', async () => {
    const { raw } = await session({ '/a': pattern(10 * BLOCK) });
    const handle = await raw.open(1, '/a', READ);
    const joined = await RawSftp.connect(new GatedFiles({ '/a': pattern(1000) }).backend, {
      pipes: { chunk: (bytes) => [bytes] },
    });
    const other = await joined.open(1, '/a', READ);
    const before = joined.chunks;
    joined.send(concat(...Array.from({ length: 20 }, (_, i) => ask.read(100 + i, other, i * 10, 10))));
    await joined.reply(119);
    assert.equal(joined.chunks - before, 1);
    await raw.request(ask.handle('close', 2, handle));
    await raw.end();
    await joined.end();
  });
});
