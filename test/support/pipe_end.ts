/** A sink that keeps what a pipe tells, for assertions. */

import assert from 'node:assert/strict';
import type { SshError } from '../../src/errors.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';

const LIMIT = 20_000;

export class PipeEnd implements PipeSink {
  readonly pipe: BytePipe;
  readonly chunks: Uint8Array[] = [];
  /** Calls other than `data`, in order. */
  readonly notices: string[] = [];
  received = 0;
  ended = false;
  drains = 0;
  outcome: { readonly cause: SshError | undefined } | undefined;
  /** Whether every chunk is given back at once. */
  consumes: boolean;
  #waiting: (() => void)[] = [];

  constructor(pipe: BytePipe, consumes = true) {
    this.pipe = pipe;
    this.consumes = consumes;
    pipe.open(this);
  }

  data(bytes: Uint8Array): void {
    assert.equal(this.outcome, undefined, 'data after closed');
    this.chunks.push(bytes);
    this.received += bytes.length;
    if (this.consumes) this.pipe.consumed(bytes.length);
    this.#wake();
  }

  end(): void {
    this.notices.push('end');
    this.ended = true;
    this.#wake();
  }

  drain(): void {
    this.notices.push('drain');
    this.drains++;
    this.#wake();
  }

  closed(cause: SshError | undefined): void {
    assert.equal(this.outcome, undefined, 'closed twice');
    this.notices.push('closed');
    this.outcome = { cause };
    this.#wake();
  }

  /** Everything that came, in order. */
  get bytes(): Uint8Array {
    return Buffer.concat(this.chunks);
  }

  /** Waits until `holds` says so. */
  async until(holds: () => boolean, what: string): Promise<void> {
    const limit = performance.now() + LIMIT;
    while (!holds()) {
      if (performance.now() > limit) assert.fail(`${what} did not come within ${LIMIT} ms`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 50);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Waits for the end and gives its cause. */
  async closing(): Promise<SshError | undefined> {
    await this.until(() => this.outcome !== undefined, 'closed');
    return this.outcome?.cause;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Bytes that repeat late enough for a lost or doubled chunk to show. */
export function pattern(length: number, start = 0): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = ((i + start) * 31 + ((i + start) >> 11)) & 0xff;
  return bytes;
}
