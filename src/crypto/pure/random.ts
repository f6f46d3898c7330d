/** Unpredictable bytes from the Web Crypto of the runtime, which all of them have. */

const MOST_AT_ONCE = 65536; // getRandomValues refuses more (Web Cryptography §10.1.1)

/** `length` unpredictable bytes. */
export function random(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += MOST_AT_ONCE) {
    globalThis.crypto.getRandomValues(bytes.subarray(at, Math.min(at + MOST_AT_ONCE, length)));
  }
  return bytes;
}
