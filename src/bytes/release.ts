/** Memory given back by hand. Ciphers of runtimes make megabytes of it that a collector, which sees only small objects, frees late. */

/** Bytes from which on it is worth it. */
const WORTHWHILE = 4096;

/** `ArrayBuffer`, with what ECMAScript 2024 adds. */
type Memory = ArrayBufferLike & { transfer?(length: number): unknown };

/** Where memory can be moved to and nobody is: an end of a closed channel, for runtimes that only know this way to let go. */
let nowhere: MessagePort | undefined;

/** Memory to be used again; what a connection brings is mostly packets of one size, of which few are there at a time. */
const spare: ArrayBuffer[] = [];
/** More than one read from a socket brings. */
const SPARE = 8;
/** Packets with more than 32 KiB are rare: they are not worth keeping half a megabyte. */
const LARGEST_SPARE = 64 * 1024;

/** Frees the memory of `bytes`, which nobody may touch any more, at once: where they are all that is in it. */
export function releaseMemory(bytes: Uint8Array): void {
  if (bytes.length === bytes.buffer.byteLength) releaseWhole(bytes);
}

/** Frees all of the memory that `bytes` are in, which nobody may touch any more, at once. */
function releaseWhole(bytes: Uint8Array): void {
  const memory = bytes.buffer as Memory;
  if (memory.byteLength < WORTHWHILE) return;
  if (memory.transfer !== undefined) memory.transfer(0);
  else if (memory instanceof ArrayBuffer) toNowhere(memory);
}

/**
 * Gives back all of the memory that `bytes` are in, which nobody may touch any more, to whoever calls `memoryFor`; once only. What is
 * not worth keeping is freed.
 */
export function recycle(bytes: Uint8Array): void {
  const memory = bytes.buffer;
  const size = memory.byteLength;
  if (!(memory instanceof ArrayBuffer) || spare.includes(memory)) return;
  if (size < WORTHWHILE || size > LARGEST_SPARE || spare.length === SPARE) releaseWhole(bytes);
  else spare.push(memory);
}

/** Memory of `size` bytes, alone in its buffer. Whatever was in it before may still be there: fill it. */
export function memoryFor(size: number): Uint8Array {
  for (let at = size < WORTHWHILE ? 0 : spare.length; at > 0; at--) {
    const memory = spare[at - 1] as ArrayBuffer;
    if (memory.byteLength !== size) continue;
    spare.splice(at - 1, 1);
    return new Uint8Array(memory);
  }
  return new Uint8Array(size);
}

function toNowhere(memory: ArrayBuffer): void {
  if (typeof MessageChannel === 'undefined') return;
  if (nowhere === undefined) {
    nowhere = new MessageChannel().port1;
    nowhere.close();
  }
  nowhere.postMessage(undefined, [memory]);
}
