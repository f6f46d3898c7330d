/**
 * Our client against our server: two core connections on a line in memory that carries bytes exactly, cut as the test wants, and
 * keeps them. One virtual time for both. With the same randomness for each side every run is the same run.
 */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import type { RandomSource } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { type ClientConfig, type ClientScript, CoreClient, clientConfig } from './core_client.ts';
import { CoreServer, type ServerConfig, type ServerScript, serverConfig } from './core_server.ts';
import type { CoreSide } from './core_side.ts';
import { type Chunking, cut, drawBelow } from './feed.ts';
import { replayedRandom } from './replayed_random.ts';

export type Side = 'client' | 'server';

export const sides: readonly Side[] = ['client', 'server'];

export const otherSide = (side: Side): Side => (side === 'client' ? 'server' : 'client');

/** What one side sent in one go. */
export interface Sent {
  readonly from: Side;
  readonly bytes: Uint8Array;
}

/** Where the line breaks, counted in packets that one side sent and that still arrive, and what the ends notice. */
export interface Break {
  readonly from: Side;
  readonly packets: number;
  /** `fin`: the stream ends for both; `reset`: it fails for both; `silence`: nobody is told anything any more. */
  readonly how: 'fin' | 'reset' | 'silence';
}

export interface PairOptions {
  /** Default: whole. */
  readonly chunking?: Chunking;
  /** Of both sides' bytes, `turns`: one side's arrive before the other's are taken; `crossing`: all are taken, then arrive. */
  readonly order?: 'turns' | 'crossing';
  readonly client?: Partial<ClientConfig>;
  readonly clientScript?: ClientScript;
  readonly server?: Partial<ServerConfig>;
  readonly serverScript?: ServerScript;
  readonly breaks?: Break;
  /** The line fails for both after so many bytes of one side. */
  readonly breakAfterBytes?: { readonly from: Side; readonly bytes: number };
}

/** More than any scenario sends; who sends more will never stop. */
const MOST_BYTES = 64 * 1024 * 1024;

export class Pair {
  readonly client: CoreClient;
  readonly server: CoreServer;
  /** Everything that was sent, in order. */
  readonly sent: Sent[] = [];
  /** Packets, the identification with the first; what left in one go counts as one unless the line is to break. */
  readonly packets: Record<Side, number> = { client: 0, server: 0 };
  readonly #chunking: Chunking;
  readonly #order: 'turns' | 'crossing';
  #breaks: Break | undefined;
  readonly #random: RandomSource;
  readonly #ended: Set<Side> = new Set();
  readonly #breakAfterBytes: PairOptions['breakAfterBytes'];
  readonly #arrived: Record<Side, number> = { client: 0, server: 0 };
  #bytes = 0;
  #broken = false;

  constructor(options: PairOptions = {}) {
    this.#chunking = options.chunking ?? 'whole';
    this.#order = options.order ?? 'turns';
    this.#breaks = options.breaks;
    this.#breakAfterBytes = options.breakAfterBytes;
    this.#random = replayedRandom('line');
    this.client = new CoreClient(clientConfig(options.client), options.clientScript);
    this.server = new CoreServer(serverConfig(options.server), options.serverScript);
    for (const side of sides) this.#maybeBreak(side);
  }

  side(side: Side): CoreSide {
    return side === 'client' ? this.client : this.server;
  }

  /** Virtual time. */
  get now(): number {
    return this.client.now;
  }

  get broken(): boolean {
    return this.#broken;
  }

