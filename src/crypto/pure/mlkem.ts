/** ML-KEM (FIPS 203) by noble, which checks the modulus of a public key (§7.2) and rejects implicitly (§6.3). */

import { ml_kem768, ml_kem1024 } from '@noble/post-quantum/ml-kem.js';
import { wipe } from '../../bytes/secret.ts';
import type { Kem } from '../provider.ts';
import { expectLength, expectPeerLength, refused } from '../refuse.ts';

const SEED_SIZE = 64; // d and z (FIPS 203 §7.1)
const MESSAGE_SIZE = 32;

/** What noble calls its parameter sets. */
type Noble = typeof ml_kem768;

function mlkem(title: string, noble: Noble): Kem {
  const { publicKey: publicSize, secretKey: secretSize, cipherText: ciphertextSize } = noble.lengths;
  return {
    publicSize,
    secretSize,
    ciphertextSize,
    sharedSize: 32,
    generate(random) {
      const seed = random(SEED_SIZE);
      const { publicKey, secretKey } = noble.keygen(seed);
      wipe(seed);
      return { secret: secretKey, publicValue: publicKey };
    },
    encapsulate(random, publicValue) {
      expectPeerLength(publicValue, publicSize, `${title} public key`);
      const message = random(MESSAGE_SIZE);
      try {
        const { cipherText, sharedSecret } = noble.encapsulate(publicValue, message);
        return { ciphertext: cipherText, shared: sharedSecret };
      } catch (cause) {
        throw refused(`${title} public key has coefficients that are not below the modulus`, 'peer', cause);
      } finally {
        wipe(message);
      }
    },
    decapsulate(secret, ciphertext) {
      expectLength(secret, secretSize, `${title} secret`);
      expectPeerLength(ciphertext, ciphertextSize, `${title} ciphertext`);
      return noble.decapsulate(ciphertext, secret);
    },
  };
}

export const mlkem768: Kem = mlkem('ML-KEM-768', ml_kem768);
export const mlkem1024: Kem = mlkem('ML-KEM-1024', ml_kem1024);
