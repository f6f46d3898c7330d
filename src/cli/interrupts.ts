/** Signals that end the command. One part of it may take Ctrl-C over, as a shell does while it runs something. */

import process from 'node:process';
import { SshError } from '../errors.ts';
import { signalStatus } from './exit.ts';

/** Signals that end what runs, in good order: what is half written is removed. A second one ends it at once. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export class Interrupts {
  readonly #controller = new AbortController();
  #received: string | undefined;
  #taken: (() => void) | undefined;

  constructor() {
    for (const name of ENDING) process.on(name, () => this.#arrived(name));
  }

  /** Fires at the first signal that nobody takes. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit status for the signal that ended it, once one has. */
  get status(): number | undefined {
    return this.#received === undefined ? undefined : signalStatus(this.#received.slice(3));
  }

  /** From now on Ctrl-C is `take`'s; `undefined`: it ends the command again. */
  takeInterrupt(take: (() => void) | undefined): void {
    this.#taken = take;
  }

  #arrived(name: (typeof ENDING)[number]): void {
    const taken = name === 'SIGINT' ? this.#taken : undefined;
    if (taken !== undefined) {
      taken();
      return;
    }
    if (this.status !== undefined) process.exit(this.status);
    this.#received = name;
    this.#controller.abort(new SshError('aborted', `Ended by ${name}`));
  }
}
