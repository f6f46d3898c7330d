/** What the connection needs of authentication, whichever side it is. RFC 4252. */

import type { Quirks } from '../quirks.ts';

export interface Auth {
  /** For the phase table. */
  readonly phase: 'service' | 'auth' | 'open';
  /** How many attempts were made. */
  readonly attempts: number;
  /** The number of the attempt that is out, if it may well succeed. */
  readonly hopeful: number | undefined;
  /** The first keys are in use. */
  start(sessionId: Uint8Array, quirks: Quirks): void;
  /** A message that the phase table let through and that is below the connection protocol. */
  receive(payload: Uint8Array): void;
  /** What the peer announces (RFC 8308). */
  extInfo(extensions: ReadonlyMap<string, Uint8Array>, quirks: Quirks): void;
  /** The peer does not know a message of ours. */
  unimplemented(number: number): void;
  /** When `tick` has to be called. */
  dueAt(now: number): number;
  /** Throws `timeout` when a wait for the peer has reached its limit. */
  tick(now: number): void;
}
