/** Our client and our server far apart, in virtual time: windows that grow, and what they must not grow for. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import type { SessionHandlers } from '../../src/server/session.ts';
import { type MemoryFiles, memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { sftpSubsystem } from '../../src/sftp_subsystem.ts';
import { ApiLink } from '../support/api_link.ts';
import { ApiPair, readAll } from '../support/api_pair.ts';
import { patterned, ScriptedSftp } from '../support/scripted_sftp.ts';
import { SftpOverSsh } from '../support/sftp_over_ssh.ts';

const KIB = 1024;
const WINDOW = 256 * KIB;
/** Far more than any of these needs, in virtual time. */
const PATIENCE = 60_000;

interface Far {
  readonly pair: ApiPair;
  readonly files: MemoryFiles;
  /** What a promise gives, and how many milliseconds it took. */
  timed<T>(promise: Promise<T>): Promise<{ readonly value: T; readonly time: number }>;
}

/** A pair at 100 ms, whose windows begin with 256 KiB and may grow to 4 MiB unless another limit is given. */
async function far(
  options: {
    readonly maxWindow?: number;
    readonly rate?: number;
    readonly files?: Readonly<Record<string, Uint8Array>>;
    readonly exec?: NonNullable<SessionHandlers['exec']>;
  } = {},
): Promise<Far> {
  const { maxWindow = 4096 * KIB, rate, exec = () => 127 } = options;
  const now = (): number => 1_700_000_000_000;
  const files = memoryFiles({ now, files: options.files ?? {} });
  const side = { window: WINDOW, maxWindow };
  const pair = await ApiPair.start({
    line: { milliseconds: 50, rate },
    client: side,
    server: (clock) => ({
      ...side,
      session: { exec, subsystems: { sftp: sftpSubsystem(files, { now, clock }) } },
    }),
  });
  return {
    pair,
    files,
    async timed(promise) {
      const from = pair.clock.now();
      let to = from;
      const stamped = promise.then((value) => {
        to = pair.clock.now();
        return value;
      });
      const value = await pair.now(stamped, PATIENCE);
      return { value, time: to - from };
    },
  };
}

