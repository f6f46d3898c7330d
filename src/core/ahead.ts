/**
 * What the layers above say before the login is through. It waits for that; or, while the first attempt that may well succeed
 * is out, it goes right behind it, to a server that is known to bear it: RFC 4252 §5.3 has such messages passed to the service
 * when the attempt succeeds. Should it fail they meant nothing there, and go again once somebody is logged in.
 */

import { concat } from '../bytes/bytes.ts';
import type { Auth } from './auth/auth.ts';

/** The peer and the layers around. */
export interface AheadHost {
  /** Whether the peer bears messages before the login. */
  bears(): boolean;
  send(payload: Uint8Array): void;
  /** The next data packet of a channel, as parts. */
  takeBulk(): readonly Uint8Array[] | undefined;
}

export class Ahead {
  readonly #auth: Auth;
  readonly #host: AheadHost;
  /** All that was said, in order, of which the first `#gone` have left behind the attempt `#behind`. */
  #kept: Uint8Array[] = [];
  #gone = 0;
  #behind: number | undefined;

  constructor(auth: Auth, host: AheadHost) {
    this.#auth = auth;
    this.#host = host;
  }

  send(payload: Uint8Array): void {
    if (this.#auth.phase === 'open') this.#host.send(payload);
    else this.#kept.push(payload);
  }

  /** What may leave after everything else. */
  bulk(): readonly Uint8Array[] | undefined {
    const host = this.#host;
    if (this.#auth.phase === 'open') return host.takeBulk();
    const attempt = this.#auth.hopeful;
    if (attempt === undefined || attempt !== (this.#behind ?? attempt) || !host.bears()) return undefined;
    if (this.#gone === this.#kept.length) {
      const parts = host.takeBulk();
      if (parts === undefined) return undefined;
      this.#kept.push(concat(...parts)); // what it is made of may be used again once it has left
    }
    this.#behind = attempt;
    return [this.#kept[this.#gone++] as Uint8Array];
  }

  /** The last attempt has logged in. */
  loggedIn(): void {
    const rest = this.#behind === this.#auth.attempts ? this.#kept.slice(this.#gone) : this.#kept;
    this.#kept = [];
    for (const payload of rest) this.#host.send(payload);
  }
}
