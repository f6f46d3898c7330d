/** That the demo runs in every runtime, says what it did, and leaves nothing behind however it ends. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const demo = fileURLToPath(new URL(`../../bench/demo.${extension}`, import.meta.url));
const command =
  'Deno' in globalThis ? [process.execPath, 'run', '-A', '--no-lock', '--no-check', demo] : [process.execPath, demo];

const options = { timeout: 60_000 };

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Names of files that were left. */
  readonly left: readonly string[];
}

/** Runs the demo without a terminal; `interruptAt`: once its output has that. */
function run(args: readonly string[], interruptAt?: string): Promise<Ended> {
  const place = mkdtempSync(join(tmpdir(), 'puressh-demo-'));
  const [program, ...before] = command as [string, ...string[]];
  return new Promise<Ended>((resolve, reject) => {
    const env = { ...process.env, NO_COLOR: '1', PURESSH_BENCH_DIR: place };
    const child = spawn(program, [...before, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    let isInterrupted = false;
    const limit = setTimeout(() => child.kill('SIGKILL'), 50_000);
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
      if (isInterrupted || interruptAt === undefined || !stdout.includes(interruptAt)) return;
      isInterrupted = true;
      process.kill(child.pid as number, 'SIGINT');
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (status) => {
      clearTimeout(limit);
      resolve({ status, stdout, stderr, left: readdirSync(place) });
    });
  }).finally(() => rmSync(place, { recursive: true, force: true }));
}

describe('the demo', () => {
  it('moves a file there and back, and says how', options, async () => {
    const { status, stdout, stderr, left } = await run(['--size', '3.3']);
    assert.deepEqual([status, stderr, left], [0, '', []], stdout);
    for (const name of ['upload', 'download']) {
      const row = new RegExp(
        `^${name} +[\\d.]+ MB/s \\(3\\.46 MB in [\\d.]+ s\\), up to \\d+ requests and .* in flight$`,
        'm',
      );
      assert.match(stdout, row);
      assert.match(stdout, new RegExp(`^${name} {2}100% {2}3\\.46 MB$`, 'm'));
    }
    for (const row of ['key exchange', 'host key', 'cipher', 'MAC'])
      assert.match(stdout, new RegExp(`^${row} +\\S`, 'm'));
    assert.match(stdout, /every byte is the same/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there is none is the point
    assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u007f]/);
  });

  for (const at of ['writing', 'upload  25%', 'upload  100%']) {
    it(`cleans up when it is interrupted at: ${at}`, options, async () => {
      const { status, stdout, stderr, left } = await run(['--size', '96'], at);
      assert.deepEqual([status, left], [130, []], stdout + stderr);
      assert.match(stderr, /^demo: .* aborted.*\n$/);
      assert.doesNotMatch(stdout, /every byte is the same/);
    });
  }

  it('says what is wrong with a size', options, async () => {
    for (const size of ['none', '0', '-1', 'Infinity']) {
      const { status, stdout, stderr, left } = await run([`--size=${size}`]);
      assert.deepEqual([status, stdout, left], [1, '', []]);
      assert.equal(stderr, `demo: --size takes mebibytes, not ${size}\n`);
    }
  });
});
