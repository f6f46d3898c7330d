/** A download that whoever takes it holds back: memory must not grow, and nothing may break. */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { type Invocation, Usage } from '../measure.ts';
import { MEBI } from '../plan.ts';
import type { Case, Sample } from '../runner.ts';
import { type Bench, delaysOf, type Suite } from './suite.ts';

const FAST = 8e6; // bytes a second that the sink takes
const SLOW = 1e6;
const TURN_MS = 20; // between takes
const SAMPLE_MS = 250; // between looks at the memory, or longer:
const SAMPLES = 240; // enough for a picture
const LIMIT_FACTOR = 1.5; // a transfer that takes longer than this many times what the sink asks for hangs

export const sink: Suite = {
  name: 'sink',
  title: 'A slow sink',
  text: 'A download to standard output that is read at a fixed rate. Growth is that of the resident set after the first quarter; a pause is a time in which the reader waited for a byte.',
  rounds: 1,
  cases(bench) {
    const { plan } = bench;
    const bytes = Math.min(plan.bytes, (plan.quick ? 32 : 64) * MEBI);
    const cases = delaysOf(bench, [0, 100], [100]).flatMap((delay) =>
      bench.own.map((program) => sinkCase(bench, program, delay, bytes, FAST)),
    );
    const first = bench.own[0];
    if (plan.long && first !== undefined) cases.push(sinkCase(bench, first, 100, plan.bytes, SLOW));
    return cases;
  },
};

function sinkCase({ stage }: Bench, program: Bench['own'][number], delay: number, bytes: number, rate: number): Case {
  return {
    ...{ subject: program.name, work: 'sink', delay, bytes },
    ...(program.runtime === undefined ? {} : { runtime: program.runtime }),
    parameter: { name: 'rate', value: rate },
    async run() {
      const remote = stage.file(bytes);
      const { peer } = stage;
      const port = (await stage.relay(delay))?.port ?? peer.port;
      const invocation = program.invoke({ work: 'get', port, peer, remote, local: '-' });
      const { digest, ...sample } = await take(invocation, rate, ((bytes / rate) * LIMIT_FACTOR + 10) * 1000);
      if (digest !== (await digestOf(remote))) throw new Error('what arrived differs from the file');
      return sample;
    },
  };
}

/** Takes bytes at a rate; `undefined` for `since` while it is we who do not take. */
class SlowReader {
  readonly #stream: Readable;
  readonly #rate: number;
  #credit = 0;
  #since: number | undefined;
  /** The longest time that it waited for a byte after the first, in milliseconds. */
  longestPause = 0;

  constructor(stream: Readable, rate: number, take: (chunk: Buffer) => void) {
    this.#stream = stream;
    this.#rate = rate;
    stream.on('data', (chunk: Buffer) => {
      this.#noteWait();
      take(chunk);
      this.#credit -= chunk.length;
      if (this.#credit > 0) return;
      this.#since = undefined;
      stream.pause();
    });
  }

  /** To be called every `TURN_MS`. */
  turn(): void {
    this.#credit = Math.min(this.#credit + (this.#rate * TURN_MS) / 1000, this.#rate);
    if (this.#credit <= 0 || !this.#stream.isPaused()) return;
    this.#since = performance.now();
    this.#stream.resume();
  }

  #noteWait(): void {
    const now = performance.now();
    if (this.#since !== undefined) this.longestPause = Math.max(this.longestPause, now - this.#since);
    this.#since = now;
  }
}

/** Takes what a program writes, `rate` bytes a second, and watches its memory. */
function take(invocation: Invocation, rate: number, limit: number): Promise<Sample & { readonly digest: string }> {
  const [program, ...args] = invocation.command as [string, ...string[]];
  const started = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const hash = createHash('sha256');
  const reader = new SlowReader(child.stdout, rate, (chunk) => hash.update(chunk));
  const usage = new Usage();
  const memory: (readonly [number, number])[] = [];
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const turns = setInterval(() => reader.turn(), TURN_MS);
  const samples = setInterval(
    () => {
      usage.sample(child.pid as number);
      if (usage.memory !== undefined) memory.push([(performance.now() - started) / 1000, usage.memory]);
    },
    Math.max(SAMPLE_MS, limit / LIMIT_FACTOR / SAMPLES),
  );
  const ending = setTimeout(() => child.kill('SIGKILL'), limit);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearInterval(turns);
      clearInterval(samples);
      clearTimeout(ending);
      const seconds = (performance.now() - started) / 1000;
      if (code !== 0) return reject(new Error(`${program} ended with ${signal ?? code}: ${stderr.trim()}`));
      const { cpuSeconds, peakMemory } = usage;
      const longestPause = reader.longestPause / 1000;
      resolve({ seconds, cpuSeconds, peakMemory, memory, longestPause, digest: hash.digest('hex') });
    });
  });
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
