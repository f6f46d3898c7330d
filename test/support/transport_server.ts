/**
 * A server that is `core/transport.ts` in its other role, with as little above it as a client needs: it grants the service, takes
 * any login, confirms a channel and sends back what comes on it. Its phase table watches what the client sends.
 */

import assert from 'node:assert/strict';
import { copy } from '../../src/bytes/bytes.ts';
import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import type { RekeyLimits } from '../../src/core/rekey.ts';
import { Transport } from '../../src/core/transport.ts';
import type { RandomSource } from '../../src/crypto/provider.ts';
import type { SshError } from '../../src/errors.ts';
import { channelDataHeader, connection, decodeChannelData } from '../../src/wire/connection.ts';
import { decode, encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { userauth } from '../../src/wire/userauth.ts';
import { memoCrypto } from './memo_crypto.ts';
import { ed25519Signer } from './scripted_peer.ts';

export interface TransportServerOptions {
  readonly random: RandomSource;
  readonly rekey: RekeyLimits;
  readonly extensions?: ReadonlyMap<string, string>;
}

export class TransportServer {
  readonly transport: Transport;
  /** Key exchanges that ended. */
  exchanges = 0;
  /** What the client sent on the channel. */
  bytes = 0;
  disconnected: SshError | undefined;
  #phase: 'service' | 'auth' | 'open' = 'service';
  #echo: (readonly Uint8Array[])[] = [];
  #window = 0;

  constructor(options: TransportServerOptions) {
    const unexpected = (): never => assert.fail('nothing waits here');
    this.transport = new Transport(
      {
        role: 'server',
        crypto: memoCrypto,
        random: options.random,
        algorithms: { ...chooseAlgorithms(memoCrypto), hostKeys: ['ssh-ed25519'] },
        limits: defaultLimits,
        hostKeys: [ed25519Signer(memoCrypto, 7)],
        software: 'transport_1.0',
        rekey: options.rekey,
        extensions: options.extensions ?? new Map(),
      },
      {
        phase: () => this.#phase,
        payload: (payload) => this.#payload(payload),
        extInfo: () => {},
        ready: () => {},
        left: () => {},
        unimplemented: () => {},
        bulk: () => this.#nextEcho(),
        disconnected: (error) => {
          this.disconnected = error;
        },
        emit: (event) => {
          if (event.type === 'keys') this.exchanges++;
        },
        ask: unexpected,
        settle: (value, then) => (value instanceof Promise ? unexpected() : then(value)),
      },
    );
    this.transport.start();
  }

  receive(bytes: Uint8Array): void {
    this.transport.push(bytes);
    while (this.transport.step());
  }

  #payload(payload: Uint8Array): void {
    switch (payload[0]) {
      case transport.serviceRequest.number:
        this.#phase = 'auth';
        this.transport.send(encode(transport.serviceAccept, decode(transport.serviceRequest, payload)));
        return;
      case userauth.request.number:
        this.#phase = 'open';
        this.transport.send(encode(userauth.success, {}));
        return;
      case connection.channelOpen.number: {
        const { sender, window } = decode(connection.channelOpen, payload);
        this.#window = window;
        const answer = { recipient: sender, sender: 5, window: 2 ** 31, maxPacket: 32768, body: new Uint8Array(0) };
        this.transport.send(encode(connection.channelOpenConfirmation, answer));
        return;
      }
      case connection.channelWindowAdjust.number:
        this.#window += decode(connection.channelWindowAdjust, payload).bytes;
        return;
      case connection.channelData.number: {
        const data = copy(decodeChannelData(payload).data);
        this.bytes += data.length;
        this.#echo.push([channelDataHeader(0, data.length), data]);
        return;
      }
      default:
        assert.fail(`message ${payload[0]} was not expected`);
    }
  }

  #nextEcho(): readonly Uint8Array[] | undefined {
    const size = this.#echo[0]?.[1]?.length ?? Number.POSITIVE_INFINITY;
    if (size > this.#window) return undefined;
    this.#window -= size;
    return this.#echo.shift();
  }
}
