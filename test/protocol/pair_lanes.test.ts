/** Large uploads of our client to a server of ours that is far away, with all that lies between, in virtual time. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import type { SftpClient } from '../../src/sftp/client.ts';
import { type MemoryFiles, memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { sftpSubsystem } from '../../src/sftp_subsystem.ts';
import type { SshClient } from '../../src/ssh_client.ts';
import { ApiPair } from '../support/api_pair.ts';
import { patterned } from '../support/scripted_sftp.ts';

const KIB = 1024;
const WINDOW = 64 * KIB;
const BIG = patterned(4 * 1024 * KIB);
/** WRITEs that are small against the window. */
const OPTIONS = { requestSize: 8 * KIB };
/** Far more than any of these needs, in virtual milliseconds. */
const PATIENCE = 60_000;

interface Far {
  readonly pair: ApiPair;
  readonly ssh: SshClient;
  readonly sftp: SftpClient;
  readonly files: MemoryFiles;
  /** Sessions that the server runs, and the most that it ran at once. */
  readonly sessions: { running: number; most: number; started: number };
  now<T>(promise: Promise<T>): Promise<T>;
  content(path: string): Uint8Array;
}

/** A server whose windows do not grow and that allows `allowed` sessions, `milliseconds` away, `rate` bytes in each. */
async function far(milliseconds: number, allowed: number, rate?: number): Promise<Far> {
  const time = (): number => 1_700_000_000_000;
  const files = memoryFiles({ now: time, files: {} });
  const sessions = { running: 0, most: 0, started: 0 };
  const pair = await ApiPair.start({
    line: { milliseconds: milliseconds / 2, rate },
    server: (clock) => {
      const subsystem = sftpSubsystem(files, { now: time, clock });
      return {
        window: WINDOW,
        maxWindow: WINDOW,
        capacity: { sessions: allowed },
        session: {
          subsystems: {
            sftp: async (session) => {
              sessions.started++;
              sessions.most = Math.max(sessions.most, ++sessions.running);
              try {
                return await subsystem(session);
              } finally {
                sessions.running--;
              }
            },
          },
        },
      };
    },
  });
  const now = <T>(promise: Promise<T>): Promise<T> => pair.now(promise, PATIENCE);
  const ssh = await now(pair.connect());
  const sftp = await now(ssh.sftp({ clock: pair.clock }));
  const content = (path: string): Uint8Array =>
    files.open(path, { read: true } as never).read(0, BIG.length + 1) as Uint8Array;
  return { pair, ssh, sftp, files, sessions, now, content };
}

describe('a large upload to a server far away', () => {
  it('goes over eight sessions of one connection, which are gone a while later', async () => {
    const { pair, ssh, sftp, sessions, now, content } = await far(100, 10);
    const alone = await now(sftp.put(BIG.subarray(0, 1024 * KIB), '/alone', { ...OPTIONS, lanes: 1 }));
    assert.deepEqual([alone.lanes, sessions.started], [1, 1]);
    assert.ok(Math.abs(alone.rate / (10 * WINDOW) - 1) < 0.2, 'a window a round trip');
    const all = await now(sftp.put(BIG, '/big', OPTIONS));
    assert.ok(equalBytes(content('/big'), BIG));
    assert.deepEqual([all.lanes, sessions.most], [8, 8]);
    assert.ok(all.rate > 3 * alone.rate, `${all.rate} against ${alone.rate}`);
    await pair.clock.pass(5000);
    assert.equal(sessions.running, 1);
    await now(ssh.close());
  });

  it('leaves room for others, and does with what there is', async () => {
    const { ssh, sftp, sessions, now, content } = await far(100, 3);
    const { lanes } = await now(sftp.put(BIG, '/big', OPTIONS));
    assert.ok(equalBytes(content('/big'), BIG));
    assert.deepEqual([lanes, sessions.running], [2, 2]);
    await now(ssh.subsystem('sftp'));
    await now(ssh.close());
  });

  it('stays on one session where the line is narrow, and not the window', async () => {
    const { ssh, sftp, sessions, now, content } = await far(100, 10, 250);
    const { lanes, rate } = await now(sftp.put(BIG.subarray(0, 1024 * KIB), '/big', OPTIONS));
    assert.ok(equalBytes(content('/big'), BIG.subarray(0, 1024 * KIB)));
    assert.deepEqual([lanes, sessions.started], [1, 1]);
    assert.ok(rate > 150_000, `${rate} of 250000 bytes a second`); // what is written at once arrives at once
    await now(ssh.close());
  });

  it('stays on one session where it is near, as do two hundred operations in a row (T59)', async () => {
    const { ssh, sftp, sessions, now, content } = await far(1, 10);
    const { lanes } = await now(sftp.put(BIG, '/big', OPTIONS));
    assert.equal(lanes, 1);
    assert.ok(equalBytes(content('/big'), BIG));
    for (let i = 0; i < 50; i++) {
      await now(sftp.put(BIG.subarray(0, 1000), `/small`));
      await now(sftp.readFile('/small'));
      await now(sftp.stat('/small'));
      await now(sftp.remove('/small'));
    }
    assert.equal(sessions.started, 1);
    await now(ssh.close());
  });
});
