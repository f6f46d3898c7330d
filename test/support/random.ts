/** Randomness that is the same in every run, for tests that search or sample. */

import { concat } from '../../src/bytes/bytes.ts';
import { utf8 } from '../../src/bytes/text.ts';
import type { RandomSource } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';

/** An endless byte stream: SHA-256 of SHA-256(seed) ‖ uint64 block number, block after block. */
export function seededRandom(seed: string): RandomSource {
  const { digest } = pureProvider.hashes.sha256;
  const key = digest(utf8(seed));
  const number = new Uint8Array(8);
  const view = new DataView(number.buffer);
  let block: Uint8Array = new Uint8Array(0);
  let next = 0;
  return (length) => {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      if (block.length === 0) {
        view.setUint32(4, next++);
        block = digest(concat(key, number));
      }
      const part = block.subarray(0, length - at);
      bytes.set(part, at);
      at += part.length;
      block = block.subarray(part.length);
    }
    return bytes;
  };
}
