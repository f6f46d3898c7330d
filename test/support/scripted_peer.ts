/**
 * An SSH server that does what a test script says: it speaks packets and key exchange, and nothing by itself above them. Every
 * step of the handshake is a call of its own, so that a script can leave it out, change it or repeat it. Its key exchange is
 * written apart from `core/kex.ts`, straight from RFC 4253 §7–9 and RFC 5656 §4, so the two check each other.
 *
 * All is synchronous: `next` pumps the link until the client is quiet and then takes what it sent.
 */

import assert from 'node:assert/strict';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { latin1, utf8 } from '../../src/bytes/text.ts';
import { exchanges } from '../../src/core/algorithms/exchanges.ts';
import { type AlgorithmLists, chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import type { Negotiated } from '../../src/core/events.ts';
import { encodeSecret, exchangeHash } from '../../src/core/exchange_hash.ts';
import { type KeySource, openFor, sealFor } from '../../src/core/key_schedule.ts';
import { agree, type Kexinit } from '../../src/core/negotiate.ts';
import { PacketReader, PacketWriter } from '../../src/core/packet.ts';
import type { Open, Seal } from '../../src/core/protection/types.ts';
import type { CryptoProvider, RandomSource } from '../../src/crypto/provider.ts';
import { keyPairOf } from '../../src/keys/key_pair.ts';
import { signerOf } from '../../src/keys/private_key.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { decode, encode, type MessageOf, type Row } from '../../src/wire/message.ts';
import { MARKER } from '../../src/wire/numbers.ts';
import { messageName } from '../../src/wire/table.ts';
import { transport } from '../../src/wire/transport.ts';
import { userauth } from '../../src/wire/userauth.ts';
import { memoCrypto } from './memo_crypto.ts';

export interface PeerOptions {
  readonly random: RandomSource;
  readonly crypto?: CryptoProvider;
  /** Everything before the first packet, with its line ends. */
  readonly identification?: string;
  readonly algorithms?: Partial<AlgorithmLists>;
  /** Whether to announce strict key exchange. Default: true. */
  readonly strict?: boolean;
  /** Whether to announce that EXT_INFO is taken. Default: true. */
  readonly extInfo?: boolean;
  /** Default: the Ed25519 key of `hostKeyOf`. */
  readonly hostKey?: Signer;
}

/** An Ed25519 signer whose seed is 32 times `byte`. */
export function ed25519Signer(crypto: CryptoProvider, byte: number): Signer {
  return signerOf(crypto, keyPairOf(crypto, { type: 'ssh-ed25519', seed: new Uint8Array(32).fill(byte) }));
}

/** The names of messages, for assertions. */
export function namesOf(payloads: readonly Uint8Array[]): string[] {
  return payloads.map((payload) => messageName(payload[0] as number));
}

/** A packet from the client. */
interface Received {
  readonly payload: Uint8Array;
  /** Its sequence number. */
  readonly sequence: number;
}

export class ScriptedPeer {
  readonly crypto: CryptoProvider;
  readonly algorithms: AlgorithmLists;
  readonly hostKey: Signer;
  /** Moves bytes between the client and this peer until both are quiet; the link sets it. */
  pump: () => void = () => {};
  /** Payloads that no one took yet, in order. */
  readonly inbox: Received[] = [];
  /** How many packets came in all. */
  received = 0;
  /** How many packets went out in all. */
  sent = 0;
  /** Sequence number of the packet that was taken last. */
  lastSequence = 0;
  /** The client's line, without its end. */
  clientLine: Uint8Array | undefined;
  negotiated: Negotiated | undefined;
  sessionId: Uint8Array | undefined;
  /** Whether strict key exchange is in force. */
  strict = false;
  readonly #options: PeerOptions;
  readonly #input = new ChunkQueue();
  readonly #reader: PacketReader = new PacketReader(this.#input, 256 * 1024);
  readonly #writer: PacketWriter;
  #output: Uint8Array[] = [];
  #line: Uint8Array = new Uint8Array(0);
  #ours: Uint8Array = new Uint8Array(0);
  #theirs: Uint8Array = new Uint8Array(0);
  #seal: Seal | undefined;
  #open: Open | undefined;

  constructor(options: PeerOptions) {
    this.#options = options;
    this.crypto = options.crypto ?? memoCrypto;
    this.algorithms = chooseAlgorithms(this.crypto, options.algorithms);
    this.hostKey = options.hostKey ?? ed25519Signer(this.crypto, 7);
    this.#writer = new PacketWriter(options.random);
  }

  // The link's side

  /** Bytes from the client. */
  receive(bytes: Uint8Array): void {
    this.#input.push(bytes);
    if (this.clientLine === undefined && !this.#identify()) return;
    for (;;) {
      const { sequence } = this.#reader;
      const payload = this.#reader.next()?.slice();
      if (payload === undefined) return;
      this.received++;
      if (payload[0] === transport.newkeys.number) this.#switchInput();
      this.inbox.push({ payload, sequence });
    }
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

  /** The next payload from the client, or `undefined` when it sends none. */
  poll(): Uint8Array | undefined {
    if (this.inbox.length === 0) this.pump();
    const next = this.inbox.shift();
    if (next !== undefined) this.lastSequence = next.sequence;
    return next?.payload;
  }

  /** The next payload, which must have this number. */
  expect(number: number): Uint8Array {
    const payload = this.poll();
    assert.ok(payload !== undefined, `the client must send ${messageName(number)}, but sends nothing`);
    assert.equal(messageName(payload[0] as number), messageName(number), 'what the client sends next');
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
      assert.ok(payload !== undefined, `the client must send ${messageName(number)}, but sends ${namesOf(payloads)}`);
      payloads.push(payload);
      if (payload[0] === number) return payloads;
    }
  }

  /** The client must have nothing to say. */
  expectNothing(): void {
    this.pump();
    const waiting = this.inbox.map(({ payload }) => payload);
    assert.deepEqual(namesOf(waiting), [], 'the client must send nothing');
  }

  // The handshake, step by step

  /** Sends the identification. */
  identify(text: string = this.#options.identification ?? 'SSH-2.0-scripted_1.0\r\n'): void {
    this.sendRaw(text);
    const line = text.split('\n').find((each) => each.startsWith('SSH-'));
    this.#line = utf8((line ?? '').replace(/\r$/, ''));
  }

  /** The KEXINIT of the options, as fields. */
  kexinit(): Kexinit {
    const { kex, hostKeys, ciphers, macs, compression } = this.algorithms;
    const first = this.sessionId === undefined;
    const markers = [
      ...(this.#options.extInfo === false ? [] : [MARKER.extInfoServer]),
      ...(this.#options.strict === false ? [] : [MARKER.strictServer]),
    ];
    return {
      cookie: this.#options.random(16).slice(),
      kex: first ? [...kex, ...markers] : kex,
      hostKey: hostKeys.filter((name) => this.hostKey.algorithms.includes(name)),
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

  /** Awaits the client's KEXINIT. */
  takeKexinit(): Kexinit {
    return this.readKexinit(this.expect(transport.kexinit.number));
  }

  /** Takes a payload as the client's KEXINIT. */
  readKexinit(payload: Uint8Array): Kexinit {
    this.#theirs = payload;
    const message = decode(transport.kexinit, payload);
    if (this.sessionId === undefined) {
      this.strict = this.#options.strict !== false && message.kex.includes(MARKER.strictClient);
    }
    return message;
  }

  /** Awaits the client's public value and makes the reply to it, with all keys. */
  reply(): MessageOf<typeof ecdh.reply> {
    return this.replyTo(this.take(ecdh.init).publicValue);
  }

  /** Awaits the client's public value and sends the reply to it. */
  sendReply(): void {
    this.send(encode(ecdh.reply, this.reply()));
  }

  replyTo(clientPublic: Uint8Array): MessageOf<typeof ecdh.reply> {
    const ours = decode(transport.kexinit, this.#ours);
    const { negotiated } = agree('server', ours, decode(transport.kexinit, this.#theirs));
    this.negotiated = negotiated;
    const row = exchanges.get(negotiated.kex);
    assert.ok(row !== undefined && this.clientLine !== undefined);
    const responded = this.crypto.agreements[row.agreement].respond(this.#options.random, clientPublic);
    assert.ok(!(responded instanceof Promise));
    const { publicValue, shared } = responded;
    const secret = encodeSecret(shared, row.secretAs);
    const hash = this.crypto.hashes[row.hash];
    const digest = exchangeHash(
      hash,
      {
        clientIdentification: this.clientLine,
        serverIdentification: this.#line,
        clientKexinit: this.#theirs,
        serverKexinit: this.#ours,
        hostKey: this.hostKey.publicKey,
        clientPublic,
        serverPublic: publicValue,
      },
      secret,
    );
    this.sessionId ??= digest;
    this.#takeKeys({ hash, secret, exchangeHash: digest, sessionId: this.sessionId });
    const signature = this.hostKey.sign(digest, negotiated.hostKey);
    assert.ok(!(signature instanceof Promise));
    return { hostKey: this.hostKey.publicKey, publicValue, signature };
  }

  /** Sends NEWKEYS; what is sent after it is under the new keys. */
  sendNewkeys(): void {
    this.send(encode(transport.newkeys, {}));
    assert.ok(this.#seal !== undefined, 'a script must make the reply before NEWKEYS');
    this.#writer.rekey(this.#seal, this.strict);
    this.#seal = undefined;
  }

  /** From the client's KEXINIT, which was taken, to its NEWKEYS. */
  finishExchange(): void {
    this.sendReply();
    this.sendNewkeys();
    this.expect(transport.newkeys.number);
  }

  /** The whole first exchange. */
  handshake(): void {
    this.identify();
    this.sendKexinit();
    this.takeKexinit();
    this.finishExchange();
  }

  /** A later exchange that this side starts, while the client is quiet. */
  rekey(): void {
    this.sendKexinit();
    this.takeKexinit();
    this.finishExchange();
  }

  /** Grants the authentication service and takes any first request. */
  login(): void {
    this.grantService();
    this.acceptLogin();
    this.pump();
  }

  /** Takes any authentication request and says SUCCESS. */
  acceptLogin(): void {
    this.expect(userauth.request.number);
    this.send(encode(userauth.success, {}));
  }

  grantService(): void {
    assert.equal(this.take(transport.serviceRequest).service, 'ssh-userauth');
    this.send(encode(transport.serviceAccept, { service: 'ssh-userauth' }));
  }

  // Inside

  #identify(): boolean {
    const at = this.#input.indexOf(0x0a);
    if (at < 0) return false;
    const line = this.#input.take(at + 1) as Uint8Array;
    assert.ok(latin1(line).endsWith('\r\n'), 'RFC 4253 §4.2: an identification ends in CR LF');
    this.clientLine = line.slice(0, -2);
    return true;
  }

  #takeKeys(source: KeySource): void {
    const { toServer, toClient } = this.negotiated as Negotiated;
    this.#seal = sealFor(this.crypto, source, 'toClient', toClient);
    this.#open = openFor(this.crypto, source, 'toServer', toServer);
  }

  #switchInput(): void {
    assert.ok(this.#open !== undefined, 'the client sent NEWKEYS before it could have keys');
    this.#reader.rekey(this.#open, this.strict);
    this.#open = undefined;
  }
}
