/** Uploads over several channels of a server that is far away, in virtual time. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { SftpClientOptions } from '../../src/sftp/client_options.ts';
import { greet } from '../../src/sftp/greet.ts';
import { lanesWanted, type Measured } from '../../src/sftp/lane_growth.ts';
import { LanePool } from '../../src/sftp/lane_pool.ts';
import { Link } from '../../src/sftp/link.ts';
import { openFile } from '../../src/sftp/operations.ts';
import type { PutOptions, PutResult } from '../../src/sftp/put_options.ts';
import { bytesSource } from '../../src/sftp/sources.ts';
import { startWrite } from '../../src/sftp/transfer.ts';
import { type Far, FarSessions } from '../support/far_sessions.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { type Node, patterned, reply, type Script } from '../support/scripted_sftp.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const KIB = 1024;
const BYTES = patterned(3072 * KIB);
/** WRITEs of 8 KiB into windows of 64 KiB: 640 KiB/s a lane. */
const WRITE = 8 * KIB;
const WINDOW = 64 * KIB;
const OPTIONS: PutOptions = { requestSize: WRITE };

class World {
  readonly clock = new VirtualClock();
  readonly far: FarSessions;
  client!: SftpClient;

  constructor(far: Partial<Far> = {}) {
    this.far = new FarSessions({ clock: this.clock, roundTrip: 100, window: WINDOW, ...far });
  }

  async connect(options: SftpClientOptions = {}): Promise<this> {
    const opening = this.far.open();
    const pipe = await this.run(opening);
    this.client = await this.run(
      SftpClient.open(pipe, { clock: this.clock, openLane: this.far.open, stallTimeout: 60_000, ...options }),
    );
    return this;
  }

  /** Lets time pass until `promise` has settled. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const note = (): void => {
      settled = true;
    };
    promise.then(note, note);
    for (let i = 0; i < 10_000 && !settled; i++) await this.clock.pass(25);
    assert.ok(settled, 'it hangs');
    return promise;
  }

  put(options: PutOptions = {}): Promise<PutResult | SshError> {
    const putting = this.client.put(BYTES, '/f', { ...OPTIONS, ...options });
    return this.run(putting.catch((error: SshError) => error));
  }

  /** What the session with that number was asked, temporary names as TEMP. */
  steps(session: number): string[] {
    const { log } = this.far.sessions[session]?.server ?? assert.fail(`there is no session ${session}`);
    return log.map((line) => line.replace(/\/\.f\.[0-9a-f]{16}\.part/g, 'TEMP'));
  }

  /** Positions that the session was sent. */
  positions(session: number): number[] {
    return this.steps(session)
      .flatMap((line) => /^WRITE (\d+)/.exec(line)?.[1] ?? [])
      .map(Number);
  }

  get content(): Uint8Array {
    return this.far.files.get('/f')?.bytes ?? assert.fail('/f is not there');
  }

  /** Nothing is left over once the lanes were idle for a while, and the client works. */
  async clean(names: readonly string[]): Promise<void> {
    await this.clock.pass(10_000);
    assert.equal(this.far.handles, 0, 'open handles');
    assert.equal(this.far.count, 1, 'open sessions');
    assert.deepEqual([...this.far.files.keys()], names);
    await this.run(this.client.stat('/').catch(() => undefined));
    await this.run(this.client.close());
    assert.equal(this.clock.timers, 0, 'timers');
  }
}

function good(result: PutResult | SshError): PutResult {
  assert.ok(!(result instanceof SshError), String(result));
  return result;
}

function failure(result: PutResult | SshError): SshError {
  assert.ok(result instanceof SshError, 'it failed');
  return result;
}

