/**
 * One of the channels that an upload goes over: the handle there and the WRITEs that are pending on it. What is sent next,
 * and what has been acknowledged in all, its owner knows.
 */

import type { SshError } from '../errors.ts';
import type { Link } from './link.ts';
import type { OpenHandle } from './operations.ts';
import { packets } from './proto/packets.ts';
import type { ReplyHandler } from './proto/requester.ts';
import type { Pump } from './pump.ts';

/** The upload. */
export interface LaneOwner {
  /** Sends the next WRITE on `lane`; false: there is none to send now. */
  feed(lane: WriteLane): boolean;
  /** `lane` can do no more for now. */
  rested(lane: WriteLane): void;
  /** The answer to one WRITE. */
  answered(sent: SentWrite, code: number, message: string): void;
  /** One WRITE will never be answered: `laneLost` follows. */
  unanswered(sent: SentWrite): void;
  /** The channel of `lane` has ended. */
  laneLost(lane: WriteLane, cause: SshError): void;
}

/** A pending WRITE. */
export class SentWrite implements ReplyHandler {
  readonly expects: number = packets.status.number;
  readonly position: number;
  readonly length: number;
  readonly #lane: WriteLane;

  constructor(lane: WriteLane, position: number, length: number) {
    this.#lane = lane;
    this.position = position;
    this.length = length;
  }

  status(code: number, message: string): void {
    const lane = this.#lane;
    lane.settled(this.length);
    lane.heardAt = lane.link.heardAt;
    lane.owner.answered(this, code, message);
    lane.link.wake(lane);
  }

  failed(): void {
    this.#lane.settled(this.length);
    this.#lane.owner.unanswered(this);
  }
}

export class WriteLane implements Pump {
  readonly owner: LaneOwner;
  readonly file: OpenHandle;
  readonly #requestSize: () => number;
  readonly #requests: number;
  /** WRITEs without an answer, and the bytes in them. */
  pending = 0;
  inFlight = 0;
  /** When a WRITE was last answered, or the first of those that are pending was sent. */
  heardAt = 0;
  /** The lowest position that was sent here. */
  first: number = Number.POSITIVE_INFINITY;
  /** `closing`: all is acknowledged, and CLOSE is on its way. */
  state: 'open' | 'closing' = 'open';

  /** `requests`: most WRITEs that may be pending. */
  constructor(owner: LaneOwner, file: OpenHandle, requests: number, requestSize: () => number) {
    this.owner = owner;
    this.file = file;
    this.#requests = requests;
    this.#requestSize = requestSize;
  }

  /** Most bytes in one WRITE, as of now: the server's limits may come when the transfer has begun. */
  get requestSize(): number {
    return this.#requestSize();
  }

  get link(): Link {
    return this.file.link;
  }

  /** Takes part from now on. */
  start(): void {
    this.link.turn(() => {
      this.link.attach(this);
      this.link.wake(this);
    });
  }

  /** Has the lane do what it can now. */
  nudge(): void {
    this.link.turn(() => this.link.wake(this));
  }

  run(): void {
    while (this.state === 'open' && this.pending < this.#requests && !this.link.full && this.owner.feed(this));
    this.owner.rested(this);
  }

  /** Sends a WRITE; only from `feed`. */
  write(position: number, length: number, pieces: readonly Uint8Array[]): void {
    if (this.pending === 0) this.heardAt = this.link.clock.now();
    this.pending++;
    this.inFlight += length;
    this.first = Math.min(this.first, position);
    this.link.write(this.file.handle, position, length, pieces, new SentWrite(this, position, length));
  }

  /** A WRITE of `length` bytes is not pending any more. */
  settled(length: number): void {
    this.pending--;
    this.inFlight -= length;
  }

  lost(cause: SshError): void {
    this.owner.laneLost(this, cause);
  }
}
