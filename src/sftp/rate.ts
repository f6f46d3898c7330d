/** How fast something goes now, from how far it has come. Knows time only as the values it is given. */

/** Milliseconds between two looks: the rate is that of the last one to two of them. */
const STEP = 500;

export class RateMeter {
  #before: { readonly at: number; readonly bytes: number };
  #last: { readonly at: number; readonly bytes: number };

  /** `at`: milliseconds. */
  constructor(at: number) {
    this.#before = { at, bytes: 0 };
    this.#last = this.#before;
  }

  /** Bytes a second, of the last half to whole second, when `bytes` in all have come by `at`; 0 before any time has passed. */
  rate(bytes: number, at: number): number {
    if (at - this.#last.at >= STEP) {
      this.#before = this.#last;
      this.#last = { at, bytes };
    }
    return perSecond(bytes - this.#before.bytes, at - this.#before.at);
  }
}

/** Bytes a second; 0 where no time has passed. */
export function perSecond(bytes: number, milliseconds: number): number {
  return milliseconds > 0 ? (bytes / milliseconds) * 1000 : 0;
}
