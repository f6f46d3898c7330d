/**
 * The real server, promises and all, with clients in memory: ours, or scripted ones that speak packets as a test says. Its
 * clock may be run by hand; `failures` is what the server told about functions of its caller.
 */

import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers';
import { concat } from '../../src/bytes/bytes.ts';
import { type AuthMethod, password } from '../../src/client/auth.ts';
import { insecureAcceptAny } from '../../src/client/host_key.ts';
import { Link } from '../../src/client/link.ts';
import { settingsOf } from '../../src/client/options.ts';
import type { ClientOptions } from '../../src/connect.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { type Clock, systemClock } from '../../src/io/clock.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import type { ServerConnection } from '../../src/server/connection.ts';
import { type ServerOptions, serverSettings } from '../../src/server/options.ts';
import { Server } from '../../src/server/server.ts';
import { SshClient } from '../../src/ssh_client.ts';
import { connection } from '../../src/wire/connection.ts';
import type { Row } from '../../src/wire/message.ts';
import { type Chunking, cut } from './feed.ts';
import { memoCrypto } from './memo_crypto.ts';
import { replayedRandom } from './replayed_random.ts';
import { ScriptedClient, USER } from './scripted_client.ts';
import type { EndOptions } from './scripted_end.ts';
import { ed25519Signer } from './scripted_peer.ts';

/** The password that lets anybody in, unless a test says otherwise. */
export const PASSWORD = 'secret';

/** Turns of the event loop without a byte after which nothing is expected any more. */
const QUIET_TURNS = 6;

/** Milliseconds after which a test gives up. */
const LIMIT = 20_000;

/** Where clients say that they come from. */
export const REMOTE: { readonly address: string; readonly port: number } = { address: '192.0.2.7', port: 50022 };

