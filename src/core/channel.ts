/** One channel: its states, what waits to be sent on it, and the replies it waits for. RFC 4254 §5. Sends nothing by itself. */

import { protocolError } from '../errors.ts';
import { channelDataHeader, channelExtendedDataHeader } from '../wire/connection.ts';
import type { PendingReply } from './global_requests.ts';
import type { Probe } from './round_trip.ts';
import { Timer } from './timer.ts';
import { MAX_WINDOW, ReceiveWindow } from './window.ts';

/** `write` asks for patience above this many queued bytes, and `channel-drain` comes at half of it. */
export const QUEUE_MARK: number = 1024 * 1024;

/** Where the peer's window is small, twice that is enough, so that little waits for it here, but no less than this. */
const LEAST_MARK = 64 * 1024;

/** The same for pieces: a program that writes byte by byte would make each byte cost some hundred. */
export const QUEUE_PIECES: number = 8192;

/**
 * The most data in one packet of ours. Peers must take packets of 35000 bytes (RFC 4253 §6.1); some announce gigabytes as a
 * channel's maximum although their transport takes far less.
 */
const MAX_DATA = 32768;

/** The half that we send on. `ending`: EOF follows the queue; `closing`: EOF and CLOSE follow the queue. */
export type Sending = 'open' | 'ending' | 'ended' | 'closing' | 'closed';

/** The half that we receive on; a peer's CLOSE ends the whole channel. */
export type Receiving = 'open' | 'eof';

export type ChannelState =
  /** Our CHANNEL_OPEN is out. */
  | { readonly at: 'opening'; readonly probe?: Probe }
  /** The peer's CHANNEL_OPEN waits for our answer. */
  | { readonly at: 'requested'; readonly remote: number; readonly window: number; readonly maxPacket: number }
  /** Confirmed; each half ends on its own. */
  | {
      readonly at: 'open';
      readonly remote: number;
      readonly maxPacket: number;
      sending: Sending;
      receiving: Receiving;
      /** Until the peer confirms: its number was presumed. */
      readonly presumed?: Opening;
    };

/** What is kept of a CHANNEL_OPEN of ours until it is answered. */
export interface Opening {
  readonly probe?: Probe | undefined;
}

/** What a channel has moved, and how its windows stand. Sizes in bytes of data, headers not counted. */
export interface ChannelStats {
  /** The receive window now; it grows up to `maxWindow`. */
  readonly window: number;
  /** What the peer may still send of it. */
  readonly granted: number;
  /** WINDOW_ADJUSTs sent. */
  readonly adjustments: number;
  readonly received: number;
  readonly sent: number;
  /** The largest that the peer's window for us has been. */
  readonly peerWindow: number;
  /** Whether data waits because the peer's window is used up. */
  readonly windowLimited: boolean;
  /** How often data had to begin to wait for that. */
  readonly windowWaits: number;
}

/** What others than the mux see of a channel; it may be kept beyond the channel's end. */
export interface ChannelView {
  /** False while the peer has not confirmed what was presumed of it. */
  readonly confirmed: boolean;
  /** The receive window now, in bytes. */
  readonly window: number;
  readonly stats: ChannelStats;
}

/** Bytes of one kind (0, or the type of extended data) that wait to be sent. */
interface Segment {
  readonly kind: number;
  readonly bytes: Uint8Array;
}

export class Channel implements ChannelView {
  readonly id: number;
  readonly receiveWindow: ReceiveWindow;
  /** Our requests that want a reply, in the order in which replies will come. */
  readonly replies: PendingReply[] = [];
  /** Runs from our CLOSE to the peer's. */
  readonly closeTimer: Timer;
  state: ChannelState;
  /** A CHANNEL_REQUEST to send right after EOF. */
  lastRequest: Uint8Array | undefined;
  /** Whether the layers above have heard of the end; the number may still be reserved. */
  released = false;
  #sendWindow = 0;
  /** Of the send window, what the peer has not granted yet. */
  #presumedWindow = 0;
  #peerWindow = 0;
  #sent = 0;
  #windowWaits = 0;
  #queue: Segment[] = [];
  #first = 0;
  #offset = 0;
  #queued = 0;
  #full = false;

  constructor(id: number, state: ChannelState, window: number, closeTime: number) {
    this.id = id;
    this.state = state;
    this.receiveWindow = new ReceiveWindow(window);
    this.closeTimer = new Timer(closeTime);
  }

  /** Enters `open` before the peer has said anything: it is presumed to give the channel the number `remote`. */
  presume(remote: number, probe: Probe | undefined): void {
    const presumed = { probe };
    this.state = { at: 'open', remote, maxPacket: MAX_DATA, sending: 'open', receiving: 'open', presumed };
  }

  /** Our CHANNEL_OPEN, while the peer has not answered it. */
  get opening(): Opening | undefined {
    if (this.state.at === 'opening') return this.state;
    return this.state.at === 'open' ? this.state.presumed : undefined;
  }

  get confirmed(): boolean {
    return this.opening === undefined;
  }

