/**
 * The one shape for a two-way byte stream: TCP sockets, WebSockets, memory pairs and SSH channels all are pipes, so an SSH
 * connection can run over a channel of another. Calls and callbacks, no promise per chunk: this is the hot path.
 */

import type { ChannelStats } from '../core/channel.ts';
import type { SshError } from '../errors.ts';

/** Where a pipe delivers. Calls come one at a time, never from inside a call that the sink's owner made to the pipe. */
export interface PipeSink {
  /** Bytes from the peer. They are the sink's own; it says `consumed(n)` on the pipe when it is done with n of them. */
  data(bytes: Uint8Array): void;
  /** The peer sends no more. Writing may still be possible. */
  end(): void;
  /** After `write` returned false: there is room again. */
  drain(): void;
  /** The terminal state, exactly once; nothing is called after it. `undefined`: both sides ended in good order. */
  closed(cause: SshError | undefined): void;
}

/** What a pipe knows about itself, as of the moment it was asked. */
export interface PipeStats extends ChannelStats {
  /** The smallest round trip seen, in milliseconds, once one was measured. */
  readonly roundTrip?: number;
}

/** A two-way byte stream. */
export interface BytePipe {
  /** Starts delivery; called once, before anything else. */
  open(sink: PipeSink): void;
  /**
   * Sends the pieces in order. They belong to the pipe from now on and must never be touched again. False: enough is
   * queued, wait for `drain`; the pieces were taken all the same. After the terminal state they are dropped.
   */
  write(pieces: readonly Uint8Array[]): boolean;
  /** Says that nothing more will be written; what is queued is still sent. */
  end(): void;
  /** Gives back `count` delivered bytes: this, and not their delivery, lets the peer send more. */
  consumed(count: number): void;
  /**
   * Says, from inside `data` only, that of all bytes delivered so far none but the last `kept` are in use any more: the pipe
   * may use the memory of the others again. That it is never called is no mistake. Absent where a pipe has no use for it.
   */
  spent?(kept: number): void;
  /** Ends both directions at once and drops what is queued. `closed` follows with `cause`. */
  close(cause?: SshError): void;
  /**
   * Bytes of `write` whose memory is still in use; that of all before them may be used again. Absent where a pipe cannot
   * tell.
   */
  readonly unsent?: number;
  /** Bytes that the peer may have on the way to us at once, where the pipe limits that (a channel's window). It may grow. */
  readonly receiveWindow?: number;
  /** Absent where a pipe cannot tell. */
  readonly stats?: PipeStats;
}
