/** Runs one program to its end: how long it took, and the most memory that it held. */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What a run took. */
export interface Measurement {
  /** Wall-clock time of the whole process. */
  readonly seconds: number;
  /** Highest resident set in bytes; absent where there is no `/proc`. */
  readonly peakMemory: number | undefined;
  readonly stdout: string;
}

const POLL_MS = 20; // the kernel keeps the highest mark itself, so only the last moments can be missed

/** Rejects, with what the program wrote on standard error, when it fails or is not done after `limitSeconds`. */
export function measure(command: readonly string[], limitSeconds: number, input = ''): Promise<Measurement> {
  const [program, ...args] = command as [string, ...string[]];
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    let peakMemory: number | undefined;
    const poll = setInterval(() => {
      peakMemory = highWaterMark(child.pid) ?? peakMemory;
    }, POLL_MS);
    const limit = setTimeout(() => child.kill('SIGKILL'), limitSeconds * 1000);
    let seconds = 0;
    child.on('exit', () => {
      seconds = (performance.now() - started) / 1000;
      clearInterval(poll);
      clearTimeout(limit);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve({ seconds, peakMemory, stdout });
      else reject(new Error(`${program} ended with ${signal ?? code} after ${seconds.toFixed(1)} s: ${stderr.trim()}`));
    });
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.stdin.on('error', () => {}); // it ended without reading; its exit code tells
    child.stdin.end(input);
  });
}

function highWaterMark(pid: number | undefined): number | undefined {
  try {
    const kilobytes = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}

/** The middle value; of an even number the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}
