/**
 * The relay in a process of its own, so that what it costs is seen apart from the measuring and slows it as little as two
 * cores allow.
 */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { usageOf } from './measure.ts';

/** A relay that runs. */
export interface Relay {
  readonly port: number;
  /** Added to every round trip, in milliseconds. */
  readonly delay: number;
  /** Processor time since its start, in seconds, and its highest resident set, in bytes; absent where there is no `/proc`. */
  usage(): { readonly cpuSeconds: number; readonly peakMemory: number } | undefined;
  stop(): void;
}

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const script = fileURLToPath(new URL(`delay_proxy.${extension}`, import.meta.url));

/** Starts a relay to `port` on loopback whose round trip is `delay` milliseconds longer. It ends with this process. */
export function startRelay(port: number, delay: number): Promise<Relay> {
  const args = [script, String(port), String(delay), 'attached'];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`The relay ended with code ${code}`)));
    child.stdout.once('data', (line) => {
      resolve({
        port: Number(line),
        delay,
        usage: () => usageOf(child.pid as number),
        stop: () => child.kill('SIGKILL'),
      });
    });
  });
}
