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
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import { SshClient } from '../../src/ssh_client.ts';
import { type Chunking, cut } from './feed.ts';
import { memoCrypto } from './memo_crypto.ts';
import { PeerChannel } from './peer_channel.ts';
import { replayedRandom } from './replayed_random.ts';
import { type PeerOptions, ScriptedPeer } from './scripted_peer.ts';
import { VirtualClock } from './virtual_clock.ts';

export interface ApiLinkOptions {
  readonly client?: Partial<ClientOptions>;
  readonly peer?: Partial<PeerOptions>;
}

/** Turns of the event loop without a byte after which nothing is expected any more. */
const QUIET_TURNS = 4;

export async function turn(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(() => resolve()));
}

export class ApiLink {
  readonly chunking: Chunking;
  readonly peer: ScriptedPeer;
  readonly clock: VirtualClock = new VirtualClock();
  /** Resolves when the client is logged in. */
  readonly connected: Promise<SshClient>;
  /** Why the peer's end of the pipe is down, once it is. */
  ended: { readonly cause: SshError | undefined } | undefined;
  readonly #pipe: BytePipe;
  #moved = false;

  constructor(chunking: Chunking, options: ApiLinkOptions = {}) {
    this.chunking = chunking;
    const random = replayedRandom('line');
    const [near, far] = memoryPipes({ chunk: (bytes) => cut(bytes, chunking, random) });
    this.#pipe = far;
    this.peer = new ScriptedPeer({ random: replayedRandom('peer'), ...options.peer });
    this.peer.pump = () => this.#flush();
    far.open({
      data: (bytes) => {
        this.#moved = true;
        this.peer.receive(bytes);
        far.consumed(bytes.length);
      },
      end: () => far.end(),
      drain: () => {},
      closed: (cause) => {
        this.ended = { cause };
      },
    });
    this.connected = connect(near, this.clock, options.client ?? {});
    this.connected.catch(() => {});
  }

  /** Waits until neither side has anything to say. */
  async quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      this.#flush();
      await turn();
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
  reset(message = 'read ECONNRESET'): void {
    this.#flush();
    this.#pipe.close(new SshError('connection-lost', message, { fault: 'network' }));
  }

  /** The peer closes without a word. */
  fin(): void {
    this.#flush();
    this.#pipe.end();
  }

  #flush(): void {
    const output = this.peer.takeOutput();
    if (output.length === 0) return;
    this.#moved = true;
    this.#pipe.write([concat(...output)]);
  }
}

async function connect(pipe: BytePipe, clock: VirtualClock, changes: Partial<ClientOptions>): Promise<SshClient> {
  const crypto = { ...memoCrypto, random: replayedRandom('client') };
  const options = { host: 'example.org', username: 'ada', auth: [], hostKey: insecureAcceptAny(), ...changes };
  const link = await Link.establish({ pipe, settings: settingsOf(options), crypto, clock });
  return new SshClient(link);
}
