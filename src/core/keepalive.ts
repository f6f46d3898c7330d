/** Noticing a dead peer: a request when nothing was heard for a while, and an end after several without an answer. */

import { SshError } from '../errors.ts';
import { Timer } from './timer.ts';

export interface KeepaliveConfig {
  /** Milliseconds of silence before a keepalive is sent; `Infinity` switches them off. */
  readonly interval: number;
  /** How many may stay without any sign of life. */
  readonly count: number;
}

export class Keepalive {
  readonly #config: KeepaliveConfig;
  readonly #timer: Timer;
  readonly #requests = new Set<number>();
  #unanswered = 0;

  constructor(config: KeepaliveConfig) {
    this.#config = config;
    this.#timer = new Timer(config.interval);
    this.#timer.start();
  }

  /** Anything arrived: the peer lives. */
  heard(): void {
    this.#unanswered = 0;
    this.#timer.start();
  }

  dueAt(now: number): number {
    return this.#timer.dueAt(now) ?? Number.POSITIVE_INFINITY;
  }

  /** Whether a keepalive has to be sent now; throws `keepalive-timeout` when too many stayed unanswered. */
  due(now: number): boolean {
    if (!this.#timer.expired(now)) return false;
    const { interval, count } = this.#config;
    if (this.#unanswered >= count) {
      throw new SshError('keepalive-timeout', `Nothing was heard from the peer for ${count + 1} times ${interval} ms`, {
        fault: 'network',
        phase: 'open',
      });
    }
    this.#unanswered++;
    this.#timer.start();
    return true;
  }

  /** A keepalive went out as global request `id`. */
  sent(id: number): void {
    this.#requests.add(id);
  }

  /** Whether global request `id` was a keepalive, whose answer concerns nobody else. */
  answered(id: number): boolean {
    return this.#requests.delete(id);
  }
}
