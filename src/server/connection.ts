/**
 * One client as its server has it: drives the core with the caller's functions, and hands what the client opens to sessions
 * and forwarding. Must not know listeners, nor other clients.
 */

import { chooseAlgorithms } from '../core/algorithms/lists.ts';
import { Connection } from '../core/connection.ts';
import type { Negotiated } from '../core/events.ts';
import type { SideSettings } from '../core/options.ts';
import type { ConnectionStats } from '../core/stats.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { SshError, toSshError } from '../errors.ts';
import type { Clock } from '../io/clock.ts';
import { type ConnectionEvent, Driver, type OwnerQuestion } from '../io/driver.ts';
import type { BytePipe } from '../io/pipe.ts';
import { HOST_KEYS, HOST_KEYS_PROVE } from '../keys/host_key_proof.ts';
import type { Signer } from '../keys/signature.ts';
import { OpenFailureReason } from '../wire/numbers.ts';
import { Forwarding } from './forward.ts';
import type { ForwardHandlers, Login, LoginHandlers, Peer } from './handlers.ts';
import { HostKeyProofs, type ProofAnswer } from './host_key_proof.ts';
import { LoginDesk, type LoginQuestion } from './login.ts';
import { type Running, ServerSession, type SessionHandlers } from './session.ts';

/** Global requests of one client that may wait for the answer to an earlier one. */
const WAITING_REQUESTS = 64;

/** What a connection is told: see the options of the server. */
export interface ConnectionSettings extends SideSettings {
  readonly hostKeys: readonly Signer[];
  readonly auth: LoginHandlers;
  readonly methods: readonly string[];
  readonly session: SessionHandlers;
  readonly forward: ForwardHandlers;
  readonly banner: string;
  readonly signatures: readonly string[];
  readonly capacity: { readonly sessions: number; readonly programs: number };
  readonly onError: (error: SshError) => void;
}

export interface ServerConnectionParts {
  readonly pipe: BytePipe;
  /** Where it comes from, where that is known. */
  readonly remote?: { readonly address: string; readonly port: number } | undefined;
  readonly settings: ConnectionSettings;
  readonly crypto: CryptoProvider;
  readonly clock: Clock;
  /** The client has logged in. */
  readonly loggedIn: (login: Login, connection: ServerConnection) => void;
}

/** One client, from its connection to its end. */
export class ServerConnection {
  /** Resolves with why the connection ended; `undefined` when this side closed it. Never rejects. */
  readonly closed: Promise<SshError | undefined>;
  readonly #parts: ServerConnectionParts;
  readonly #driver: Driver;
  readonly #desk: LoginDesk;
  #login: Login | undefined;
  #forwarding: Forwarding | undefined;
  readonly #programs: Running;
  readonly #proofs: HostKeyProofs;
  #sessions = 0;
  #requests: Promise<void> = Promise.resolve();
  #waiting = 0;
  #keyExchanges = 0;
  #resolveClosed: (cause: SshError | undefined) => void = () => {};

