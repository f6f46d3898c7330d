/** Follows the clients of `serve` from connection to end, and writes down what becomes of each. */

import { printable } from '../bytes/text.ts';
import type { SshError } from '../errors.ts';
import type { ServerConnection } from '../server/connection.ts';
import type { Attempt, Login, Peer } from '../server/handlers.ts';
import type { Credential, Journal } from './journal.ts';
import { algorithmReport, rounded } from './report.ts';

interface Visitor {
  readonly client: { readonly id: number; readonly address: string; readonly port: number };
  readonly connection: ServerConnection;
  readonly since: number;
}

export class Visitors {
  readonly #journal: Journal;
  /** By address and port, which is what the functions about logins know of a client. */
  readonly #present = new Map<string, Visitor>();
  #count = 0;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** A client has come. */
  add(connection: ServerConnection): void {
    const { address = 'unknown', port = 0 } = connection.peer;
    const client = { id: ++this.#count, address, port };
    const visitor = { client, connection, since: performance.now() };
    this.#present.set(nameOf(connection.peer), visitor);
    this.#journal.write({ event: 'connection', ...client });
    connection.closed.then((cause) => this.#remove(visitor, cause));
  }

  refused(attempt: Attempt, how: Omit<Credential, 'username'>, reason: string): void {
    const visitor = this.#present.get(nameOf(attempt.peer));
    if (visitor === undefined) return;
    const username = printable(attempt.username);
    this.#journal.write({ event: 'refused', ...visitor.client, username, ...how, reason });
  }

  /** Somebody has logged in. */
  welcome(login: Login): void {
    const visitor = this.#present.get(nameOf(login.peer));
    if (visitor === undefined) return;
    const step = login.steps.at(-1);
    const { algorithms } = visitor.connection;
    this.#journal.write({
      event: 'login',
      ...visitor.client,
      username: printable(login.username),
      method: step?.method ?? 'none',
      ...(step?.key === undefined ? {} : { key: step.key.fingerprint }),
      client: login.peer.identification,
      ...(algorithms === undefined ? {} : { algorithms: algorithmReport(algorithms, 'toClient') }),
    });
  }

  /** An SFTP session begins. */
  session({ peer, username }: Login): void {
    const visitor = this.#present.get(nameOf(peer));
    if (visitor === undefined) return;
    this.#journal.write({ event: 'session', ...visitor.client, username: printable(username) });
  }

  #remove(visitor: Visitor, cause: SshError | undefined): void {
    this.#present.delete(nameOf(visitor.connection.peer));
    const seconds = rounded((performance.now() - visitor.since) / 1000, 3);
    const why = cause === undefined ? {} : { code: cause.code, message: cause.message };
    this.#journal.write({ event: 'end', ...visitor.client, seconds, ...why });
  }
}

function nameOf({ address, port }: Peer): string {
  return `${address} ${port}`;
}
