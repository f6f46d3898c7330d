/** How the runtime that runs the tests listens, and a listener that keeps what it accepts. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SshError } from '../../src/errors.ts';
import type { Accepted, Listen, Listener, ListenOptions } from '../../src/io/listen.ts';

const globals = globalThis as { readonly Deno?: unknown; readonly Bun?: unknown };

const LIMIT = 20_000;

/** A TCP listener of this runtime. */
export const listen: Listen =
  globals.Bun !== undefined
    ? (await import('../../src/transports/bun_listener.ts')).listenBun
    : globals.Deno !== undefined
      ? (await import('../../src/transports/deno_listener.ts')).listenDeno
      : (await import('../../src/transports/node_listener.ts')).listenNode;

/** A listener on loopback; with it all the pipes that it has accepted are gone. */
export class Host {
  readonly accepted: Accepted[] = [];
  readonly failures: SshError[] = [];
  readonly listener: Listener;

  private constructor(listener: Listener, accepted: Accepted[], failures: SshError[]) {
    this.listener = listener;
    this.accepted = accepted;
    this.failures = failures;
  }

  /** Calls `accept` with every connection, if given. */
  static async start(options: Partial<ListenOptions> = {}, accept?: (accepted: Accepted) => void): Promise<Host> {
    const accepted: Accepted[] = [];
    const failures: SshError[] = [];
    const listener = await listen(
      { host: '127.0.0.1', port: 0, ...options },
      (each) => {
        accepted.push(each);
        accept?.(each);
      },
      (error) => failures.push(error),
    );
    return new Host(listener, accepted, failures);
  }

  get port(): number {
    return this.listener.address.port;
  }

  /** Connection number `index`, once it is there. */
  async connection(index = 0): Promise<Accepted> {
    const limit = performance.now() + LIMIT;
    for (;;) {
      const accepted = this.accepted[index];
      if (accepted !== undefined) return accepted;
      if (performance.now() > limit) assert.fail(`connection ${index} was not accepted within ${LIMIT} ms`);
      await sleep(10);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { pipe } of this.accepted) pipe.close();
    await this.listener.close();
  }
}
