/**
 * One connection as a client has it: starts it, answers its questions with the caller's policy and credentials, keeps what is
 * known about it, and refuses what a server may not ask of a client. Must not know sessions.
 */

import type { SessionBinding } from '../agent/agent.ts';
import { chooseAlgorithms } from '../core/algorithms/lists.ts';
import type { ConnectionConfig } from '../core/config.ts';
import { Connection } from '../core/connection.ts';
import type { AuthAttempt, Negotiated } from '../core/events.ts';
import type { Quirks } from '../core/quirks.ts';
import type { ConnectionStats } from '../core/stats.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { SshError, toSshError } from '../errors.ts';
import { abortedBy, onAbort } from '../io/abort.ts';
import { type ChannelOptions, ChannelPipe } from '../io/channel_pipe.ts';
import type { Clock } from '../io/clock.ts';
import { discard } from '../io/discard.ts';
import { type ConnectionEvent, Driver, type DriverOwner, type OwnerQuestion } from '../io/driver.ts';
import type { BytePipe } from '../io/pipe.ts';
import { fingerprint } from '../keys/public_key.ts';
import { parseShownKey, type ShownKey } from '../keys/shown_key.ts';
import { plainAlgorithm, signatureAlgorithms } from '../keys/signature.ts';
import { hostKeyError } from './host_key.ts';
import { type HostKeyUpdateState, KeyUpdate } from './host_key_update.ts';
import { Login } from './login.ts';
import type { Settings } from './options.ts';
import { type ChannelHandler, type GlobalHandler, type GlobalReply, PeerRequests } from './peer_requests.ts';

/** What is known about a connection. */
export interface ConnectionInfo {
  /** The server's identification, such as `SSH-2.0-OpenSSH_9.6`, sanitised. */
  readonly identification: string;
  /** Lines that the server sent before it, sanitised. */
  readonly greeting: readonly string[];
  /** What the last key exchange settled. */
  readonly algorithms: Negotiated;
  /** How many key exchanges have ended, the first one included. */
  readonly keyExchanges: number;
  /** Whether strict key exchange (OpenSSH PROTOCOL §1.9) protects the handshake. */
  readonly strictKex: boolean;
  /** `keyType` and `blob` of a certificate, where the server has shown one; the fingerprint is that of the key in it. */
  readonly hostKey: { readonly keyType: string; readonly fingerprint: string; readonly blob: Uint8Array };
  /** What has come of the keys that the server tells after the login, if the policy of `hostKey` updates its files. */
  readonly hostKeyUpdate: HostKeyUpdateState;
  /** The methods that succeeded, in order: `none` alone means that the server let in whoever came. */
  readonly authMethods: readonly string[];
}

/** What a link stands on. */
export interface LinkParts {
  readonly pipe: BytePipe;
  readonly settings: Settings;
  readonly crypto: CryptoProvider;
  readonly clock: Clock;
}

interface Waiting<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: SshError) => void;
}

export class Link implements DriverOwner {
  /** Resolves with why the connection ended; `undefined` when this side closed it. Never rejects. */
  readonly closed: Promise<SshError | undefined>;
  readonly #settings: Settings;
  readonly #crypto: CryptoProvider;
  readonly #driver: Driver;
  readonly #login: Login;
  readonly #peerRequests: PeerRequests;
  readonly #keyUpdate: KeyUpdate;
  /** Resolves when somebody is logged in; rejects with why nobody is. */
  readonly loggedIn: Promise<void>;
  #resolveClosed: (cause: SshError | undefined) => void = () => {};
  /** Whoever waits for the login; there is nobody any more when it is through, or has failed. */
  #ready: Waiting<void> | undefined;
  /** Ends the wait of `establish` before that. */
  #resolveEarly: () => void = () => {};
  #rekeying: Waiting<Negotiated>[] = [];
  #keyExchanges = 0;
  #greeting: readonly string[] = [];
  #authMethods: readonly string[] = [];
  #firstProof: { readonly hostKey: Uint8Array; readonly signature: Uint8Array } | undefined;

  /** Connects over `pipe` and logs in. The pipe is closed when that fails. */
  static async establish(parts: LinkParts): Promise<Link> {
    const { pipe, settings, crypto } = parts;
    const { signal } = settings;
    let link: Link;
    try {
      if (signal?.aborted) throw abortedBy(signal, 'Connecting');
      const algorithms = chooseAlgorithms(crypto, settings.algorithms, settings.compression);
      const hostKeys = preferTypes(algorithms.hostKeys, await preferredTypes(settings, crypto));
      link = new Link(parts, { ...algorithms, hostKeys });
    } catch (error) {
      throw discardFor(pipe, error);
    }
    await link.#start(signal);
    return link;
  }

