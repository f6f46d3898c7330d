/**
 * Key exchange, both roles: RFC 4253 §7–9, RFC 5656 §4, RFC 8731, strict key exchange. A state carries only what is valid in
 * it. Methods stay in their rows (`algorithms/exchanges.ts`); trust in the host key is a question to the driver.
 */

import { copy, equalBytes } from '../bytes/bytes.ts';
import { wipe } from '../bytes/secret.ts';
import type { AgreementSecret, CryptoProvider, RandomSource } from '../crypto/provider.ts';
import { protocolError, SshError, toSshError } from '../errors.ts';
import { parsePublicKey } from '../keys/public_key.ts';
import { type Signer, verifySignature } from '../keys/signature.ts';
import { ecdh } from '../wire/exchange.ts';
import { decode, encode } from '../wire/message.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import { messageName } from '../wire/table.ts';
import { transport } from '../wire/transport.ts';
import { type ExchangeRow, exchanges } from './algorithms/exchanges.ts';
import type { AlgorithmLists } from './algorithms/lists.ts';
import type { Context, Negotiated, Role } from './events.ts';
import { encodeSecret, exchangeHash } from './exchange_hash.ts';
import { type KeySource, openFor, sealFor } from './key_schedule.ts';
import type { Limits } from './limits.ts';
import { agree, buildKexinit, markersOf, type PeerMarkers, readKexinit } from './negotiate.ts';
import type { Open, Seal } from './protection/types.ts';

export interface KexConfig {
  readonly role: Role;
  readonly crypto: CryptoProvider;
  readonly random: RandomSource;
  readonly algorithms: AlgorithmLists;
  readonly limits: Limits;
  /** Host keys of a server. */
  readonly hostKeys?: readonly Signer[];
}

/** What the exchange tells the transport beside sending messages. */
export interface KexHost extends Context {
  /** Our KEXINIT has been queued. */
  offered(): void;
  /** Our NEWKEYS has been queued: what is sealed after it uses these keys. */
  sealWith(seal: Seal): void;
  /** The peer's NEWKEYS has arrived: what comes after it opens with these keys. */
  openWith(open: Open): void;
}

/** One exchange that both KEXINITs have settled. */
interface Exchange {
  readonly ours: Uint8Array;
  readonly theirs: Uint8Array;
  readonly negotiated: Negotiated;
  readonly row: ExchangeRow;
}

type State =
  | { readonly at: 'idle' }
  /** Our KEXINIT is out, the peer's is awaited. */
  | { readonly at: 'offered'; readonly ours: Uint8Array }
  /** A client waits for the reply to its public value. */
  | {
      readonly at: 'asked';
      readonly exchange: Exchange;
      readonly secret: AgreementSecret;
      readonly publicValue: Uint8Array;
      readonly dropGuess: boolean;
    }
  /** A server waits for the client's public value. */
  | { readonly at: 'listening'; readonly exchange: Exchange; readonly dropGuess: boolean }
  /** Computing, or waiting for an answer about the host key; input is held meanwhile. */
  | { readonly at: 'finishing'; readonly exchange: Exchange }
  /** Our NEWKEYS is out, the peer's is awaited. */
  | { readonly at: 'switching'; readonly exchange: Exchange; readonly open: Open };

export class KeyExchange {
  readonly #config: KexConfig;
  readonly #host: KexHost;
  #state: State = { at: 'idle' };
  #identifications: { readonly ours: Uint8Array; readonly theirs: Uint8Array } | undefined;
  #markers: PeerMarkers | undefined;
  #sessionId: Uint8Array | undefined;
  #hostKey: Uint8Array | undefined;
  #negotiated: Negotiated | undefined;

  constructor(config: KexConfig, host: KexHost) {
    this.#config = config;
    this.#host = host;
  }

  /** The first exchange hash, for ever (RFC 4253 §7.2). */
  get sessionId(): Uint8Array | undefined {
    return this.#sessionId;
  }

  /** What the last finished exchange settled. */
  get negotiated(): Negotiated | undefined {
    return this.#negotiated;
  }

  /** The host key that the last exchange verified. */
  get hostKey(): Uint8Array | undefined {
    return this.#hostKey;
  }

  /** Whether both sides announced strict key exchange in their first KEXINIT. */
  get strict(): boolean {
    return this.#markers?.strict ?? false;
  }

