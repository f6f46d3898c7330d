/**
 * The SFTP server: SFTP 3 (draft-ietf-secsh-filexfer-02) with the extensions of OpenSSH over any byte pipe, for any backend. This
 * file ties the parts together: delivery, credit, what is written together, and the one end. Knows nothing of SSH: the pipe may
 * be a channel with the subsystem `sftp`, or standard input and output.
 */

import { plain } from '../../bytes/bytes.ts';
import type { RandomSource } from '../../crypto/provider.ts';
import { SshError, toSshError } from '../../errors.ts';
import { onAbort } from '../../io/abort.ts';
import { type Clock, systemClock } from '../../io/clock.ts';
import type { BytePipe, PipeSink } from '../../io/pipe.ts';
import { statusReply } from '../proto/replies.ts';
import { Responder } from '../proto/responder.ts';
import type { SftpBackend } from './backend.ts';
import { refusalOf } from './errors.ts';
import { announced, extended } from './extended.ts';
import { Handles, type OpenLane } from './handles.ts';
import { type LaneHost, Lanes, type Task } from './lanes.ts';
import {
  CLOSE_GRACE,
  FLUSH_AT,
  OUTPUT_SLACK,
  PACKET_OVERHEAD,
  type SftpServerLimits,
  serverLimits,
  TOLD_PACKET,
} from './limits.ts';
import { operate } from './operations.ts';
import { ReadMemory } from './read_memory.ts';
import { Requests } from './requests.ts';

/** Options of `serveSftp`. */
export interface SftpServerOptions {
  /** What is served. */
  readonly backend: SftpBackend;
  /** Whether every request that would change anything is refused. Default: false. */
  readonly readOnly?: boolean | undefined;
  /** Who is logged in, for `home-directory` and `expand-path@openssh.com`. Default: ''. */
  readonly username?: string | undefined;
  /** Where relative paths begin. Default: the backend's `home`, or `/`. */
  readonly home?: string | undefined;
  readonly limits?: Partial<SftpServerLimits> | undefined;
  /** Ends the session. */
  readonly signal?: AbortSignal | undefined;
  /** Is told of errors that the backend should not have thrown; of these the client learns nothing but FAILURE. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Milliseconds since 1970, for listings. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  readonly clock?: Clock | undefined;
  /** Tells handles of one session from those of another. Default: the runtime's. */
  readonly random?: RandomSource | undefined;
}

const runtimeRandom: RandomSource = (length) => crypto.getRandomValues(new Uint8Array(length));

/**
 * Serves one client at the other end of `pipe`, which must not be open yet. Resolves when the client has ended in good order and
 * every file is closed; the pipe's sending side is then ended, and closing it is the caller's. Rejects, with every file
 * closed as well, when the client breaks the protocol (`protocol`, `decode`, `not-supported`), when the pipe is lost, or with
 * `aborted`; the pipe is closed then.
 */
export function serveSftp(pipe: BytePipe, options: SftpServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    try {
      if (typeof pipe?.open !== 'function') throw new SshError('bad-argument', 'SFTP needs a byte pipe to run on');
      if (typeof options?.backend !== 'object' || options.backend === null) {
        throw new SshError('bad-argument', 'An SFTP server needs a backend');
      }
      new Session(pipe, options, serverLimits(options.limits), resolve, reject).start();
    } catch (error) {
      reject(toSshError(error, 'bad-argument'));
    }
  });
}

class Session implements PipeSink, LaneHost {
  readonly #pipe: BytePipe;
  readonly #options: SftpServerOptions;
  readonly #limits: SftpServerLimits;
  readonly #resolve: () => void;
  readonly #reject: (cause: SshError) => void;
  readonly #lanes: Lanes;
  readonly #handles: Handles;
  readonly #readMemory: ReadMemory;
  readonly #responder: Responder;
  #forgetSignal: () => void = () => {};
  /** Requests without an answer, and what they count as in bytes. */
  #pending = 0;
  #pendingBytes = 0;
  /** Whether the responder keeps something back. */
  #held = false;
  /** Bytes that were delivered and not given back. */
  #withheld = 0;
  #inTurn = false;
  #out: Uint8Array[] = [];
  #outLength = 0;
  /** Bytes that the pipe was handed. */
  #written = 0;
  #full = false;
  /** Bytes written since the pipe said that it is full. */
  #excess = 0;
  #inputEnded = false;
  #pipeClosed = false;
  #over = false;