/** What a promise gives, which must not take long. */
export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come within ${LIMIT} ms`)), LIMIT);
  });
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Lets what is ready in memory run, in this turn of the event loop and the next. */
export async function turn(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(() => resolve()));
}

export class Serving {
  readonly server: Server;
  /** What `onError` was told. */
  readonly failures: SshError[];
  /** Connections in the order in which they came. */
  readonly connections: ServerConnection[];
  readonly clock: Clock;

  private constructor(server: Server, failures: SshError[], connections: ServerConnection[], clock: Clock) {
    this.server = server;
    this.failures = failures;
    this.connections = connections;
    this.clock = clock;
  }

  /** A server with the defaults of the product, except that randomness is seeded and crypto remembers. */
  static async start(options: Partial<ServerOptions> = {}, clock: Clock = systemClock): Promise<Serving> {
    const crypto: CryptoProvider = { ...memoCrypto, random: replayedRandom('server') };
    const failures: SshError[] = [];
    const connections: ServerConnection[] = [];
    const all: ServerOptions = {
      hostKeys: [ed25519Signer(memoCrypto, 7)],
      auth: { password: ({ password }) => password === PASSWORD },
      onError: (error) => void failures.push(error),
      ...options,
      onConnection: (connection) => {
        connections.push(connection);
        options.onConnection?.(connection);
      },
    };
    const server = new Server({ settings: await serverSettings(all, crypto), crypto, clock });
    return new Serving(server, failures, connections, clock);
  }

  /** A pipe to the server, which serves its other end. Fails when there are too many connections. */
  pipe(chunk?: (bytes: Uint8Array) => Iterable<Uint8Array>): BytePipe {
    const [near, far] = memoryPipes(chunk === undefined ? {} : { chunk });
    assert.ok(this.server.accept(far, REMOTE) !== undefined, 'the server must take one more connection');
    return near;
  }

  /** Our client, logging in with `PASSWORD` unless it is told otherwise. */
  async connect(changes: Partial<ClientOptions> = {}, pipe: BytePipe = this.pipe()): Promise<SshClient> {
    const auth: AuthMethod[] = [password(PASSWORD)];
    const options = { host: 'example.org', username: USER, auth, hostKey: insecureAcceptAny(), ...changes };
    const crypto = { ...memoCrypto, random: replayedRandom(`client ${this.connections.length}`) };
    const link = await Link.establish({ pipe, settings: settingsOf(options), crypto, clock: this.clock });
    return new SshClient(link);
  }

  /** A scripted client that has said nothing yet. */
  raw(options: Partial<EndOptions> = {}, chunking: Chunking = 'whole'): RawClient {
    const random = replayedRandom('line');
    return new RawClient(
      this.pipe((bytes) => cut(bytes, chunking, random)),
      options,
    );
  }

  /** A scripted client that is logged in. */
  async rawOpen(chunking: Chunking = 'whole'): Promise<RawClient> {
    const raw = this.raw({}, chunking);
    await raw.login();
    return raw;
  }

  /** Why connection number `index` has ended, which it must soon. */
  async cause(index = 0): Promise<SshError | undefined> {
    const connection = this.connections[index];
    assert.ok(connection !== undefined, `there is no connection ${index}`);
    return await within(connection.closed, `the end of connection ${index}`);
  }

  /** What the server told about functions of its caller, as codes and messages; forgets it. */
  takeFailures(): string[] {
    return this.failures.splice(0).map(({ code, message }) => `${code}: ${message}`);
  }

  async close(): Promise<void> {
    await this.server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * A scripted client on a pipe. `quiet` lets everything run that is ready; what came then is in `client.inbox`. Steps of the
 * script that wait for an answer are methods here, in the rhythm of a server that takes its time.
 */
export class RawClient {
  readonly client: ScriptedClient;
  /** Why the pipe is down, once it is. */
  ended: { readonly cause: SshError | undefined } | undefined;
  readonly #pipe: BytePipe;
  #moved = false;

  constructor(pipe: BytePipe, options: Partial<EndOptions> = {}) {
    this.#pipe = pipe;
    this.client = new ScriptedClient({ random: replayedRandom('raw'), ...options });
    this.client.pump = () => this.flush();
    pipe.open({
      data: (bytes) => {
        this.#moved = true;
        this.client.receive(bytes);
        pipe.consumed(bytes.length);
      },
      end: () => pipe.end(),
      drain: () => {},
      closed: (cause) => {
        this.ended = { cause };
      },
    });
  }

  /** Sends what the script has for sending. */
  flush(): void {
    const output = this.client.takeOutput();
    if (output.length === 0) return;
    this.#moved = true;
    this.#pipe.write([concat(...output)]);
  }

  /** Waits until neither side has anything to say. */
  async quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      this.flush();
      await turn();
      if (this.#moved) turns = 0;
      this.#moved = false;
    }
  }

  /** The next message, which must be of this row, once all is quiet. */
  async take<R extends Row>(row: R): Promise<ReturnType<typeof this.client.take<R>>> {
    await this.quiet();
    return this.client.take(row);
  }

  /** The next payload, which must have this number, however long it takes. */
  async coming(number: number): Promise<Uint8Array> {
    for (const limit = performance.now() + LIMIT; this.client.inbox.length === 0; ) {
      assert.ok(performance.now() < limit, `message ${number} did not come within ${LIMIT} ms`);
      await new Promise((resolve) => setTimeout(resolve, 5));
      await this.quiet();
    }
    return this.client.expect(number);
  }

  /** Handshake and service. */
  async handshake(): Promise<void> {
    const { client } = this;
    client.identify();
    await this.quiet();
    client.sendKexinit();
    client.takeKexinit();
    client.sendInit();
    await this.quiet();
    client.takeReply();
    client.sendNewkeys();
    client.expect(21);
    client.takeExtInfo();
    client.send(serviceRequest);
    await this.quiet();
    client.expect(6);
  }

  /** Handshake and login with `PASSWORD`, behind which the server tells its host keys. */
  async login(): Promise<void> {
    await this.handshake();
    this.client.requestPassword(PASSWORD);
    await this.quiet();
    this.client.expect(52);
    assert.equal(this.client.take(connection.globalRequest).request, 'hostkeys-00@openssh.com');
  }

  /** This side sends no more. */
  end(): void {
    this.flush();
    this.#pipe.end();
  }

  /** The line breaks. */
  reset(): void {
    this.flush();
    this.#pipe.close(new SshError('connection-lost', 'read ECONNRESET', { fault: 'network' }));
  }
}

/** SERVICE_REQUEST for ssh-userauth. */
const serviceRequest = concat(Uint8Array.of(5, 0, 0, 0, 12), new TextEncoder().encode('ssh-userauth'));
