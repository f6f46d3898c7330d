/** Clients that do not read, that send more than is done, and what that may cost the server. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, equalBytes } from '../../../src/bytes/bytes.ts';
import { utf8 } from '../../../src/bytes/text.ts';
import { OpenFlag } from '../../../src/sftp/proto/packets.ts';
import { Status } from '../../../src/sftp/proto/status.ts';
import { serveSftp } from '../../../src/sftp/server/server.ts';
import { GatedFiles } from '../../support/gated_files.ts';
import { HandPipe } from '../../support/hand_pipe.ts';
import { pattern } from '../../support/pipe_end.ts';
import { ask, RawSftp, settle } from '../../support/sftp_raw.ts';

const { read: READ, write: WRITE, create: CREAT } = OpenFlag;
const BLOCK = 32 * 1024;
const KIB = 1024;

/** A session over a hand-driven pipe with `/a` open, and what its promise comes to. */
function handSession(gated: GatedFiles, limits = {}): { pipe: HandPipe; handle: Uint8Array; served: Promise<void> } {
  const pipe = new HandPipe();
  const served = serveSftp(pipe, { backend: gated.backend, limits });
  pipe.deliver(ask.init(), ask.open(1, '/a', READ | WRITE));
  pipe.deliver(ask.open(2, '/a', READ | WRITE));
  return { pipe, handle: pipe.handle, served };
}

describe('a pipe that is full', () => {
  it('stops READs and READDIRs until it drains, and nothing that changes something', async () => {
    const gated = new GatedFiles({ '/a': pattern(4 * BLOCK), '/b': 'b' });
    const { pipe, handle, served } = handSession(gated);
    pipe.deliver(ask.path('opendir', 3, '/'));
    await settle();
    const directory = pipe.handle;
    pipe.room = false;
    pipe.deliver(ask.path('stat', 4, '/a'));
    const from = gated.log.length;
    pipe.deliver(ask.read(5, handle, 0, BLOCK), ask.handle('readdir', 6, directory));
    pipe.deliver(ask.open(7, '/b', READ | WRITE));
    const other = pipe.handle;
    pipe.deliver(ask.write(8, other, 0, 'B'), ask.rename(9, '/b', '/c'), ask.path('remove', 10, '/c'));
    await settle();
    assert.deepEqual(
      gated.log.slice(from).map((call) => call.split(' ')[0]),
      ['open', 'write', 'rename', 'remove'],
    );
    pipe.drain();
    await settle();
    assert.deepEqual(
      gated.log.slice(from + 4).map((call) => call.split(' ')[0]),
      ['read', 'stat', 'stat', 'left'],
    );
    pipe.sink?.end();
    await served;
    assert.equal(pipe.givenBack, pipe.delivered);
  });

  it('that a client never reads stops the server taking requests: its memory is bounded', async () => {
    const gated = new GatedFiles({ '/a': pattern(64 * KIB) });
    const { pipe, handle } = handSession(gated, { pendingRequests: 100 });
    pipe.room = false;
    pipe.deliver(ask.path('stat', 3, '/a'));
    const before = pipe.bytes;
    const reads = gated.log.length;
    for (let i = 0; i < 10_000; i++) pipe.deliver(ask.read(10 + i, handle, 0, KIB));
    assert.equal(gated.log.length, reads, 'nothing was read');
    assert.equal(pipe.bytes, before);
    assert.ok(pipe.delivered - pipe.givenBack > 9000 * 33, 'what is not looked at is not given back');
    // then it reads after all
    pipe.drain();
    await settle();
    assert.equal(pipe.givenBack, pipe.delivered);
    assert.equal(gated.log.length - reads > 1000, true);
    assert.equal(pipe.bytes - before, 10_000 * (KIB + 13));
    pipe.sink?.closed(undefined);
  });

  it('takes small replies for a while, then no more requests of any kind', async () => {
    const gated = new GatedFiles({ '/a': 'a' });
    const { pipe, served } = handSession(gated);
    pipe.room = false;
    const before = pipe.bytes;
    for (let i = 0; i < 20_000; i++) pipe.deliver(ask.path('stat', 10 + i, '/a'));
    const made = pipe.bytes - before;
    assert.ok(made > 200 * KIB && made < 600 * KIB, `${made} bytes`);
    assert.ok(pipe.givenBack < pipe.delivered);
    pipe.sink?.end();
    pipe.drain();
    assert.equal(pipe.givenBack, pipe.delivered);
    assert.equal(pipe.bytes - before, 20_000 * 41, 'the end of the client cuts nothing short');
    await served;
  });

  it('a client that uploads and reads no acknowledgement gets far', async () => {
    const gated = new GatedFiles({ '/a': '' });
    const { pipe, handle } = handSession(gated);
    pipe.room = false;
    const block = pattern(BLOCK);
    for (let i = 0; i < 1000; i++) pipe.deliver(ask.write(10 + i, handle, i * BLOCK, block));
    assert.equal(gated.memory.stat('/a').size, 1000 * BLOCK);
    assert.equal(pipe.givenBack, pipe.delivered);
    pipe.sink?.closed(undefined);
  });

  for (const bound of [1, 100, 32 * KIB, 1024 * KIB]) {
    it(`of ${bound} bytes: a client that does not read, then reads, gets everything`, async () => {
      const content = pattern(64 * BLOCK + 5);
      const gated = new GatedFiles({ '/a': content, '/b': '' });
      const raw = await RawSftp.connect(gated.backend, { pipes: { bound } });
      const handle = await raw.open(1, '/a', READ);
      const writer = await raw.open(2, '/b', WRITE);
      raw.consumes = false;
      const reads = Array.from({ length: 66 }, (_, i) => ask.read(100 + i, handle, i * BLOCK, BLOCK));
      raw.send(...reads);
      raw.send(...Array.from({ length: 10 }, (_, i) => ask.write(200 + i, writer, i * 1000, pattern(1000, i))));
      raw.send(ask.path('stat', 300, '/a'), ask.handle('close', 301, writer), ask.rename(302, '/b', '/c'));
      await settle();
      assert.ok(raw.received < content.length, `${raw.received} bytes`);
      if (bound >= 32 * KIB)
        assert.equal(gated.memory.stat('/c').size, 10_000, 'what changes something is done meanwhile');
      raw.consumeAll();
      await raw.until(() => raw.replies.length === 2 + 66 + 10 + 3, 'all replies');
      const got = concat(
        ...Array.from({ length: 65 }, (_, i) => raw.replies.find(({ id }) => id === 100 + i)?.data ?? utf8('')),
      );
      assert.ok(equalBytes(got, content));
      assert.equal((await raw.reply(165)).code, Status.eof);
      assert.equal(await raw.end(), undefined);
    });
  }
});

