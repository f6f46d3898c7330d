/**
 * Two `Transport`s of puressh, a client and a server, back to back in memory, and what may stand between them. Everything is
 * synchronous unless the crypto given answers with promises.
 */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { hex } from '../../src/bytes/text.ts';
import { type AlgorithmLists, chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import type { Event, Question, Role } from '../../src/core/events.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { PacketReader, PacketWriter } from '../../src/core/packet.ts';
import { defaultRekeyLimits } from '../../src/core/rekey.ts';
import { Transport, type TransportConfig } from '../../src/core/transport.ts';
import type { MaybePromise } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { parsePrivateKey, signerOf } from '../../src/keys/private_key.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { seededRandom } from '../support/random.ts';
import { vectors } from './tools.ts';

const files = vectors<{ rows: { name: string; openssh?: string; pkcs8?: string }[] }>('keys/private_keys.json').rows;

/** The signer of a key of `vectors/keys/private_keys.json`. */
export function signer(name: string): Signer {
  const row = files.find((each) => each.name === name);
  const file = row?.openssh ?? row?.pkcs8;
  assert.ok(file !== undefined, `no key ${name}`);
  return signerOf(memoCrypto, parsePrivateKey(file, memoCrypto));
}

export interface EndOptions extends Partial<Omit<TransportConfig, 'role' | 'algorithms'>> {
  readonly algorithms?: Partial<AlgorithmLists>;
  /** Whether questions about host keys are answered at once. Default: true. */
  readonly trusts?: boolean;
}

interface Asked {
  readonly question: Question;
  readonly answered: (value: never) => void;
}

/** One side: a transport, a host that keeps what it is told, and a driver that stops at the first error. */
export class End {
  readonly transport: Transport;
  readonly events: Event[] = [];
  /** Payloads for the layers above, as hex. */
  readonly payloads: string[] = [];
  /** Numbers of the messages that the peer does not know. */
  readonly unknown: number[] = [];
  readonly extensions: Map<string, Uint8Array>[] = [];
  /** Data packets that wait. */
  readonly bulk: Uint8Array[] = [];
  /** Questions about host keys, in order. */
  readonly hostKeys: string[] = [];
  readonly open: Asked[] = [];
  above: 'service' | 'auth' | 'open' = 'open';
  ready = 0;
  /** Why this side stopped. */
  error: SshError | undefined;
  readonly #working: Promise<unknown>[] = [];
  #holding = 0;

  constructor(role: Role, options: EndOptions = {}) {
    const { trusts = true, algorithms = {}, ...rest } = options;
    const provider = rest.crypto ?? memoCrypto;
    const config: TransportConfig = {
      crypto: provider,
      random: seededRandom(role),
      limits: defaultLimits,
      software: `${role}_1`,
      rekey: defaultRekeyLimits,
      extensions: new Map(),
      hostKeys: [signer('ed25519')],
      ...rest,
      role,
      algorithms: chooseAlgorithms(provider, algorithms),
    };
    this.transport = new Transport(config, {
      emit: (event) => void this.events.push(event),
      ask: (question, hold, answered) => {
        assert.ok(hold && question.kind === 'host-key', 'the transport asks for host keys alone, and holds input');
        this.hostKeys.push(hex(question.hostKey));
        this.#holding++;
        this.open.push({ question, answered });
        if (trusts) this.answer();
      },
      settle: (value, next) => this.#settle(value, next),
      phase: () => this.above,
      payload: (payload) => void this.payloads.push(hex(payload)),
      extInfo: (extensions) => void this.extensions.push(extensions),
      ready: () => void this.ready++,
      left: () => {},
      unimplemented: (number) => void this.unknown.push(number),
      bulk: () => {
        const payload = this.bulk.shift();
        return payload === undefined ? undefined : [payload];
      },
      disconnected: (error) => {
        this.error = error;
      },
    });
    this.transport.start();
  }

  /** Takes bytes and processes what it can. */
  receive(bytes: Uint8Array): void {
    this.transport.push(bytes);
    this.run(() => {
      while (this.error === undefined && this.#holding === 0 && this.transport.step());
    });
  }

  /** Runs `work`; what it throws is how this side ends. */
  run(work: () => void): void {
    if (this.error !== undefined) return;
    try {
      work();
    } catch (error) {
      assert.ok(error instanceof SshError, `${error} must be an SshError`);
      this.error = error;
    }
  }

  /** Answers the open question. */
  answer(): void {
    const asked = this.open.shift();
    assert.ok(asked !== undefined, 'a question is open');
    this.#holding--;
    asked.answered(undefined as never);
  }

  /** Waits for promises until none is left; true if there was one. */
  async work(): Promise<boolean> {
    let worked = false;
    for (let promise = this.#working.shift(); promise !== undefined; promise = this.#working.shift()) {
      await promise;
      worked = true;
    }
    this.receive(new Uint8Array(0));
    return worked;
  }

  takeOutput(): Uint8Array {
    return concat(...this.transport.takeOutput(262144));
  }

  /** How many key exchanges have ended. */
  get exchanges(): number {
    return this.events.filter(({ type }) => type === 'keys').length;
  }

  /** Fails unless this side goes on. */
  alive(): void {
    if (this.error !== undefined) throw this.error;
  }

  /** Why this side ended; fails unless that was with this code. */
  failed(code: SshError['code']): SshError {
    assert.ok(this.error !== undefined, `this side must have ended with ${code}, but goes on`);
    assert.equal(this.error.code, code, this.error.message);
    return this.error;
  }

  #settle<T>(value: MaybePromise<T>, next: (value: T) => void): void {
    if (!(value instanceof Promise)) {
      next(value);
      return;
    }
    this.#holding++;
    const settled = value.then(
      (result) =>
        this.run(() => {
          this.#holding--;
          next(result);
        }),
      (error) =>
        this.run(() => {
          throw error;
        }),
    );
    this.#working.push(settled);
  }
}

/** Changes what passes in one direction. */
export type Relay = (bytes: Uint8Array) => Uint8Array;

export interface Ends {
  readonly client: End;
  readonly server: End;
  /** Moves bytes until both sides are quiet. */
  pump(): void;
}

export interface EndsOptions {
  readonly client?: EndOptions;
  readonly server?: EndOptions;
  readonly toServer?: Relay;
  readonly toClient?: Relay;
}

export function ends(options: EndsOptions = {}): Ends {
  const client = new End('client', options.client);
  const server = new End('server', options.server);
  const { toServer = (bytes) => bytes, toClient = (bytes) => bytes } = options;
  const pump = (): void => {
    for (;;) {
      const up = client.takeOutput();
      server.receive(toServer(up));
      const down = server.takeOutput();
      client.receive(toClient(down));
      if (up.length === 0 && down.length === 0) return;
    }
  };
  return { client, server, pump };
}

/** Ends whose first exchange is done. */
export function keyed(options: EndsOptions = {}): Ends {
  const pair = ends(options);
  pair.pump();
  pair.client.alive();
  pair.server.alive();
  return pair;
}

/** What a relay may do with one payload: other payloads take its place. */
export type Alter = (payload: Uint8Array) => readonly Uint8Array[];

/** A relay that changes the identification and payloads until NEWKEYS; what follows passes as it is. */
export function altering(alter: Alter, alterLine: (line: Uint8Array) => Uint8Array = (line) => line): Relay {
  const queue = new ChunkQueue();
  const reader = new PacketReader(queue, 256 * 1024);
  const writer = new PacketWriter(seededRandom('relay'));
  let state: 'line' | 'plain' | 'keyed' = 'line';
  return (bytes) => {
    queue.push(bytes);
    const out: Uint8Array[] = [];
    if (state === 'line') {
      const at = queue.indexOf(0x0a);
      if (at < 0) return new Uint8Array(0);
      out.push(alterLine(queue.take(at + 1) as Uint8Array));
      state = 'plain';
    }
    while (state === 'plain') {
      const payload = reader.next();
      if (payload === undefined) break;
      for (const each of alter(payload)) writer.write([each], out);
      if (payload[0] === 21) state = 'keyed';
    }
    if (state === 'keyed') out.push(queue.takeAll());
    return concat(...out);
  };
}

/** Alters the payloads with this number only. */
export function only(number: number, change: Alter): Alter {
  return (payload) => (payload[0] === number ? change(payload) : [payload]);
}