describe('an upload over lanes', () => {
  it('opens more of them while the window is the limit, and is whole and faster', async () => {
    const one = await new World().connect();
    const alone = good(await one.put({ lanes: 1 }));
    assert.equal(one.far.asked, 1);
    assert.equal(alone.lanes, 1);
    await one.clean(['/f']);

    const world = await new World().connect();
    const { lanes, seconds, rate, roundTrip, bytes } = good(await world.put());
    assert.ok(equalBytes(world.content, BYTES));
    assert.equal(bytes, BYTES.length);
    assert.equal(lanes, 8);
    assert.equal(roundTrip, 100);
    assert.ok(seconds < alone.seconds / 2.5, `${seconds} s instead of ${alone.seconds}`);
    assert.ok(Math.abs(rate - BYTES.length / seconds) < 1);
    await world.clean(['/f']);
  });

  it('sends every byte once, in ascending order on every lane', async () => {
    const world = await new World().connect();
    good(await world.put());
    const all: number[] = [];
    for (let session = 0; session < 8; session++) {
      const positions = world.positions(session);
      assert.ok(positions.length > 0, `lane ${session} was of use`);
      assert.deepEqual(
        positions,
        [...positions].sort((a, b) => a - b),
      );
      all.push(...positions);
    }
    const expected = Array.from({ length: BYTES.length / WRITE }, (_, i) => i * WRITE);
    assert.deepEqual(
      all.sort((a, b) => a - b),
      expected,
    );
    await world.clean(['/f']);
  });

  it('opens on a lane what the upload writes, to read and write, and nothing else, and closes it before the file gets its name', async () => {
    const world = await new World().connect();
    good(await world.put());
    for (let session = 1; session < 8; session++) {
      const steps = world.steps(session);
      assert.deepEqual(steps.slice(0, 3), ['INIT', 'OPEN TEMP 3', 'FSTAT']);
      assert.equal(steps.at(-1), 'CLOSE');
      assert.ok(steps.slice(3, -1).every((step) => step.startsWith('WRITE')));
    }
    assert.ok(world.steps(0).includes('STAT TEMP'));
    assert.equal(world.steps(0).at(-1), 'EXTENDED posix-rename@openssh.com');
    await world.clean(['/f']);
  });

  const ways: Readonly<Record<string, (client: SftpClient) => Promise<unknown>>> = {
    writeFile: (client) => client.writeFile('/f', BYTES, OPTIONS),
    writable: (client) => new Blob([BYTES as BlobPart]).stream().pipeTo(client.writable('/f', OPTIONS)),
    'RemoteFile.write': async (client) => {
      const file = await client.open('/f', 'w');
      await file.write(0, BYTES, OPTIONS);
      await file.close();
    },
    'RemoteFile.writable': async (client) => {
      const file = await client.open('/f', 'w');
      await new Blob([BYTES as BlobPart]).stream().pipeTo(file.writable(OPTIONS));
      await file.close();
    },
  };
  for (const [name, way] of Object.entries(ways)) {
    it(`goes for ${name} as well`, async () => {
      const world = await new World().connect();
      await world.run(way(world.client));
      assert.ok(equalBytes(world.content, BYTES));
      assert.equal(world.far.asked, 8);
      await world.clean(['/f']);
    });
  }

  it('never runs further ahead of what is acknowledged than it may, over all lanes', async () => {
    const world = await new World().connect();
    const link = new Link(await world.run(world.far.open()), { clock: world.clock, stallTimeout: 60_000 });
    link.pool = new LanePool(world.far.open, { clock: world.clock, stallTimeout: 60_000 }, link);
    await world.run(greet(link, 60_000, undefined));
    const file = await world.run(openFile(link, '/f', 'w', {}, {}));
    const span = 300 * KIB;
    const running = startWrite(file, bytesSource(BYTES), 0, BYTES.length, OPTIONS, span);
    const { lanes, maxBytesInFlight } = await world.run(running.done);
    assert.ok(equalBytes(world.content, BYTES));
    assert.ok(lanes >= 4);
    assert.ok(maxBytesInFlight <= span && maxBytesInFlight > span / 2, `${maxBytesInFlight}`);
    link.fail(new SshError('connection-closed', 'done'));
  });

  it('resumes over them, too', async () => {
    const world = await new World().connect();
    const files = new MemoryFiles().add('f', BYTES);
    const client = await world.run(
      SftpClient.open(await world.run(world.far.open()), {
        clock: world.clock,
        openLane: world.far.open,
        localFiles: files,
      }),
    );
    const broken = new AbortController();
    const onProgress = ({ bytes }: { readonly bytes: number }): void => {
      if (bytes > BYTES.length / 3) broken.abort();
    };
    const put = (options: PutOptions): Promise<PutResult> =>
      client.put('f', '/f', { ...OPTIONS, resume: true, ...options });
    await world.run(assert.rejects(put({ signal: broken.signal, onProgress }), { code: 'aborted' }));
    assert.deepEqual(world.far.files.has('/f'), false);
    const { lanes, bytes } = await world.run(put({}));
    assert.ok(equalBytes(world.content, BYTES));
    assert.ok(lanes > 1 && bytes > 0, `${lanes} lanes, ${bytes} bytes`);
    await world.run(client.close());
  });

  it('keeps channels for the next one, but not for long', async () => {
    const world = await new World().connect();
    good(await world.put());
    assert.equal(world.far.count, 8);
    good(await world.put());
    assert.equal(world.far.asked, 8);
    await world.clock.pass(2000);
    assert.equal(world.far.count, 8);
    await world.clock.pass(2000);
    assert.equal(world.far.count, 1);
    await world.clean(['/f']);
  });

  it('ends its channels with the client', async () => {
    const world = await new World().connect();
    good(await world.put());
    await world.run(world.client.close());
    await world.clock.pass(0);
    assert.equal(world.far.count, 0);
    assert.equal(world.clock.timers, 0);
  });

  for (const when of [450, 550, 650, 750, 900]) {
    it(`ends channels that are just being opened with the client: after ${when} ms`, async () => {
      const world = await new World().connect();
      const putting = world.client.put(BYTES, '/f', OPTIONS).catch((error: SshError) => error);
      await world.clock.pass(when);
      await world.run(world.client.close());
      assert.equal(failure(await world.run(putting)).code, 'connection-closed');
      await world.clock.pass(1000);
      assert.equal(world.far.count, 0);
      assert.ok(world.far.asked > 1, 'some were asked for');
      assert.equal(world.clock.timers, 0);
    });
  }

  it('two at once share the channels', async () => {
    const world = await new World().connect();
    const both = Promise.all([
      world.client.put(BYTES, '/f', OPTIONS),
      world.client.put(BYTES.subarray(1), '/g', OPTIONS),
    ]);
    await world.run(both);
    assert.ok(equalBytes(world.content, BYTES));
    assert.ok(equalBytes(world.far.files.get('/g')?.bytes as Uint8Array, BYTES.subarray(1)));
    assert.ok(world.far.asked <= 8);
    await world.clean(['/f', '/g']);
  });
});

