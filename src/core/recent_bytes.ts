/** How many bytes passed in the last so many milliseconds: in slices, so that a burst counts as soon as it has come. */

/** What counts is that exact: of eight slices the one that goes on is not whole. */
const SLICES = 8;

export class RecentBytes {
  readonly #slices = new Float64Array(SLICES);
  #span = 0;
  /** The slice that goes on, counted from the start of time. */
  #slice = 0;
  #sum = 0;

  /** Counts bytes that pass at `now`; returns all of the last `span` milliseconds. A span that changes begins anew. */
  add(count: number, now: number, span: number): number {
    const slice = Math.floor((now * SLICES) / span);
    const passed = span === this.#span ? Math.min(SLICES, slice - this.#slice) : SLICES;
    for (let i = 1; i <= passed; i++) {
      const old = (slice - passed + i + SLICES) % SLICES;
      this.#sum -= this.#slices[old] as number;
      this.#slices[old] = 0;
    }
    this.#span = span;
    this.#slice = slice;
    const at = slice % SLICES;
    this.#slices[at] = (this.#slices[at] as number) + count;
    this.#sum += count;
    return this.#sum;
  }
}
