/** What every runtime needs to know to take TCP connections. */

import type { SshError } from '../errors.ts';
import type { BytePipe } from './pipe.ts';

/** Where a listener listens. */
export interface ListenAddress {
  /** An address of this machine without brackets, or a name of one; `0.0.0.0` is all of IPv4, `::` all there are. */
  readonly host: string;
  readonly port: number;
}

/** Where to listen, and for how long. */
export interface ListenOptions extends ListenAddress {
  /** 0: any port that is free. */
  readonly port: number;
  /** Ends the listener as `close` does. */
  readonly signal?: AbortSignal | undefined;
}

/** A connection that was accepted. */
export interface Accepted {
  /**
   * The receiver's, who opens it at any time, or closes it unopened. Until then nothing is delivered and nothing is lost:
   * what the peer sends waits, bounded.
   */
  readonly pipe: BytePipe;
  /** The peer's; an IPv4 address in its own form also where the listener is IPv6. */
  readonly remote: { readonly address: string; readonly port: number };
}

/** Something that accepts connections. */
export interface Listener {
  /** With the address that a name stood for, and the port that was free. */
  readonly address: ListenAddress;
  /** Accepts nothing more; resolves when the port is free. Accepted pipes live on. May be called again. */
  close(): Promise<void>;
}

/**
 * Listens, and calls `accept` with every connection. A connection that cannot be accepted stops nothing: `failed` is told,
 * once for failures in a row, and must not throw.
 * Rejects with `bad-argument` (host or port), `aborted`, or `listen-failed`.
 */
export type Listen = (
  options: ListenOptions,
  accept: (accepted: Accepted) => void,
  failed?: (error: SshError) => void,
) => Promise<Listener>;
