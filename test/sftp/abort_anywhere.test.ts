/** An abort at any request of a transfer: nothing is left that is not whole, nothing is left open, and the session works. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { patterned, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';

const BYTES = patterned(400_000);
const OLD = new Uint8Array([1, 2, 3]);

interface Ended {
  readonly server: ScriptedSftp;
  readonly files: MemoryFiles;
  readonly error: SshError | undefined;
  /** Requests that came until it had ended. */
  readonly requests: number;
  /** The name of that one. */
  readonly request: string;
}

type Way = 'get' | 'put';

/** One transfer, aborted when request number `at` comes, which is `answered` or not. */
async function aborted(way: Way, resume: boolean, at: number, answered: boolean): Promise<Ended> {
  const controller = new AbortController();
  let requests = 0;
  let request = '';
  let isOver = false;
  const script: Script = {
    extensions: ['posix-rename@openssh.com', 'fsync@openssh.com', 'check-file-handle'],
    request: (name) => {
      if (isOver || requests++ !== at) return 'honest';
      request = name;
      controller.abort();
      return answered ? 'honest' : 'silence';
    },
  };
  const server = new ScriptedSftp(script);
  server.files.set('/f', { bytes: way === 'get' ? BYTES : OLD, permissions: 0o100644, modified: 1_600_000_000 });
  const files = new MemoryFiles().add('f', way === 'get' ? OLD : BYTES);
  const client = await SftpClient.open(server, { localFiles: files });
  const options = {
    signal: controller.signal,
    verify: 'hash',
    preserve: true,
    sync: true,
    resume,
    requests: 6,
  } as const;
  const moving = way === 'get' ? client.get('/f', 'f', options) : client.put('f', '/f', options);
  const error = await moving.then(
    () => undefined,
    (reason: SshError) => reason,
  );
  isOver = true;
  for (let i = 0; i < 4; i++) await client.lstat('/f'); // what was sent and not waited for is done then
  await client.close();
  return { server, files, error, requests, request };
}

const partsOf = (names: Iterable<string>): string[] => [...names].filter((name) => name.endsWith('.part'));

describe('an abort', () => {
  for (const way of ['get', 'put'] as const) {
    for (const resume of [false, true]) {
      it(`at any request of ${way}${resume ? ' with resume' : ''}`, async () => {
        const whole = await aborted(way, resume, -1, true);
        assert.equal(whole.error, undefined);
        let failures = 0;
        for (let at = 0; at < whole.requests; at++) {
          for (const answered of [true, false]) {
            const where = `request ${at}, ${answered ? 'answered' : 'not answered'}`;
            const { server, files, error, request } = await aborted(way, resume, at, answered);
            assert.ok(
              error === undefined || (error instanceof SshError && error.code === 'aborted'),
              `${where}: ${error}`,
            );
            if (error !== undefined) failures++;
            const target = way === 'get' ? files.content('f') : (server.files.get('/f')?.bytes as Uint8Array);
            assert.ok(equalBytes(target, BYTES) || (error !== undefined && equalBytes(target, OLD)), where);
            assert.equal(files.opened, 0, where);
            // a CLOSE that the server leaves out is not sent again
            const left = !answered && request === 'CLOSE' ? 1 : 0;
            assert.equal(server.openHandles.size, left, `${where}: ${request}`);
            if (resume) continue;
            assert.deepEqual(partsOf(files.nodes.keys()), [], where);
            assert.deepEqual(partsOf(server.files.keys()), [], where);
          }
        }
        assert.ok(failures > whole.requests);
      });
    }
  }
});
