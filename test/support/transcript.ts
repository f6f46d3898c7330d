/**
 * Transcripts: what both sides of a session sent, with everything that is needed to check it from outside. The packets are
 * opened by a third party, who knows what the sides drew and what went over the line, and nothing else. The format is in
 * `vectors/README.md`.
 */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { ciphers } from '../../src/core/algorithms/ciphers.ts';
import { exchanges } from '../../src/core/algorithms/exchanges.ts';
import { macs } from '../../src/core/algorithms/macs.ts';
import type { Negotiated } from '../../src/core/events.ts';
import { encodeSecret, exchangeHash } from '../../src/core/exchange_hash.ts';
import { type Direction, deriveKey, type KeySource, openFor } from '../../src/core/key_schedule.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { agree, readKexinit } from '../../src/core/negotiate.ts';
import { PacketReader } from '../../src/core/packet.ts';
import type { Open } from '../../src/core/protection/types.ts';
import type { Agreement, AgreementName, CryptoProvider, Kem, RandomSource } from '../../src/crypto/provider.ts';
import type { PrivateKey } from '../../src/keys/key_pair.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { decode } from '../../src/wire/message.ts';
import { messageName } from '../../src/wire/table.ts';
import { transport } from '../../src/wire/transport.ts';
import { keyboardAuth, passwordAuth, publicKeyAuth, userauth } from '../../src/wire/userauth.ts';
import type { Chunking } from './feed.ts';
import { memoCrypto } from './memo_crypto.ts';
import { otherSide, type Side } from './pair.ts';
import { seededRandom } from './random.ts';

/** Bytes that a side sent in one go, or a key exchange that its application asked for. Bytes are hex, here and below. */
export type Step = { readonly from: Side; readonly bytes: string } | { readonly from: Side; readonly command: 'rekey' };

/** What a side drew: so many bytes each time, from the stream of its seed. */
export interface Drawn {
  readonly seed: string;
  readonly draws: number[];
}

export type TestKey = Readonly<Record<string, string>>;

/** One key exchange. */
export interface ExchangeRecord {
  readonly clientSecret: string;
  readonly serverSecret: string;
  /** Of a hybrid method, the secret of its key encapsulation. */
  readonly kemShared?: string;
  /** The shared secret in its full width; of a hybrid method, that of its classical half. */
  readonly shared: string;
  readonly exchangeHash: string;
  /** RFC 4253 §7.2, as long as the algorithms need them. */
  readonly keys: Readonly<Record<string, string>>;
}

export interface PacketRecord {
  readonly from: Side;
  readonly sequence: number;
  readonly message: string;
  readonly payload: string;
}

export interface Transcript {
  readonly source: string;
  readonly section: string;
  readonly licence: string;
  readonly about: string;
  readonly algorithms: Negotiated;
  readonly client: { readonly random: Drawn; readonly keys: readonly TestKey[] };
  readonly server: { readonly random: Drawn; readonly keys: readonly TestKey[] };
  readonly sessionId: string;
  readonly exchanges: readonly ExchangeRecord[];
  readonly steps: readonly Step[];
  readonly packets: readonly PacketRecord[];
}

/** What a recorded session is about. */
export interface Subject {
  readonly name: string;
  readonly about: string;
  readonly keys: Readonly<Record<Side, readonly TestKey[]>>;
}

/** A key with all its numbers; nothing is secret about those of tests. */
export function shownKey(key: PrivateKey): TestKey {
  const secret = key.secret();
  const numbers =
    secret.type === 'ssh-ed25519'
      ? { seed: hex(secret.seed) }
      : secret.type === 'ssh-rsa'
        ? Object.fromEntries(Object.entries(secret.key).map(([name, value]) => [name, hex(value as Uint8Array)]))
        : { scalar: hex(secret.scalar) };
  return { type: secret.type, publicKey: hex(key.publicKey.blob), ...numbers };
}

/** Listens to both sides of one session: give them `random` and `crypto`, and tell what was sent. */
export class Recorder {
  readonly steps: Step[] = [];
  readonly drawn: Record<Side, Drawn>;
  readonly secrets: Record<Side, Uint8Array[]> = { client: [], server: [] };
  readonly shared: Uint8Array[] = [];
  readonly kemShared: Uint8Array[] = [];
  readonly #subject: Subject;

  constructor(subject: Subject) {
    this.#subject = subject;
    this.drawn = {
      client: { seed: seedOf(subject.name, 'client'), draws: [] },
      server: { seed: seedOf(subject.name, 'server'), draws: [] },
    };
  }

  random(side: Side): RandomSource {
    const { seed, draws } = this.drawn[side];
    const source = seededRandom(seed);
    return (length) => {
      draws.push(length);
      return source(length);
    };
  }

