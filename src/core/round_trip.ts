/**
 * Round trips of a connection: from a request of ours leaving to its reply coming. Any request that is answered at once will
 * do: SERVICE_REQUEST, CHANNEL_OPEN, CHANNEL_REQUEST and GLOBAL_REQUEST. Only the smallest says how long the line is, since a
 * reply may queue behind data, or a server take its time. Knows no clock: where the driver tells no time, nothing is measured.
 */

export interface RoundTripStats {
  /** The smallest round trip seen and the latest, in milliseconds, once one was measured. */
  readonly roundTrip?: number;
  readonly latestRoundTrip?: number;
}

/** A request whose reply will tell a round trip. */
export class Probe {
  /** The request, until it has left. */
  payload: Uint8Array | undefined;
  leftAt: number | undefined;

  constructor(payload: Uint8Array) {
    this.payload = payload;
  }
}

export class RoundTrip {
  /** Milliseconds on the driver's clock, as of its last call that told them. */
  now: number | undefined;
  #smallest: number | undefined;
  #latest: number | undefined;
  /** Requests that wait to leave, in the order in which they will. */
  #leaving: Probe[] = [];

  /** The smallest that was seen, in milliseconds; `undefined` before any was. */
  get smallest(): number | undefined {
    return this.#smallest;
  }

  get stats(): RoundTripStats {
    if (this.#smallest === undefined || this.#latest === undefined) return {};
    return { roundTrip: this.#smallest, latestRoundTrip: this.#latest };
  }

  /** Watches for `payload`, a request that has just been queued. */
  watch(payload: Uint8Array): Probe {
    const probe = new Probe(payload);
    this.#leaving.push(probe);
    return probe;
  }

  /** A payload leaves now. */
  left(payload: Uint8Array): void {
    if (this.#leaving.length === 0) return;
    const at = this.#leaving.findIndex((each) => each.payload === payload);
    const probe = this.#leaving[at];
    if (probe === undefined) return;
    // what was queued before it and has not left never will
    this.#leaving.splice(0, at + 1);
    probe.payload = undefined;
    probe.leftAt = this.now;
  }

  /** The reply came. */
  replied(probe: Probe): void {
    if (probe.leftAt === undefined || this.now === undefined) return;
    const time = this.now - probe.leftAt;
    probe.leftAt = undefined;
    this.#latest = time;
    if (this.#smallest === undefined || time < this.#smallest) this.#smallest = time;
  }

  /** Nothing leaves any more. */
  end(): void {
    this.#leaving = [];
  }
}
