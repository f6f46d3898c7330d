/**
 * One end of an SSH connection that does what a test script says, whichever role it plays: identification, packets, what came
 * and was not taken yet, and the keys that an exchange gives. It answers nothing by itself. The product is at the other end.
 *
 * All is synchronous: `poll` pumps the link until the product is quiet and then takes what it sent.
 */

import assert from 'node:assert/strict';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { latin1, utf8 } from '../../src/bytes/text.ts';
import { exchanges } from '../../src/core/algorithms/exchanges.ts';
import { type AlgorithmLists, chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import type { Negotiated, Role } from '../../src/core/events.ts';
import { type ExchangeInputs, encodeSecret, exchangeHash } from '../../src/core/exchange_hash.ts';
import { openFor, sealFor } from '../../src/core/key_schedule.ts';
import { agree, type Kexinit } from '../../src/core/negotiate.ts';
import { PacketReader, PacketWriter } from '../../src/core/packet.ts';
import type { Open, Seal } from '../../src/core/protection/types.ts';
import type { CryptoProvider, RandomSource } from '../../src/crypto/provider.ts';
import { decode, encode, type MessageOf, type Row } from '../../src/wire/message.ts';
import { MARKER } from '../../src/wire/numbers.ts';
import { messageName } from '../../src/wire/table.ts';
import { transport } from '../../src/wire/transport.ts';
import { memoCrypto } from './memo_crypto.ts';

export interface EndOptions {
  readonly random: RandomSource;
  readonly crypto?: CryptoProvider;
  /** Everything before the first packet, with its line ends. */
  readonly identification?: string;
  readonly algorithms?: Partial<AlgorithmLists>;
  /** Whether to announce strict key exchange. Default: true. */
  readonly strict?: boolean;
  /** Whether to announce that EXT_INFO is taken. Default: true. */
  readonly extInfo?: boolean;
}

/** The names of messages, for assertions. */
export function namesOf(payloads: readonly Uint8Array[]): string[] {
  return payloads.map((payload) => messageName(payload[0] as number));
}

/** A packet from the product. */
export interface Received {
  readonly payload: Uint8Array;
  /** Its sequence number. */
  readonly sequence: number;
}

/** What the two sides of one exchange have told each other when its secret is known. */
export type ExchangeValues = Pick<ExchangeInputs, 'hostKey' | 'group' | 'clientPublic' | 'serverPublic'>;

export class ScriptedEnd {
  readonly role: Role;
  readonly crypto: CryptoProvider;
  readonly algorithms: AlgorithmLists;
  /** Moves bytes until both sides are quiet; the link sets it. */
  pump: () => void = () => {};
  /** Payloads that no one took yet, in order. */
  readonly inbox: Received[] = [];
  /** How many packets came in all. */
  received = 0;
  /** How many packets went out in all. */
  sent = 0;
  /** Sequence number of the packet that was taken last. */
  lastSequence = 0;
  /** The product's line, without its end. */
  peerLine: Uint8Array | undefined;
  negotiated: Negotiated | undefined;
  sessionId: Uint8Array | undefined;
  /** Whether strict key exchange is in force. */
  strict = false;
  protected readonly options: EndOptions;
  readonly #input = new ChunkQueue();
  readonly #reader: PacketReader = new PacketReader(this.#input, 256 * 1024);
  readonly #writer: PacketWriter;
  #output: Uint8Array[] = [];
  #line: Uint8Array = new Uint8Array(0);
  #ours: Uint8Array = new Uint8Array(0);
  #theirs: Uint8Array = new Uint8Array(0);
  #seal: Seal | undefined;
  #open: Open | undefined;
  /** NEWKEYS came: what follows waits for the keys of this exchange. */
  #needsKeys = false;

  constructor(role: Role, options: EndOptions) {
    this.role = role;
    this.options = options;
    this.crypto = options.crypto ?? memoCrypto;
    this.algorithms = chooseAlgorithms(this.crypto, options.algorithms);
    this.#writer = new PacketWriter(options.random);
  }

  // The link's side

  /** Bytes from the product. */
  receive(bytes: Uint8Array): void {
    this.#input.push(bytes);
    if (this.peerLine !== undefined || this.#identify()) this.#read();
  }

  /** What was sent since the last call, one array for each packet or piece of raw bytes. */
  takeOutput(): Uint8Array[] {
    const output = this.#output;
    this.#output = [];
    return output;
  }

  // Messages

  /** Sends bytes as they are. */
  sendRaw(bytes: string | Uint8Array): void {
    this.#output.push(typeof bytes === 'string' ? utf8(bytes) : bytes);
  }

  /** Sends a payload in a packet. */
  send(payload: Uint8Array): void {
    const pieces: Uint8Array[] = [];
    this.#writer.write([payload], pieces);
    this.sent++;
    // a packet is one piece, however many the cipher makes of it
    const packet = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      packet.set(piece, at);
      at += piece.length;
    }
    this.#output.push(packet);
  }

  /** Sequence number of the next packet that is sent. */
  get sequence(): number {
    return this.#writer.sequence;
  }

  /** The next payload from the product, or `undefined` when it sends none. */
  poll(): Uint8Array | undefined {
    if (this.inbox.length === 0) this.pump();
    const next = this.inbox.shift();
    if (next !== undefined) this.lastSequence = next.sequence;
    return next?.payload;
  }

  /** The next payload, which must have this number. */
  expect(number: number): Uint8Array {
    const payload = this.poll();
    assert.ok(payload !== undefined, `${messageName(number)} must come, but nothing does`);
    assert.equal(messageName(payload[0] as number), messageName(number), 'what comes next');
    return payload;
  }

  /** The next message, which must be of this row. */
  take<R extends Row>(row: R): MessageOf<R> {
    return decode(row, this.expect(row.number));
  }

  /** Payloads up to the next one with this number, which is the last of them. */
  until(number: number): Uint8Array[] {
    const payloads: Uint8Array[] = [];
    for (;;) {
      const payload = this.poll();
      assert.ok(payload !== undefined, `${messageName(number)} must come, but there is only ${namesOf(payloads)}`);
      payloads.push(payload);
      if (payload[0] === number) return payloads;
    }
  }

  /** The product must have nothing to say. */
  expectNothing(): void {
    this.pump();
    const waiting = this.inbox.map(({ payload }) => payload);
    assert.deepEqual(namesOf(waiting), [], 'nothing may come');
  }

  // Steps of the handshake that both roles take

  /** Sends the identification. */
  identify(text: string = this.options.identification ?? 'SSH-2.0-scripted_1.0\r\n'): void {
    this.sendRaw(text);
    const line = text.split('\n').find((each) => each.startsWith('SSH-'));
    this.#line = utf8((line ?? '').replace(/\r$/, ''));
  }

  /** The KEXINIT of the options, as fields. */
  kexinit(): Kexinit {
    const { kex, hostKeys, ciphers, macs, compression } = this.algorithms;
    const client = this.role === 'client';
    const markers = [
      ...(this.options.extInfo === false ? [] : [client ? MARKER.extInfoClient : MARKER.extInfoServer]),
      ...(this.options.strict === false ? [] : [client ? MARKER.strictClient : MARKER.strictServer]),
    ];
    return {
      cookie: this.options.random(16).slice(),
      kex: this.sessionId === undefined ? [...kex, ...markers] : kex,
      hostKey: hostKeys,
      cipherToServer: ciphers,
      cipherToClient: ciphers,
      macToServer: macs,
      macToClient: macs,
      compressionToServer: compression,
      compressionToClient: compression,
      languageToServer: [],
      languageToClient: [],
      firstKexPacketFollows: false,
      reserved: 0,
    };
  }

  /** Sends KEXINIT, with some fields changed. */
  sendKexinit(changes: Partial<Kexinit> = {}): void {
    this.#ours = encode(transport.kexinit, { ...this.kexinit(), ...changes });
    this.send(this.#ours);
  }

  /** Awaits the product's KEXINIT. */
  takeKexinit(): Kexinit {
    return this.readKexinit(this.expect(transport.kexinit.number));
  }

  /** Takes a payload as the product's KEXINIT. */
  readKexinit(payload: Uint8Array): Kexinit {
    this.#theirs = payload;
    const message = decode(transport.kexinit, payload);
    if (this.sessionId === undefined) {
      const marker = this.role === 'client' ? MARKER.strictServer : MARKER.strictClient;
      this.strict = this.options.strict !== false && message.kex.includes(marker);
    }
    return message;
  }

  /** Compares the two KEXINITs, which must agree, and gives what was settled. */
  settle(): Negotiated {
    this.negotiated = agree(
      this.role,
      decode(transport.kexinit, this.#ours),
      decode(transport.kexinit, this.#theirs),
    ).negotiated;
    return this.negotiated;
  }

  /** Makes the keys of this exchange, for both directions; returns the exchange hash. `settle` comes before it. */
  takeSecret(shared: Uint8Array, values: ExchangeValues): Uint8Array {
    const negotiated = this.negotiated as Negotiated;
    const row = exchanges.get(negotiated.kex);
    assert.ok(row !== undefined && this.peerLine !== undefined);
    const [mine, theirs] = [
      { line: this.#line, kexinit: this.#ours },
      { line: this.peerLine, kexinit: this.#theirs },
    ];
    const [client, server] = this.role === 'client' ? [mine, theirs] : [theirs, mine];
    const secret = encodeSecret(shared, row.secretAs);
    const hash = this.crypto.hashes[row.hash];
    const digest = exchangeHash(
      hash,
      {
        clientIdentification: client.line,
        serverIdentification: server.line,
        clientKexinit: client.kexinit,
        serverKexinit: server.kexinit,
        ...values,
      },
      secret,
    );
    this.sessionId ??= digest;
    const source = { hash, secret, exchangeHash: digest, sessionId: this.sessionId };
    const { toServer, toClient } = negotiated;
    if (this.role === 'client') {
      this.#seal = sealFor(this.crypto, source, 'toServer', toServer);
      this.#open = openFor(this.crypto, source, 'toClient', toClient);
    } else {
      this.#seal = sealFor(this.crypto, source, 'toClient', toClient);
      this.#open = openFor(this.crypto, source, 'toServer', toServer);
    }
    if (this.#needsKeys) {
      this.#switchInput();
      this.#read();
    }
    return digest;
  }

  /** Sends NEWKEYS; what is sent after it is under the new keys. */
  sendNewkeys(): void {
    this.send(encode(transport.newkeys, {}));
    assert.ok(this.#seal !== undefined, 'a script must make keys before NEWKEYS');
    this.#writer.rekey(this.#seal, this.strict);
    this.#seal = undefined;
  }

  #identify(): boolean {
    const at = this.#input.indexOf(0x0a);
    if (at < 0) return false;
    const line = this.#input.take(at + 1) as Uint8Array;
    assert.ok(latin1(line).endsWith('\r\n'), 'RFC 4253 §4.2: an identification ends in CR LF');
    this.peerLine = line.slice(0, -2);
    return true;
  }

  #read(): void {
    while (!this.#needsKeys) {
      const { sequence } = this.#reader;
      const payload = this.#reader.next()?.slice();
      if (payload === undefined) return;
      this.received++;
      this.inbox.push({ payload, sequence });
      if (payload[0] !== transport.newkeys.number) continue;
      // a server's NEWKEYS comes together with the reply, which the script has yet to take; a client's never does
      assert.ok(this.role === 'client' || this.#open !== undefined, 'NEWKEYS came before there could be keys');
      this.#needsKeys = true;
      this.#switchInput();
    }
  }

  #switchInput(): void {
    if (!this.#needsKeys || this.#open === undefined) return;
    this.#reader.rekey(this.#open, this.strict);
    this.#open = undefined;
    this.#needsKeys = false;
  }
}