  /** The provider of the tests, overheard. */
  crypto(side: Side): CryptoProvider {
    const { agreements } = memoCrypto;
    const names = Object.keys(agreements) as AgreementName[];
    const overheard = names.map((name) => [name, this.#overhear(side, name, agreements[name])]);
    const { mlkem768 } = memoCrypto.kems;
    const decapsulate: Kem['decapsulate'] = (secret, ciphertext) => {
      const shared = mlkem768.decapsulate(secret, ciphertext);
      assert.ok(!(shared instanceof Promise));
      this.kemShared.push(shared.slice());
      return shared;
    };
    const kems = { ...memoCrypto.kems, mlkem768: { ...mlkem768, decapsulate } };
    return { ...memoCrypto, agreements: Object.fromEntries(overheard), kems };
  }

  sent(from: Side, bytes: Uint8Array): void {
    this.steps.push({ from, bytes: hex(bytes) });
  }

  command(from: Side, command: 'rekey'): void {
    this.steps.push({ from, command });
  }

  transcript(): Transcript {
    const { name: _, about, keys } = this.#subject;
    const observer = new Observer(this);
    for (const step of this.steps) if ('bytes' in step) observer.hear(step.from, fromHex(step.bytes));
    return {
      source:
        "puressh's client against its server, by test/support/record_transcripts.ts; vectors/transcripts/check.py gets the same " +
        'secrets, exchange hashes, keys, payloads and signatures with the Python package cryptography',
      section:
        'RFC 4250–4254, RFC 4256, RFC 4344, RFC 5647, RFC 5656, RFC 8308, RFC 8332, RFC 8709, RFC 8731, OpenSSH PROTOCOL',
      licence: 'CC0-1.0, made for puressh',
      about,
      algorithms: observer.negotiated ?? assert.fail('no key exchange'),
      client: { random: this.drawn.client, keys: keys.client },
      server: { random: this.drawn.server, keys: keys.server },
      sessionId: hex(observer.sessionId ?? assert.fail()),
      exchanges: observer.exchanges,
      steps: this.steps,
      packets: observer.packets,
    };
  }

  #overhear(side: Side, name: AgreementName, agreement: Agreement): Agreement {
    const secret = (drawn: Uint8Array): void => {
      const used = drawn.slice();
      // a scalar of P-521 has 521 bits
      if (name === 'p521') used[0] = (used[0] as number) & 1;
      this.secrets[side].push(used);
    };
    const heard =
      (random: RandomSource): RandomSource =>
      (length) => {
        const drawn = random(length);
        secret(drawn);
        return drawn;
      };
    return {
      generate: (random) => agreement.generate(heard(random)),
      respond: (random, initiator) => agreement.respond(heard(random), initiator),
      finish: (secret, responder) => {
        const shared = agreement.finish(secret, responder);
        assert.ok(!(shared instanceof Promise));
        this.shared.push(shared.slice());
        return shared;
      },
    };
  }
}

/** The seed of one side's randomness. */
export function seedOf(name: string, side: Side): string {
  return `puressh transcript ${name}, ${side}`;
}

const DIRECTION: Readonly<Record<Side, Direction>> = { client: 'toServer', server: 'toClient' };

/** One direction, as the third party reads it. */
interface Ear {
  readonly input: ChunkQueue;
  readonly reader: PacketReader;
  line: Uint8Array | undefined;
  kexinit: Uint8Array;
  next: Open | undefined;
}

/** The third party. */
class Observer {
  readonly packets: PacketRecord[] = [];
  readonly exchanges: ExchangeRecord[] = [];
  negotiated: Negotiated | undefined;
  sessionId: Uint8Array | undefined;
  readonly #recorder: Recorder;
  readonly #ears: Record<Side, Ear> = { client: newEar(), server: newEar() };
  #clientPublic: Uint8Array = new Uint8Array(0);
  /** Of the method that the client tried last: 60 and 61 mean what it says. */
  #method = '';

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  hear(from: Side, bytes: Uint8Array): void {
    const ear = this.#ears[from];
    ear.input.push(bytes.slice());
    if (ear.line === undefined) {
      const end = ear.input.indexOf(0x0a);
      ear.line = (ear.input.take(end + 1) as Uint8Array).slice(0, -2);
    }
    for (;;) {
      const { sequence } = ear.reader;
      const payload = ear.reader.next()?.slice();
      if (payload === undefined) return;
      this.#packet(from, payload);
      this.packets.push({ from, sequence, message: this.#name(payload), payload: hex(payload) });
    }
  }

  #packet(from: Side, payload: Uint8Array): void {
    const ear = this.#ears[from];
    switch (payload[0]) {
      case transport.kexinit.number:
        ear.kexinit = payload;
        return;
      case transport.newkeys.number:
        // strict key exchange: numbers begin anew
        ear.reader.rekey(ear.next ?? assert.fail('NEWKEYS without keys'), true);
        ear.next = undefined;
        return;
      case ecdh.init.number:
        this.#clientPublic = decode(ecdh.init, payload).publicValue.slice();
        return;
      case ecdh.reply.number:
        this.#exchange(payload);
        return;
      case userauth.request.number:
        this.#method = decode(userauth.request, payload).method;
    }
  }

  #exchange(payload: Uint8Array): void {
    const { client, server } = this.#ears;
    const { hostKey, publicValue } = decode(ecdh.reply, payload);
    const theirs = (ear: Ear) => readKexinit(ear.kexinit, defaultLimits);
    const { negotiated } = agree('client', theirs(client), theirs(server));
    const row = exchanges.get(negotiated.kex) ?? assert.fail();
    const index = this.exchanges.length;
    const shared = this.#recorder.shared[index] ?? assert.fail('a secret that nobody has');
    const kemShared = this.#recorder.kemShared[index];
    const hash = memoCrypto.hashes[row.hash];
    const combined = kemShared === undefined ? shared : hash.digest(concat(kemShared, shared));
    const secret = encodeSecret(combined, row.secretAs);
    const inputs = {
      clientIdentification: client.line ?? assert.fail(),
      serverIdentification: server.line ?? assert.fail(),
      clientKexinit: client.kexinit,
      serverKexinit: server.kexinit,
      hostKey,
      clientPublic: this.#clientPublic,
      serverPublic: publicValue,
    };
    const digest = exchangeHash(hash, inputs, secret);
    this.negotiated = negotiated;
    this.sessionId ??= digest;
    const source: KeySource = { hash, secret, exchangeHash: digest, sessionId: this.sessionId };
    for (const side of ['client', 'server'] as const) {
      this.#ears[side].next = openFor(memoCrypto, source, DIRECTION[side], negotiated[DIRECTION[side]]);
    }
    const { secrets } = this.#recorder;
    this.exchanges.push({
      clientSecret: hex(secrets.client[index] ?? assert.fail()),
      serverSecret: hex(secrets.server[index] ?? assert.fail()),
      ...(kemShared === undefined ? {} : { kemShared: hex(kemShared) }),
      shared: hex(shared),
      exchangeHash: hex(digest),
      keys: keysOf(source, negotiated),
    });
  }