describe('an upload stays on its own channel', () => {
  const rows: Readonly<Record<string, () => Promise<{ readonly world: World; readonly done: Promise<unknown> }>>> = {
    'when the server is near': async () => {
      const world = await new World({ roundTrip: 2 }).connect();
      return { world, done: world.client.put(BYTES, '/f', OPTIONS) };
    },
    'when the window is large enough': async () => {
      const world = await new World({ window: 4096 * KIB }).connect();
      return { world, done: world.client.put(BYTES, '/f', OPTIONS) };
    },
    'when its requests are the limit, and not the window': async () => {
      const world = await new World().connect();
      return { world, done: world.client.put(BYTES.subarray(0, 512 * KIB), '/f', { ...OPTIONS, requests: 3 }) };
    },
    'when nobody knows the round trip': async () => {
      const world = await new World({ measured: false }).connect();
      return { world, done: world.client.put(BYTES, '/f', OPTIONS) };
    },
    'when little is left': async () => {
      const world = await new World().connect();
      return { world, done: world.client.put(BYTES.subarray(0, 400 * KIB), '/f', OPTIONS) };
    },
    'when it appends': async () => {
      const world = await new World().connect();
      const file = await world.run(world.client.open('/f', 'a'));
      return { world, done: file.write(0, BYTES, OPTIONS).then(() => file.close()) };
    },
    'when there is no way to open another': async () => {
      const world = await new World().connect({ openLane: undefined });
      return { world, done: world.client.put(BYTES, '/f', OPTIONS) };
    },
  };
  for (const [name, start] of Object.entries(rows)) {
    it(name, async () => {
      const { world, done } = await start();
      await world.run(done);
      assert.equal(world.far.asked, 1);
      await world.clean(['/f']);
    });
  }

  it('wherever it goes, as long as it is small (T59)', async () => {
    const world = await new World().connect();
    for (let i = 0; i < 20; i++) await world.run(world.client.put(new Uint8Array(1000), '/f'));
    assert.equal(world.far.asked, 1);
    await world.clean(['/f']);
  });
});

