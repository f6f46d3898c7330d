/** Memory given back by hand. Ciphers of runtimes make megabytes of it that a collector, which sees only small objects, frees late. */

/** Bytes from which on it is worth it. */
const WORTHWHILE = 4096;

/** `ArrayBuffer`, with what ECMAScript 2024 adds. */
type Memory = ArrayBufferLike & { transfer?(length: number): unknown };

/** Where memory can be moved to and nobody is: an end of a closed channel, for runtimes that only know this way to let go. */
let nowhere: MessagePort | undefined;

/** Frees the memory of `bytes`, which nobody may touch any more, at once: where they are all that is in it. */
export function releaseMemory(bytes: Uint8Array): void {
  if (bytes.length === bytes.buffer.byteLength) releaseWhole(bytes);
}

/** Frees all of the memory that `bytes` are in, which nobody may touch any more, at once. */
export function releaseWhole(bytes: Uint8Array): void {
  const memory = bytes.buffer as Memory;
  if (memory.byteLength < WORTHWHILE) return;
  if (memory.transfer !== undefined) memory.transfer(0);
  else if (memory instanceof ArrayBuffer) toNowhere(memory);
}

function toNowhere(memory: ArrayBuffer): void {
  if (typeof MessageChannel === 'undefined') return;
  if (nowhere === undefined) {
    nowhere = new MessageChannel().port1;
    nowhere.close();
  }
  nowhere.postMessage(undefined, [memory]);
}