  /** 60 and 61 mean what the running method says (RFC 4252 §6), 30 and 31 what the negotiated one says. */
  #name(payload: Uint8Array): string {
    const number = payload[0] as number;
    if (number === ecdh.init.number) return ecdh.init.name;
    if (number === ecdh.reply.number) return ecdh.reply.name;
    if (number === 61) return keyboardAuth.infoResponse.name;
    if (number !== 60) return messageName(number);
    if (this.#method === 'password') return passwordAuth.changeRequest.name;
    return this.#method === 'publickey' ? publicKeyAuth.ok.name : keyboardAuth.infoRequest.name;
  }
}

function newEar(): Ear {
  const input = new ChunkQueue();
  return {
    input,
    reader: new PacketReader(input, defaultLimits.packetLength),
    line: undefined,
    kexinit: new Uint8Array(0),
    next: undefined,
  };
}

function keysOf(source: KeySource, { toServer, toClient }: Negotiated): Record<string, string> {
  const keys: Record<string, string> = {};
  for (const [letters, { cipher, mac }] of [
    ['ACE', toServer],
    ['BDF', toClient],
  ] as const) {
    const { ivSize, keySize } = ciphers.get(cipher) ?? assert.fail();
    const sizes = [ivSize, keySize, macs.get(mac ?? '')?.size ?? 0];
    for (const [i, size] of sizes.entries()) {
      const letter = letters[i] as string;
      if (size > 0) keys[letter] = hex(deriveKey(source, letter, size));
    }
  }
  return Object.fromEntries(Object.entries(keys).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** As it stands in a file: one member a line, one step and one packet a line. */
export function formatTranscript(transcript: Transcript): string {
  const members = Object.entries(transcript).map(([name, value]) => {
    const isLong = ['exchanges', 'steps', 'packets'].includes(name);
    const text = isLong
      ? `[\n${(value as unknown[]).map((each) => `  ${JSON.stringify(each)}`).join(',\n')}\n ]`
      : JSON.stringify(value);
    return ` ${JSON.stringify(name)}: ${text}`;
  });
  return `{\n${members.join(',\n')}\n}\n`;
}

/** A session that has a transcript. */
export interface Recorded {
  readonly name: string;
  /** Ways to cut what arrives that change nothing of what a side says. */
  readonly chunkings: readonly Chunking[];
  record(): Promise<Transcript>;
  /** Plays `side` against what the other one said; throws where it says anything else than it said. */
  replay(transcript: Transcript, side: Side, chunking: Chunking): Promise<void>;
}

/** What a side says, step by step, when it hears what the transcript's other side said. */
export interface Replayed {
  receive(bytes: Uint8Array): void | Promise<void>;
  command(command: 'rekey'): void;
  /** All that it wants to send now. */
  takeOutput(): Uint8Array | Promise<Uint8Array>;
}

/** Plays the other side from the transcript alone; `side` must say what it said, byte by byte. */
export async function replay(transcript: Pick<Transcript, 'steps'>, side: Side, replayed: Replayed): Promise<void> {
  for (const [i, step] of transcript.steps.entries()) {
    if ('command' in step) {
      if (step.from === side) replayed.command(step.command);
    } else if (step.from === otherSide(side)) await replayed.receive(fromHex(step.bytes));
    else assert.equal(hex(await replayed.takeOutput()), step.bytes, `what the ${side} says in step ${i}`);
  }
  assert.equal((await replayed.takeOutput()).length, 0, `the ${side} has no more to say`);
}
