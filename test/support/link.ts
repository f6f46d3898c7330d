/** The line between a core client and a scripted peer: moves bytes in memory, cut as the test wants, in both directions. */

import { test } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';

import type { RandomSource } from '../../src/crypto/provider.ts';
import type { SshError } from '../../src/errors.ts';
import { type ClientConfig, type ClientScript, CoreClient, clientConfig } from './core_client.ts';
import { type Chunking, chunkings, cut, drawBelow } from './feed.ts';
import { replayedRandom } from './replayed_random.ts';
import { type PeerOptions, ScriptedPeer } from './scripted_peer.ts';

export interface LinkOptions {
  readonly client?: Partial<ClientConfig>;
  readonly script?: ClientScript;
  readonly peer?: Partial<PeerOptions>;
}

export class Link {
  readonly chunking: Chunking;
  readonly client: CoreClient;
  readonly peer: ScriptedPeer;
  /** Bytes that went each way. */
  readonly bytes: { toPeer: number; toClient: number } = { toPeer: 0, toClient: 0 };
  readonly #random: RandomSource;

  constructor(chunking: Chunking, options: LinkOptions = {}) {
    this.chunking = chunking;
    this.#random = replayedRandom('line');
    this.client = new CoreClient(clientConfig(options.client), options.script);
    this.peer = new ScriptedPeer({ random: replayedRandom('peer'), ...options.peer });
    this.peer.pump = () => this.pump();
  }

  /** Moves bytes until both sides are quiet. */
  pump(): void {
    for (;;) {
      const output = concat(...this.client.takeOutput(this.#budget()));
      for (const piece of cut(output, this.chunking, this.#random)) this.peer.receive(piece);
      const input = concat(...this.peer.takeOutput());
      for (const piece of cut(input, this.chunking, this.#random)) this.client.receive(piece);
      this.bytes.toPeer += output.length;
      this.bytes.toClient += input.length;
      if (output.length === 0 && input.length === 0) return;
    }
  }

  /** The line breaks, after what is on it has arrived. */
  cut(cause?: SshError): void {
    this.pump();
    this.client.endOfInput(cause);
  }

  /** Lets time pass for the client, with the line working. */
  advance(milliseconds: number): void {
    this.client.advance(milliseconds, () => this.pump());
    this.pump();
  }

  /** Handshake and login. */
  login(): void {
    this.peer.handshake();
    this.peer.login();
    this.client.only('authenticated');
  }

  #budget(): number {
    return this.chunking === 'random' ? 1 + drawBelow(this.#random, 65536) : 262144;
  }
}

/** Declares `run` as a test in every chunking, or in those given, where one would take long and prove no more. */
export function scenario(
  name: string,
  run: (chunking: Chunking) => void | Promise<void>,
  among: readonly Chunking[] = chunkings,
): void {
  for (const chunking of among) test(`${name} (${chunking})`, () => run(chunking));
}

/** A link on which the client is logged in. */
export function openLink(chunking: Chunking, options: LinkOptions = {}): Link {
  const link = new Link(chunking, options);
  link.login();
  return link;
}
