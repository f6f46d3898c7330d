/** A mux by itself, for tests: what it sends and tells is kept, and messages for it are typed as hex. */

import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import type { Event } from '../../src/core/events.ts';
import { defaultLimits, type Limits } from '../../src/core/limits.ts';
import { Mux } from '../../src/core/mux.ts';
import { RoundTrip } from '../../src/core/round_trip.ts';

/** What a side grants the peer, if nothing else is said. */
const WINDOW = 65536;

export const none: Uint8Array = new Uint8Array(0);

/** A mux that keeps what it sends and its events. */
export class Side {
  readonly mux: Mux;
  readonly roundTrip: RoundTrip = new RoundTrip();
  /** How often the mux asked for a measurement. */
  measured = 0;
  sent: Uint8Array[] = [];
  events: Event[] = [];

  constructor(limits: Partial<Limits> = {}, window: number = WINDOW, maxWindow: number = window) {
    this.mux = new Mux(
      { window, maxWindow, maxPacket: 32768, limits: { ...defaultLimits, ...limits } },
      {
        send: (payload) => void this.sent.push(payload),
        emit: (event) => void this.events.push(event),
        roundTrip: this.roundTrip,
        measure: () => void this.measured++,
      },
    );
  }

  /** What was sent since the last call, as hex. */
  takeSent(): string[] {
    const sent = this.sent.map(hex);
    this.sent = [];
    return sent;
  }

  takeEvents(): Event[] {
    const { events } = this;
    this.events = [];
    return events;
  }

  /** The data packets that may leave now. */
  takeBulk(): string[] {
    const packets: string[] = [];
    for (let parts = this.mux.bulk(); parts !== undefined; parts = this.mux.bulk()) packets.push(hex(concat(...parts)));
    return packets;
  }

  /** Receives a payload given as hex; blanks are for the eye. */
  receive(payload: string): void {
    this.mux.receive(fromHex(payload));
  }
}

/** A side with channel 0 open, which the peer calls 9; the peer takes `window` bytes, `maxPacket` at once. */
export function opened(window = '00010000', maxPacket = '00008000'): Side {
  const side = new Side();
  side.mux.open('session', none);
  side.receive(`5b 00000000 00000009 ${window} ${maxPacket}`);
  side.takeSent();
  side.takeEvents();
  return side;
}

/** The types of events. */
export const types = (events: readonly Event[]): string[] => events.map(({ type }) => type);

/** CHANNEL_DATA for channel 0, of bytes given as hex. */
export const data = (bytes: string): string =>
  `5e 00000000 ${(bytes.length / 2).toString(16).padStart(8, '0')} ${bytes}`;

/** CHANNEL_EOF and CHANNEL_CLOSE to the peer's channel 9. */
export const EOF = '6000000009';
export const CLOSE = '6100000009';
