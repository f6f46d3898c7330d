/**
 * The lane of an open file. READs that follow on each other become one call, and so do WRITEs; each request is answered on
 * its own. A READ is answered in full unless the file ends: a backend that gives less is asked for the rest, and only a call
 * that gives nothing at exactly that offset is the end (draft-ietf-secsh-filexfer-02 §6.4).
 */

import { copy, plain } from '../../bytes/bytes.ts';
import { dataHeader } from '../proto/packets.ts';
import { okReply, statusReply } from '../proto/replies.ts';
import { Status } from '../proto/status.ts';
import type { BackendFile, OpenRequest } from './backend.ts';
import { refuse, unsupported } from './errors.ts';
import { Lane, type Lanes, type Task } from './lanes.ts';
import { READ_BATCH, WRITE_BATCH, WRITE_PIECES } from './limits.ts';

/** A READ that waits. */
export interface ReadTask extends Task {
  readonly kind: 'read';
  readonly offset: number;
  /** At most `READ_BATCH`. */
  readonly length: number;
  /** What calls gave of it so far, where one gave less than all. */
  got: number;
  parts: Uint8Array[] | undefined;
}

/** A WRITE that waits. */
export interface WriteTask extends Task {
  readonly kind: 'write';
  readonly offset: number;
  readonly length: number;
  readonly pieces: readonly Uint8Array[];
}

export class FileLane extends Lane {
  readonly file: BackendFile;
  /** As it was opened, for copy-data. */
  readonly path: string;
  readonly request: OpenRequest;
  /** Requests to do in a call each, after a call for several failed: to tell which of them fails. */
  #single = 0;
  /** Requests and bytes of the call that runs. */
  #count = 0;
  #bytes = 0;
  /** What the call that runs may read into. */
  #memory: Uint8Array | undefined;
  #released = false;

  constructor(lanes: Lanes, file: BackendFile, path: string, request: OpenRequest) {
    super(lanes);
    this.file = file;
    this.path = path;
    this.request = request;
  }

  override step(): void {
    const task = this.tasks[0] as Task;
    if (task.kind === 'job') {
      super.step();
      return;
    }
    if (task.kind === 'read' && this.lanes.host.full) {
      this.lanes.park(this);
      return;
    }
    try {
      if (task.kind === 'read') this.#read(task as ReadTask);
      else this.#write(task as WriteTask);
    } catch (error) {
      // what cannot work at all, or a call that threw
      if (task.kind === 'read') this.#readFailed(error);
      else this.#writeFailed(error);
    }
    this.lanes.wake(this);
  }

