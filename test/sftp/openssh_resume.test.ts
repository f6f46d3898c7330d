/** Resuming, times, holes and places in files, with sftp-server of OpenSSH and files on a disk, and with processes that die. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { GetResult } from '../../src/sftp/get_options.ts';
import type { PutResult } from '../../src/sftp/put_options.ts';
import { api } from '../support/connect.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned } from '../support/scripted_sftp.ts';
import { type StdioPipe, stdioPipe } from '../support/stdio_pipe.ts';

const SERVER = '/usr/lib/openssh/sftp-server';
const skip = existsSync(SERVER) ? false : `${SERVER} is not installed`;
const MIB = 1024 * 1024;
const BYTES = patterned(8 * MIB);
const directory = mkdtempSync(join(tmpdir(), 'puressh-resume-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const at = (name: string): string => join(directory, name);
const parts = (): string[] => readdirSync(directory).filter((name) => name.endsWith('.part'));

/** Runs `use` with a session, which ends after it, killed or not. */
async function session<T>(use: (sftp: SftpClient, pipe: StdioPipe) => Promise<T>): Promise<T> {
  const pipe = stdioPipe(SERVER, [], directory);
  const sftp = await SftpClient.open(pipe, { localFiles: api.localFiles });
  try {
    return await use(sftp, pipe);
  } finally {
    await sftp.close();
    await pipe.exited;
  }
}

/** Moves `from` to `to`; both are names in the directory. */
type Move = (sftp: SftpClient, from: string, to: string, options: object) => Promise<GetResult | PutResult>;
const moves: Readonly<Record<'get' | 'put', Move>> = {
  get: (sftp, from, to, options) => sftp.get(from, at(to), options),
  put: (sftp, from, to, options) => sftp.put(at(from), to, options),
};

