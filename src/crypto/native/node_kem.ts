/**
 * ML-KEM of `node:crypto`, where there is one (Node 24.7 and later, over OpenSSL 3.5): the initiator's half, whose keys come from a
 * seed. The responder's stays pure, since a runtime lets nobody choose what it draws for a ciphertext.
 */

import { Buffer } from 'node:buffer';
import * as nodeCrypto from 'node:crypto';
import { plain } from '../../bytes/bytes.ts';
import { fromHex } from '../../bytes/text.ts';
import type { Kem } from '../provider.ts';
import { pureProvider } from '../pure/index.ts';
import { expectLength, expectPeerLength } from '../refuse.ts';

/** Not in the types of the oldest Node that is supported. */
const { decapsulate } = nodeCrypto as unknown as {
  readonly decapsulate?: (key: nodeCrypto.KeyObject, ciphertext: Uint8Array) => Uint8Array;
};

const SEED_SIZE = 64; // d and z (FIPS 203 §7.1)

/** What stands before the seed in a PrivateKeyInfo, and before the key in a SubjectPublicKeyInfo (RFC 9935). */
interface Prefixes {
  readonly seed: Uint8Array;
  readonly publicKey: Uint8Array;
}

function privateKey({ seed: prefix }: Prefixes, seed: Uint8Array): nodeCrypto.KeyObject {
  const der = Buffer.concat([prefix, seed]);
  try {
    return nodeCrypto.createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } finally {
    der.fill(0);
  }
}

function mlkem(title: string, pure: Kem, prefixes: Prefixes, open: NonNullable<typeof decapsulate>): Kem {
  return {
    ...pure,
    secretSize: SEED_SIZE,
    generate(random) {
      const secret = random(SEED_SIZE);
      expectLength(secret, SEED_SIZE, `${title} seed`);
      const der = nodeCrypto.createPublicKey(privateKey(prefixes, secret)).export({ format: 'der', type: 'spki' });
      return { secret, publicValue: plain(der.subarray(prefixes.publicKey.length)) };
    },
    decapsulate(secret, ciphertext) {
      expectLength(secret, SEED_SIZE, `${title} seed`);
      expectPeerLength(ciphertext, pure.ciphertextSize, `${title} ciphertext`);
      return plain(open(privateKey(prefixes, secret), ciphertext));
    },
  };
}

const { mlkem768, mlkem1024 } = pureProvider.kems;

export const kems: { readonly mlkem768?: Kem; readonly mlkem1024?: Kem } =
  decapsulate === undefined
    ? {}
    : {
        mlkem768: mlkem(
          'ML-KEM-768',
          mlkem768,
          {
            seed: fromHex('3054020100300b060960864801650304040204428040'),
            publicKey: fromHex('308204b2300b0609608648016503040402038204a100'),
          },
          decapsulate,
        ),
        mlkem1024: mlkem(
          'ML-KEM-1024',
          mlkem1024,
          {
            seed: fromHex('3054020100300b060960864801650304040304428040'),
            publicKey: fromHex('30820632300b06096086480165030404030382062100'),
          },
          decapsulate,
        ),
      };
