/** Where the bytes of a file go that is being read, in the order in which they happen to come. */

import type { SshError } from '../errors.ts';
import type { Clock } from '../io/clock.ts';

/** What a sink tells the transfer that feeds it. */
export interface SinkEvents {
  /** `count` bytes are out: the server may send as many more. */
  taken(count: number): void;
  /** The sink cannot go on. */
  broken(error: SshError): void;
  /** After `finish`: everything is out. */
  finished(): void;
}

/** Positions are those of the remote file. */
export interface ReadSink {
  /** Called once, before anything else. */
  start(events: SinkEvents, clock: Clock): void;
  /** How many bytes there will be as far as is known; not to be relied on. */
  expect?(length: number): void;
  /**
   * Bytes of the file. What was given once is never given again. True: they were copied; otherwise they belong to the sink from
   * now on.
   */
  data(position: number, bytes: Uint8Array): boolean;
  /** For a sink that gathers: what it has must go out, since nothing more is asked for before, or it holds much of the window. */
  push?(): void;
  /** No more data comes; `finished` follows when what is there without a gap is out. */
  finish(): void;
  /** Nothing is wanted any more; no event may follow. */
  abandon(): void;
  /** Up to where everything from the start is out. */
  readonly contiguous: number;
}
