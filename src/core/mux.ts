/**
 * The connection protocol: channels, their requests, and global requests. RFC 4254. Role-neutral: what one side commands is the
 * event of the other. Decides nothing about what a request means.
 */

import { protocolError, SshError } from '../errors.ts';
import { connection, decodeChannelData } from '../wire/connection.ts';
import { decode, encode } from '../wire/message.ts';
import { OpenFailureReason } from '../wire/numbers.ts';
import { Channel, type ChannelState, type ChannelView } from './channel.ts';
import type { Context } from './events.ts';
import { GlobalRequests } from './global_requests.ts';
import type { Limits } from './limits.ts';
import { openFailure } from './open_failure.ts';
import type { RoundTrip } from './round_trip.ts';
import { type WindowConfig, WindowGrowth } from './window_growth.ts';

export interface MuxConfig extends WindowConfig {
  /** The most data bytes in one packet to us. */
  readonly maxPacket: number;
  readonly limits: Limits;
}

export interface MuxContext extends Pick<Context, 'send' | 'emit'> {
  readonly roundTrip: RoundTrip;
  /** Sends a request that measures the round trip. */
  measure(): void;
}

type OpenState = Extract<ChannelState, { at: 'open' }>;

export class Mux {
  readonly globals: GlobalRequests;
  readonly #config: MuxConfig;
  readonly #context: MuxContext;
  readonly #growth: WindowGrowth;
  readonly #channels = new Map<number, Channel>();
  /** Channels that have data and window, in the order in which they are served. */
  readonly #ready = new Set<Channel>();
  readonly #closing = new Set<Channel>();
  #nextRequest = 1;
  #used = false; // whether there has been a channel yet

  constructor(config: MuxConfig, context: MuxContext) {
    this.#config = config;
    this.#context = context;
    this.globals = new GlobalRequests(context, context.roundTrip);
    this.#growth = new WindowGrowth(config, context.roundTrip, () => context.measure());
  }

  /** How many channels there are, in whatever state. */
  get channels(): number {
    return this.#channels.size;
  }

  channel(id: number): ChannelView | undefined {
    return this.#channels.get(id);
  }

  // Commands

  /** Asks for a channel; returns its number. `presumed`: the peer's number for a first channel, which then counts as open. */
  open(kind: string, body: Uint8Array, presumed?: number): number {
    const isFirst = !this.#used;
    const channel = this.#create({ at: 'opening' });
    const { window, maxPacket } = this.#config;
    const payload = encode(connection.channelOpen, { kind, sender: channel.id, window, maxPacket, body });
    const probe = this.#context.roundTrip.watch(payload);
    channel.state = { at: 'opening', probe };
    this.#context.send(payload);
    if (presumed !== undefined && isFirst) {
      channel.presume(presumed, probe);
      this.#context.emit({ type: 'channel-opened', channel: channel.id });
    }
    return channel.id;
  }

  /** Confirms a channel that the peer asked for. */
  accept(id: number): void {
    const channel = this.#channels.get(id);
    if (channel?.state.at !== 'requested') return;
    const { remote: recipient, ...theirs } = channel.state;
    channel.confirm(recipient, theirs.window, theirs.maxPacket);
    const { window, maxPacket } = this.#config;
    const ours = { recipient, sender: id, window, maxPacket, body: new Uint8Array(0) };
    this.#context.send(encode(connection.channelOpenConfirmation, ours));
  }

  /** Refuses a channel that the peer asked for. */
  refuse(id: number, reason: number, description: string): void {
    const channel = this.#channels.get(id);
    if (channel?.state.at !== 'requested') return;
    this.#delete(channel);
    this.#sendOpenFailure(channel.state.remote, reason, description);
  }

  /** Queues bytes on a channel; false when enough is queued. The pieces are the channel's from now on. */
  write(id: number, pieces: readonly Uint8Array[], kind: number): boolean {
    const channel = this.#channels.get(id);
    if (channel?.state.at !== 'open' || channel.state.sending !== 'open') return true;
    const more = channel.queue(pieces, kind);
    if (channel.sendable) this.#ready.add(channel);
    return more;
  }

