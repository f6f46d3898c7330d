/**
 * How many bytes one READ asks for. Small requests cost work for each, large ones leave part of the window unused; and
 * some servers answer with less than is asked, whatever their limits say.
 */

import { DATA_HEADER } from './proto/packets.ts';

/** Every server takes this much (draft-ietf-secsh-filexfer-02 §3: packets of 34000 bytes). */
export const BASE_REQUEST: number = 32 * 1024;

/** Most that is asked for at once: what OpenSSH fits into its packets of 256 KiB. */
export const MAX_REQUEST: number = 255 * 1024;

/** Requests do not shrink below this: one tiny answer must not slow down the rest of a file. */
const MIN_REQUEST = 2048;

/** Short answers in a row that show a clamping server rather than an accident. */
const SHORT_STREAK = 4;

/** Full answers before a larger request is tried again; doubles each time the try fails. */
const GROW_AFTER = 64;
const MAX_GROW_AFTER = 4096;

export class RequestSize {
  readonly #max: () => number;
  /** The most that the server was seen to answer, once that is known to be less than is allowed. */
  #clamp: number = Number.POSITIVE_INFINITY;
  #asked = 0;
  #short = 0;
  #largestShort = 0;
  #full = 0;
  #growAfter = GROW_AFTER;
  #grown = false;

  /** `max`: most that the server's limits, or the caller, allow; the limits may come when the transfer has begun. */
  constructor(max: () => number) {
    this.#max = max;
  }

  /** The size for the next request when `window` bytes may be in flight, in `requests` requests at most. */
  next(window: number, requests: number): number {
    const share = Math.floor((window / requests - DATA_HEADER) / 4096) * 4096;
    this.#asked = Math.min(this.#clamp, this.#max(), Math.max(share, BASE_REQUEST));
    return this.#asked;
  }

  /** Learns from a DATA of `got` bytes to a request of `asked` bytes that did not reach the end of the file. */
  answered(asked: number, got: number): void {
    if (asked < this.#asked) return; // the rest of a short answer, or the last part of a file
    if (got < asked) this.#shortAnswer(got);
    else this.#fullAnswer();
  }

  #shortAnswer(got: number): void {
    this.#full = 0;
    this.#largestShort = Math.max(this.#largestShort, got);
    if (++this.#short < SHORT_STREAK) return;
    this.#clamp = Math.max(MIN_REQUEST, this.#largestShort);
    if (this.#grown) this.#growAfter = Math.min(2 * this.#growAfter, MAX_GROW_AFTER);
    this.#grown = false;
    this.#short = 0;
    this.#largestShort = 0;
  }

  #fullAnswer(): void {
    this.#short = 0;
    this.#largestShort = 0;
    const max = this.#max();
    if (this.#clamp >= max || ++this.#full < this.#growAfter) return;
    this.#clamp = Math.min(max, 2 * this.#clamp);
    this.#full = 0;
    this.#grown = true;
  }
}
