/** A server's end of a pipe that a test drives: it says full when the test wants, and counts what is given back. */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';

export class HandPipe implements BytePipe {
  room: boolean = true;
  readonly written: Uint8Array[] = [];
  givenBack: number = 0;
  delivered: number = 0;
  closedWith: unknown;
  ends: number = 0;
  sink: PipeSink | undefined;

  open(sink: PipeSink): void {
    this.sink = sink;
  }

  write(pieces: readonly Uint8Array[]): boolean {
    this.written.push(concat(...pieces));
    return this.room;
  }

  end(): void {
    this.ends++;
  }

  consumed(count: number): void {
    this.givenBack += count;
  }

  close(cause?: unknown): void {
    this.closedWith = cause;
  }

  deliver(...packets: readonly Uint8Array[]): void {
    const bytes = concat(...packets);
    this.delivered += bytes.length;
    this.sink?.data(bytes);
  }

  drain(): void {
    this.room = true;
    this.sink?.drain();
  }

  get bytes(): number {
    return this.written.reduce((sum, each) => sum + each.length, 0);
  }

  /** The handle in the last reply, which is a HANDLE. */
  get handle(): Uint8Array {
    const last = this.written.at(-1) as Uint8Array;
    assert.equal(last[4], 102);
    return last.slice(13);
  }
}
