/** What every runtime needs to know to make a TCP connection. */

import type { BytePipe } from './pipe.ts';

/** Where to connect to, and for how long to try. */
export interface DialOptions {
  readonly host: string;
  readonly port: number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
}

/** Makes a byte pipe; rejects with `connect-failed`, `timeout` or `aborted`. */
export type Dial = (options: DialOptions) => Promise<BytePipe>;

/** Milliseconds for a TCP connection by default; systems themselves try for minutes. */
export const CONNECT_TIMEOUT = 20_000;
