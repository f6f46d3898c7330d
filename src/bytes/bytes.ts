/** Copying, joining and comparing plain byte arrays. Not for secrets: see `secret.ts`. */

/**
 * Bytes in memory that is not shared, as `TextDecoderStream`, `Blob` and Web Crypto want them. Written so that compilers before
 * 5.7, whose `Uint8Array` has no parameter, understand it too.
 */
export type Bytes = ReturnType<Uint8Array['slice']>;

/**
 * A copy. Not `bytes.slice()`: Node's `Buffer`, which a caller may pass for any `Uint8Array`, gives a view there.
 */
export function copy(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

/** `bytes` as a plain `Uint8Array` over the same memory: no `Buffer`, with its other `slice`, goes on. */
export function plain(bytes: Uint8Array): Uint8Array {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** The parts one after the other in a new array. A long list is for `join`: a call takes some ten thousand arguments. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return join(parts);
}

/** The parts of a list one after the other in a new array. */
export function join(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Whether `a` and `b` hold the same bytes. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Writes `value` as a big-endian uint32 at `at`. */
export function putUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** The big-endian uint32 at `at`; bytes past the end count as zero, so check the length first. */
export function uint32At(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number)) >>>
    0
  );
}
