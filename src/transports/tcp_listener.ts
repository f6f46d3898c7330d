/** What the listeners of all runtimes share: checking where to listen, handing connections over, ending once. */

import { printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import { abortedBy, onAbort } from '../io/abort.ts';
import type { Accepted, ListenAddress, Listener, ListenOptions } from '../io/listen.ts';
import type { BytePipe } from '../io/pipe.ts';
import { acceptFailed } from './listen_error.ts';

const LAST_PORT = 65535;

/** Throws `bad-argument` for what nobody can listen on, and `aborted` if the signal has fired. */
export function checkListen({ host, port, signal }: ListenOptions): void {
  if (typeof host !== 'string' || host === '') {
    // some systems take an empty host for all addresses, which is more than an empty setting should open
    throw new SshError('bad-argument', 'The host to listen on is empty; give an address, or 0.0.0.0 or :: for all');
  }
  if (host.startsWith('[')) {
    throw new SshError('bad-argument', `The host to listen on is ${printable(host)}; write it without brackets`);
  }
  if (!Number.isInteger(port) || port < 0 || port > LAST_PORT) {
    const message = `The port to listen on is ${printable(String(port))}; give 1 to ${LAST_PORT}, or 0 for any that is free`;
    throw new SshError('bad-argument', message);
  }
  if (signal?.aborted) throw abortedBy(signal, 'Listening');
}

/** Hands connections to whoever asked for them, and tells of those that could not be accepted. */
export class Reception {
  readonly #accept: (accepted: Accepted) => void;
  readonly #failed: (error: SshError) => void;
  #failing = false;

  constructor(accept: (accepted: Accepted) => void, failed: (error: SshError) => void = () => {}) {
    this.#accept = accept;
    this.#failed = failed;
  }

  /** Systems do not know the address of a peer that is gone already; nobody needs to hear of such a one. */
  take(pipe: BytePipe, address: string | undefined, port: number | undefined): void {
    this.#failing = false;
    if (!address || !port) {
      pipe.close();
      return;
    }
    try {
      this.#accept({ pipe, remote: { address: peerAddress(address), port } });
    } catch (error) {
      const cause = toSshError(error, 'bad-argument');
      pipe.close(cause);
      this.#failed(cause);
    }
  }

  /** What keeps one from being accepted keeps the next ones too, for a while: only the first is told. */
  fail(address: ListenAddress, error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#failed(acceptFailed(address, error));
  }
}

/** IPv4 that came in over IPv6 (RFC 4291 §2.5.5.2) as what it is. */
export function peerAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

/** A listener that `stop`, which is called once, brings to an end, by its owner or by the signal. */
export function listenerOf(address: ListenAddress, stop: () => Promise<void>, signal?: AbortSignal): Listener {
  let forget = (): void => {};
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    forget();
    closing ??= stop();
    return closing;
  };
  if (signal !== undefined) forget = onAbort(signal, close);
  return { address, close };
}