  /** Moves bytes until both sides are quiet. */
  pump(): void {
    for (let moved = true; moved; ) {
      moved = false;
      if (this.#order === 'turns') {
        for (const side of sides) moved = this.#deliver(side, this.#take(side)) || moved;
      } else {
        const taken = sides.map((side) => this.#take(side));
        for (const [i, side] of sides.entries()) moved = this.#deliver(side, taken[i] as Uint8Array) || moved;
      }
    }
  }

  /** Handshake and login. */
  login(): this {
    this.pump();
    this.alive();
    this.client.only('authenticated');
    this.server.only('authenticated');
    return this;
  }

  /** Lets time pass for both, with the line working. */
  advance(milliseconds: number): void {
    this.pump();
    const end = this.now + milliseconds;
    for (;;) {
      const due = Math.min(...sides.map((side) => this.side(side).due ?? Number.POSITIVE_INFINITY));
      if (due > end) break;
      this.#passTo(due);
      for (const side of sides) {
        const each = this.side(side);
        if ((each.due ?? Number.POSITIVE_INFINITY) <= due) each.tick(due);
      }
      this.pump();
    }
    this.#passTo(end);
  }

  /** Moves bytes until one side has sent `packets` more; then nothing arrives any more, and nobody is told. */
  silenceAfter(from: Side, packets: number): void {
    this.#breaks = { from, packets: this.packets[from] + packets, how: 'silence' };
    this.#maybeBreak(from);
    this.pump();
    assert.ok(this.#broken, `the ${from} must send ${packets} packets`);
  }

  /** The line breaks, and both ends learn of it. */
  cut(cause?: SshError): void {
    this.#broken = true;
    for (const side of sides) this.side(side).endOfInput(cause);
  }

  /** Asserts that all is well on both sides. */
  alive(): void {
    for (const side of sides) this.side(side).alive();
  }

  /** All that one side sent. */
  bytesFrom(side: Side): Uint8Array {
    return concat(...this.sent.filter(({ from }) => from === side).map(({ bytes }) => bytes));
  }

  #passTo(now: number): void {
    for (const side of sides) this.side(side).passTo(now);
  }

  #take(side: Side): Uint8Array {
    const budget =
      this.#breaks !== undefined ? 1 : this.#chunking === 'random' ? 1 + drawBelow(this.#random, 65536) : 262144;
    const bytes = concat(...this.side(side).takeOutput(budget));
    this.#bytes += bytes.length;
    assert.ok(this.#bytes < MOST_BYTES, 'the sides go on and on');
    if (bytes.length > 0) this.sent.push({ from: side, bytes });
    return bytes;
  }

  /** Hands `bytes` of `side` to the other one, and its end if there is nothing else; false: there was nothing. */
  #deliver(side: Side, bytes: Uint8Array): boolean {
    const receiver = this.side(otherSide(side));
    if (bytes.length > 0) {
      if (this.#broken) return true;
      for (const piece of cut(this.#untilBreak(side, bytes), this.#chunking, this.#random)) receiver.receive(piece);
      this.packets[side]++;
      if (this.#breakAfterBytes?.from === side && this.#arrived[side] === this.#breakAfterBytes.bytes)
        this.cut(reset());
      this.#maybeBreak(side);
      return true;
    }
    if (this.#broken || !this.side(side).connection.closed || this.#ended.has(side)) return false;
    this.#ended.add(side);
    receiver.endOfInput();
    return true;
  }

  /** Of `bytes`, what still arrives. */
  #untilBreak(side: Side, bytes: Uint8Array): Uint8Array {
    const limit = this.#breakAfterBytes?.from === side ? this.#breakAfterBytes.bytes : Number.POSITIVE_INFINITY;
    const arriving = bytes.subarray(0, limit - this.#arrived[side]);
    this.#arrived[side] += arriving.length;
    return arriving;
  }

  #maybeBreak(side: Side): void {
    if (this.#broken || this.#breaks?.from !== side || this.packets[side] < this.#breaks.packets) return;
    const { how } = this.#breaks;
    if (how === 'silence') this.#broken = true;
    else this.cut(how === 'fin' ? undefined : reset());
  }
}

function reset(): SshError {
  return new SshError('connection-lost', 'read ECONNRESET', { fault: 'network' });
}
