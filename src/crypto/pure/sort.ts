/** Sorting by a network: which values are compared, and that all are, depends on their number only. */

/** Sorts in place, ascending. Batcher's merge exchange (Knuth, TAOCP 3, §5.2.2, algorithm M), for any length. */
export function sortInt32(values: Int32Array): void {
  const n = values.length;
  let top = 1;
  while (top < n - top) top += top;
  for (let p = top; p > 0; p >>= 1) {
    let q = top;
    let r = 0;
    let d = p;
    for (;;) {
      for (let i = 0; i < n - d; i++) if ((i & p) === r) exchange(values, i, i + d);
      if (q === p) break;
      d = q - p;
      q >>= 1;
      r = p;
    }
  }
}

/** Puts the smaller of two values first, without a branch: the sign of b − a, with what an overflow does to it undone. */
function exchange(values: Int32Array, at: number, other: number): void {
  const a = values[at] as number;
  const b = values[other] as number;
  const difference = a ^ b;
  let sign = (b - a) | 0;
  sign ^= difference & (sign ^ b);
  const swap = (sign >> 31) & difference;
  values[at] = a ^ swap;
  values[other] = b ^ swap;
}