  /** Whether the peer takes EXT_INFO (RFC 8308 §2.1). */
  get peerTakesExtInfo(): boolean {
    return this.#markers?.extInfo ?? false;
  }

  /** From our KEXINIT, or the peer's, to the peer's NEWKEYS. */
  get active(): boolean {
    return this.#state.at !== 'idle';
  }

  /** From the peer's KEXINIT to its NEWKEYS, when it may send nothing else. */
  get peerStarted(): boolean {
    return this.#state.at !== 'idle' && this.#state.at !== 'offered';
  }

  /** The identification lines, known before the peer's first packet. */
  identified(ours: Uint8Array, theirs: Uint8Array): void {
    this.#identifications = { ours, theirs };
  }

  /** Starts an exchange, unless one is under way. */
  begin(): void {
    if (this.#state.at !== 'idle') return;
    const { role, algorithms, random } = this.#config;
    const ours = buildKexinit(role, algorithms, copy(random(16)), this.#markers === undefined);
    this.#state = { at: 'offered', ours };
    this.#host.send(ours);
    this.#host.offered();
  }

  /** The peer's KEXINIT. `sequence`: how many packets came before it since the last reset. */
  onKexinit(payload: Uint8Array, sequence: number): void {
    this.begin();
    if (this.#state.at !== 'offered') throw protocolError('A second KEXINIT during a key exchange');
    const { role, limits } = this.#config;
    const ours = this.#state.ours;
    const theirs = readKexinit(payload, limits);
    if (this.#markers === undefined) {
      this.#markers = markersOf(theirs, role);
      if (this.#markers.strict && sequence !== 0) {
        throw protocolError(`Strict key exchange: ${sequence} packets came before the first KEXINIT`);
      }
    }
    const { negotiated, dropGuess } = agree(role, readKexinit(ours, limits), theirs);
    const row = exchanges.get(negotiated.kex);
    if (row === undefined) throw new SshError('not-supported', `Key exchange ${negotiated.kex} has no row`);
    const exchange: Exchange = { ours, theirs: copy(payload), negotiated, row };
    if (role === 'server') {
      this.#state = { at: 'listening', exchange, dropGuess };
      return;
    }
    const { secret, publicValue } = this.#config.crypto.agreements[row.agreement].generate(this.#config.random);
    this.#state = { at: 'asked', exchange, secret, publicValue, dropGuess };
    this.#host.send(encode(ecdh.init, { publicValue }));
  }

  /** A message of the method, 30–49. */
  onExchange(payload: Uint8Array): void {
    const state = this.#state;
    if (state.at !== 'asked' && state.at !== 'listening') {
      throw protocolError(`${messageName(payload[0] as number)} where no key exchange method runs`);
    }
    if (state.dropGuess) {
      this.#state = { ...state, dropGuess: false };
      return;
    }
    const expected = state.at === 'asked' ? ecdh.reply : ecdh.init;
    if (payload[0] !== expected.number) {
      throw protocolError(`Message ${payload[0]} where ${expected.name} must come`, {
        disconnect: DisconnectReason.keyExchangeFailed,
      });
    }
    this.#state = { at: 'finishing', exchange: state.exchange };
    if (state.at === 'asked') this.#clientFinish(state.exchange, state.secret, state.publicValue, payload);
    else this.#serverFinish(state.exchange, payload);
  }

  /** The peer's NEWKEYS. Returns what was settled. */
  onNewkeys(): Negotiated {
    const state = this.#state;
    if (state.at !== 'switching') throw protocolError('NEWKEYS before the key exchange is done');
    this.#state = { at: 'idle' };
    this.#negotiated = state.exchange.negotiated;
    this.#host.openWith(state.open);
    return state.exchange.negotiated;
  }

  #clientFinish(exchange: Exchange, secret: AgreementSecret, publicValue: Uint8Array, payload: Uint8Array): void {
    const { crypto } = this.#config;
    const reply = decode(ecdh.reply, payload);
    const { hostKey: algorithm } = exchange.negotiated;
    const hostKey = copy(reply.hostKey);
    const key = attempt(() => parsePublicKey(hostKey, crypto));
    const finished = attempt(() => crypto.agreements[exchange.row.agreement].finish(secret, reply.publicValue));
    this.#host.settle(finished, (shared) => {
      wipe(secret);
      const source = this.#source(exchange, hostKey, publicValue, reply.publicValue, shared);
      const verified = verifySignature(crypto, algorithm, key, source.exchangeHash, reply.signature);
      this.#host.settle(verified, (valid) => {
        if (!valid) throw kexError(`The signature of the host key (${algorithm}) over the key exchange is not valid`);
        this.#trust(algorithm, hostKey, () => this.#switch(exchange, source));
      });
    });
  }

  /** Asks about the host key, unless the same key was trusted in an earlier exchange of this connection. */
  #trust(algorithm: string, hostKey: Uint8Array, then: () => void): void {
    if (this.#hostKey !== undefined && equalBytes(this.#hostKey, hostKey)) {
      then();
      return;
    }
    this.#host.ask({ kind: 'host-key', algorithm, hostKey }, true, () => {
      this.#hostKey = hostKey;
      then();
    });
  }

  #serverFinish(exchange: Exchange, payload: Uint8Array): void {
    const { crypto, random, hostKeys = [] } = this.#config;
    const { publicValue: clientPublic } = decode(ecdh.init, payload);
    const { hostKey: algorithm } = exchange.negotiated;
    const signer = hostKeys.find((key) => key.algorithms.includes(algorithm));
    if (signer === undefined) throw new SshError('bad-argument', `No host key can sign ${algorithm}`);
    const responded = attempt(() => crypto.agreements[exchange.row.agreement].respond(random, clientPublic));
    this.#host.settle(responded, ({ publicValue, shared }) => {
      const source = this.#source(exchange, signer.publicKey, clientPublic, publicValue, shared);
      this.#host.settle(signer.sign(source.exchangeHash, algorithm), (signature) => {
        this.#hostKey = signer.publicKey;
        this.#host.send(encode(ecdh.reply, { hostKey: signer.publicKey, publicValue, signature }));
        this.#switch(exchange, source);
      });
    });
  }

  #source(
    exchange: Exchange,
    hostKey: Uint8Array,
    clientPublic: Uint8Array,
    serverPublic: Uint8Array,
    shared: Uint8Array,
  ): KeySource {
    const lines = this.#identifications;
    if (lines === undefined) throw protocolError('Key exchange before identification');
    const client = this.#config.role === 'client';
    const secret = encodeSecret(shared, exchange.row.secretAs);
    wipe(shared);
    const hash = this.#config.crypto.hashes[exchange.row.hash];
    const digest = exchangeHash(
      hash,
      {
        clientIdentification: client ? lines.ours : lines.theirs,
        serverIdentification: client ? lines.theirs : lines.ours,
        clientKexinit: client ? exchange.ours : exchange.theirs,
        serverKexinit: client ? exchange.theirs : exchange.ours,
        hostKey,
        clientPublic,
        serverPublic,
      },
      secret,
    );
    this.#sessionId ??= digest;
    return { hash, secret, exchangeHash: digest, sessionId: this.#sessionId };
  }

  /** Sends NEWKEYS and prepares both directions; each switches at its own NEWKEYS (RFC 4253 §7.3). */
  #switch(exchange: Exchange, source: KeySource): void {
    const { crypto, role } = this.#config;
    const { toServer, toClient } = exchange.negotiated;
    const seal =
      role === 'client' ? sealFor(crypto, source, 'toServer', toServer) : sealFor(crypto, source, 'toClient', toClient);
    const open =
      role === 'client' ? openFor(crypto, source, 'toClient', toClient) : openFor(crypto, source, 'toServer', toServer);
    wipe(source.secret);
    this.#state = { at: 'switching', exchange, open };
    this.#host.send(encode(transport.newkeys, {}));
    this.#host.sealWith(seal);
  }
}

function kexError(message: string, cause?: unknown): SshError {
  return new SshError('key-exchange-failed', message, {
    fault: 'peer',
    phase: 'key-exchange',
    disconnect: DisconnectReason.keyExchangeFailed,
    cause,
  });
}

/** Runs `work` on values of the peer; what a primitive or a parser refuses there, now or later, is a failed key exchange. */
function attempt<T>(work: () => T): T {
  const fail = (error: unknown): never => {
    throw kexError(`Key exchange failed: ${toSshError(error, 'crypto').message}`, error);
  };
  try {
    const result = work();
    return result instanceof Promise ? (result.catch(fail) as T) : result;
  } catch (error) {
    return fail(error);
  }
}
