/** What the transport waits for, and how long: the peer's identification, the end of a key exchange, the next one. */

import { SshError } from '../errors.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import type { Limits } from './limits.ts';
import { Timer } from './timer.ts';

export class TransportTimers {
  readonly identification: Timer;
  readonly keyExchange: Timer;
  readonly rekey: Timer;
  readonly #limits: Limits;

  /** `rekeyTime`: milliseconds for which keys are used. */
  constructor(limits: Limits, rekeyTime: number) {
    this.#limits = limits;
    this.identification = new Timer(limits.identificationTime);
    this.keyExchange = new Timer(limits.keyExchangeTime);
    this.rekey = new Timer(rekeyTime);
  }

  /** When `check` has to be called next. A key exchange that waits for our own side is not timed, and then timed anew. */
  dueAt(now: number, waiting: boolean): number {
    if (waiting && this.keyExchange.running) this.keyExchange.start();
    return Math.min(
      this.identification.dueAt(now) ?? Number.POSITIVE_INFINITY,
      (waiting ? undefined : this.keyExchange.dueAt(now)) ?? Number.POSITIVE_INFINITY,
      this.rekey.dueAt(now) ?? Number.POSITIVE_INFINITY,
    );
  }

  /** Throws `timeout` where the peer has owed something for too long; true: it is time for a key exchange. */
  check(now: number, waiting: boolean): boolean {
    const limits = this.#limits;
    if (this.identification.expired(now)) {
      throw timeout(`No SSH identification came within ${limits.identificationTime} ms`, 'identification');
    }
    if (!waiting && this.keyExchange.expired(now)) {
      throw timeout(`The key exchange did not end within ${limits.keyExchangeTime} ms`, 'key-exchange');
    }
    if (!this.rekey.expired(now)) return false;
    this.rekey.start();
    return true;
  }
}

function timeout(message: string, phase: string): SshError {
  return new SshError('timeout', message, { fault: 'network', phase, disconnect: DisconnectReason.byApplication });
}
