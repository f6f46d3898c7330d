/**
 * The transport layer as a machine: identification, packets, key exchange, rekeying, and the messages that belong to no layer
 * above (RFC 4253, RFC 8308, OpenSSH PROTOCOL §1.8). Bytes in, bytes out; payloads of the layers above go to its host. Knows no
 * socket and no clock. It can be driven alone, by a test that plays any peer.
 */

import { concat, plain } from '../bytes/bytes.ts';
import { ChunkQueue } from '../bytes/chunks.ts';
import { protocolError, SshError } from '../errors.ts';
import { decode, encode } from '../wire/message.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import { messageName } from '../wire/table.ts';
import { transport } from '../wire/transport.ts';
import { userauth } from '../wire/userauth.ts';
import { Compression, type CompressionLibrary } from './compression.ts';
import type { Context } from './events.ts';
import { buildExtInfo, readExtInfo } from './ext_info.ts';
import { formatIdentification, IdentificationReader, type PeerIdentification } from './ident.ts';
import { type KexConfig, KeyExchange } from './kex.ts';
import { debugEvent, disconnectError } from './notices.ts';
import { PacketReader, PacketWriter } from './packet.ts';
import { type Phase, verdictOn } from './phase.ts';
import type { Open, Seal } from './protection/types.ts';
import { isWornOut, type RekeyLimits } from './rekey.ts';
import { SendQueue } from './send_queue.ts';
import type { TransportStats } from './stats.ts';
import { TransportTimers } from './transport_timers.ts';

export interface TransportConfig extends KexConfig {
  /** The software version of our identification, such as `puressh_0.1.0`. */
  readonly software: string;
  readonly rekey: RekeyLimits;
  readonly compression?: CompressionLibrary | undefined;
  /** Extensions that we announce once the peer takes EXT_INFO. */
  readonly extensions: ReadonlyMap<string, string>;
}

/** The layers above. */
export interface TransportHost extends Omit<Context, 'send'> {
  /** Where those layers stand, once the first keys are in use. */
  phase(): 'service' | 'auth' | 'open';
  /** A payload that the phase table accepts and that is not the transport's own. */
  payload(payload: Uint8Array): void;
  /** The peer's extensions. */
  extInfo(extensions: Map<string, Uint8Array>): void;
  /** The first keys are in use. */
  ready(): void;
  /** A payload that is no bulk data leaves. */
  left(payload: Uint8Array): void;
  /** The peer does not know the message that we sent with this number. */
  unimplemented(number: number): void;
  /** The next bulk payload, as parts, if one may be sent. */
  bulk(): readonly Uint8Array[] | undefined;
  /** The peer said DISCONNECT. */
  disconnected(error: SshError): void;
}

/** For how many sent packets the message number is remembered, to explain an UNIMPLEMENTED. */
const REMEMBERED = 256;

export class Transport {
  readonly #config: TransportConfig;
  readonly #host: TransportHost;
  readonly #input = new ChunkQueue();
  readonly #reader: PacketReader;
  readonly #writer: PacketWriter;
  readonly #kex: KeyExchange;
  readonly #queue = new SendQueue();
  readonly #identification: Uint8Array;
  readonly #identificationReader: IdentificationReader;
  readonly #timers: TransportTimers;
  readonly #compression: Compression;
  readonly #sent = new Uint8Array(REMEMBERED);
  readonly #pendingSeals: Seal[] = [];
  #peer: PeerIdentification | undefined;
  #sealed: Uint8Array[] = [];
  #keyed = false;
  /** KEXINITs of the peer before the login. */
  #early = 0;
  #ended = false;
  #bytesIn = 0;
  #bytesOut = 0;
  #packetsIn = 0;
  #packetsOut = 0;
  #keyExchanges = 0;
  /** Whether views of the input itself went up since `takeKept`. */
  #shared = false;

