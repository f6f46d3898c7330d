/** What a modular exponentiation takes, the same for every provider. */

import { trimZeros } from '../bytes/mpint.ts';
import { refused } from './refuse.ts';

/** More than any group of SSH has (RFC 8270 and OpenSSH end at 8192 bits), so that one exponentiation takes no seconds. */
const MOST_MODULUS_BYTES = 1024;

/** Throws `crypto` unless `modulus` is odd, above 2 and of 8192 bits at most. It may be the peer's. */
export function checkModulus(modulus: Uint8Array): void {
  const minimal = trimZeros(modulus);
  const odd = ((minimal.at(-1) ?? 0) & 1) === 1;
  if (odd && minimal.length <= MOST_MODULUS_BYTES && (minimal.length > 1 || (minimal[0] as number) > 2)) return;
  throw refused(
    `Modulus of ${8 * minimal.length} bits, ${odd ? 'odd' : 'even'}: it must be odd, and 8192 bits at most`,
  );
}
