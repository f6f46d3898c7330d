/** Files of an upload over several channels of a server that is far away, in virtual time. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../../src/bytes/bytes.ts';
import { decodeLenient } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import { SftpClient } from '../../../src/sftp/client.ts';
import { decodePacket, packets } from '../../../src/sftp/proto/packets.ts';
import type { TreeOptions, TreeResult } from '../../../src/sftp/tree/options.ts';
import { FarSessions } from '../../support/far_sessions.ts';
import { MemoryFiles } from '../../support/memory_files.ts';
import { patterned, reply, type Script } from '../../support/scripted_sftp.ts';
import { VirtualClock } from '../../support/virtual_clock.ts';

const KIB = 1024;
/** Files of 32 KiB into windows of 64 KiB. */
const FILES = 120;
const BYTES = patterned(32 * KIB);
const WINDOW = 64 * KIB;

interface Upload {
  readonly far: FarSessions;
  readonly clock: VirtualClock;
  readonly client: SftpClient;
  readonly result: TreeResult | SshError;
}

interface Bent {
  readonly roundTrip?: number;
  readonly window?: number;
  /** What a session does besides; `other`: it has no file of the others. */
  readonly session?: (number: number, far: FarSessions) => Script['request'] | 'refused' | 'other';
  readonly options?: TreeOptions;
}

/** Uploads the files, and looks that nothing is left over. */
async function upload({ roundTrip = 100, window = WINDOW, session, options }: Bent = {}): Promise<Upload> {
  const clock = new VirtualClock();
  const far = new FarSessions({ clock, roundTrip, window });
  far.filesOf = (number) => (session?.(number, far) === 'other' ? new Map() : far.files);
  far.script = (number) => {
    const own = session?.(number, far);
    if (own === 'refused') return own;
    const files = far.filesOf(number);
    return {
      request: (name, id, packet) => {
        const bent = typeof own === 'function' ? own(name, id, packet) : 'honest';
        if (bent !== 'honest') return bent;
        if (name === 'MKDIR') return 0;
        if (name !== 'LSTAT') return 'honest';
        const node = files.get(decodeLenient(decodePacket(packets.lstat, packet).path));
        return node === undefined ? 2 : [reply.attrs(id, { size: node.bytes.length, atime: 1, mtime: 1 })];
      },
    };
  };
  const local = new MemoryFiles();
  for (let i = 0; i < FILES; i++) local.add(`t/${i}`, BYTES);
  const run = async <T>(promise: Promise<T>): Promise<T> => {
    let settled = false;
    const note = (): void => {
      settled = true;
    };
    promise.then(note, note);
    for (let i = 0; i < 10_000 && !settled; i++) await clock.pass(25);
    assert.ok(settled, 'it hangs');
    return promise;
  };
  const pipe = await run(far.open());
  const client = await run(
    SftpClient.open(pipe, { clock, openLane: far.open, stallTimeout: 60_000, localFiles: local }),
  );
  const result = await run(client.putTree('t', '/out', { requestSize: 8 * KIB, ...options }).catch((e: SshError) => e));
  await clock.pass(10_000); // what is kept for the next upload is given up
  assert.equal(far.handles, 0, 'open handles');
  assert.equal(far.count, 1, 'open sessions');
  assert.equal(local.opened, 0, 'local files');
  await run(client.close());
  assert.equal(clock.timers, 0, 'timers');
  return { far, clock, client, result };
}

/** All files are there and whole, however many sessions carried them. */
function assertWhole({ far, result }: Upload): TreeResult {
  assert.ok(!(result instanceof SshError), String(result));
  assert.deepEqual([result.files, result.failed], [FILES, []]);
  assert.deepEqual([...far.files.keys()].sort(), Array.from({ length: FILES }, (_, i) => `/out/${i}`).sort());
  for (const { bytes } of far.files.values()) assert.ok(equalBytes(bytes, BYTES));
  return result;
}

/** Files that a session was sent. */
function carried(far: FarSessions, session: number): number {
  return far.sessions[session]?.server.log.filter((line) => line.startsWith('OPEN')).length ?? 0;
}

describe('putTree over lanes', () => {
  it('spreads files over channels while the window is the limit, each over one', async () => {
    const alone = await upload({ options: { lanes: 1 } });
    assert.equal(alone.far.asked, 1);
    const several = await upload();
    const { seconds, lanes, roundTrip, requests } = assertWhole(several);
    assert.deepEqual([lanes, roundTrip, requests], [several.far.asked, 100, FILES * 4]);
    assert.ok(seconds < assertWhole(alone).seconds / 2, `${seconds} s`);
    const { far } = several;
    assert.ok(far.asked > 2 && far.asked <= 8, `${far.asked} sessions`);
    for (let session = 1; session < far.asked; session++) {
      assert.ok(carried(far, session) > 0, `session ${session} was of use`);
      assert.equal(far.sessions[session]?.server.log[0], 'INIT');
    }
    const all = far.sessions.reduce((sum, _, session) => sum + carried(far, session), 0);
    assert.equal(all, FILES);
  });

  it('opens none where the window is wide, or near', async () => {
    for (const bent of [{ window: 64 * 1024 * KIB }, { roundTrip: 2 }]) {
      const near = await upload(bent);
      assertWhole(near);
      assert.equal(near.far.asked, 1);
    }
  });

  it('goes on with what it has where a channel is refused', async () => {
    const refused = await upload({ session: (number) => (number === 0 ? undefined : 'refused') });
    assertWhole(refused);
    assert.ok(refused.far.asked > 1);
    const asked = refused.far.asked;
    assert.ok(asked <= 8, 'it is not tried again');
  });

  it('uses no channel behind which there are other files, be they of the same name', async () => {
    const changed: Script['request'] = (name, id) =>
      name === 'LSTAT' ? [reply.attrs(id, { size: BYTES.length, atime: 1, mtime: 2 })] : 'honest';
    for (const bent of ['other', changed] as const) {
      const other = await upload({ session: (number) => (number === 0 ? undefined : bent) });
      assertWhole(other);
      assert.ok(other.far.asked > 1);
      for (let session = 1; session < other.far.sessions.length; session++) {
        assert.equal(carried(other.far, session), 0);
      }
    }
  });

  it('a channel that is lost costs no file', async () => {
    const lost = await upload({
      session: (number, far) => (name) => {
        if (number !== 0 && name === 'WRITE') {
          far.sessions[number]?.close(new SshError('channel-closed', 'gone', { fault: 'peer' }));
          return 'silence';
        }
        return 'honest';
      },
    });
    const { far, result } = lost;
    assert.ok(!(result instanceof SshError), String(result));
    assert.deepEqual([result.files, result.failed], [FILES, []]);
    assert.ok(far.asked > 1);
    for (let i = 0; i < FILES; i++)
      assert.ok(equalBytes(far.files.get(`/out/${i}`)?.bytes ?? new Uint8Array(0), BYTES), `${i}`);
  });

  it('an abort ends the files on all channels and gives the channels back', async () => {
    const controller = new AbortController();
    const { result, far } = await upload({
      options: {
        signal: controller.signal,
        onProgress: ({ files }) => {
          if (files === 60) controller.abort();
        },
      },
    });
    assert.equal((result as SshError).code, 'aborted');
    assert.ok(far.asked > 2);
    assert.deepEqual(
      [...far.files.keys()].filter((path) => path.endsWith('.part')),
      [],
    );
  });
});
