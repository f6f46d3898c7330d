/** How a session ends, and that everything that was open is closed exactly once, however it does. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, utf8 } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import { memoryPipes } from '../../../src/io/memory_pipe.ts';
import { extensions } from '../../../src/sftp/proto/extensions.ts';
import { OpenFlag } from '../../../src/sftp/proto/packets.ts';
import { Status } from '../../../src/sftp/proto/status.ts';
import type { BackendFile } from '../../../src/sftp/server/backend.ts';
import { serveSftp } from '../../../src/sftp/server/server.ts';
import { GatedFiles } from '../../support/gated_files.ts';
import { HandPipe } from '../../support/hand_pipe.ts';
import { ask, RawSftp, settle } from '../../support/sftp_raw.ts';
import { VirtualClock } from '../../support/virtual_clock.ts';

const { read: READ, write: WRITE } = OpenFlag;
const FILES = { '/a': 'aaaa', '/b': 'bbbb', '/c': 'cccc' };

interface Started {
  readonly gated: GatedFiles;
  readonly raw: RawSftp;
  readonly handle: Uint8Array;
  readonly abort: AbortController;
  readonly clock: VirtualClock;
}

/** A session with three files and a directory open, which has been read from. */
async function start(): Promise<Started> {
  const gated = new GatedFiles(FILES);
  const abort = new AbortController();
  const clock = new VirtualClock();
  const raw = await RawSftp.connect(gated.backend, { signal: abort.signal, clock });
  const handle = await raw.open(1, '/a', READ | WRITE);
  await raw.open(2, '/b', READ);
  await raw.open(3, '/c', WRITE);
  await raw.request(ask.path('opendir', 4, '/'));
  assert.deepEqual([gated.opened, gated.closed], [4, 0]);
  return { gated, raw, handle, abort, clock };
}

/** Each way to end, and what the promise comes to: an error's code, or nothing. */
const ends: readonly [name: string, end: (started: Started) => void, code: string | undefined, message: RegExp][] = [
  ['the client sends no more', ({ raw }) => raw.pipe.end(), undefined, /^/],
  ['the client closes', ({ raw }) => raw.pipe.close(), undefined, /^/],
  [
    'the line breaks',
    ({ raw }) => raw.pipe.close(new SshError('connection-lost', 'gone')),
    'connection-lost',
    /other end of the pipe is gone/,
  ],
  ['the signal', ({ abort }) => abort.abort(new Error('enough')), 'aborted', /The SFTP session was aborted/],
  ['INIT again', ({ raw }) => raw.send(ask.init()), 'protocol', /INIT twice/],
  ['a length of 2^32 - 1', ({ raw }) => raw.send(fromHex('ffffffff')), 'protocol', /4294967295 bytes/],
  [
    'an end inside a packet',
    ({ raw, handle }) => {
      raw.send(ask.write(50, handle, 0, 'xxxx').subarray(0, -1));
      raw.pipe.end();
    },
    'channel-closed',
    /inside SSH_FXP_WRITE/,
  ],
  [
    'a close inside a packet',
    ({ raw }) => {
      raw.send(fromHex('00000009'));
      raw.pipe.close();
    },
    'channel-closed',
    /inside a packet/,
  ],
];

