/** A server: takes connections as byte pipes, within its capacity, and knows those that live. Must not know sockets. */

import type { CryptoProvider } from '../crypto/provider.ts';
import { toSshError } from '../errors.ts';
import type { Clock } from '../io/clock.ts';
import { discard } from '../io/discard.ts';
import type { BytePipe } from '../io/pipe.ts';
import { ServerConnection } from './connection.ts';
import type { Login } from './handlers.ts';
import type { ServerSettings } from './options.ts';

export interface ServerParts {
  readonly settings: ServerSettings;
  readonly crypto: CryptoProvider;
  readonly clock: Clock;
}

export class Server {
  readonly #parts: ServerParts;
  readonly #connections = new Set<ServerConnection>();
  /** Byte streams that are not down yet: one whose connection has ended takes a socket until its peer lets go. */
  #streams = 0;
  #unauthenticated = 0;
  /** The same by address; nothing is kept of those that have none. */
  readonly #waiting = new Map<string, number>();
  #closed = false;

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  /** Connections that live, logged in or not. */
  get connections(): ReadonlySet<ServerConnection> {
    return this.#connections;
  }

  /** Serves a client over `pipe`, which is the server's from now on. `undefined`: there are too many already. */
  accept(pipe: BytePipe, remote?: { readonly address: string; readonly port: number }): ServerConnection | undefined {
    const { settings, crypto, clock } = this.#parts;
    const { connections, unauthenticated, unauthenticatedPerAddress } = settings.capacity;
    const address = remote?.address ?? '';
    const fromThere = this.#waiting.get(address) ?? 0;
    const isFull = this.#streams >= connections || this.#unauthenticated >= unauthenticated;
    if (this.#closed || isFull || (remote !== undefined && fromThere >= unauthenticatedPerAddress)) {
      discard(pipe);
      return undefined;
    }
    let waits = true;
    const settle = (): void => {
      if (!waits) return;
      waits = false;
      this.#unauthenticated--;
      this.#count(address, -1);
    };
    /** A function of the caller that throws has decided nothing, so the connection is not served. */
    const tell = (work: () => void): void => {
      try {
        work();
      } catch (error) {
        settings.onError(toSshError(error, 'internal'));
        connection.close();
      }
    };
    const loggedIn = (login: Login, connection: ServerConnection): void => {
      settle();
      tell(() => settings.onLogin(login, connection));
    };
    const connection = new ServerConnection({ pipe, remote, settings, crypto, clock, loggedIn });
    this.#streams++;
    this.#unauthenticated++;
    this.#count(address, 1);
    this.#connections.add(connection);
    connection.closed.then(() => this.#connections.delete(connection));
    connection.down.then(() => {
      this.#streams--;
      settle();
    });
    tell(() => settings.onConnection(connection));
    connection.start();
    return connection;
  }

  #count(address: string, change: number): void {
    const count = (this.#waiting.get(address) ?? 0) + change;
    if (count === 0) this.#waiting.delete(address);
    else this.#waiting.set(address, count);
  }

  /** Disconnects every client and takes no more; resolves when all are gone. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#connections].map((connection) => connection.close()));
  }
}