describe('over 100 ms', () => {
  const size = 8 * 1024 * KIB;
  const big = patterned(size);

  it('a file comes many times faster than the first window would let it', async () => {
    const { pair, timed } = await far({ files: { '/big': big } });
    const ssh = (await timed(pair.connect())).value;
    assert.equal(ssh.stats.roundTrip, 100);
    const sftp = (await timed(ssh.sftp({ clock: pair.clock }))).value;
    const { value, time } = await timed(sftp.readFile('/big'));
    assert.ok(equalBytes(value, big));
    // 32 windows, of which each takes 100 ms
    assert.ok(time < 1500, `${time} ms`);
    const { window, received = 0, roundTrip } = sftp.stats ?? {};
    assert.ok(window !== undefined && window > 4 * WINDOW && received > size, `${window}`);
    assert.equal(roundTrip, 100);
    assert.ok(ssh.stats.bytesIn > size && ssh.stats.packetsIn > size / 32768);
    await pair.now(ssh.close(), PATIENCE);
  });

  it('and does not where no window may grow', async () => {
    const { pair, timed } = await far({ files: { '/big': big.subarray(0, size / 4) }, maxWindow: WINDOW });
    const ssh = (await timed(pair.connect())).value;
    const sftp = (await timed(ssh.sftp({ clock: pair.clock }))).value;
    const { time } = await timed(sftp.readFile('/big'));
    assert.ok(time > 800, `${time} ms for eight windows`);
    await pair.now(ssh.close(), PATIENCE);
  });

  it('a file goes as fast to a server, which measures the line with the first data', async () => {
    const { pair, files, timed } = await far();
    const ssh = (await timed(pair.connect())).value;
    assert.equal(pair.connection.stats.roundTrip, undefined);
    const sftp = (await timed(ssh.sftp({ clock: pair.clock }))).value;
    const { time } = await timed(sftp.writeFile('/copy', big));
    assert.equal(pair.connection.stats.roundTrip, 100);
    assert.ok(equalBytes(files.open('/copy', { read: true } as never).read(0, size) as Uint8Array, big));
    assert.ok(time < 2000, `${time} ms`);
    await pair.now(ssh.close(), PATIENCE);
  });

  it('what a program writes comes faster and faster, and the session tells its windows', async () => {
    const { pair, timed } = await far({
      async exec(session) {
        const writer = session.stdout.getWriter();
        for (let at = 0; at < size; at += 65_536) await writer.write(big.slice(at, at + 65_536));
        return 0;
      },
    });
    const ssh = (await timed(pair.connect())).value;
    const session = (await timed(ssh.exec('dump'))).value;
    // the first window came with the answer to the request, and nobody has read of it
    assert.deepEqual(
      [session.stats.window, session.stats.received, session.stats.granted, session.stats.adjustments],
      [WINDOW, WINDOW, 0, 0],
    );
    assert.equal(session.stats.roundTrip, 100);
    const { value, time } = await timed(readAll(session.stdout));
    assert.ok(equalBytes(value, big));
    assert.ok(time < 1500, `${time} ms`);
    assert.equal((await timed(session.exit)).value.code, 0);
    const { window, received, adjustments, sent } = session.stats;
    assert.deepEqual([received, sent], [size, 0]);
    assert.ok(window > 2048 * KIB && window <= 4096 * KIB, `${window}`);
    assert.ok(adjustments > 10 && adjustments < 200, `${adjustments}`);
    await pair.now(ssh.close(), PATIENCE);
  });

  it('a narrow line gets a window of twice what it carries in a round trip', async () => {
    // 10 MB/s: a round trip carries a megabyte
    const { pair, timed } = await far({
      rate: 10_000,
      async exec(session) {
        const writer = session.stdout.getWriter();
        for (let at = 0; at < size; at += 65_536) await writer.write(big.slice(at, at + 65_536));
        return 0;
      },
    });
    const ssh = (await timed(pair.connect())).value;
    const session = (await timed(ssh.exec('dump'))).value;
    await timed(readAll(session.stdout));
    const { window } = session.stats;
    assert.ok(window > 1_800_000 && window < 2_500_000, `${window}`);
    await pair.now(ssh.close(), PATIENCE);
  });

  it('a slow consumer holds its window down, and what waits for it stays within (T67)', async () => {
    let written = 0;
    const { pair, timed } = await far({
      async exec(session) {
        const writer = session.stdout.getWriter();
        for (;;) {
          await writer.write(new Uint8Array(32_768));
          written += 32_768;
        }
      },
    });
    const ssh = (await timed(pair.connect())).value;
    const session = (await timed(ssh.exec('endless'))).value;
    const reader = session.stdout.getReader();
    let read = 0;
    // a megabyte a second: a hundred thousand bytes each round trip, less than half of the window
    for (let round = 0; round < 40; round++) {
      while (read < round * 100_000) read += (await pair.now(reader.read(), PATIENCE)).value?.length ?? 0;
      await pair.clock.pass(100);
    }
    const { window, received, granted } = session.stats;
    assert.equal(window, WINDOW);
    assert.ok(received - read <= WINDOW && granted <= WINDOW);
    // it stood on its window, on the queue of the server's channel and on the program's stream
    assert.ok(written - read < WINDOW + 2 * 1024 * KIB, `${written - read} bytes are under way`);
    assert.ok(pair.connection.stats.channels === 1);
    await pair.now(ssh.close(), PATIENCE);
  });
});

describe('a server that reads nothing while its reply waits for window', () => {
  it('is never brought there by a window that grows (T05)', async () => {
    let time = 0;
    const clock = { now: () => time, after: () => () => {} };
    const link = new ApiLink('whole', { clock, client: { window: 128 * KIB, maxWindow: 2048 * KIB } });
    link.attend = () => {
      time += 20;
      return false;
    };
    const ssh = await link.login();
    const starting = ssh.sftp({ clock });
    const file = patterned(8 * 1024 * KIB);
    const bridge = await SftpOverSsh.start(link, new ScriptedSftp().add('/big', file));
    const { attend } = link;
    // each message takes it 2 ms, so that a round trip is some of them
    link.attend = () => {
      time += 2;
      return attend();
    };
    const sftp = await link.now(starting);
    const { roundTrip } = ssh.stats;
    assert.ok(roundTrip !== undefined && roundTrip >= 20, `${roundTrip}`);
    const bytes = await link.now(sftp.readFile('/big'));
    assert.ok(equalBytes(bytes, file));
    assert.equal(bridge.blocked.length, 0, 'a reply did not fit into the window');
    const { sendWindow } = bridge.channel;
    assert.ok(sendWindow > 1024 * KIB && sendWindow <= 2048 * KIB, `the window has grown: ${sendWindow}`);
  });
});