describe('serveSftp ends', () => {
  for (const [name, end, code, message] of ends) {
    it(`with ${name}: every file is closed once, then the promise settles`, async () => {
      const started = await start();
      const { gated, raw, clock } = started;
      end(started);
      await raw.until(() => raw.settled, 'the end');
      const outcome = await raw.served;
      assert.equal(outcome?.code, code);
      assert.match(outcome?.message ?? '', message);
      assert.deepEqual([gated.opened, gated.closed, gated.overlaps], [4, 4, 0]);
      assert.equal(gated.memory.get('/a')?.length, 4, 'nothing was written');
      assert.equal(clock.timers, 0);
      await raw.until(() => raw.ended || raw.closedBy !== undefined, 'the end of the pipe');
    });

    it(`with ${name}, while calls run: files are closed when those are through`, async () => {
      const started = await start();
      const { gated, raw, handle, clock } = started;
      gated.hold('read');
      gated.hold('open');
      raw.send(ask.read(10, handle, 0, 4), ask.open(11, '/b', READ), ask.read(12, handle, 0, 4));
      await settle();
      end(started);
      await settle();
      assert.equal(raw.settled, false);
      assert.ok(gated.closed <= 3, 'the file that is read from is open');
      gated.release('open');
      await settle();
      gated.release('read');
      await raw.until(() => raw.settled, 'the end');
      assert.equal((await raw.served)?.code, code);
      assert.deepEqual([gated.opened, gated.closed, gated.overlaps], [5, 5, 0]);
      assert.equal(clock.timers, 0);
    });
  }

  // A client that sends no more may still wait for its answers, however long they take.
  const losses = ends.filter(([, , code]) => code !== undefined && code !== 'channel-closed');
  for (const [name, end, code] of losses) {
    it(`with ${name}, while calls hang: after a while files are closed all the same`, async () => {
      const started = await start();
      const { gated, raw, handle, clock } = started;
      for (const call of ['read', 'open', 'close'] as const) gated.hold(call);
      raw.send(ask.read(10, handle, 0, 4), ask.open(11, '/b', READ));
      await settle();
      end(started);
      await clock.pass(1999);
      assert.equal(raw.settled, false);
      await clock.pass(1);
      await raw.until(() => raw.settled, 'the end');
      assert.equal((await raw.served)?.code, code);
      assert.equal(gated.closed, 4, 'close was called, and not waited for');
      assert.equal(gated.overlaps, 1, 'beside the read that hangs');
      // what hung settles after all: nothing is closed twice, and what was opened late is closed
      for (const call of ['read', 'open', 'close'] as const) gated.release(call);
      await settle();
      assert.deepEqual([gated.opened, gated.closed], [5, 5]);
    });
  }

  it('with a channel that both sides closed, while calls hang: in good order, and files are closed all the same', async () => {
    const gated = new GatedFiles(FILES);
    const clock = new VirtualClock();
    const pipe = new HandPipe();
    const served = serveSftp(pipe, { backend: gated.backend, clock });
    pipe.deliver(ask.init(), ask.open(1, '/a', READ));
    pipe.deliver(ask.open(2, '/b', READ));
    gated.hold('read');
    pipe.deliver(ask.read(3, pipe.handle, 0, 1));
    pipe.sink?.closed(undefined);
    await clock.pass(2000);
    assert.equal(await served, undefined);
    assert.deepEqual([gated.opened, gated.closed, pipe.ends, pipe.closedWith], [2, 2, 0, undefined]);
  });

  it('after everything that came before is done and answered', async () => {
    const { gated, raw, handle } = await start();
    gated.hold('write');
    raw.send(ask.write(10, handle, 0, 'b'), ask.read(11, handle, 0, 4), ask.rename(12, '/b', '/d'));
    raw.pipe.end();
    await settle();
    assert.equal(raw.settled, false);
    gated.release('write');
    await raw.until(() => raw.settled, 'the end');
    await raw.until(() => raw.ended, 'the end of the pipe');
    assert.equal((await raw.reply(11)).text, 'baaa');
    assert.equal((await raw.reply(12)).code, Status.ok);
    assert.equal(await raw.served, undefined);
  });

  it('a file that is being closed when the session is lost is closed once', async () => {
    const { gated, raw, handle, abort } = await start();
    gated.hold('close', '/a');
    raw.send(ask.handle('close', 10, handle));
    await settle();
    abort.abort();
    await settle();
    assert.equal(raw.settled, false);
    gated.release('close');
    await raw.until(() => raw.settled, 'the end');
    assert.deepEqual([gated.opened, gated.closed, gated.overlaps], [4, 4, 0]);
  });

  it('a copy stops where it is', async () => {
    const { gated, raw, handle, abort } = await start();
    const target = await raw.open(10, '/c', WRITE);
    gated.clamp = 1;
    gated.hold('read', '/a');
    raw.send(
      ask.extended(11, extensions.copyData, { from: handle, fromOffset: 0n, length: 0n, to: target, toOffset: 0n }),
    );
    await settle();
    abort.abort();
    await settle();
    gated.release('read');
    await raw.until(() => raw.settled, 'the end');
    assert.equal(gated.log.filter((call) => call.startsWith('read')).length, 1);
    assert.deepEqual([gated.opened, gated.closed, gated.overlaps], [5, 5, 0]);
  });

  it('a close that fails or throws does not keep the others from being closed, nor the promise from settling', async () => {
    let closed = 0;
    const errors: unknown[] = [];
    const file = (close: () => void | Promise<void>): BackendFile => ({
      close: () => {
        closed++;
        return close();
      },
    });
    const files = [
      file(() => {
        throw new Error('thrown');
      }),
      file(() => Promise.reject(new Error('rejected'))),
      file(() => Promise.reject(Object.assign(new Error('known'), { code: 'EIO' }))),
      file(() => undefined),
    ];
    const raw = await RawSftp.connect(
      { open: () => files.shift() as BackendFile },
      { onError: (error) => errors.push((error as Error).message) },
    );
    for (const id of [1, 2, 3, 4]) await raw.open(id, '/a', READ);
    assert.equal(await raw.end(), undefined);
    assert.equal(closed, 4);
    assert.deepEqual(errors.sort(), ['rejected', 'thrown']);
  });

  it('CLOSE tells what close(2) says, and the handle is gone all the same', async () => {
    let closed = 0;
    const raw = await RawSftp.connect({
      open: () => ({
        close: () => {
          closed++;
          return Promise.reject(Object.assign(new Error('x'), { code: 'ENOSPC' }));
        },
      }),
    });
    const handle = await raw.open(1, '/a', READ);
    const reply = await raw.request(ask.handle('close', 2, handle));
    assert.deepEqual([reply.code, reply.message], [Status.failure, 'no space left']);
    assert.equal((await raw.request(ask.handle('close', 3, handle))).code, Status.failure);
    assert.equal(await raw.end(), undefined);
    assert.equal(closed, 1);
  });

  it('before it began: nothing sent, text sent, a signal that has fired', async () => {
    const silent = new RawSftp({});
    assert.equal(await silent.end(), undefined);

    const noisy = new RawSftp({});
    noisy.send(utf8('GET / HTTP/1.1\r\n'));
    await noisy.until(() => noisy.settled, 'the end');
    const error = await noisy.served;
    assert.equal(error?.code, 'protocol');
    assert.match(String(error?.message), /client sent "GET \/ HTTP\/1\.1/);

    const short = new RawSftp({});
    short.send(utf8('hi'));
    assert.match(String((await short.end())?.message), /client sent "hi"/);

    const [own, theirs] = memoryPipes();
    const served = serveSftp(theirs, { backend: {}, signal: AbortSignal.abort() });
    own.open({ data: () => {}, end: () => {}, drain: () => {}, closed: () => {} });
    await assert.rejects(served, (each) => each instanceof SshError && each.code === 'aborted');
  });

  it('listens to its signal no longer', async () => {
    let listeners = 0;
    const signal = {
      aborted: false,
      addEventListener: () => listeners++,
      removeEventListener: () => listeners--,
    } as unknown as AbortSignal;
    const raw = await RawSftp.connect({}, { signal });
    assert.equal(listeners, 1);
    assert.equal(await raw.end(), undefined);
    assert.equal(listeners, 0);
  });
});