  /** Bytes that are queued on a channel. */
  queued(id: number): number {
    return this.#channels.get(id)?.queued ?? 0;
  }

  /** Sends EOF after what is queued. */
  end(id: number): void {
    const channel = this.#channels.get(id);
    if (channel?.state.at !== 'open' || channel.state.sending !== 'open') return;
    channel.state.sending = 'ending';
    this.#finishSending(channel, channel.state);
  }

  /** Sends CLOSE: after what is queued if `end` came before, unless all is to be abandoned; else at once. */
  close(id: number, abandon = false): void {
    const channel = this.#channels.get(id);
    if (channel?.state.at !== 'open' || channel.state.sending === 'closed') return;
    const { state } = channel;
    if (abandon || state.sending === 'open' || state.sending === 'ended') {
      this.#sendClose(channel, state);
    } else if (state.sending === 'ending') {
      state.sending = 'closing';
      this.#awaitPeer(channel);
    }
  }

  /** Sends EOF, a last request, and CLOSE, after what is queued, however long the peer takes for that. */
  finish(id: number, request: string, body: Uint8Array): void {
    const channel = this.#channels.get(id);
    if (channel?.state.at !== 'open') return;
    const { state } = channel;
    const { remote: recipient, sending } = state;
    if (sending === 'closing' || sending === 'closed') return;
    channel.lastRequest = encode(connection.channelRequest, { recipient, request, wantReply: false, body });
    if (sending === 'ended') {
      this.#context.send(channel.lastRequest);
      this.#sendClose(channel, state);
    } else {
      state.sending = 'closing';
      this.#finishSending(channel, state);
    }
  }

  /** Gives back received bytes; credit goes to the peer in sensible steps. */
  consumed(id: number, count: number): void {
    const channel = this.#channels.get(id);
    if (channel?.state.at !== 'open') return;
    const { state } = channel;
    if (state.receiving !== 'open' || state.sending === 'closed') return;
    const bytes = this.#growth.consumed(channel.receiveWindow, count);
    if (bytes > 0) this.#context.send(encode(connection.channelWindowAdjust, { recipient: state.remote, bytes }));
  }

