/** Where the bytes come from that are being written to a remote file. */

import type { SshError } from '../errors.ts';

/** What a source tells the transfer that it feeds. */
export interface SourceEvents {
  /** More bytes, which belong to the transfer from now on. */
  push(bytes: Uint8Array): void;
  /** The next `count` bytes are zeros and need not be sent: nothing is there yet, and something behind them follows. */
  skip(count: number): void;
  end(): void;
  broken(error: SshError): void;
}

export interface WriteSource {
  /** Asks for more. Answered by exactly one event, at once or later; the next question comes after it. */
  pull(events: SourceEvents): void;
  /** Of all that was pushed or skipped, the first `count` bytes have left: their memory may be used again. */
  spent?(count: number): void;
  /** Nothing is wanted any more. Resolves when the source has let go of what it reads from. */
  stop(): Promise<void>;
}