  constructor(
    pipe: BytePipe,
    options: SftpServerOptions,
    limits: SftpServerLimits,
    resolve: () => void,
    reject: (cause: SshError) => void,
  ) {
    const { backend, home, now = Date.now, random = runtimeRandom, readOnly = false, username = '' } = options;
    this.#pipe = pipe;
    this.#options = options;
    this.#limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#lanes = new Lanes(this);
    this.#readMemory = new ReadMemory(pipe);
    this.#handles = new Handles(limits.openHandles, random);
    const packet = Math.min(limits.packetLength, TOLD_PACKET);
    const told = { packet, read: limits.readLength, write: packet - PACKET_OVERHEAD, handles: limits.openHandles };
    const requests = new Requests({
      backend,
      readOnly,
      username,
      home,
      told,
      lanes: this.#lanes,
      handles: this.#handles,
      now: () => Math.floor(now() / 1000),
    });
    this.#responder = new Responder(
      {
        send: (pieces) => this.send(pieces),
        read: (id, handle, offset, length) => requests.read(id, handle, offset, length),
        write: (id, handle, offset, length, pieces) => requests.write(id, handle, offset, length, pieces),
        request: (id, body, size) => {
          if (body.kind === 'extended') extended(requests, id, body.request, body.body, size);
          else operate(requests, id, body, size);
        },
        holds: () => {
          this.#held ||= this.#holds;
          return this.#held;
        },
      },
      { extensions: announced(backend, readOnly), maxPacket: limits.packetLength },
    );
  }

  start(): void {
    this.#pipe.open(this);
    const { signal } = this.#options;
    if (signal !== undefined) this.#forgetSignal = onAbort(signal, (cause) => this.#finish(cause), 'The SFTP session');
  }

  // What the pipe tells.

  data(bytes: Uint8Array): void {
    if (this.#over) return;
    this.#withheld += bytes.length;
    this.turn(() => this.#responder.receive(plain(bytes)));
  }

  end(): void {
    this.#inputEnded = true;
    this.turn(() => {});
  }

  drain(): void {
    this.#roomAgain();
    this.turn(() => {});
  }

  closed(cause: SshError | undefined): void {
    this.#pipeClosed = true;
    this.#finish(cause ?? (this.#held ? undefined : this.#responder.ended()));
  }

  // What the lanes need.

  get full(): boolean {
    return this.#full;
  }

  send(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) {
      if (piece.length === 0) continue;
      this.#out.push(piece);
      this.#outLength += piece.length;
    }
    if (this.#outLength >= FLUSH_AT) this.#flush();
  }

  memory(): Uint8Array | undefined {
    return this.#readMemory.take(this.#written);
  }

  release(memory: Uint8Array, isSent: boolean): void {
    if (isSent) this.#readMemory.lend(memory, this.#written + this.#outLength);
    else this.#readMemory.give(memory);
  }

  taken(task: Task): void {
    this.#pending++;
    this.#pendingBytes += task.size;
  }

  answered(task: Task): void {
    this.#pending--;
    this.#pendingBytes -= task.size;
  }

  failure(id: number, error: unknown): Uint8Array {
    const { status, message, unexpected } = refusalOf(error);
    if (unexpected) this.#report(error);
    return statusReply(id, status, message);
  }

  turn(run: () => void): void {
    if (this.#over) return;
    if (this.#inTurn) {
      run();
      return;
    }
    this.#inTurn = true;
    try {
      run();
      this.#work();
    } catch (error) {
      this.#finish(toSshError(error, 'internal'));
    } finally {
      this.#inTurn = false;
    }
  }

  /** Does what can be done, and takes what is held back as far as there is room again. */
  #work(): void {
    for (;;) {
      this.#lanes.run();
      if (this.#held && !this.#holds) {
        this.#held = false;
        this.#responder.resume();
        continue;
      }
      const wasFull = this.#full;
      this.#flush();
      if (!wasFull || this.#full) break;
    }
    if (this.#handles.isEmpty) this.#readMemory.forget();
    if (!this.#held && this.#withheld > 0 && !this.#pipeClosed) {
      const count = this.#withheld;
      this.#withheld = 0;
      this.#pipe.consumed(count);
    }
    if (this.#inputEnded && !this.#held && this.#pending === 0) this.#finish(this.#responder.ended());
  }

  /** Whether enough waits to be done, or to be taken by the client. */
  get #holds(): boolean {
    return (
      this.#pending >= this.#limits.pendingRequests ||
      this.#pendingBytes >= this.#limits.pendingBytes ||
      (this.#full && this.#excess > OUTPUT_SLACK)
    );
  }

  #flush(): void {
    if (this.#outLength === 0) return;
    const pieces = this.#out;
    this.#written += this.#outLength;
    if (this.#full) this.#excess += this.#outLength;
    this.#out = [];
    this.#outLength = 0;
    if (!this.#pipe.write(pieces)) this.#full = true;
    else if (this.#full) this.#roomAgain();
  }

  #roomAgain(): void {
    this.#full = false;
    this.#excess = 0;
    this.#lanes.unpark();
  }

  #report(error: unknown): void {
    try {
      this.#options.onError?.(error);
    } catch {
      // who is told of errors has none of them to tell
    }
  }

  /** The end, once: `cause` is `undefined` when the client ended in good order. */
  #finish(cause: SshError | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#lanes.ended = true;
    this.#forgetSignal();
    if (cause !== undefined && !this.#pipeClosed) this.#pipe.close(cause);
    this.#closeAll().then(() => {
      if (cause !== undefined) {
        this.#reject(cause);
        return;
      }
      if (!this.#pipeClosed) this.#pipe.end();
      this.#resolve();
    });
  }

  /**
   * Closes every file and directory: when the call that runs on it is through, or, should it hang, after a while beside it.
   * What is being opened closes by itself.
   */
  async #closeAll(): Promise<void> {
    const open = this.#handles.lanes;
    const release = async (lane: OpenLane): Promise<void> => {
      try {
        await lane.release();
      } catch (error) {
        if (refusalOf(error).unexpected) this.#report(error);
      }
    };
    const all = open.map(async (lane) => {
      await lane.running;
      await release(lane);
    });
    await within(Promise.all([this.#lanes.paths.running, ...all]), this.#options.clock ?? systemClock, CLOSE_GRACE);
    for (const lane of open) release(lane);
  }
}

/** Waits for `work`, which does not reject, but no longer than that. */
function within(work: Promise<unknown>, clock: Clock, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(milliseconds, resolve);
    work.then(() => {
      cancel();
      resolve();
    });
  });
}
