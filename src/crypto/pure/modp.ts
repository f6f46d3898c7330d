/**
 * Modular exponentiation on bigint. bigint takes time that depends on its values; what can be even here is: every four bits of
 * the exponent cost the same squarings and one multiplication in full width, whatever they are.
 */

import { bigintFromBytes, bytesFromBigint } from '../../bytes/mpint.ts';
import { checkModulus } from '../modp_rule.ts';

const WINDOW_BITS = 4;

/** base^exponent mod modulus, as wide as the modulus; all big-endian. See `CryptoProvider.modularPower`. */
export function modularPower(base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): Uint8Array {
  checkModulus(modulus);
  const m = bigintFromBytes(modulus);
  const b = bigintFromBytes(base) % m;
  const powers: bigint[] = [m + 1n]; // base^0, in a form that is multiplied like every other
  for (let power = b; powers.length < 1 << WINDOW_BITS; power = (power * b) % m) powers.push(power);
  let result = 1n;
  for (const byte of exponent) {
    for (const window of [byte >> WINDOW_BITS, byte & 15]) {
      for (let i = 0; i < WINDOW_BITS; i++) result = (result * result) % m;
      result = (result * (powers[window] as bigint)) % m;
    }
  }
  return bytesFromBigint(result, modulus.length);
}
