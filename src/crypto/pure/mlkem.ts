/** ML-KEM (FIPS 203) by noble, which checks the modulus of a public key (§7.2) and rejects implicitly (§6.3). */

import { ml_kem768, ml_kem1024 } from '@noble/post-quantum/ml-kem.js';
import { wipe } from '../../bytes/secret.ts';
import type { Kem } from '../provider.ts';
import { expectLength, expectPeerLength, refused } from '../refuse.ts';

const SEED_SIZE = 64; // d and z (FIPS 203 §7.1)
const MESSAGE_SIZE = 32;

/** Bytes of keys and ciphertexts (FIPS 203 §8). */
type Sizes = Pick<Kem, 'publicSize' | 'secretSize' | 'ciphertextSize'>;

function mlkem(title: string, noble: typeof ml_kem768, sizes: Sizes): Kem {
  const { publicSize, secretSize, ciphertextSize } = sizes;
  return {
    ...sizes,
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

export const mlkem768: Kem = mlkem('ML-KEM-768', ml_kem768, {
  publicSize: 1184,
  secretSize: 2400,
  ciphertextSize: 1088,
});
export const mlkem1024: Kem = mlkem('ML-KEM-1024', ml_kem1024, {
  publicSize: 1568,
  secretSize: 3168,
  ciphertextSize: 1568,
});