  private constructor(parts: LinkParts, algorithms: ConnectionConfig['algorithms']) {
    const { settings, crypto } = parts;
    this.#settings = settings;
    this.#crypto = crypto;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#login = new Login({
      username: settings.username,
      methods: settings.auth,
      maxFailures: settings.maxAuthFailures,
      signatures: settings.signatures,
      identitiesOnly: settings.identitiesOnly,
      session: () => this.proof,
      crypto,
    });
    const connection = new Connection({
      role: 'client',
      crypto,
      random: crypto.random,
      algorithms,
      software: settings.software,
      rekey: settings.rekey,
      limits: settings.limits,
      username: settings.username,
      signatures: settings.signatures,
      requireSignature: settings.requireSignature,
      compression: settings.compression,
      keepalive: settings.keepalive,
      window: settings.window,
      maxWindow: settings.maxWindow,
      maxPacket: settings.maxPacket,
      quirks: settings.quirks,
    });
    this.#driver = new Driver(connection, parts.pipe, parts.clock, this);
    this.#peerRequests = new PeerRequests(this.#driver);
    this.#keyUpdate = this.#updates(settings, parts.clock);
    this.loggedIn = new Promise((resolve, reject) => {
      this.#ready = { resolve, reject };
    });
    this.loggedIn.catch(() => {}); // all that was asked fails with it, too
  }

  /** Facts about the connection, as of now. */
  get info(): ConnectionInfo {
    const { connection } = this.#driver;
    const { type, blob, key } = this.#shownKey;
    return {
      identification: connection.peerIdentification ?? '',
      greeting: this.#greeting,
      algorithms: connection.negotiated as Negotiated,
      keyExchanges: this.#keyExchanges,
      strictKex: connection.strict,
      hostKey: { keyType: type, fingerprint: fingerprint(this.#crypto, key.blob), blob },
      hostKeyUpdate: this.#keyUpdate.state,
      authMethods: this.#authMethods,
    };
  }

  /** What the connection has moved, as of now. */
  get stats(): ConnectionStats {
    return this.#driver.connection.stats;
  }

  /** What the server is known to do differently. */
  get quirks(): Quirks {
    return this.#driver.connection.quirks;
  }

  /** Opens a channel of the given kind. */
  openChannel(kind: string, options: ChannelOptions = {}): Promise<ChannelPipe> {
    return ChannelPipe.connect(this.#driver, kind, options);
  }

  /** What every connection has its own of (RFC 4253 §7.2); there is none before the first key exchange is done. */
  get sessionId(): Uint8Array | undefined {
    return this.#driver.connection.sessionId;
  }

  /** What the server has proved this session with, once it has, for agents. */
  get proof(): Omit<SessionBinding, 'forwarding'> | undefined {
    const { sessionId } = this;
    if (this.#firstProof === undefined || sessionId === undefined) return undefined;
    const { hostKey, signature } = this.#firstProof;
    return { hostKey, sessionId, signature };
  }

  /** See `PeerRequests`. */
  onGlobal(name: string, handler: GlobalHandler): () => void {
    return this.#peerRequests.onGlobal(name, handler);
  }

  /** See `PeerRequests`. */
  onChannel(kind: string, handler: ChannelHandler): () => void {
    return this.#peerRequests.onChannel(kind, handler);
  }

  /** Confirms a channel that a handler of `onChannel` was given. */
  acceptChannel(id: number, options: Pick<ChannelOptions, 'extras' | 'closesItself'> = {}): ChannelPipe {
    return ChannelPipe.accept(this.#driver, id, options);
  }

  /** Refuses such a channel; `reason`: RFC 4254 §5.1. */
  refuseChannel(id: number, reason: number, description: string): void {
    this.#driver.connection.refuseChannel(id, reason, description);
    this.#driver.wake();
  }

  /** Sends a global request that wants a reply; rejects with what ended the connection. */
  globalRequest(name: string, body: Uint8Array): Promise<GlobalReply> {
    return this.#peerRequests.request(name, body);
  }

  /** Exchanges keys; resolves with what was settled. */
  async rekey(): Promise<Negotiated> {
    await this.loggedIn; // before it there is none
    return new Promise((resolve, reject) => {
      const ended = this.#driver.endedBy;
      if (ended !== undefined) {
        reject(ended);
        return;
      }
      this.#rekeying.push({ resolve, reject });
      this.#driver.connection.rekey();
      this.#driver.wake();
    });
  }

  /** Disconnects; resolves once that has left, or the pipe is down. */
  async close(): Promise<void> {
    this.#driver.close();
    await this.#driver.left;
  }

  event(event: ConnectionEvent): void {
    switch (event.type) {
      case 'identified':
        this.#greeting = event.greeting;
        return;
      case 'keys':
        this.#keyExchanges++;
        if (event.first) return;
        for (const waiting of this.#rekeying) waiting.resolve(event.negotiated);
        this.#rekeying = [];
        return;
      case 'banner':
        this.#showBanner(event.text);
        return;
      case 'authenticated':
        this.#authMethods = event.methods;
        this.#login.end();
        this.#ready?.resolve();
        this.#ready = undefined;
        return;
      case 'channel-open-request':
        this.#peerRequests.channelAsked(event);
        return;
      case 'global-request':
        this.#peerRequests.globalAsked(event);
        return;
      case 'global-reply':
        this.#peerRequests.replied(event);
        return;
      case 'debug':
        return;
    }
  }

  async ask(question: OwnerQuestion): Promise<unknown> {
    switch (question.kind) {
      case 'host-key':
        await this.#checkHostKey(question.algorithm, question.hostKey);
        this.#firstProof ??= question;
        return;
      case 'credentials':
        return await this.#nextAttempt(question);
      case 'prompts':
        return await this.#login.prompts(question);
      case 'new-password':
        return await this.#login.newPassword(question.prompt);
    }
  }

  ended(cause: SshError | undefined): void {
    this.#login.end();
    const error = this.#driver.endedBy as SshError;
    this.#peerRequests.ended(error);
    this.#ready?.reject(error);
    this.#ready = undefined;
    for (const waiting of this.#rekeying) waiting.reject(error);
    this.#rekeying = [];
    this.#resolveClosed(cause);
  }

  async #start(signal: AbortSignal | undefined): Promise<void> {
    const early = new Promise<void>((resolve) => {
      this.#resolveEarly = resolve;
    });
    const forget =
      signal === undefined ? () => {} : onAbort(signal, (error) => this.#driver.close(error), 'Connecting');
    this.#driver.start();
    this.#login.loaded().catch((error) => this.#driver.close(toSshError(error, 'bad-argument')));
    this.loggedIn.then(forget, forget);
    await Promise.race([this.loggedIn, early]);
  }

  async #nextAttempt(question: Extract<OwnerQuestion, { kind: 'credentials' }>): Promise<AuthAttempt> {
    const attempt = await this.#login.credentials(question);
    if (this.#settings.early && (attempt.method === 'publickey' || attempt.method === 'password')) this.#resolveEarly();
    return attempt;
  }

  #showBanner(text: string): void {
    try {
      this.#settings.onBanner?.(text);
    } catch (error) {
      throw toSshError(error, 'aborted');
    }
  }

  async #checkHostKey(algorithm: string, hostKey: Uint8Array): Promise<void> {
    const { host, port, hostKey: policy } = this.#settings;
    const crypto = this.#crypto;
    const key = parseShownKey(hostKey, crypto);
    const shown = { keyType: key.type, hostKey, fingerprint: fingerprint(crypto, key.key.blob), key };
    try {
      await policy.check({ host, port, algorithm, ...shown, now: Date.now(), crypto });
    } catch (error) {
      if (error instanceof SshError) throw error;
      throw hostKeyError('host-key-unknown', error instanceof Error ? error.message : String(error), error);
    }
  }

  /** What the server has proved itself with, once it has. */
  get #shownKey(): ShownKey {
    return parseShownKey(this.#driver.connection.hostKey ?? new Uint8Array(0));
  }

  #updates({ host, port, hostKey: policy }: Settings, clock: Clock): KeyUpdate {
    return new KeyUpdate({
      policy,
      host,
      port,
      crypto: this.#crypto,
      clock,
      onGlobal: (name, handler) => this.onGlobal(name, handler),
      request: (name, body) => this.globalRequest(name, body),
      sessionId: () => this.sessionId as Uint8Array,
      used: () => this.#shownKey,
    });
  }
}

/** Closes a pipe that nothing was done with, because of an error; returns that as one of ours. */
export function discardFor(pipe: BytePipe, error: unknown): SshError {
  const cause = toSshError(error, 'bad-argument');
  discard(pipe, cause);
  return cause;
}

/** The algorithms for keys of `types` first, certificates before plain keys; the order is the caller's otherwise. */
function preferTypes(algorithms: readonly string[], types: readonly string[]): readonly string[] {
  const isPreferred = (name: string): boolean => types.includes(signatureAlgorithms.get(name)?.keyType ?? '');
  const preferred = algorithms.filter(isPreferred);
  const isCertificate = (name: string): boolean => plainAlgorithm(name) !== name;
  return [
    ...preferred.filter(isCertificate),
    ...preferred.filter((name) => !isCertificate(name)),
    ...algorithms.filter((name) => !isPreferred(name)),
  ];
}

async function preferredTypes(settings: Settings, crypto: CryptoProvider): Promise<readonly string[]> {
  const { host, port, hostKey, hostKeyOrder } = settings;
  if (hostKeyOrder === 'fixed') return [];
  return (await hostKey.preferredKeyTypes?.(host, port, crypto)) ?? [];
}