  constructor(config: TransportConfig, host: TransportHost) {
    this.#config = config;
    this.#host = host;
    this.#identification = formatIdentification(config.software);
    this.#reader = new PacketReader(this.#input, config.limits.packetLength);
    this.#writer = new PacketWriter(config.random);
    this.#identificationReader = new IdentificationReader(this.#input, config.role, config.limits);
    this.#compression = new Compression(config.compression, {
      compress: (deflater) => this.#writer.compress(deflater),
      decompress: (inflater) => this.#reader.decompress(inflater),
    });
    this.#timers = new TransportTimers(config.limits, config.rekey.time);
    this.#kex = new KeyExchange(config, {
      send: (payload) => this.send(payload),
      emit: (event) => host.emit(event),
      ask: (question, hold, answered) => host.ask(question, hold, answered),
      settle: (value, then) => host.settle(value, then),
      offered: () => {
        this.#queue.closeGate();
        this.#startKexTimer();
      },
      sealWith: (seal) => this.#sealWith(seal),
      openWith: (open) => this.#openWith(open),
    });
  }

  /** Queues our identification and KEXINIT, which leave together. */
  start(): void {
    this.#sealed.push(concat(this.#identification, new Uint8Array([0x0d, 0x0a])));
    this.#bytesOut += this.#identification.length + 2;
    this.#timers.identification.start();
    this.#kex.begin();
  }

  get kex(): KeyExchange {
    return this.#kex;
  }

  /** The peer's identification, once it is there. */
  get peer(): PeerIdentification | undefined {
    return this.#peer;
  }

  /** Where the connection stands, for the phase table and for errors. */
  get phase(): Phase {
    if (!this.#keyed) return this.#kex.strict ? 'strict-kex' : 'kex';
    const phase = this.#host.phase();
    if (!this.#kex.peerStarted) return phase;
    return phase === 'open' ? 'rekey' : 'early-rekey';
  }

  /** What was heard before the peer identified itself, for errors. */
  get heard(): string {
    return this.#peer === undefined ? this.#identificationReader.heard : '';
  }

  /** Why the end of input here means that the peer does not speak SSH, when it wrote text in place of packets. */
  get textError(): SshError | undefined {
    return this.#peer === undefined ? undefined : this.#reader.textError;
  }

  /** Bytes of ours that wait, with what keeping them costs. */
  get queued(): number {
    return this.#queue.bytes;
  }

  /** What has passed since the start, the identification with it. */
  get stats(): TransportStats {
    return {
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      packetsIn: this.#packetsIn,
      packetsOut: this.#packetsOut,
      keyExchanges: this.#keyExchanges,
    };
  }

  /** Whether bulk data may leave now. */
  get gateOpen(): boolean {
    return this.#queue.gateOpen;
  }

  /** Whether compression waits for the login: a client must send nothing behind an attempt that may succeed. */
  get compressionDelayed(): boolean {
    return this.#compression.delayed;
  }

  /** Whether nothing but its packet is in the memory of the payload that is being processed. */
  get exclusive(): boolean {
    return this.#reader.exclusive;
  }

  /**
   * How many of the bytes last pushed are still in use, all before them being free; `undefined` where views of them went up
   * since the last call, which nobody follows.
   */
  takeKept(): number | undefined {
    const shared = this.#shared;
    this.#shared = false;
    return shared ? undefined : this.#input.length;
  }

  /** Takes bytes; they are processed by `step`. */
  push(bytes: Uint8Array): void {
    this.#bytesIn += bytes.length;
    this.#input.push(plain(bytes));
  }

  /** Processes the next line or packet; false when none is whole. */
  step(): boolean {
    if (this.#peer === undefined) return this.#identify();
    const sequence = this.#reader.sequence;
    const payload = this.#reader.next();
    this.#timers.hides(payload === undefined && this.#reader.hidesEnd);
    if (payload === undefined) return false;
    this.#packetsIn++;
    if (!this.#reader.exclusive) this.#shared = true;
    this.#dispatch(payload, sequence);
    if (isWornOut(this.#config.rekey, this.#reader)) this.#rekeyIfOpen();
    return true;
  }

  /** Queues a payload behind the gate. */
  send(payload: Uint8Array): void {
    this.#queue.push(payload);
    const limit = this.#config.limits.queuedReplies;
    if (!this.#queue.gateOpen && this.#queue.bytes > limit) {
      throw new SshError('limit', `More than ${limit} bytes wait for the end of a key exchange`, {
        fault: 'peer',
        phase: 'key-exchange',
        disconnect: DisconnectReason.byApplication,
      });
    }
  }

  /** Starts a key exchange, unless one is under way. */
  rekey(): void {
    if (this.#keyed) this.#kex.begin();
  }

  /** Seals what may leave, until about `budget` bytes. */
  takeOutput(budget: number): Uint8Array[] {
    const out = this.#sealed;
    let size = 0;
    while (size < budget) {
      const payload = this.#queue.shift();
      if (payload !== undefined) this.#host.left(payload);
      const parts = payload === undefined ? this.#bulk() : [payload];
      if (parts === undefined) break;
      const number = parts[0]?.[0] as number;
      this.#sent[this.#writer.sequence % REMEMBERED] = number;
      size += this.#writer.write(parts, out);
      this.#packetsOut++;
      if (number === transport.newkeys.number) this.#switchSeal(this.#pendingSeals.shift());
      else if (number === userauth.success.number) this.#compression.loggedIn();
      else if (isWornOut(this.#config.rekey, this.#writer)) this.#rekeyIfOpen();
    }
    this.#sealed = [];
    this.#bytesOut += size;
    return out;
  }

  /** Drops what waits to be sealed; nothing leaves any more. */
  drop(): void {
    this.#ended = true;
    this.#queue.clear();
  }

  /** Drops what waits and queues a DISCONNECT, after which nothing leaves any more. */
  disconnect(reason: number, description: string): void {
    this.drop();
    if (this.#peer === undefined) return;
    this.#queue.push(encode(transport.disconnect, { reason, description, language: '' }));
  }

  /** When `tick` has to be called next. `waiting`: for our own side. */
  dueAt(now: number, waiting: boolean): number {
    return this.#timers.dueAt(now, waiting);
  }

  /** Acts on timers that have ended; throws `timeout`. */
  tick(now: number, waiting: boolean): void {
    if (this.#timers.check(now, waiting)) this.#rekeyIfOpen();
  }

  /**
   * At the client's end a person may be asked about the host key before the first exchange can end: a server counts that
   * towards the time for the login.
   */
  #startKexTimer(): void {
    if (this.#keyed || this.#config.role === 'client') this.#timers.keyExchange.start();
  }

  #countEarly(): void {
    const { earlyExchanges } = this.#config.limits;
    if (this.#host.phase() === 'open' || ++this.#early <= earlyExchanges) return;
    throw new SshError('limit', `The peer began more than ${earlyExchanges} key exchanges before the login`, {
      fault: 'peer',
      phase: 'key-exchange',
      disconnect: DisconnectReason.byApplication,
    });
  }

  #bulk(): readonly Uint8Array[] | undefined {
    return this.#queue.gateOpen && !this.#ended ? this.#host.bulk() : undefined;
  }

  /** OpenSSH refuses key exchanges before authentication, so limits count only after it. */
  #rekeyIfOpen(): void {
    if (this.#host.phase() === 'open' && !this.#ended) this.#kex.begin();
  }

  #identify(): boolean {
    const peer = this.#identificationReader.next();
    if (peer === undefined) return false;
    this.#peer = peer;
    this.#shared = true;
    this.#timers.identification.stop();
    this.#kex.identified(this.#identification, peer.bytes);
    this.#host.emit({ type: 'identified', identification: peer.text, greeting: peer.greeting });
    return true;
  }

  #sealWith(seal: Seal): void {
    this.#pendingSeals.push(seal);
    const { extensions } = this.#config;
    // RFC 8308 §2.4: the first packet after the first NEWKEYS, or not at all
    const announce = !this.#keyed && this.#kex.peerTakesExtInfo && extensions.size > 0;
    this.#queue.openGate(announce ? buildExtInfo(extensions) : undefined);
  }

  #switchSeal(seal: Seal | undefined): void {
    if (seal === undefined) return;
    this.#writer.rekey(seal, this.#kex.strict);
    this.#compression.sealWith(seal.compression);
  }

  #openWith(open: Open): void {
    this.#reader.rekey(open, this.#kex.strict);
    this.#compression.openWith(open.compression);
    this.#timers.keyExchange.stop();
    this.#timers.rekey.start();
  }

  #dispatch(payload: Uint8Array, sequence: number): void {
    const number = payload[0] as number;
    const phase = this.phase;
    const verdict = verdictOn(phase, this.#config.role, number);
    if (verdict === 'ignore') return;
    if (verdict === 'unimplemented') {
      this.send(encode(transport.unimplemented, { sequence }));
      return;
    }
    if (verdict === 'disconnect') {
      throw protocolError(`The peer sent ${messageName(number)} in phase ${phase}, where it is not allowed`, { phase });
    }
    if (this.#own(number, payload, sequence)) return;
    this.#host.payload(payload);
    if (number === userauth.success.number) this.#compression.loggedIn();
  }

  /** Handles the transport's own messages; false for any other. */
  #own(number: number, payload: Uint8Array, sequence: number): boolean {
    switch (number) {
      case transport.disconnect.number:
        this.#host.disconnected(disconnectError(payload, this.phase));
        return true;
      case transport.ignore.number:
        return true;
      case transport.unimplemented.number: {
        const refused = decode(transport.unimplemented, payload).sequence;
        this.#host.unimplemented(this.#sent[refused % REMEMBERED] as number);
        return true;
      }
      case transport.debug.number:
        this.#host.emit(debugEvent(payload));
        return true;
      case transport.extInfo.number:
        this.#host.extInfo(readExtInfo(payload, this.#config.limits));
        return true;
      case transport.kexinit.number:
        this.#countEarly();
        this.#startKexTimer();
        this.#kex.onKexinit(payload, sequence);
        return true;
      case transport.newkeys.number:
        this.#newkeys();
        return true;
      case transport.ping.number:
        this.send(encode(transport.pong, decode(transport.ping, payload)));
        return true;
      case transport.pong.number:
        return true;
      default:
        if (number < 30 || number > 49) return false;
        this.#kex.onExchange(payload);
        return true;
    }
  }

  #newkeys(): void {
    const negotiated = this.#kex.onNewkeys();
    const first = !this.#keyed;
    this.#keyExchanges++;
    this.#keyed = true;
    this.#host.emit({ type: 'keys', first, negotiated });
    if (first) this.#host.ready();
  }
}
