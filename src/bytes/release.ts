/** Memory given back by hand. Ciphers of runtimes make megabytes of it that a collector, which sees only small objects, frees late. */

/** Bytes from which on it is worth it. */
const WORTHWHILE = 4096;

/**
 * Frees the memory of `bytes`, which nobody may touch any more, at once: where they are all that is in it, and where the
 * runtime can (ECMAScript 2024).
 */
export function releaseMemory(bytes: Uint8Array): void {
  const memory = bytes.buffer as ArrayBufferLike & { transfer?(length: number): unknown };
  if (bytes.length < WORTHWHILE || bytes.length !== memory.byteLength || memory.transfer === undefined) return;
  memory.transfer(0);
}
