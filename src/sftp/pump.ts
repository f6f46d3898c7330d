/** What a transfer looks like to the link that carries it. */

import type { SshError } from '../errors.ts';

/** A transfer that asks, or sends, as much as it may whenever it is woken. */
export interface Pump {
  /** Does what can be done now. */
  run(): void;
  /** The connection ended. */
  lost(cause: SshError): void;
}
