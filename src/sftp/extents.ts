/** Which parts of a file are there, when they come in any order. */

export class Extents {
  /** Starts and ends of the parts, ascending, no two of them touching: [start, end, start, end, …]. */
  readonly #marks: number[] = [];

  /** Adds the bytes from `start` up to `end`. */
  add(start: number, end: number): void {
    if (end <= start) return;
    const marks = this.#marks;
    const last = marks.length - 1;
    if (last >= 0 && marks[last] === start) {
      marks[last] = end; // the usual case: in order
      return;
    }
    let from = 0;
    while (from < marks.length && (marks[from + 1] as number) < start) from += 2;
    let to = from;
    let low = start;
    let high = end;
    while (to < marks.length && (marks[to] as number) <= end) {
      low = Math.min(low, marks[to] as number);
      high = Math.max(high, marks[to + 1] as number);
      to += 2;
    }
    marks.splice(from, to - from, low, high);
  }

  /** Where the bytes that are there from `start` on without a gap end. */
  contiguousFrom(start: number): number {
    const marks = this.#marks;
    for (let i = 0; i < marks.length; i += 2) {
      if ((marks[i] as number) <= start && start <= (marks[i + 1] as number)) return marks[i + 1] as number;
    }
    return start;
  }
}