  /** Sends a request on a channel; returns the id of the reply. `ahead`: bytes of data that may follow before the peer grants any. */
  request(id: number, request: string, body: Uint8Array, wantReply: boolean, ahead = 0): number {
    const number = this.#nextRequest++;
    const channel = this.#channels.get(id);
    if (channel?.state.at !== 'open' || channel.state.sending === 'closed') return number;
    const payload = encode(connection.channelRequest, { recipient: channel.state.remote, request, wantReply, body });
    if (wantReply) channel.replies.push({ id: number, probe: this.#context.roundTrip.watch(payload) });
    this.#context.send(payload);
    if (ahead > 0) channel.presumeWindow(ahead);
    return number;
  }

  /** Answers the peer's oldest request that wanted a reply. */
  reply(id: number, ok: boolean): void {
    const channel = this.#channels.get(id);
    if (channel?.state.at !== 'open' || channel.state.sending === 'closed') return;
    const row = ok ? connection.channelSuccess : connection.channelFailure;
    this.#context.send(encode(row, { recipient: channel.state.remote }));
  }

  // Output

  /** The next data packet, one channel after the other, as parts. */
  bulk(): readonly Uint8Array[] | undefined {
    for (const channel of this.#ready) {
      this.#ready.delete(channel);
      const parts = channel.nextData();
      if (parts === undefined) continue;
      if (channel.sendable) this.#ready.add(channel);
      if (channel.hasDrained()) this.#context.emit({ type: 'channel-drain', channel: channel.id });
      if (channel.state.at === 'open') {
        if (channel.state.sending === 'closing') channel.closeTimer.start();
        this.#finishSending(channel, channel.state);
      }
      return parts;
    }
    return undefined;
  }

  /** When `tick` has to be called. */
  dueAt(now: number): number {
    let due = Number.POSITIVE_INFINITY;
    for (const channel of this.#closing) due = Math.min(due, channel.closeTimer.dueAt(now) ?? due);
    return due;
  }

  /**
   * Lets go of channels whose peer never answers CLOSE; their numbers stay reserved. One that takes nothing of what comes
   * before our CLOSE gets it without that.
   */
  tick(now: number): void {
    for (const channel of this.#closing) {
      if (!channel.closeTimer.expired(now)) continue;
      if (channel.state.at === 'open' && channel.state.sending === 'closing') this.#sendClose(channel, channel.state);
      else this.#release(channel);
    }
  }

  // Input

  /** A message that the phase table let through: 80–100. `exclusive`: nothing else is in its memory. */
  receive(payload: Uint8Array, exclusive = false): void {
    const number = payload[0] as number;
    switch (number) {
      case connection.channelData.number:
      case connection.channelExtendedData.number:
        this.#data(payload, exclusive);
        return;
      case connection.channelWindowAdjust.number:
        this.#adjusted(payload);
        return;
      case connection.channelOpen.number:
        this.#openRequested(payload);
        return;
      default:
        if (!this.globals.receive(number, payload)) this.#channelMessage(number, payload);
    }
  }

  #channelMessage(number: number, payload: Uint8Array): void {
    switch (number) {
      case connection.channelOpenConfirmation.number:
        this.#confirmed(payload);
        return;
      case connection.channelOpenFailure.number:
        this.#refused(payload);
        return;
      case connection.channelEof.number:
        this.#eof(decode(connection.channelEof, payload).recipient);
        return;
      case connection.channelClose.number:
        this.#closed(decode(connection.channelClose, payload).recipient);
        return;
      case connection.channelRequest.number: {
        const { recipient, request, wantReply, body } = decode(connection.channelRequest, payload);
        const { channel, state } = this.#opened(recipient, 'CHANNEL_REQUEST');
        if (state.sending === 'closed') return;
        this.#context.emit({ type: 'channel-request', channel: channel.id, request, wantReply, body });
        return;
      }
      default: {
        const ok = number === connection.channelSuccess.number;
        const { recipient } = decode(ok ? connection.channelSuccess : connection.channelFailure, payload);
        const { channel } = this.#opened(recipient, ok ? 'CHANNEL_SUCCESS' : 'CHANNEL_FAILURE');
        const pending = channel.replies.shift();
        // some servers answer requests that wanted no reply
        if (pending === undefined || channel.released) return;
        this.#context.roundTrip.replied(pending.probe);
        this.#context.emit({ type: 'channel-reply', channel: channel.id, id: pending.id, ok });
      }
    }
  }

  #opened(id: number, what: string): { channel: Channel; state: OpenState } {
    const channel = this.#channels.get(id);
    if (channel?.state.at !== 'open') {
      throw protocolError(`${what} for channel ${id}, which is not open`);
    }
    return { channel, state: channel.state };
  }

  #data(payload: Uint8Array, exclusive: boolean): void {
    const { recipient, kind, data } = decodeChannelData(payload);
    const { channel, state } = this.#opened(recipient, 'Data');
    if (state.receiving === 'eof') throw protocolError(`Data for channel ${recipient} after its EOF`);
    channel.receiveWindow.received(data.length);
    // once CLOSE is out nobody reads any more, and no credit can be given
    if (state.sending === 'closed' || data.length === 0) return;
    this.#context.emit({ type: 'channel-data', channel: recipient, kind, data, exclusive });
  }

