/**
 * Polynomials of Streamlined NTRU Prime, sntrup761 (NTRU Prime round 3 specification of 2020-10-07, §3): Z[x]/(x^761 − x − 1) modulo 3
 * and modulo 4591. Coefficients are centred: −1…1 and −2295…2295. No branch and no index here depends on a secret, and nothing is
 * divided: a remainder is what is left of a multiplication with the inverse.
 */

/** The degree of the modulus, and so the number of coefficients. */
export const P = 761;
/** The modulus of public keys and ciphertexts. */
export const Q = 4591;
/** How many coefficients of a short polynomial are not zero. */
export const W = 286;
/** The largest centred coefficient modulo q. */
export const HALF_Q: number = (Q - 1) / 2;

/** Coefficients, the constant one first. */
export type Poly = Int32Array<ArrayBuffer>;

export const newPoly = (): Poly => new Int32Array(P);

/** `x` modulo 3, centred; |x| ≤ 16,383. 10923 / 2^15 is 1/3 and a little more. */
export function mod3(x: number): number {
  return x - Math.imul(3, (Math.imul(10923, x) + 16384) >> 15);
}

/** `x` modulo q, centred; |x| ≤ 36,000,000. 57 / 2^18 is nearly 1/q, 29235 / 2^27 nearer. */
export function modQ(x: number): number {
  const y = x - Math.imul(Q, Math.imul(57, x) >> 18);
  return y - Math.imul(Q, (Math.imul(29235, y) + 67108864) >> 27);
}

/** −1 for what is not zero, else 0; |x| < 2^31. */
export function nonZeroMask(x: number): number {
  return (x | -x) >> 31;
}

/** −1 for what is negative, else 0. */
const negativeMask = (x: number): number => x >> 31;

/** f · g, reduced by `mod`. One factor is small: sums stay below 761 · 2 · 2295 · 2 and so far below 2^31. */
export function multiply(f: Poly, g: Poly, mod: (x: number) => number): Poly {
  const product = new Int32Array(2 * P - 1);
  for (let i = 0; i < P; i++) {
    const factor = f[i] as number;
    for (let j = 0; j < P; j++) product[i + j] = (product[i + j] as number) + factor * (g[j] as number);
  }
  // x^p = x + 1
  for (let i = 2 * P - 2; i >= P; i--) {
    const high = product[i] as number;
    product[i - P] = (product[i - P] as number) + high;
    product[i - P + 1] = (product[i - P + 1] as number) + high;
  }
  const result = newPoly();
  for (let i = 0; i < P; i++) result[i] = mod(product[i] as number);
  return result;
}

/** The inverse of a non-zero scalar modulo q, by Fermat: a^(q−2). The exponent is public. */
function scalarInverse(a: number): number {
  let power = a;
  let result = 1;
  for (let rest = Q - 2; rest > 0; rest >>= 1) {
    if ((rest & 1) === 1) result = modQ(result * power);
    power = modQ(power * power);
  }
  return result;
}

/** A field as numbers, so that one loop serves both and is compiled well: x − m ⌊a x / 2^s⌋ = y, then y − m ⌊(b y + c) / 2^t⌋. */
interface Field {
  readonly m: number;
  readonly a: number;
  readonly s: number;
  readonly b: number;
  readonly c: number;
  readonly t: number;
}

const F3: Field = { m: 3, a: 0, s: 0, b: 10923, c: 16384, t: 15 };
const FQ: Field = { m: Q, a: 57, s: 18, b: 29235, c: 67108864, t: 27 };

/** Exchanges f and h if `swap` is −1; then h becomes f0 h − h0 f. */
function combine(f: Poly, h: Poly, swap: number, f0: number, h0: number, { m, a, s, b, c, t }: Field): void {
  for (let i = 0; i <= P; i++) {
    const changed = swap & ((f[i] as number) ^ (h[i] as number));
    const fi = (f[i] as number) ^ changed;
    const x = Math.imul(f0, (h[i] as number) ^ changed) - Math.imul(h0, fi);
    const y = x - Math.imul(m, Math.imul(a, x) >> s);
    f[i] = fi;
    h[i] = y - Math.imul(m, (Math.imul(b, y) + c) >> t);
  }
}

/**
 * g^(−1) times a scalar, by 2p − 1 division steps (Bernstein, Yang, "Fast constant-time gcd computation and modular inversion", 2019,
 * §6): `scaled` · g = `scale`. `invertible` is −1 if g has an inverse, else 0.
 */
function divide(g: Poly, first: number, field: Field): { scaled: Poly; scale: number; invertible: number } {
  // f is the modulus and h the polynomial, both with the leading coefficient first; v and r are the cofactors
  const [f, h, v, r] = [0, 0, 0, 0].map(() => new Int32Array(P + 1)) as [Poly, Poly, Poly, Poly];
  f[0] = 1;
  f[P - 1] = -1;
  f[P] = -1;
  for (let i = 0; i < P; i++) h[P - 1 - i] = g[i] as number;
  r[0] = first;
  let delta = 1;
  for (let step = 0; step < 2 * P - 1; step++) {
    const swap = negativeMask(-delta) & nonZeroMask(h[0] as number);
    delta = 1 + (delta ^ (swap & (delta ^ -delta)));
    const crossed = swap & ((f[0] as number) ^ (h[0] as number));
    const f0 = (f[0] as number) ^ crossed;
    const h0 = (h[0] as number) ^ crossed;
    combine(f, h, swap, f0, h0, field);
    h.copyWithin(0, 1); // the first one is zero now: h / x
    h[P] = 0;
    v.copyWithin(1, 0, P); // x v
    v[0] = 0;
    combine(v, r, swap, f0, h0, field);
  }
  const scaled = v.slice(0, P).reverse();
  const scale = f[0] as number;
  for (const poly of [f, h, v, r]) poly.fill(0);
  return { scaled, scale, invertible: ~nonZeroMask(delta) };
}

/** 1/g modulo 3; `invertible` is −1 if there is one, else 0. */
export function invert3(g: Poly): { readonly inverse: Poly; readonly invertible: number } {
  const { scaled, scale, invertible } = divide(g, 1, F3);
  return { inverse: scaled.map((x) => mod3(scale * x)), invertible }; // 1 and −1 are their own inverses
}

/** 1/(3f) modulo q, for a short f, which always has one. */
export function invertTriple(f: Poly): Poly {
  const { scaled, scale } = divide(f, scalarInverse(3), FQ);
  const inverse = scalarInverse(scale);
  return scaled.map((x) => modQ(inverse * x));
}