describe('more requests than are done', () => {
  it('by number: later bytes are not given back until there is room', async () => {
    const gated = new GatedFiles({ '/a': pattern(1000) });
    const { pipe, handle } = handSession(gated, { pendingRequests: 8 });
    await settle();
    assert.equal(pipe.givenBack, pipe.delivered);
    gated.hold('read');
    for (let i = 0; i < 20; i++) pipe.deliver(ask.read(10 + i, handle, i, 1));
    const [size] = [ask.read(10, handle, 0, 1).length];
    assert.equal(pipe.delivered - pipe.givenBack, (20 - 7) * size, 'the eighth is the last that is looked at');
    const before = pipe.bytes;
    gated.release('read');
    await settle();
    assert.equal(pipe.givenBack, pipe.delivered);
    assert.equal(pipe.bytes - before, 20 * 14);
    pipe.sink?.closed(undefined);
  });

  it('by bytes: WRITEs count until they are acknowledged', async () => {
    const gated = new GatedFiles({ '/a': '' });
    const { pipe, handle } = handSession(gated, { pendingBytes: 256 * KIB });
    gated.hold('write');
    const block = pattern(BLOCK);
    for (let i = 0; i < 30; i++) pipe.deliver(ask.write(10 + i, handle, i * BLOCK, block));
    const held = pipe.delivered - pipe.givenBack;
    assert.ok(held >= 21 * BLOCK && held <= 23 * (BLOCK + 100), `${held} bytes`);
    gated.release('write');
    await settle();
    assert.equal(pipe.givenBack, pipe.delivered);
    assert.equal(gated.memory.stat('/a').size, 30 * BLOCK);
    pipe.sink?.closed(undefined);
  });

  it('a packet larger than all that may be pending is taken', async () => {
    const gated = new GatedFiles({ '/a': '' });
    const raw = await RawSftp.connect(gated.backend, {
      limits: { pendingBytes: 1, pendingRequests: 1 },
      pipes: { bound: 1000 },
    });
    const handle = await raw.open(1, '/a', WRITE);
    raw.send(ask.write(2, handle, 0, pattern(200_000)), ask.write(3, handle, 200_000, pattern(200_000)));
    assert.equal((await raw.reply(3)).code, Status.ok);
    assert.equal(await raw.end(), undefined);
  });

  it('does not keep the end of the client from being seen', async () => {
    const gated = new GatedFiles({ '/a': pattern(1000) });
    const raw = await RawSftp.connect(gated.backend, { limits: { pendingRequests: 2 } });
    const handle = await raw.open(1, '/a', READ);
    gated.hold('read');
    raw.send(...Array.from({ length: 30 }, (_, i) => ask.read(10 + i, handle, i, 1)));
    raw.pipe.end();
    await settle();
    assert.equal(raw.settled, false);
    gated.release('read');
    await raw.reply(39);
    await raw.until(() => raw.settled, 'the end');
    assert.equal(await raw.served, undefined);
    assert.deepEqual(raw.order.length, 31);
  });
});

describe('limits', () => {
  it('are checked', async () => {
    const bad: readonly [object, RegExp][] = [
      [{ openHandles: 0 }, /limits\.openHandles/],
      [{ packetLength: 33_999 }, /limits\.packetLength must be an integer from 34000 to \d+, not 33999/],
      [{ readLength: 300_000 }, /limits\.readLength/],
      [{ pendingBytes: Number.NaN }, /limits\.pendingBytes/],
    ];
    for (const [limits, message] of bad) {
      const pipe = new HandPipe();
      await assert.rejects(serveSftp(pipe, { backend: {}, limits }), message);
      assert.equal(pipe.sink, undefined);
    }
    await assert.rejects(serveSftp(undefined as never, { backend: {} }), /byte pipe/);
    await assert.rejects(serveSftp(new HandPipe(), undefined as never), /backend/);
    await assert.rejects(serveSftp(new HandPipe(), {} as never), /backend/);
  });

  it('packetLength is what is taken', async () => {
    const raw = await RawSftp.connect(new GatedFiles({}).backend, { limits: { packetLength: 34_000 } });
    const handle = await raw.open(1, '/a', WRITE | CREAT);
    assert.equal((await raw.request(ask.write(2, handle, 0, pattern(33_900)))).code, Status.ok);
    raw.send(ask.write(3, handle, 0, pattern(34_000)));
    await raw.until(() => raw.settled, 'the end');
    assert.match(
      String((await raw.served)?.message),
      /the client announced a packet of 34029 bytes, the limit is 34000/,
    );
  });
});
