/**
 * Writes to a local file, each part where it belongs, as it comes. One write runs at a time; what comes meanwhile is
 * gathered, so that a slow disk gets few large writes and a fast one is never waited for. Knows no SFTP.
 */

import { ChunkQueue } from '../bytes/chunks.ts';
import { type SshError, toSshError } from '../errors.ts';
import type { LocalFile } from '../io/local_files.ts';
import { Extents } from './extents.ts';
import type { ReadSink, SinkEvents } from './sink.ts';

/** Pieces in one write: what `LocalFile.write` takes, the least of the systems' limits for one gathered write. */
const MAX_PIECES = 1024;

/** Consecutive bytes of the file. */
interface Run {
  readonly position: number;
  readonly bytes: ChunkQueue;
}

export class FileSink implements ReadSink {
  readonly #file: LocalFile;
  readonly #start: number;
  readonly #inOrder: boolean;
  readonly #written = new Extents();
  /** Waiting to be written, in order of arrival. */
  #runs: Run[] = [];
  #writing: Promise<void> | undefined;
  #events: SinkEvents | undefined;
  #finishing = false;

  /** Byte `start` of the remote file goes to the start of `file`. `inOrder`: the file cannot seek. */
  constructor(file: LocalFile, start: number, inOrder: boolean) {
    this.#file = file;
    this.#start = start;
    this.#inOrder = inOrder;
  }

  get contiguous(): number {
    return this.#written.contiguousFrom(this.#start);
  }

  start(events: SinkEvents): void {
    this.#events = events;
  }

  data(position: number, bytes: Uint8Array): void {
    const last = this.#runs[this.#runs.length - 1];
    if (last !== undefined && last.position + last.bytes.length === position && last.bytes.chunks < MAX_PIECES) {
      last.bytes.push(bytes);
    } else {
      const run = { position, bytes: new ChunkQueue() };
      run.bytes.push(bytes);
      this.#runs.push(run);
    }
    this.#next();
  }

  finish(): void {
    this.#finishing = true;
    this.#next();
  }

  abandon(): void {
    this.#events = undefined;
    this.#runs = [];
  }

  /** Resolves when no write is running: the file may be closed then. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  #next(): void {
    if (this.#writing !== undefined || this.#events === undefined) return;
    const at = this.#inOrder ? this.#runs.findIndex((run) => run.position === this.contiguous) : 0;
    const run = this.#runs[at];
    if (run !== undefined) {
      this.#runs.splice(at, 1);
      this.#writing = this.#write(run);
    } else if (this.#finishing) {
      this.#events.finished();
    }
  }

  /** Writes one run; never rejects. */
  async #write({ position, bytes }: Run): Promise<void> {
    const { length } = bytes;
    let error: SshError | undefined;
    try {
      await this.#file.write(bytes.takeChunks(), position - this.#start);
      this.#written.add(position, position + length);
    } catch (reason) {
      error = toSshError(reason, 'bad-local-file', { operation: 'write' });
    }
    this.#writing = undefined;
    if (error !== undefined) this.#events?.broken(error);
    else this.#events?.taken(length);
    this.#next();
  }
}