describe('a lane that cannot be had', () => {
  it('is not missed: a channel is refused', async () => {
    const world = new World();
    world.far.script = (session) => (session >= 3 ? 'refused' : {});
    await world.connect();
    const { lanes } = good(await world.put());
    assert.ok(equalBytes(world.content, BYTES));
    // two more are allowed, and one of them is left to others
    assert.equal(lanes, 2);
    assert.equal(world.far.asked, 4); // and not asked again in this upload
    assert.equal(world.far.count, 2);
    await world.clean(['/f']);
  });

  it('leaves the one that is there to others, when it was given back', async () => {
    const world = new World();
    world.far.script = (session) => (session >= 2 ? 'refused' : {});
    await world.connect();
    assert.equal(good(await world.put()).lanes, 1);
    assert.equal(world.far.count, 1);
    await world.clean(['/f']);
  });

  type Answer = number | readonly Uint8Array[] | 'honest';
  /** By the name of a request, its id, and the size of the file. */
  const refusals: Readonly<Record<string, (name: string, id: number, size: number) => Answer>> = {
    'OPEN is refused': (name) => (name === 'OPEN' ? 3 : 'honest'),
    'FSTAT is refused': (name) => (name === 'FSTAT' ? 8 : 'honest'),
    'FSTAT states no size': (name, id) => (name === 'FSTAT' ? [reply.attrs(id, {})] : 'honest'),
    'it sees less than was acknowledged': (name, id) =>
      name === 'FSTAT' ? [reply.attrs(id, { size: 1000, permissions: 0o100644 })] : 'honest',
    'it sees more than was sent': (name, id) =>
      name === 'FSTAT' ? [reply.attrs(id, { size: BYTES.length, permissions: 0o100644 })] : 'honest',
    'it sees other permissions': (name, id, size) =>
      name === 'FSTAT' ? [reply.attrs(id, { size, permissions: 0o100600 })] : 'honest',
    'it sees another owner': (name, id, size) =>
      name === 'FSTAT' ? [reply.attrs(id, { size, permissions: 0o100644, uid: 5, gid: 5 })] : 'honest',
    'it sees a device': (name, id, size) =>
      name === 'FSTAT' ? [reply.attrs(id, { size, permissions: 0o020644 })] : 'honest',
    'it does not speak SFTP': (name) => (name === 'INIT' ? 4 : 'honest'),
  };
  for (const [name, request] of Object.entries(refusals)) {
    it(`is not missed: ${name}`, async () => {
      const world = new World();
      const greeting: Script = name === 'it does not speak SFTP' ? { greeting: new Uint8Array([0, 0, 0, 1, 9]) } : {};
      const size = (): number => Math.max(...[...world.far.files.values()].map(({ bytes }) => bytes.length));
      const bent: Script = { request: (row, id) => request(row, id, size()), ...greeting };
      world.far.script = (session) => (session === 0 ? {} : bent);
      await world.connect();
      const { lanes } = good(await world.put());
      assert.ok(equalBytes(world.content, BYTES));
      assert.equal(lanes, 1);
      for (let session = 1; session < world.far.sessions.length; session++) {
        assert.deepEqual(world.positions(session), []);
      }
      assert.ok(world.far.asked <= 4);
      await world.clean(['/f']);
    });
  }

  for (const size of [undefined, 1000, 3000 * KIB]) {
    it(`is not opened where the path leads elsewhere: that might begin another upload: ${size} bytes`, async () => {
      const answer = (id: number): Answer => (size === undefined ? 2 : [reply.attrs(id, { size })]);
      const world = new World();
      world.far.script = () => ({ request: (row, id) => (row === 'STAT' ? answer(id) : 'honest') });
      await world.connect();
      assert.equal(good(await world.put()).lanes, 1);
      for (let session = 1; session < world.far.sessions.length; session++) {
        assert.deepEqual(world.steps(session), ['INIT']);
      }
      await world.clean(['/f']);
    });
  }

  it('is never written to where another machine answers, with a file of the same name', async () => {
    const world = new World();
    const elsewhere = new Map<string, Node>();
    world.far.filesOf = (session) => (session === 0 ? world.far.files : elsewhere);
    elsewhere.set('/f', { bytes: new Uint8Array(3), permissions: 0o100644 });
    await world.connect();
    await world.run(world.client.writeFile('/f', BYTES, OPTIONS));
    assert.ok(equalBytes(world.content, BYTES));
    assert.deepEqual(elsewhere.get('/f')?.bytes, new Uint8Array(3));
    await world.clean(['/f']);
  });
});

