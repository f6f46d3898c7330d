/** Reading signatures, whose bytes are a peer's: RFC 5656 §3.1.2. What has the wrong shape is `undefined`, never an error. */

import { resizeInteger } from '../bytes/mpint.ts';
import { DecodeError, Reader } from '../bytes/reader.ts';

/**
 * r ‖ s, each `size` bytes, from two mpints (RFC 5656 §3.1.2). Superfluous leading zeros are accepted, because some
 * switches send them; negative and too large numbers are not.
 */
export function fixedWidth(body: Uint8Array, size: number): Uint8Array | undefined {
  const halves = ifDecodes(() => {
    const reader = new Reader(body);
    const pair = [reader.mpint(), reader.mpint()] as const;
    reader.expectEnd('signature');
    return pair;
  });
  const r = halves && resizeInteger(halves[0], size);
  const s = halves && resizeInteger(halves[1], size);
  if (r === undefined || s === undefined) return undefined;
  const signature = new Uint8Array(2 * size);
  signature.set(r);
  signature.set(s, size);
  return signature;
}

/** What `read` gives; `undefined` when the bytes do not have the shape it wants. */
export function ifDecodes<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}
