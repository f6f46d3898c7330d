/** A channel that a scripted client has opened at a server: it keeps what comes, and grants window as it is told. RFC 4254 §5. */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import { Reader } from '../../src/bytes/reader.ts';
import { channelDataHeader, connection, decodeChannelData } from '../../src/wire/connection.ts';
import { decode, encode } from '../../src/wire/message.ts';
import type { RawClient } from './serving.ts';

export interface RawChannelTerms {
  readonly kind?: string;
  readonly body?: Uint8Array;
  /** The client's number. Default: 5. */
  readonly id?: number;
  /** What the server may send at once. Default: 2 MiB. */
  readonly window?: number;
  readonly maxPacket?: number;
}

const none = new Uint8Array(0);

export class RawChannel {
  readonly raw: RawClient;
  readonly id: number;
  /** The server's number. */
  readonly server: number;
  /** What came, in order: `data`, `stderr`, `eof`, `exit-status 0`, `close`, and the names of other requests. */
  readonly told: string[] = [];
  /** What may still be sent. */
  sendWindow: number;
  readonly #out: Uint8Array[] = [];
  readonly #err: Uint8Array[] = [];

  private constructor(raw: RawClient, id: number, server: number, window: number) {
    this.raw = raw;
    this.id = id;
    this.server = server;
    this.sendWindow = window;
  }

  static async open(raw: RawClient, terms: RawChannelTerms = {}): Promise<RawChannel> {
    const { kind = 'session', body = none, id = 5, window, maxPacket } = terms;
    raw.client.open(kind, id, body, window, maxPacket);
    await raw.quiet();
    const confirmed = raw.client.take(connection.channelOpenConfirmation);
    assert.equal(confirmed.recipient, id);
    return new RawChannel(raw, id, confirmed.sender, confirmed.window);
  }

  /** Takes the server's next CHANNEL_OPEN and confirms it; also gives what the server said about it. */
  static async accept(raw: RawClient, id = 6): Promise<{ channel: RawChannel; kind: string; body: Uint8Array }> {
    await raw.quiet();
    const { kind, sender, window, body } = raw.client.take(connection.channelOpen);
    raw.client.send(
      encode(connection.channelOpenConfirmation, {
        recipient: sender,
        sender: id,
        window: 2 * 1024 * 1024,
        maxPacket: 32768,
        body: none,
      }),
    );
    await raw.quiet();
    return { channel: new RawChannel(raw, id, sender, window), kind, body };
  }

  get stdout(): Uint8Array {
    return concat(...this.#out);
  }

  get stderr(): Uint8Array {
    return concat(...this.#err);
  }

  /** Sends a request and waits for its answer, which must be what comes next beside data. */
  async request(name: string, body: Uint8Array = none): Promise<boolean> {
    this.raw.client.channelRequest(this.server, name, body, true);
    await this.raw.quiet();
    for (;;) {
      const payload = this.raw.client.poll();
      assert.ok(payload !== undefined, `an answer to ${name} must come`);
      const [number] = payload;
      if (number === connection.channelSuccess.number || number === connection.channelFailure.number) {
        await this.raw.quiet();
        return number === connection.channelSuccess.number;
      }
      this.read(payload);
    }
  }

  /** Sends a request that wants no answer. */
  notify(name: string, body: Uint8Array = none): void {
    this.raw.client.channelRequest(this.server, name, body, false);
  }

  write(data: Uint8Array): void {
    this.sendWindow -= data.length;
    this.raw.client.send(concat(channelDataHeader(this.server, data.length), data));
  }

  adjust(bytes: number): void {
    this.raw.client.send(encode(connection.channelWindowAdjust, { recipient: this.server, bytes }));
  }

  eof(): void {
    this.raw.client.send(encode(connection.channelEof, { recipient: this.server }));
  }

  close(): void {
    this.raw.client.send(encode(connection.channelClose, { recipient: this.server }));
  }

  /** Reads all that has come, once all is quiet. */
  async readAll(): Promise<void> {
    await this.raw.quiet();
    for (let payload = this.raw.client.poll(); payload !== undefined; payload = this.raw.client.poll()) {
      this.read(payload);
    }
  }

  /** Waits for the server's CLOSE and answers it. */
  async closed(): Promise<void> {
    await this.readAll();
    assert.equal(this.told.at(-1), 'close', `the server must have closed: ${this.told}`);
    this.close();
    await this.raw.quiet();
  }

  read(payload: Uint8Array): void {
    switch (payload[0]) {
      case connection.globalRequest.number: {
        // with the first data of a client the server measures how far it is; as most clients, this one refuses
        const { request, wantReply } = decode(connection.globalRequest, payload);
        assert.deepEqual([request, wantReply], ['keepalive@openssh.com', true]);
        this.raw.client.send(encode(connection.requestFailure, {}));
        return;
      }
      case connection.channelData.number:
      case connection.channelExtendedData.number: {
        const { recipient, kind, data } = decodeChannelData(payload);
        assert.equal(recipient, this.id);
        (kind === 0 ? this.#out : this.#err).push(data);
        this.told.push(kind === 0 ? 'data' : 'stderr');
        return;
      }
      case connection.channelWindowAdjust.number:
        this.sendWindow += decode(connection.channelWindowAdjust, payload).bytes;
        return;
      case connection.channelEof.number:
        this.told.push('eof');
        return;
      case connection.channelClose.number:
        this.told.push('close');
        return;
      case connection.channelRequest.number: {
        const { request, body, wantReply } = decode(connection.channelRequest, payload);
        assert.equal(wantReply, false, 'RFC 4254 §6.10: no answer is wanted');
        this.told.push(request === 'exit-status' ? `exit-status ${new Reader(body).u32()}` : request);
        return;
      }
      default:
        assert.fail(`message ${payload[0]} on a channel`);
    }
  }
}
