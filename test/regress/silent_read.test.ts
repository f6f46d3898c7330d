/** A server that never answers some READs: they must not take the room of whatever is read later on the same session. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SftpClient } from '../../src/sftp/client.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned, ScriptedSftp } from '../support/scripted_sftp.ts';

const WINDOW = 64 * 1024;

async function session(): Promise<{ sftp: SftpClient; server: ScriptedSftp }> {
  const server = new ScriptedSftp({ window: WINDOW, read: ({ path }) => (path === '/stuck' ? 'silence' : 'honest') });
  server.add('/stuck', patterned(1_000_000)).add('/file', patterned(300_000));
  return { sftp: await SftpClient.open(server, { stallTimeout: 100 }), server };
}

describe('reading after a READ that is never answered', () => {
  it('goes on when the transfer with it has ended with timeout', { timeout: 20_000 }, async () => {
    const { sftp, server } = await session();
    for (let round = 0; round < 3; round++) {
      await rejectsWith(sftp.readFile('/stuck'), 'timeout');
      assert.deepEqual(await sftp.readFile('/file'), patterned(300_000));
    }
    assert.equal(server.overruns, 0);
  });

  it('goes on when the transfer with it was aborted', { timeout: 20_000 }, async () => {
    const { sftp } = await session();
    const controller = new AbortController();
    const stuck = sftp.readFile('/stuck', { signal: controller.signal, stallTimeout: 0 });
    const waiting = sftp.readFile('/file', { stallTimeout: 0 });
    setTimeout(() => controller.abort(), 50);
    await rejectsWith(stuck, 'aborted');
    assert.deepEqual(await waiting, patterned(300_000));
  });
});