  constructor(parts: ServerConnectionParts) {
    const { settings, crypto, clock, pipe } = parts;
    this.#parts = parts;
    this.#programs = { count: 0, most: settings.capacity.programs };
    this.#proofs = new HostKeyProofs(settings.hostKeys);
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#desk = new LoginDesk({
      handlers: settings.auth,
      crypto,
      clock,
      peer: () => this.peer,
      failed: (error) => this.#failed(error),
    });
    const connection = new Connection({
      ...settings,
      role: 'server',
      crypto,
      random: crypto.random,
      algorithms: chooseAlgorithms(crypto, settings.algorithms, settings.compression),
    });
    this.#driver = new Driver(connection, pipe, clock, {
      event: (event) => this.#event(event),
      ask: (question: OwnerQuestion) => this.#desk.answer(question as LoginQuestion),
      ended: (cause) => this.#ended(cause),
    });
  }

  /** Resolves once the byte stream is down, some time after `closed`. Never rejects. */
  get down(): Promise<void> {
    return this.#driver.down;
  }

  /** Starts the connection. The server has called it; it is not for others. */
  start(): void {
    this.#driver.start();
  }

  /** Who is at the other end, as far as is known by now. */
  get peer(): Peer {
    const { remote } = this.#parts;
    return { ...remote, identification: this.#driver.connection.peerIdentification ?? '' };
  }

  /** Who is logged in, once somebody is. */
  get login(): Login | undefined {
    return this.#login;
  }

  /** What the last key exchange settled, once there was one. */
  get algorithms(): Negotiated | undefined {
    return this.#driver.connection.negotiated;
  }

  /** What the connection has moved, as of now, and the round trip, which a server measures once data has come. */
  get stats(): ConnectionStats {
    return this.#driver.connection.stats;
  }

  /** How many key exchanges have ended. */
  get keyExchanges(): number {
    return this.#keyExchanges;
  }

  /** Whether strict key exchange (OpenSSH PROTOCOL §1.9) protects the handshake. */
  get strictKex(): boolean {
    return this.#driver.connection.strict;
  }

  /** Exchanges keys, once somebody is logged in. */
  rekey(): void {
    this.#driver.connection.rekey();
    this.#driver.wake();
  }

  /** Disconnects; resolves once the byte stream is down. */
  async close(): Promise<void> {
    this.#driver.close();
    await this.#driver.down;
  }

  #event(event: ConnectionEvent): void {
    switch (event.type) {
      case 'keys':
        this.#keyExchanges++;
        return;
      case 'authenticated':
        this.#enter(this.#desk.login(event.username));
        return;
      case 'channel-open-request':
        this.#open(event.channel, event.kind, event.body);
        return;
      case 'global-request':
        this.#request(event.request, event.wantReply, event.body);
        return;
      case 'identified':
      case 'banner':
      case 'debug':
      case 'global-reply':
        return;
    }
  }

  #ended(cause: SshError | undefined): void {
    this.#desk.end();
    this.#forwarding?.end();
    this.#resolveClosed(cause);
  }

  #enter(login: Login): void {
    const { settings, loggedIn } = this.#parts;
    this.#login = login;
    this.#forwarding = new Forwarding({
      driver: this.#driver,
      handlers: settings.forward,
      login,
      failed: (error) => this.#failed(error),
    });
    const { connection } = this.#driver;
    if (!connection.quirks.losesHostKeys) connection.requestGlobal(HOST_KEYS, this.#proofs.list(), false);
    loggedIn(login, this);
  }

  #open(channel: number, kind: string, body: Uint8Array): void {
    if (kind === 'session') {
      this.#openSession(channel);
    } else if (kind === 'direct-tcpip') {
      this.#forwarding?.open(channel, body);
    } else {
      this.#driver.connection.refuseChannel(channel, OpenFailureReason.unknownChannelType, 'unknown channel type');
    }
  }

  #openSession(id: number): void {
    const { settings } = this.#parts;
    if (this.#sessions >= settings.capacity.sessions) {
      const why = `no more than ${settings.capacity.sessions} sessions at once`;
      this.#driver.connection.refuseChannel(id, OpenFailureReason.resourceShortage, why);
      return;
    }
    this.#sessions++;
    ServerSession.accept(this.#driver, id, {
      login: this.#login as Login,
      handlers: settings.session,
      programs: this.#programs,
      failed: (error) => this.#failed(error),
      freed: () => void this.#sessions--,
    });
  }

  /** Global requests are answered in order (RFC 4254 §4), each when the one before it is. */
  #request(name: string, wantReply: boolean, body: Uint8Array): void {
    const { connection } = this.#driver;
    const isProof = name === HOST_KEYS_PROVE;
    const isForward = name === 'tcpip-forward' || name === 'cancel-tcpip-forward';
    if (this.#waiting === 0 && !isForward && !isProof) {
      if (wantReply) connection.replyGlobalRequest(false);
      return;
    }
    if (this.#waiting >= WAITING_REQUESTS) {
      const message = `More than ${WAITING_REQUESTS} global requests wait`;
      this.#driver.close(new SshError('limit', message, { fault: 'peer' }));
      return;
    }
    this.#waiting++;
    this.#requests = this.#requests.then(async () => {
      const answer = isProof ? await this.#prove(body) : await this.#forwarding?.request(name, body);
      this.#waiting--;
      if (wantReply) connection.replyGlobalRequest(answer?.ok ?? false, answer?.body);
      this.#driver.wake();
    });
  }

  async #prove(body: Uint8Array): Promise<ProofAnswer> {
    const { sessionId, negotiated } = this.#driver.connection;
    try {
      return await this.#proofs.prove(body, sessionId as Uint8Array, negotiated?.hostKey ?? '');
    } catch (error) {
      this.#failed(toSshError(error, 'crypto', { phase: 'open' }));
      return { ok: false };
    }
  }

  #failed(error: SshError): void {
    this.#parts.settings.onError(error);
  }
}
