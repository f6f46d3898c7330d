/**
 * The real client, promises and all, on a memory pipe with a scripted peer at its other end and a clock run by hand. Scripts wait
 * with `quiet` until nothing moves any more and then look at what has come.
 */

import { setImmediate } from 'node:timers';
import { concat } from '../../src/bytes/bytes.ts';
import { insecureAcceptAny } from '../../src/client/host_key.ts';
import { Link } from '../../src/client/link.ts';
import { settingsOf } from '../../src/client/options.ts';
import type { ClientOptions } from '../../src/connect.ts';
import { SshError } from '../../src/errors.ts';
import type { Clock } from '../../src/io/clock.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import { SshClient } from '../../src/ssh_client.ts';
import { type Chunking, cut } from './feed.ts';
import { memoCrypto } from './memo_crypto.ts';
import { PeerChannel } from './peer_channel.ts';
import { replayedRandom } from './replayed_random.ts';
import { type PeerOptions, ScriptedPeer } from './scripted_peer.ts';
import { VirtualClock } from './virtual_clock.ts';

export type Direction = 'toClient' | 'toPeer';

/** Where and how the line breaks. */
export interface CutPoint {
  readonly direction: Direction;
  /** Packets in that direction that still arrive. */
  readonly packets: number;
  readonly how: 'reset' | 'fin';
}

export interface ApiLinkOptions {
  readonly client?: Partial<ClientOptions>;
  readonly peer?: Partial<PeerOptions>;
  readonly cut?: CutPoint;
  /** Default: one run by hand. */
  readonly clock?: Clock;
  /** Turns of the event loop without a byte after which nothing is expected any more. Default: 4. */
  readonly quietTurns?: number;
}

export async function turn(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(() => resolve()));
}

export class ApiLink {
  readonly chunking: Chunking;
  readonly peer: ScriptedPeer;
  readonly clock: VirtualClock = new VirtualClock();
  /** The clock that the client runs on: the one by hand unless another was given. */
  readonly running: Clock;
  /** Resolves when the client is logged in. */
  readonly connected: Promise<SshClient>;
  /** Why the peer's end of the pipe is down, once it is. */
  ended: { readonly cause: SshError | undefined } | undefined;
  readonly #pipe: BytePipe;
  /** Runs in every turn while something is awaited, as a server would that answers by itself; true if it did anything. */
  attend: () => boolean = () => false;
  /** Packets that passed. */
  readonly passed: Record<Direction, number> = { toClient: 0, toPeer: 0 };
  readonly #cut: CutPoint | undefined;
  readonly #quietTurns: number;
  /** The line breaks once what is on it has arrived, and is broken. */
  #line: 'whole' | 'breaking' | 'broken' = 'whole';
  #moved = false;

