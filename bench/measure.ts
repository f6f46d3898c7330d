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

/** A program, what goes to its standard input, and variables beside those of this process. */
export interface Invocation {
  readonly command: readonly string[];
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Rejects, with what the program wrote on standard error, when it fails or is not done after `limitSeconds`. */
export function measure({ command, input, env }: Invocation, limitSeconds: number): Promise<Measurement> {
  const [program, ...args] = command as [string, ...string[]];
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    const stdout: Buffer[] = [];
    let stderr = '';
    const usage = new Usage();
    const poll = setInterval(() => usage.sample(child.pid as number), POLL_MS);
    const limit = setTimeout(() => child.kill('SIGKILL'), limitSeconds * 1000);
    let seconds = 0;
    const stop = (): void => {
      seconds = (performance.now() - started) / 1000;
      clearInterval(poll);
      clearTimeout(limit);
    };
    child.on('exit', stop);
    child.on('error', (error) => {
      stop();
      reject(error);
    });
    child.on('close', (code, signal) => {
      const { cpuSeconds, peakMemory } = usage;
      if (code === 0) resolve({ seconds, cpuSeconds, peakMemory, stdout: Buffer.concat(stdout).toString() });
      else reject(new Error(`${program} ended with ${signal ?? code} after ${seconds.toFixed(1)} s: ${stderr.trim()}`));
    });
    child.stdout.on('data', (chunk) => stdout.push(chunk));
    child.stderr.on('data', (chunk) => {
      stderr = (stderr + chunk).slice(-STDERR_KEPT);
    });
    child.stdin.on('error', () => {}); // it ended without reading; its exit code tells
    child.stdin.end(input);
  });
}

const STDERR_KEPT = 2000; // characters; its end says why a program failed

/** Processor time and resident set of one process, highest and now, without its children. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly peakMemory: number;
  readonly memory: number;
}

export function usageOf(pid: number): ProcessUsage | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1]);
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]); // utime and stime: proc_pid_stat(5)
    return {
      cpuSeconds: ticks / TICKS_PER_SECOND,
      peakMemory: kilobytes('VmHWM') * 1024,
      memory: kilobytes('VmRSS') * 1024,
    };
  } catch {
    return undefined; // It has ended, or there is no /proc.
  }
}

/** What a process and its children have used, as last seen. `sftp` has its cryptography done by a child. */
export class Usage {
  readonly #seen = new Map<number, ProcessUsage>();

  sample(pid: number): void {
    const seen = usageOf(pid);
    if (seen === undefined) return;
    if (seen.peakMemory > 0) this.#seen.set(pid, seen);
    try {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
      for (const child of children) if (child !== '') this.sample(Number(child));
    } catch {
      // It has ended.
    }
  }

  get cpuSeconds(): number | undefined {
    return this.#sum((each) => each.cpuSeconds);
  }

  get peakMemory(): number | undefined {
    return this.#sum((each) => each.peakMemory);
  }

  /** The resident set when last seen. */
  get memory(): number | undefined {
    return this.#sum((each) => each.memory);
  }

  #sum(pick: (each: ProcessUsage) => number): number | undefined {
    if (this.#seen.size === 0) return undefined;
    return [...this.#seen.values()].reduce((sum, each) => sum + pick(each), 0);
  }
}

/** Counts how busy all processors are: the returned function says the share, 0 to 1, since the call. */
export function watchBusy(): () => number | undefined {
  const before = processorTimes();
  return () => {
    const after = processorTimes();
    if (before === undefined || after === undefined) return undefined;
    const total = after.total - before.total;
    return total > 0 ? 1 - (after.idle - before.idle) / total : undefined;
  };
}

function processorTimes(): { readonly total: number; readonly idle: number } | undefined {
  try {
    const line = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] as string;
    const times = line.split(/\s+/).slice(1, 9).map(Number); // user nice system idle iowait irq softirq steal: proc_stat(5)
    return { total: times.reduce((sum, each) => sum + each, 0), idle: (times[3] ?? 0) + (times[4] ?? 0) };
  } catch {
    return undefined;
  }
}
