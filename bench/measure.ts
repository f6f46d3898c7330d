/** Runs one program to its end: how long it took, the work that it was, and the most memory that it held. */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What a run took. Memory and work are those of the program and whatever it starts; absent where there is no `/proc`. */
export interface Measurement {
  /** Wall-clock time of the whole process. */
  readonly seconds: number;
  /** Processor time, user and system. */
  readonly cpuSeconds: number | undefined;
  /** Highest resident set in bytes. */
  readonly peakMemory: number | undefined;
  readonly stdout: string;
}

const POLL_MS = 10; // the kernel keeps highest marks and sums itself, so only the last moments can be missed
const TICKS_PER_SECOND = 100; // USER_HZ, which Linux fixes for what it shows in /proc

/** Rejects, with what the program wrote on standard error, when it fails or is not done after `limitSeconds`. */
export function measure(command: readonly string[], limitSeconds: number, input = ''): Promise<Measurement> {
  const [program, ...args] = command as [string, ...string[]];
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    const usage = new Usage();
    const poll = setInterval(() => usage.sample(child.pid as number), POLL_MS);
    const limit = setTimeout(() => child.kill('SIGKILL'), limitSeconds * 1000);
    let seconds = 0;
    child.on('exit', () => {
      seconds = (performance.now() - started) / 1000;
      clearInterval(poll);
      clearTimeout(limit);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const { cpuSeconds, peakMemory } = usage;
      if (code === 0) resolve({ seconds, cpuSeconds, peakMemory, stdout });
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

/** What a process and its children have used, as last seen. `sftp` has its cryptography done by a child. */
class Usage {
  readonly #seen = new Map<number, { readonly memory: number; readonly ticks: number }>();

  sample(pid: number): void {
    try {
      const memory = Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const ticks = Number(fields[11]) + Number(fields[12]); // utime and stime: proc_pid_stat(5)
      if (memory > 0) this.#seen.set(pid, { memory, ticks });
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
      for (const child of children) if (child !== '') this.sample(Number(child));
    } catch {
      // It has ended, or there is no /proc.
    }
  }

  get cpuSeconds(): number | undefined {
    return this.#sum((each) => each.ticks / TICKS_PER_SECOND);
  }

  get peakMemory(): number | undefined {
    return this.#sum((each) => each.memory);
  }

  #sum(pick: (each: { readonly memory: number; readonly ticks: number }) => number): number | undefined {
    if (this.#seen.size === 0) return undefined;
    return [...this.#seen.values()].reduce((sum, each) => sum + pick(each), 0);
  }
}

/** The middle value; of an even number the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}