/** Runs the program until it has moved as much as it was told, and kills it. */
async function killedProgram(args: readonly string[]): Promise<void> {
  const extension = import.meta.url.slice(-3); // .ts, or .js where it was compiled
  const program = fileURLToPath(new URL(`../support/transfer_program${extension}`, import.meta.url));
  const deno = 'Deno' in globalThis ? ['run', '-A', '--no-lock', '--no-check'] : [];
  const child = spawn(process.execPath, [...deno, program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.on('data', () => child.kill('SIGKILL'));
  await new Promise((resolve) => child.on('close', resolve));
}

describe('transfers with sftp-server of OpenSSH', () => {
  for (const way of ['get', 'put'] as const) {
    it(`${way}: a server that is killed leaves what is sure, and the rest follows`, { skip }, async () => {
      writeFileSync(at('from'), BYTES);
      let sure = 0;
      for (const share of [0.2, 0.6]) {
        await session(async (sftp, pipe) => {
          const onProgress = ({ bytes }: { readonly bytes: number }): void => {
            if (bytes > share * BYTES.length) pipe.kill();
          };
          const error = await rejectsWith(
            moves[way](sftp, 'from', 'to', { resume: true, onProgress }),
            'channel-closed',
          );
          sure = error.transferred ?? 0;
        });
        assert.ok(!existsSync(at('to')));
        assert.equal(parts().length, 1);
      }
      const { resumedFrom, bytes } = await session((sftp) => moves[way](sftp, 'from', 'to', { resume: true }));
      // of an upload nobody could cut the part, so what may be behind a hole is sent again; more was written than acknowledged
      if (way === 'get') assert.equal(resumedFrom, sure);
      else assert.ok((resumedFrom as number) >= sure - 2 * MIB, `from ${resumedFrom} of ${sure}`);
      assert.equal((resumedFrom ?? 0) + bytes, BYTES.length);
      assert.ok(equalBytes(readFileSync(at('to')), BYTES));
      assert.deepEqual(parts(), []);
      rmSync(at('to'));
    });

    it(`${way}: a program that is killed leaves a part to go on from`, { skip }, async () => {
      writeFileSync(at('from'), BYTES);
      const [remote, local] = way === 'get' ? ['from', at('to')] : ['to', at('from')];
      await killedProgram([way, SERVER, directory, remote, local, String(MIB), String(3 * MIB)]);
      assert.ok(!existsSync(at('to')));
      const [part = ''] = parts();
      assert.match(part, /^\.to\.8388608-[\d.]+\.part$/);
      const there = statSync(at(part)).size;
      assert.ok(
        there >= 3 * MIB && equalBytes(readFileSync(at(part)).subarray(0, there - MIB), BYTES.subarray(0, there - MIB)),
      );
      // an ordinary client trusts no more than what lies before its own, larger span
      await session((sftp) => moves[way](sftp, 'from', 'to', { resume: true }));
      assert.ok(equalBytes(readFileSync(at('to')), BYTES));
      assert.deepEqual(parts(), []);
      rmSync(at('to'));
    });

    it(`${way}: an abort leaves what is sure, and the session as it was`, { skip }, async () => {
      writeFileSync(at('from'), BYTES);
      await session(async (sftp) => {
        const controller = new AbortController();
        const onProgress = ({ bytes }: { readonly bytes: number }): void => {
          if (bytes > 2 * MIB) controller.abort();
        };
        const stopped = moves[way](sftp, 'from', 'to', { resume: true, signal: controller.signal, onProgress });
        const { transferred } = await rejectsWith(stopped, 'aborted');
        assert.match(parts()[0] as string, /\.kept\.part$/);
        const { resumedFrom } = await moves[way](sftp, 'from', 'to', { resume: true, verify: 'content' });
        assert.equal(resumedFrom, transferred);
      });
      assert.ok(equalBytes(readFileSync(at('to')), BYTES));
      assert.deepEqual(parts(), []);
      rmSync(at('to'));
    });

    it(`${way}: keeps permissions and times`, { skip }, async () => {
      writeFileSync(at('from'), 'x');
      chmodSync(at('from'), 0o640);
      utimesSync(at('from'), 1_000_000_000, 1_100_000_000);
      writeFileSync(at('to'), 'old', { mode: 0o600 });
      const { warnings } = await session((sftp) => moves[way](sftp, 'from', 'to', { preserve: true }));
      assert.deepEqual(warnings, []);
      const { mode, mtimeMs } = statSync(at('to'));
      assert.deepEqual([mode & 0o7777, mtimeMs], [0o640, 1_100_000_000_000]);
      rmSync(at('to'));
    });

    it(`${way}: goes on with a file that another program left`, { skip }, async () => {
      writeFileSync(at('from'), BYTES);
      writeFileSync(at('to'), BYTES.subarray(0, 5 * MIB));
      const { resumedFrom } = await session((sftp) => moves[way](sftp, 'from', 'to', { resume: 'target' }));
      assert.equal(resumedFrom, 5 * MIB);
      assert.ok(equalBytes(readFileSync(at('to')), BYTES));
      assert.deepEqual(parts(), []);
      rmSync(at('to'));
    });
  }

  it('get: holes take no room on the disk', { skip }, async () => {
    writeFileSync(at('from'), concat(BYTES.subarray(0, 100_000), new Uint8Array(8 * MIB)));
    await session((sftp) => sftp.get('from', at('to'), { sparse: true }));
    assert.ok(equalBytes(readFileSync(at('to')), readFileSync(at('from'))));
    assert.ok(statSync(at('to')).blocks * 512 < MIB, `${statSync(at('to')).blocks} blocks`);
    rmSync(at('to'));
  });

  it('put: appends, and writes at a position', { skip }, async () => {
    writeFileSync(at('to'), 'one two three');
    await session(async (sftp) => {
      const text = new TextEncoder();
      await sftp.put(text.encode(' four'), 'to', { append: true });
      await sftp.put(text.encode('TWO'), 'to', { position: 4 });
    });
    assert.equal(readFileSync(at('to'), 'utf8'), 'one TWO three four');
  });
});
