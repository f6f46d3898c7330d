/**
 * One channel on the scripted peer's side, RFC 4254 §5: it keeps the window and maximum packet in both directions and fails
 * the test when the client goes past them.
 */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import {
  channelDataHeader,
  channelExtendedDataHeader,
  connection,
  decodeChannelData,
} from '../../src/wire/connection.ts';
import { decode, encode } from '../../src/wire/message.ts';
import type { ScriptedPeer } from './scripted_peer.ts';

export interface ChannelTerms {
  /** The peer's number for the channel. Default: 40 and up. */
  readonly id?: number;
  /** What the client may send at once. Default: 2 MiB. */
  readonly window?: number;
  readonly maxPacket?: number;
}

export class PeerChannel {
  readonly peer: ScriptedPeer;
  readonly id: number;
  /** The client's number. */
  readonly client: number;
  readonly kind: string;
  /** The client's maximum packet. */
  readonly maxPacket: number;
  /** The client's window when the channel was opened. */
  readonly initialWindow: number;
  /** What we may send. */
  sendWindow: number;
  /** What the client may send. */
  window: number;
  /** Data from the client. */
  readonly data: Uint8Array[] = [];
  bytes = 0;
  /** Whether the client has sent EOF. */
  ended = false;
  /** WINDOW_ADJUST figures, in order. */
  readonly adjustments: number[] = [];
  readonly #limit: number;

  /** Takes the client's next CHANNEL_OPEN and confirms it. */
  constructor(peer: ScriptedPeer, terms: ChannelTerms = {}) {
    this.peer = peer;
    const open = peer.take(connection.channelOpen);
    this.id = terms.id ?? 40 + open.sender;
    this.client = open.sender;
    this.kind = open.kind;
    this.maxPacket = open.maxPacket;
    this.initialWindow = open.window;
    this.sendWindow = open.window;
    this.window = terms.window ?? 2 * 1024 * 1024;
    this.#limit = terms.maxPacket ?? 32768;
    peer.send(
      encode(connection.channelOpenConfirmation, {
        recipient: open.sender,
        sender: this.id,
        window: this.window,
        maxPacket: this.#limit,
        body: new Uint8Array(0),
      }),
    );
    peer.pump();
  }

  // Sending

  /** Sends data without regard to the window. */
  push(data: Uint8Array, kind = 0): void {
    const header =
      kind === 0
        ? channelDataHeader(this.client, data.length)
        : channelExtendedDataHeader(this.client, kind, data.length);
    this.sendWindow -= data.length;
    this.peer.send(concat(header, data));
  }

  /** Sends data in packets of the client's size, waiting for window; fails when the client gives none. */
  write(data: Uint8Array, kind = 0): void {
    for (let at = 0; at < data.length; ) {
      if (this.sendWindow <= 0) this.readAll();
      assert.ok(this.sendWindow > 0, `the client must give window again; ${data.length - at} bytes are left`);
      const piece = data.subarray(at, at + Math.min(this.sendWindow, this.maxPacket));
      this.push(piece, kind);
      at += piece.length;
    }
    this.peer.pump();
  }

  eof(): void {
    this.peer.send(encode(connection.channelEof, { recipient: this.client }));
  }

  close(): void {
    this.peer.send(encode(connection.channelClose, { recipient: this.client }));
  }

  request(request: string, body: Uint8Array, wantReply: boolean): void {
    this.peer.send(encode(connection.channelRequest, { recipient: this.client, request, wantReply, body }));
  }

  exitStatus(status: number): void {
    this.request('exit-status', Uint8Array.of(0, 0, 0, status), false);
  }

  success(): void {
    this.peer.send(encode(connection.channelSuccess, { recipient: this.client }));
  }

  failure(): void {
    this.peer.send(encode(connection.channelFailure, { recipient: this.client }));
  }

  /** Grants the client more window. */
  adjust(bytes: number): void {
    this.window += bytes;
    this.peer.send(encode(connection.channelWindowAdjust, { recipient: this.client, bytes }));
  }

  // Reading

  /** Takes the client's next request on this channel. */
  takeRequest(): { request: string; wantReply: boolean; body: Uint8Array } {
    const message = this.peer.take(connection.channelRequest);
    assert.equal(message.recipient, this.id);
    return message;
  }

  /** Reads data, window adjustments and EOF until the client is quiet; anything else fails. */
  readAll(): void {
    for (;;) {
      const payload = this.peer.poll();
      if (payload === undefined) return;
      this.read(payload);
    }
  }

  /** One payload: CHANNEL_DATA, within what was granted; WINDOW_ADJUST, within uint32; or one EOF, after all data. */
  read(payload: Uint8Array): void {
    const number = payload[0] as number;
    if (number === connection.channelWindowAdjust.number) {
      const { recipient, bytes } = decode(connection.channelWindowAdjust, payload);
      assert.equal(recipient, this.id);
      this.adjustments.push(bytes);
      this.sendWindow += bytes;
      assert.ok(this.sendWindow <= 0xffffffff, 'RFC 4254 §5.2: the window stays a uint32');
      return;
    }
    assert.equal(this.ended, false, 'nothing but window comes after EOF');
    if (number === connection.channelEof.number) {
      assert.equal(decode(connection.channelEof, payload).recipient, this.id);
      this.ended = true;
      return;
    }
    assert.equal(number, connection.channelData.number, 'what the client sends on the channel');
    const { recipient, data } = decodeChannelData(payload);
    assert.equal(recipient, this.id);
    assert.ok(data.length <= this.#limit, `data of ${data.length} bytes where packets hold ${this.#limit}`);
    assert.ok(data.length <= this.window, `data of ${data.length} bytes into a window of ${this.window}`);
    this.window -= data.length;
    this.data.push(data);
    this.bytes += data.length;
  }
}