  constructor(chunking: Chunking, options: ApiLinkOptions = {}) {
    this.chunking = chunking;
    this.#cut = options.cut;
    this.#quietTurns = options.quietTurns ?? 4;
    this.running = options.clock ?? this.clock;
    const random = replayedRandom('line');
    const [near, far] = memoryPipes({ chunk: (bytes) => cut(bytes, chunking, random) });
    this.#pipe = far;
    this.peer = new ScriptedPeer({ random: replayedRandom('peer'), ...options.peer });
    this.peer.pump = () => this.#flush();
    far.open({
      data: (bytes) => {
        this.#moved = true;
        if (this.#line === 'whole') this.peer.receive(bytes);
        far.consumed(bytes.length);
        this.passed.toPeer = this.peer.received;
        this.#check();
      },
      end: () => far.end(),
      drain: () => {},
      closed: (cause) => {
        this.ended = { cause };
      },
    });
    this.connected = connect(near, this.running, options.client ?? {});
    this.connected.catch(() => {});
    this.#check();
  }

  /** Waits until neither side has anything to say. */
  async quiet(): Promise<void> {
    for (let turns = 0; turns < this.#quietTurns; turns++) {
      if (this.attend()) this.#moved = true;
      this.#flush();
      await turn();
      if (this.#line === 'breaking') this.#break();
      if (this.#moved) turns = 0;
      this.#moved = false;
    }
  }

  /** What a promise gives, which must have settled once all is quiet: nothing here may hang. */
  async now<T>(promise: Promise<T>): Promise<T> {
    await this.quiet();
    const pending = Symbol('pending');
    const result = await Promise.race([promise, turn().then((): typeof pending => pending)]);
    if (result === pending) throw new Error('all is quiet and the promise has not settled');
    return result as T;
  }

  /** Handshake and login; gives the client. */
  async login(): Promise<SshClient> {
    const { peer } = this;
    await this.handshake();
    peer.grantService();
    await this.quiet();
    peer.acceptLogin();
    return await this.now(this.connected);
  }

  /** The first key exchange; the client's next message waits then. */
  async handshake(): Promise<void> {
    const { peer } = this;
    peer.identify();
    peer.sendKexinit();
    await this.quiet();
    peer.takeKexinit();
    await this.exchange();
    await this.quiet();
  }

  /** From the client's KEXINIT, which was taken, to its NEWKEYS. */
  async exchange(): Promise<void> {
    const { peer } = this;
    await this.quiet();
    peer.sendReply();
    peer.sendNewkeys();
    await this.quiet();
    peer.expect(21);
  }

  /** Takes the client's CHANNEL_OPEN and confirms it. */
  async channel(window?: number): Promise<PeerChannel> {
    await this.quiet();
    const channel = new PeerChannel(this.peer, window === undefined ? {} : { window });
    await this.quiet();
    return channel;
  }

  /** Sends data as the client's window lets it. */
  async write(channel: PeerChannel, data: Uint8Array, kind = 0): Promise<void> {
    for (let at = 0; at < data.length; ) {
      if (channel.sendWindow <= 0) {
        await this.quiet();
        channel.readAll();
        if (channel.sendWindow <= 0) throw new Error(`The client gives no window; ${data.length - at} bytes are left`);
      }
      const size = Math.min(channel.sendWindow, channel.maxPacket);
      channel.push(data.subarray(at, at + size), kind);
      at += size;
    }
    await this.quiet();
  }

  /** The line breaks. */
  reset(): void {
    this.#flush();
    this.#pipe.close(new SshError('connection-lost', 'read ECONNRESET', { fault: 'network' }));
  }

  /** The peer closes without a word. */
  fin(): void {
    this.#flush();
    this.#pipe.end();
  }

  get broken(): boolean {
    return this.#line === 'broken';
  }

  #flush(): void {
    const output = this.peer.takeOutput();
    if (output.length === 0 || this.#line !== 'whole') return;
    this.#moved = true;
    if (this.#cut === undefined) {
      this.#pipe.write([concat(...output)]);
      return;
    }
    for (const packet of output) {
      if (this.#line !== 'whole') return;
      this.#pipe.write([packet]);
      this.passed.toClient++;
      this.#check();
    }
  }

  #check(): void {
    if (this.#cut === undefined || this.#line !== 'whole') return;
    if (this.passed[this.#cut.direction] >= this.#cut.packets) this.#line = 'breaking';
  }

  #break(): void {
    this.#line = 'broken';
    this.#moved = true;
    if (this.#cut?.how === 'fin') this.#pipe.end();
    else this.#pipe.close(new SshError('connection-lost', 'read ECONNRESET', { fault: 'network' }));
  }
}

async function connect(pipe: BytePipe, clock: Clock, changes: Partial<ClientOptions>): Promise<SshClient> {
  const provider = typeof changes.crypto === 'object' ? changes.crypto : memoCrypto;
  const crypto = { ...provider, random: replayedRandom('client') };
  const options = { host: 'example.org', username: 'ada', auth: [], hostKey: insecureAcceptAny(), ...changes };
  const link = await Link.establish({ pipe, settings: settingsOf(options), crypto, clock });
  return new SshClient(link);
}
