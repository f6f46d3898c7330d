/** What the transport waits for, and how long: the peer's identification, the end of a key exchange, the next one, the end of a packet. */

import { SshError } from '../errors.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import type { Limits } from './limits.ts';
import { Timer } from './timer.ts';

/**
 * Milliseconds from the beginning of a packet whose length is hidden to its end. A changed one waits for bytes that may never come, and
 * time that began with the failure would tell where that was. As long as keepalives bear silence by default.
 */
const HIDDEN_PACKET_TIME = 120_000;

export class TransportTimers {
  readonly identification: Timer;
  readonly keyExchange: Timer;
  readonly rekey: Timer;
  readonly #packet = new Timer(HIDDEN_PACKET_TIME);
  readonly #limits: Limits;

  /** `rekeyTime`: milliseconds for which keys are used. */
  constructor(limits: Limits, rekeyTime: number) {
    this.#limits = limits;
    this.identification = new Timer(limits.identificationTime);
    this.keyExchange = new Timer(limits.keyExchangeTime);
    this.rekey = new Timer(rekeyTime);
  }

  /** Whether a packet has begun, and not ended, whose length is hidden. */
  hides(packet: boolean): void {
    if (!packet) this.#packet.stop();
    else if (!this.#packet.running) this.#packet.start();
  }

  /** When `check` has to be called next. What waits for our own side is not timed, and then timed anew. */
  dueAt(now: number, waiting: boolean): number {
    if (waiting && this.keyExchange.running) this.keyExchange.start();
    if (waiting && this.#packet.running) this.#packet.start();
    return Math.min(
      this.identification.dueAt(now) ?? Number.POSITIVE_INFINITY,
      (waiting ? undefined : this.keyExchange.dueAt(now)) ?? Number.POSITIVE_INFINITY,
      this.rekey.dueAt(now) ?? Number.POSITIVE_INFINITY,
      (waiting ? undefined : this.#packet.dueAt(now)) ?? Number.POSITIVE_INFINITY,
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
    if (!waiting && this.#packet.expired(now)) {
      const message = `A packet was not whole within ${HIDDEN_PACKET_TIME} ms, or fails its integrity check, which the cipher hides`;
      throw timeout(message, 'open');
    }
    if (!this.rekey.expired(now)) return false;
    this.rekey.start();
    return true;
  }
}

function timeout(message: string, phase: string): SshError {
  return new SshError('timeout', message, { fault: 'network', phase, disconnect: DisconnectReason.byApplication });
}