  /** Closes the file, once. */
  release(): void | Promise<void> {
    if (this.#released) return;
    this.#released = true;
    return this.file.close();
  }

  #read(first: ReadTask): void {
    this.#count = 1;
    if (!this.request.read) throw refuse(Status.permissionDenied, 'the file is not open for reading');
    if (this.file.read === undefined) throw unsupported('reading');
    if (first.length === 0) {
      this.#data(first, new Uint8Array(0));
      return;
    }
    const start = first.offset + first.got;
    // Past 2^53 offsets are not exact, and nothing is there.
    if (start > Number.MAX_SAFE_INTEGER - READ_BATCH) {
      this.#end(first);
      return;
    }
    this.#bytes = first.length - first.got;
    if (this.#single > 0) this.#single--;
    else this.#gatherReads(start);
    this.#memory = this.lanes.host.memory();
    const call = this.file.read(start, this.#bytes, this.#memory?.subarray(0, this.#bytes));
    if (call instanceof Uint8Array) this.#readDone(call);
    else this.wait(call, this.#readDone, this.#readFailed);
  }

  #gatherReads(start: number): void {
    for (let next = this.tasks[1]; next?.kind === 'read'; next = this.tasks[this.#count]) {
      const { offset, length } = next as ReadTask;
      if (offset !== start + this.#bytes || length === 0 || this.#bytes + length > READ_BATCH) return;
      this.#bytes += length;
      this.#count++;
    }
  }

  readonly #readDone = (result: Uint8Array): void => {
    if (!(result instanceof Uint8Array)) {
      this.#readFailed(new TypeError(`read gave ${typeof result}, not Uint8Array`));
      return;
    }
    const bytes = plain(result);
    if (bytes.length === 0) {
      this.#end(this.tasks[0] as ReadTask);
      this.#reuse(false);
      return;
    }
    const isInMemory = bytes.buffer === this.#memory?.buffer;
    const end = Math.min(bytes.length, this.#bytes);
    for (let at = 0; at < end; ) {
      const task = this.tasks[0] as ReadTask;
      const piece = bytes.subarray(at, Math.min(end, at + task.length - task.got));
      at += piece.length;
      if (task.got + piece.length === task.length || this.file.stream) {
        this.#data(task, piece);
        continue;
      }
      task.got += piece.length;
      const kept = isInMemory ? copy(piece) : piece; // it waits for the rest
      if (task.parts === undefined) task.parts = [kept];
      else task.parts.push(kept);
    }
    this.#reuse(isInMemory);
  };

  /** The call is through with its memory; `isSent`: what was read stands in it and was sent. */
  #reuse(isSent: boolean): void {
    if (this.#memory !== undefined) this.lanes.host.release(this.#memory, isSent);
    this.#memory = undefined;
  }

  readonly #readFailed = (error: unknown): void => {
    // nobody knows whether the call is through with it
    this.#memory = undefined;
    const task = this.tasks[0] as ReadTask;
    if (this.#count > 1) this.#single = this.#count;
    // The client asks for the rest, and is told then.
    else if (task.parts !== undefined) this.#data(task, new Uint8Array(0));
    else this.#answer(this.lanes.host.failure(task.id, error));
  };

  /** Nothing is where the rest of `task` would be. */
  #end(task: ReadTask): void {
    if (task.parts !== undefined) this.#data(task, new Uint8Array(0));
    else this.#answer(statusReply(task.id, Status.eof));
  }

  /** Answers the first READ with what it got before, and `last`. */
  #data(task: ReadTask, last: Uint8Array): void {
    const { id, got, parts } = task;
    const header = dataHeader(id, got + last.length);
    this.lanes.host.send(parts === undefined ? [header, last] : [header, ...parts, last]);
    this.tasks.shift();
    this.lanes.done(task);
  }

  #write(first: WriteTask): void {
    this.#count = 1;
    if (!this.request.write) throw refuse(Status.permissionDenied, 'the file is not open for writing');
    if (this.file.write === undefined) throw unsupported('writing');
    if (first.offset > Number.MAX_SAFE_INTEGER - WRITE_BATCH && !this.request.append) {
      throw refuse(Status.failure, 'the file would be too large');
    }
    this.#bytes = first.length;
    let pieces = first.pieces;
    if (this.#single > 0) this.#single--;
    else pieces = this.#gatherWrites(first);
    if (this.#bytes === 0) {
      this.#writeDone();
      return;
    }
    const call = this.file.write(first.offset, pieces);
    if (call === undefined) this.#writeDone();
    else this.wait(call, this.#writeDone, this.#writeFailed);
  }

  #gatherWrites(first: WriteTask): readonly Uint8Array[] {
    let pieces = first.pieces;
    for (let next = this.tasks[1]; next?.kind === 'write'; next = this.tasks[this.#count]) {
      const { offset, length, pieces: more } = next as WriteTask;
      if (offset !== first.offset + this.#bytes && !this.request.append) break;
      if (this.#bytes + length > WRITE_BATCH || pieces.length + more.length > WRITE_PIECES) break;
      if (this.#count === 1) pieces = [...pieces];
      for (const piece of more) (pieces as Uint8Array[]).push(piece);
      this.#bytes += length;
      this.#count++;
    }
    return pieces;
  }

  readonly #writeDone = (): void => {
    for (let i = 0; i < this.#count; i++) this.#answer(okReply((this.tasks[0] as Task).id));
  };

  readonly #writeFailed = (error: unknown): void => {
    if (this.#count > 1 && !this.request.append) {
      this.#single = this.#count;
      return;
    }
    // What was appended cannot be tried again: some of it may be there.
    const { host } = this.lanes;
    for (let i = 0; i < this.#count; i++) this.#answer(host.failure((this.tasks[0] as Task).id, error));
  };

  /** Answers the first task. */
  #answer(reply: Uint8Array): void {
    const task = this.tasks.shift() as Task;
    this.lanes.host.send([reply]);
    this.lanes.done(task);
  }
}