  #adjusted(payload: Uint8Array): void {
    const { recipient, bytes } = decode(connection.channelWindowAdjust, payload);
    const { channel } = this.#opened(recipient, 'CHANNEL_WINDOW_ADJUST');
    channel.adjust(bytes);
    if (channel.sendable) this.#ready.add(channel);
  }

  #confirmed(payload: Uint8Array): void {
    const { recipient, sender, window, maxPacket } = decode(connection.channelOpenConfirmation, payload);
    const channel = this.#awaited(recipient, 'CHANNEL_OPEN_CONFIRMATION');
    if (channel.confirm(sender, window, maxPacket)) this.#context.emit({ type: 'channel-opened', channel: recipient });
    if (channel.sendable) this.#ready.add(channel);
  }

  #refused(payload: Uint8Array): void {
    const { recipient, reason, description } = decode(connection.channelOpenFailure, payload);
    const channel = this.#awaited(recipient, 'CHANNEL_OPEN_FAILURE');
    this.#delete(channel);
    this.#ready.delete(channel);
    this.#closing.delete(channel);
    this.#context.emit({ type: 'channel-refused', channel: recipient, error: openFailure(reason, description) });
  }

  #awaited(id: number, what: string): Channel {
    const channel = this.#channels.get(id);
    const opening = channel?.opening;
    if (channel === undefined || opening === undefined) {
      throw protocolError(`${what} for channel ${id}, which is not being opened`);
    }
    if (opening.probe !== undefined) this.#context.roundTrip.replied(opening.probe);
    return channel;
  }

  #openRequested(payload: Uint8Array): void {
    const { kind, sender, window, maxPacket, body } = decode(connection.channelOpen, payload);
    if (this.#channels.size >= this.#config.limits.channels) {
      this.#sendOpenFailure(sender, OpenFailureReason.resourceShortage, 'too many channels');
      return;
    }
    const channel = this.#create({ at: 'requested', remote: sender, window, maxPacket });
    this.#context.emit({ type: 'channel-open-request', channel: channel.id, kind, body });
  }

  #eof(id: number): void {
    const { channel, state } = this.#opened(id, 'CHANNEL_EOF');
    if (state.receiving === 'eof') return;
    state.receiving = 'eof';
    if (state.sending !== 'closed') this.#context.emit({ type: 'channel-eof', channel: channel.id });
  }

  #closed(id: number): void {
    const { channel, state } = this.#opened(id, 'CHANNEL_CLOSE');
    if (state.sending !== 'closed') this.#sendClose(channel, state);
    this.#delete(channel);
    this.#release(channel);
  }

  #create(state: ChannelState): Channel {
    const { limits, window } = this.#config;
    if (this.#channels.size >= limits.channels) {
      throw new SshError('limit', `${limits.channels} channels are in use: close one first`);
    }
    let id = 0;
    while (this.#channels.has(id)) id++;
    const channel = new Channel(id, state, window, limits.channelCloseTime);
    this.#channels.set(id, channel);
    this.#used = true;
    return channel;
  }

  /** Frees its number, and what its window has grown by. */
  #delete(channel: Channel): void {
    this.#channels.delete(channel.id);
    this.#growth.ended(channel.receiveWindow);
  }

  #sendOpenFailure(recipient: number, reason: number, description: string): void {
    this.#context.send(encode(connection.channelOpenFailure, { recipient, reason, description, language: '' }));
  }

  /** Sends the EOF and CLOSE that waited for the queue to run empty. */
  #finishSending(channel: Channel, state: OpenState): void {
    if (channel.queued > 0 || (state.sending !== 'ending' && state.sending !== 'closing')) return;
    const close = state.sending === 'closing';
    state.sending = 'ended';
    this.#context.send(encode(connection.channelEof, { recipient: state.remote }));
    if (channel.lastRequest !== undefined) this.#context.send(channel.lastRequest);
    if (close) this.#sendClose(channel, state);
  }

  #sendClose(channel: Channel, state: OpenState): void {
    channel.dropQueue();
    this.#ready.delete(channel);
    state.sending = 'closed';
    this.#context.send(encode(connection.channelClose, { recipient: state.remote }));
    this.#awaitPeer(channel);
  }

  /** From here on the peer's CLOSE, or progress towards ours, is due. */
  #awaitPeer(channel: Channel): void {
    channel.closeTimer.start();
    this.#closing.add(channel);
  }

  #release(channel: Channel): void {
    this.#closing.delete(channel);
    if (channel.released) return;
    channel.released = true;
    this.#context.emit({ type: 'channel-closed', channel: channel.id });
  }
}