describe('an upload over lanes that fails', () => {
  /** How far everything was acknowledged, from what the sessions were told. */
  it('says how much is safe when one refuses a WRITE, and lets the others finish', async () => {
    const bad = 2000 * KIB;
    const world = new World();
    world.far.script = () => ({ write: ({ offset }) => (offset === bad ? 4 : 'honest') });
    await world.connect();
    const { code, status, transferred, path } = failure(await world.put());
    assert.deepEqual([code, status, transferred, path], ['sftp-status', 4, bad, '/f']);
    await world.clean([]);
  });

  it('says how much is safe when one dies with WRITEs unanswered', async () => {
    const world = new World();
    await world.connect();
    const putting = world.client.put(BYTES, '/f', OPTIONS).catch((error: SshError) => error);
    while (world.positions(1 % Math.max(1, world.far.sessions.length)).length < 20) await world.clock.pass(25);
    const dying = world.far.sessions[1] ?? assert.fail();
    const cause = new SshError('channel-closed', 'The peer closed the channel', { fault: 'peer' });
    dying.server.cut(cause);
    const error = failure(await world.run(putting));
    assert.equal(error.code, 'channel-closed');
    assert.equal(error.path, '/f');
    assert.match(error.message, /^write \/f: one of the channels of the upload has ended: The peer closed the channel/);
    // what it had acknowledged may not be in the file either: it never said so
    assert.equal(error.transferred, world.positions(1)[0]);
    await world.clean([]);
  });

  it('believes a CLOSE that reports a delayed failure', async () => {
    const world = new World();
    world.far.script = (session) => ({ request: (row) => (row === 'CLOSE' && session === 2 ? 4 : 'honest') });
    await world.connect();
    const { code, operation, status, transferred } = failure(await world.put());
    assert.deepEqual([code, operation, status], ['sftp-status', 'close', 4]);
    assert.equal(transferred, world.positions(2)[0]);
    assert.ok(!world.steps(0).includes('EXTENDED posix-rename@openssh.com'));
    await world.clock.pass(10_000);
    assert.deepEqual([...world.far.files.keys()], []);
  });

  it('notices one that does not answer while the others do', async () => {
    const world = new World();
    world.far.script = (session) => ({ write: () => (session === 1 ? 'silence' : 'honest') });
    await world.connect({ stallTimeout: 3000 });
    const error = failure(await world.put());
    assert.equal(error.code, 'timeout');
    assert.equal(error.transferred, world.positions(1)[0]);
    await world.clean([]);
  });

  for (const when of [150, 900, 1300, 1700]) {
    it(`closes all of them at an abort after ${when} ms`, async () => {
      const world = await new World().connect();
      const controller = new AbortController();
      const putting = world.client
        .put(BYTES, '/f', { ...OPTIONS, signal: controller.signal })
        .catch((error: SshError) => error);
      await world.clock.pass(when);
      controller.abort();
      assert.equal(failure(await world.run(putting)).code, 'aborted');
      await world.clean([]);
    });
  }

  it('fails with the connection, once', async () => {
    const world = await new World().connect();
    const putting = world.client.put(BYTES, '/f', OPTIONS).catch((error: SshError) => error);
    await world.clock.pass(2000);
    const cause = new SshError('connection-lost', 'gone', { fault: 'network' });
    for (const { server } of world.far.sessions) server.cut(cause);
    assert.equal(failure(await world.run(putting)).code, 'connection-lost');
    await world.clock.pass(10_000);
    assert.equal(world.clock.timers, 0);
  });
});

describe('lanesWanted', () => {
  const stats = {
    roundTrip: 100,
    peerWindow: 2_000_000,
    window: 0,
    granted: 0,
    adjustments: 0,
    received: 0,
    sent: 0,
    windowLimited: true,
    windowWaits: 1,
  };
  const full: Measured = { bytes: 2_000_000, milliseconds: 100, lanes: 1, left: Infinity, waited: true };
  const rows: readonly (readonly [string, Partial<Measured>, Partial<typeof stats>, number])[] = [
    ['the window is filled', {}, {}, 4],
    ['it is, and hundreds of windows are left', { left: 400_000_000 }, {}, 8],
    ['it is, and fewer are left', { left: 380_000_000 }, {}, 4],
    ['two windows are', { lanes: 2, bytes: 4_000_000 }, {}, 8],
    ['half of it is, over a short look', { bytes: 1_200_000 }, {}, 1],
    ['half of it is, over a long look', { bytes: 2_400_000, milliseconds: 200 }, {}, 2],
    ['less than half is', { bytes: 1_900_000, milliseconds: 200 }, {}, 1],
    ['nothing waited', { waited: false }, {}, 1],
    ['the server is near', { milliseconds: 4 }, { roundTrip: 4 }, 1],
    ['the window is not known', {}, { peerWindow: 0 }, 1],
    ['little is left', { left: 11_000_000 }, {}, 1],
    ['enough is left', { left: 13_000_000 }, {}, 4],
  ];
  for (const [name, measured, own, wanted] of rows) {
    it(`${wanted} where ${name}`, () => {
      assert.equal(lanesWanted({ ...full, ...measured }, { ...stats, ...own }), wanted);
    });
  }
  it('none where the round trip is not known', () => {
    const { roundTrip: _, ...unknown } = stats;
    assert.equal(lanesWanted(full, unknown), 1);
  });
});
