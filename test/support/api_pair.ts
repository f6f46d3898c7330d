/**
 * Our client and our server, promises and all, in one process: on memory pipes, with a clock run by hand, and randomness of a
 * seed. What waits for nothing but memory runs in `now`; a promise that has not settled then hangs, and fails.
 */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import { type AuthMethod, password } from '../../src/client/auth.ts';
import { insecureAcceptAny } from '../../src/client/host_key.ts';
import { Link } from '../../src/client/link.ts';
import { settingsOf } from '../../src/client/options.ts';
import type { ClientOptions } from '../../src/connect.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import type { Clock } from '../../src/io/clock.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import type { ServerConnection } from '../../src/server/connection.ts';
import { type ServerOptions, serverSettings } from '../../src/server/options.ts';
import { Server } from '../../src/server/server.ts';
import { SshClient } from '../../src/ssh_client.ts';
import { turn } from './api_link.ts';
import { type Chunking, cut } from './feed.ts';
import { type LineTerms, longLine } from './long_line.ts';
import { memoCrypto } from './memo_crypto.ts';
import { replayedRandom } from './replayed_random.ts';
import { ed25519Signer } from './scripted_peer.ts';
import { VirtualClock } from './virtual_clock.ts';

/** Turns of the event loop without a byte after which nothing is expected any more: streams hand on over several. */
const QUIET_TURNS = 12;

const PASSWORD = 'hunter2';

export interface ApiPairOptions {
  readonly chunking?: Chunking;
  readonly client?: Partial<ClientOptions>;
  readonly server?: Partial<ServerOptions> | ((clock: Clock) => Partial<ServerOptions>);
  /** Default: the provider that remembers, with randomness by side. */
  readonly crypto?: { readonly client: CryptoProvider; readonly server: CryptoProvider };
  /** A long line, in the time of the clock. Default: one that takes no time. */
  readonly line?: LineTerms;
  /** Deliveries after which the line is lost, counted over both directions. */
  readonly cutAfter?: number;
}

export class ApiPair {
  readonly clock: VirtualClock;
  readonly server: Server;
  /** What `onError` of the server was told. */
  readonly failures: SshError[];
  /** How often bytes were handed to one of the sides. */
  deliveries: number = 0;
  #link: Link | undefined;
  readonly #options: ApiPairOptions;
  readonly #pipes: BytePipe[] = [];

  private constructor(options: ApiPairOptions, server: Server, failures: SshError[], clock: VirtualClock) {
    this.#options = options;
    this.server = server;
    this.failures = failures;
    this.clock = clock;
  }

  static async start(options: ApiPairOptions = {}): Promise<ApiPair> {
    const clock = new VirtualClock();
    const failures: SshError[] = [];
    const server = await serverOn(clock, options.crypto?.server ?? cryptoOf('server'), {
      onError: (error) => void failures.push(error),
      ...(typeof options.server === 'function' ? options.server(clock) : options.server),
    });
    return new ApiPair(options, server, failures, clock);
  }

  /** Our client on a line of its own to our server. */
  connect(changes: Partial<ClientOptions> = {}): Promise<SshClient> {
    const random = replayedRandom('line');
    const { chunking = 'whole', cutAfter = Number.POSITIVE_INFINITY } = this.#options;
    const pipes = memoryPipes({
      chunk: (bytes) => {
        this.deliveries++;
        if (this.deliveries > cutAfter) this.cut();
        return cut(bytes, chunking, random);
      },
    });
    this.#pipes.push(...pipes);
    assert.ok(this.server.accept(pipes[1], { address: '192.0.2.7', port: 50123 }) !== undefined);
    const crypto = this.#options.crypto?.client ?? cryptoOf(`client ${this.#pipes.length}`);
    const { line } = this.#options;
    const near = line === undefined ? pipes[0] : longLine(pipes[0], this.clock, line);
    const client = clientOn(near, this.clock, crypto, { ...this.#options.client, ...changes });
    return client.then(({ link, ssh }) => {
      this.#link = link;
      return ssh;
    });
  }

  /** Below the client that connected last. */
  get link(): Link {
    return this.#link ?? assert.fail('nobody has connected');
  }

  /** The server's side of the only connection. */
  get connection(): ServerConnection {
    const [connection] = this.server.connections;
    return connection ?? assert.fail('there is no connection');
  }

  /** Every line is lost. */
  cut(): void {
    for (const pipe of this.#pipes)
      pipe.close(new SshError('connection-lost', 'read ECONNRESET', { fault: 'network' }));
  }

  /**
   * What a promise gives, which must have settled once all is quiet, or, where the product has to wait for something, within
   * `patience` milliseconds of virtual time.
   */
  async now<T>(promise: Promise<T>, patience = 0): Promise<T> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    await this.#quiet(() => settled);
    for (let passed = 0; !settled && passed < patience; passed += 100) {
      await this.clock.pass(100);
      await this.#quiet(() => settled);
    }
    if (!settled) throw new Error('all is quiet and the promise has not settled');
    return await promise;
  }

  /** Lets all run that is ready. */
  quiet(): Promise<void> {
    return this.#quiet(() => false);
  }

  async #quiet(done: () => boolean): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS && !done(); turns++) {
      const before = this.deliveries;
      await turn();
      if (this.deliveries !== before) turns = 0;
    }
  }
}

/** The provider that remembers, with randomness of its own. */
export function cryptoOf(name: string): CryptoProvider {
  return { ...memoCrypto, random: replayedRandom(name) };
}

/** A server that lets anybody in who knows the password. */
export async function serverOn(clock: Clock, crypto: CryptoProvider, changes: Partial<ServerOptions>): Promise<Server> {
  const all: ServerOptions = {
    hostKeys: [ed25519Signer(memoCrypto, 7)],
    auth: { password: (attempt) => attempt.password === PASSWORD },
    keepalive: false,
    ...changes,
  };
  return new Server({ settings: await serverSettings(all, crypto), crypto, clock });
}

/** A client that knows the password. */
export async function clientOn(
  pipe: BytePipe,
  clock: Clock,
  crypto: CryptoProvider,
  changes: Partial<ClientOptions>,
): Promise<{ readonly link: Link; readonly ssh: SshClient }> {
  const auth: AuthMethod[] = [password(PASSWORD)];
  const hostKey = insecureAcceptAny();
  const options = { host: 'example.org', username: 'ada', auth, hostKey, keepalive: false as const, ...changes };
  const link = await Link.establish({ pipe, settings: settingsOf(options), crypto, clock });
  return { link, ssh: new SshClient(link) };
}

/** All that a stream gives, to its end. */
export async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) pieces.push(part.value.slice());
  return concat(...pieces);
}