  /** Enters `open`; false where it was presumed to be. Throws where another number was presumed. */
  confirm(remote: number, window: number, maxPacket: number): boolean {
    // a peer that says 0 can never be sent anything; 1 is the least that makes sense
    const most = Math.min(Math.max(1, maxPacket), MAX_DATA);
    if (this.state.at === 'open') {
      const { presumed, ...known } = this.state;
      if (remote !== known.remote) throw protocolError(otherNumber(remote, known.remote));
      this.state = { ...known, maxPacket: most };
      this.adjust(window);
      return false;
    }
    this.state = { at: 'open', remote, maxPacket: most, sending: 'open', receiving: 'open' };
    this.#sendWindow = window;
    this.#peerWindow = window;
    return true;
  }

  /** Lets `count` bytes go before the peer grants them; what it grants first is that. */
  presumeWindow(count: number): void {
    if (this.#peerWindow > 0 || this.#presumedWindow > 0) return;
    this.#presumedWindow = count;
    this.#sendWindow += count;
  }

  get window(): number {
    return this.receiveWindow.size;
  }

  get stats(): ChannelStats {
    const { size, granted, adjustments, total } = this.receiveWindow;
    return {
      window: size,
      granted,
      adjustments,
      received: total,
      sent: this.#sent,
      peerWindow: this.#peerWindow,
      windowLimited: this.#windowLimited,
      windowWaits: this.#windowWaits,
    };
  }

  get #windowLimited(): boolean {
    return this.state.at === 'open' && this.#queued > 0 && this.#sendWindow === 0;
  }

  /** The peer's WINDOW_ADJUST. */
  adjust(count: number): void {
    const repaid = Math.min(count, this.#presumedWindow);
    if (this.#sendWindow + count - repaid > MAX_WINDOW) {
      throw protocolError(`WINDOW_ADJUST of ${count} bytes raises a channel window past 2^32-1`);
    }
    this.#presumedWindow -= repaid;
    this.#sendWindow += count - repaid;
    this.#peerWindow = Math.max(this.#peerWindow, this.#sendWindow);
  }

  /** Queues bytes; false when enough is queued. */
  queue(pieces: readonly Uint8Array[], kind: number): boolean {
    const waited = this.#windowLimited;
    for (const bytes of pieces) {
      if (bytes.length === 0) continue;
      this.#queue.push({ kind, bytes });
      this.#queued += bytes.length;
    }
    if (!waited && this.#windowLimited) this.#windowWaits++;
    if (this.#queued >= this.#mark || this.#pieces >= QUEUE_PIECES) this.#full = true;
    return !this.#full;
  }

  get #mark(): number {
    if (this.#peerWindow === 0) return QUEUE_MARK;
    return Math.min(QUEUE_MARK, Math.max(LEAST_MARK, 2 * this.#peerWindow));
  }

  /** Drops what is queued. */
  dropQueue(): void {
    this.#queue = [];
    this.#first = 0;
    this.#offset = 0;
    this.#queued = 0;
  }

  get #pieces(): number {
    return this.#queue.length - this.#first;
  }

  /** Bytes that are queued; what they are in is not needed once they have left. */
  get queued(): number {
    return this.#queued;
  }

  /** Whether a data packet could leave now. */
  get sendable(): boolean {
    return this.state.at === 'open' && this.#queued > 0 && this.#sendWindow > 0;
  }

  /** After `queue` returned false: true once, when what is queued has shrunk enough. */
  hasDrained(): boolean {
    if (!this.#full || this.#queued > this.#mark / 2 || this.#pieces > QUEUE_PIECES / 2) return false;
    this.#full = false;
    return true;
  }

  /**
   * The next CHANNEL_DATA or CHANNEL_EXTENDED_DATA as parts: as much of one kind as the window and the peer's maximum packet
   * allow, across as many queued pieces as it takes.
   */
  nextData(): readonly Uint8Array[] | undefined {
    if (this.state.at !== 'open' || !this.sendable) return undefined;
    const { remote, maxPacket } = this.state;
    const room = Math.min(this.#sendWindow, maxPacket);
    const kind = (this.#queue[this.#first] as Segment).kind;
    const parts: Uint8Array[] = [new Uint8Array(0)];
    let size = 0;
    while (size < room) {
      const segment = this.#queue[this.#first];
      if (segment === undefined || segment.kind !== kind) break;
      const piece = segment.bytes.subarray(this.#offset, this.#offset + room - size);
      parts.push(piece);
      size += piece.length;
      this.#advance(segment, piece.length);
    }
    this.#sendWindow -= size;
    this.#queued -= size;
    this.#sent += size;
    if (this.#windowLimited) this.#windowWaits++;
    parts[0] = kind === 0 ? channelDataHeader(remote, size) : channelExtendedDataHeader(remote, kind, size);
    return parts;
  }

  #advance(segment: Segment, count: number): void {
    this.#offset += count;
    if (this.#offset < segment.bytes.length) return;
    this.#offset = 0;
    this.#first++;
    if (this.#first === this.#queue.length) {
      this.#queue = [];
      this.#first = 0;
    } else if (this.#first >= 1024) {
      // sent segments must not stay reachable while the queue never runs empty
      this.#queue = this.#queue.slice(this.#first);
      this.#first = 0;
    }
  }
}

function otherNumber(number: number, presumed: number): string {
  return (
    `The server gave its first channel the number ${number}, where one with its identification is known to give ${presumed}: ` +
    'set quirks.firstChannel to undefined, or do without early'
  );
}
