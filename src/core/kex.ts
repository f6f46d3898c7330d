/**
 * Key exchange, both roles: RFC 4253 §7–9, strict key exchange. A state carries only what is valid in it. Which messages go
 * between the KEXINITs and the NEWKEYS is the method's (`exchange/`); trust in the host key is a question to the driver.
 */

import { copy, equalBytes } from '../bytes/bytes.ts';
import { wipe } from '../bytes/secret.ts';
import type { CryptoProvider, RandomSource } from '../crypto/provider.ts';
import { protocolError, SshError } from '../errors.ts';
import { parseShownKey, verifyShown } from '../keys/shown_key.ts';
import type { Signer } from '../keys/signature.ts';
import { encode } from '../wire/message.ts';
import { messageName } from '../wire/table.ts';
import { transport } from '../wire/transport.ts';
import { type ExchangeRow, exchanges } from './algorithms/exchanges.ts';
import type { AlgorithmLists } from './algorithms/lists.ts';
import type { Context, Negotiated, Question, Role } from './events.ts';
import { agreementClient, agreementServer } from './exchange/agreement.ts';
import { groupExchangeClient, groupExchangeServer } from './exchange/group_exchange.ts';
import {
  attempt,
  type ClientEnd,
  type ExchangeValues,
  kexError,
  type Method,
  type MethodHost,
  type ServerEnd,
} from './exchange/method.ts';
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
  /** The method's messages go back and forth. `dropGuess`: the next one is of a method that was not chosen. */
  | { readonly at: 'running'; readonly exchange: Exchange; readonly method: Method; readonly dropGuess: boolean }
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
    this.#state = { at: 'running', exchange, method: this.#method(exchange), dropGuess };
  }

  /** A message of the method, 30–49. */
  onExchange(payload: Uint8Array): void {
    const state = this.#state;
    if (state.at !== 'running') {
      throw protocolError(`${messageName(payload[0] as number)} where no key exchange method runs`);
    }
    if (state.dropGuess) this.#state = { ...state, dropGuess: false };
    else state.method.receive(payload);
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

  #method(exchange: Exchange): Method {
    const { crypto, role } = this.#config;
    const { row } = exchange;
    if (role === 'client') {
      const host = this.#methodHost<ClientEnd>(exchange, (end) => this.#clientFinish(exchange, end));
      return row.kind === 'agreement' ? agreementClient(row.agreement(crypto), host) : groupExchangeClient(host);
    }
    const host = this.#methodHost<ServerEnd>(exchange, (end) => this.#serverFinish(exchange, end));
    return row.kind === 'agreement' ? agreementServer(row.agreement(crypto), host) : groupExchangeServer(host);
  }

  #methodHost<End>(exchange: Exchange, finish: (end: End) => void): MethodHost<End> {
    const { crypto, random } = this.#config;
    return {
      crypto,
      random,
      send: (payload) => this.#host.send(payload),
      settle: (value, then) => this.#host.settle(value, then),
      finished: (end) => {
        this.#state = { at: 'finishing', exchange };
        finish(end);
      },
    };
  }

  #clientFinish(exchange: Exchange, { hostKey, signature, values, shared }: ClientEnd): void {
    const { crypto } = this.#config;
    const { hostKey: algorithm } = exchange.negotiated;
    const shown = attempt(() => parseShownKey(hostKey, crypto));
    const source = this.#source(exchange, hostKey, values, shared);
    const verified = verifyShown(crypto, algorithm, shown, source.exchangeHash, signature);
    this.#host.settle(verified, (valid) => {
      if (!valid) throw kexError(`The signature of the host key (${algorithm}) over the key exchange is not valid`);
      this.#trust({ algorithm, hostKey, signature }, () => this.#switch(exchange, source));
    });
  }

  /** Asks about the host key, unless the same key was trusted in an earlier exchange of this connection. */
  #trust(proof: Omit<Extract<Question, { kind: 'host-key' }>, 'kind'>, then: () => void): void {
    const { hostKey } = proof;
    if (this.#hostKey !== undefined && equalBytes(this.#hostKey, hostKey)) {
      then();
      return;
    }
    this.#host.ask({ kind: 'host-key', ...proof }, true, () => {
      this.#hostKey = hostKey;
      then();
    });
  }

  #serverFinish(exchange: Exchange, { values, shared, reply }: ServerEnd): void {
    const { hostKeys = [] } = this.#config;
    const { hostKey: algorithm } = exchange.negotiated;
    const signer = hostKeys.find((key) => key.algorithms.includes(algorithm));
    if (signer === undefined) throw new SshError('bad-argument', `No host key can sign ${algorithm}`);
    const source = this.#source(exchange, signer.publicKey, values, shared);
    this.#host.settle(signer.sign(source.exchangeHash, algorithm), (signature) => {
      this.#hostKey = signer.publicKey;
      this.#host.send(reply(signer.publicKey, signature));
      this.#switch(exchange, source);
    });
  }

  #source(exchange: Exchange, hostKey: Uint8Array, values: ExchangeValues, shared: Uint8Array): KeySource {
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
        ...values,
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
