/** One request, one promise: everything but the transfers. */

import { printable } from '../bytes/text.ts';
import { abortSignal, shownValue, wrong } from '../core/option_checks.ts';
import { SshError, toSshError } from '../errors.ts';
import { forgetAbort, listenToAbort } from '../io/abort.ts';
import type { Link } from './link.ts';
import type { CallOptions, RemotePath } from './options.ts';
import { type PacketOf, type PacketRow, packets } from './proto/packets.ts';
import type { ReplyHandler } from './proto/requester.ts';
import { Status, statusError } from './proto/status.ts';
import { StallGuard } from './stall.ts';

/** What is asked, and what to make of the answer. */
export interface CallSpec<R extends PacketRow, T> {
  readonly row: R;
  /** Every field but the id. */
  readonly value: Omit<PacketOf<R>, 'id'>;
  /** A word for errors, such as `open`. */
  readonly operation: string;
  /** What it is about, for errors. */
  readonly path?: RemotePath | undefined;
  /** The row of the answer; absent: a STATUS of success, and the result is `undefined`. */
  readonly expects?: PacketRow;
  /** The result from the answer, whose bytes are views that are valid during the call. */
  readonly decode?: (packet: Uint8Array) => T;
  /** Result in place of an error where the answer is STATUS EOF. */
  readonly atEof?: T;
  /** An answer that came after the call was given up: returns what it holds to the server. */
  readonly orphan?: (result: T) => void;
}

/** The error of an operation whose signal fired. */
export function abortedError(operation: string, path: RemotePath | undefined, signal: AbortSignal): SshError {
  const subject = path === undefined ? operation : `${operation} ${printable(path, 1024)}`;
  return new SshError('aborted', `${subject} was aborted`, {
    operation,
    ...(path === undefined ? {} : { path: printable(path, 1024) }),
    cause: signal.reason,
  });
}

/** The error of an operation that the server does not answer. */
export function stalledError(operation: string, path: RemotePath | undefined, detail: string, limit: number): SshError {
  const subject = path === undefined ? operation : `${operation} ${printable(path, 1024)}`;
  return new SshError('timeout', `${subject}: no answer for ${limit / 1000} s${detail}`, {
    fault: 'peer',
    operation,
    ...(path === undefined ? {} : { path: printable(path, 1024) }),
  });
}

class Call<R extends PacketRow, T> implements ReplyHandler {
  readonly expects: number;
  readonly #link: Link;
  readonly #spec: CallSpec<R, T>;
  readonly #signal: AbortSignal | undefined;
  readonly #guard: StallGuard;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: SshError) => void;
  #settled = false;

  constructor(
    link: Link,
    spec: CallSpec<R, T>,
    options: CallOptions,
    resolve: (value: T) => void,
    reject: (error: SshError) => void,
  ) {
    this.#link = link;
    this.#spec = spec;
    this.#signal = options.signal;
    this.expects = (spec.expects ?? packets.status).number;
    this.#resolve = resolve;
    this.#reject = reject;
    const limit = options.stallTimeout ?? link.stallTimeout;
    // Whatever comes from the server shows that it lives.
    const heardAt = (): number => (link.budget.holdsBackReplies ? link.clock.now() : link.heardAt);
    this.#guard = new StallGuard(link.clock, limit, heardAt, () => {
      this.failed(stalledError(spec.operation, spec.path, ` to ${spec.row.name}`, limit));
    });
  }

  start(): void {
    if (this.#signal !== undefined) listenToAbort(this.#signal, this.#abort);
    this.#guard.start();
    try {
      this.#link.request(this.#spec.row, this.#spec.value, this);
    } catch (error) {
      this.failed(toSshError(error, 'bad-argument', { operation: this.#spec.operation }));
    }
  }

  readonly #abort = (): void => {
    const { operation, path } = this.#spec;
    this.failed(abortedError(operation, path, this.#signal as AbortSignal));
  };

  status(code: number, message: string): void {
    const { operation, path } = this.#spec;
    this.#settle(() => {
      if (code === Status.ok) this.#resolve(undefined as T);
      else if (code === Status.eof && 'atEof' in this.#spec) this.#resolve(this.#spec.atEof as T);
      else this.#reject(statusError(code, message, operation, path));
    });
  }

  packet(packet: Uint8Array): void {
    let result: T;
    try {
      result = this.#spec.decode?.(packet) as T;
    } catch (error) {
      this.failed(toSshError(error, 'decode'));
      throw error; // the stream is of no use any more
    }
    if (this.#settled) this.#spec.orphan?.(result);
    else this.#settle(() => this.#resolve(result));
  }

  failed(cause: SshError): void {
    this.#settle(() => this.#reject(cause));
  }

  #settle(how: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#guard.stop();
    if (this.#signal !== undefined) forgetAbort(this.#signal, this.#abort);
    how();
  }
}

/** Sends one request and resolves with what its answer says. Rejects with an `SshError`, never throws. */
export function call<R extends PacketRow, T>(link: Link, spec: CallSpec<R, T>, options: CallOptions = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    try {
      const { signal } = options;
      if (signal !== undefined && !abortSignal.fits(signal)) {
        reject(wrong(spec.operation, `signal must be ${abortSignal.expected}, not ${shownValue(signal)}`));
      } else if (signal?.aborted) reject(abortedError(spec.operation, spec.path, signal));
      else new Call(link, spec, options, resolve, reject).start();
    } catch (error) {
      reject(toSshError(error, 'bad-argument', { operation: spec.operation }));
    }
  });
}
