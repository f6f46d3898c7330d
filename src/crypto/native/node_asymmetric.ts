/**
 * Key agreement and signatures of `node:crypto`. Every check that decides what is refused is the one of the pure
 * provider, made first; where a runtime cannot work with a key that passed, the pure provider does.
 */

import { sign as createSignature, diffieHellman, verify as verifySignature } from 'node:crypto';
import { plain } from '../../bytes/bytes.ts';
import type { GroupOperations } from '../agreement.ts';
import { ED25519_KEY, isAdmissible } from '../ed25519_rule.ts';
import type { Agreement, AgreementName, CurveName, Ecdsa, Ed25519, Rsa } from '../provider.ts';
import { pureProvider } from '../pure/index.ts';
import { checkScalar, ecdhOver, nistCurves } from '../pure/nist.ts';
import { x25519Over } from '../pure/x25519.ts';
import { expectLength } from '../refuse.ts';
import { checkNewBits, rsaNumbers } from '../rsa_rule.ts';
import {
  type KeyKind,
  newRsaKey,
  privateKey,
  publicKey,
  publicValue,
  rsaPrivateKey,
  rsaPublicKey,
} from './node_keys.ts';

/** What `action` gives, or `undefined` where the runtime cannot do it. */
function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

/** The two operations of a Diffie-Hellman group. */
function operations(kind: KeyKind): GroupOperations {
  return {
    publicValue: (secret) => publicValue(kind, secret),
    shared: (secret, value) =>
      plain(diffieHellman({ privateKey: privateKey(kind, secret), publicKey: publicKey(kind, value) })),
  };
}

export const agreements: Readonly<Record<AgreementName, Agreement>> = {
  x25519: x25519Over(operations('x25519')),
  p256: ecdhOver(nistCurves.p256, operations('p256')),
  p384: ecdhOver(nistCurves.p384, operations('p384')),
  p521: ecdhOver(nistCurves.p521, operations('p521')),
};

export const ed25519: Ed25519 = {
  publicKey(seed) {
    expectLength(seed, ED25519_KEY, 'Ed25519 seed');
    return publicValue('ed25519', seed);
  },
  sign(seed, message) {
    expectLength(seed, ED25519_KEY, 'Ed25519 seed');
    return plain(createSignature(null, message, privateKey('ed25519', seed)));
  },
  verify(key, message, signature) {
    if (!isAdmissible(key, signature)) return false;
    // A key that the runtime cannot read is no point of the curve.
    return attempt(() => verifySignature(null, message, publicKey('ed25519', key), signature)) ?? false;
  },
};

const dsaEncoding = 'ieee-p1363'; // r ‖ s

function nativeEcdsa(name: CurveName): Ecdsa {
  const curve = nistCurves[name];
  const pure = pureProvider.ecdsa[name];
  return {
    size: curve.size,
    hash: curve.hash,
    publicKey(scalar) {
      checkScalar(curve, scalar);
      return publicValue(name, scalar);
    },
    isPublicKey: pure.isPublicKey,
    sign(scalar, message) {
      checkScalar(curve, scalar);
      return plain(createSignature(curve.hash, message, { key: privateKey(name, scalar), dsaEncoding }));
    },
    verify(point, message, signature) {
      if (signature.length !== 2 * curve.size || !pure.isPublicKey(point)) return false;
      const verdict = attempt(() =>
        verifySignature(curve.hash, message, { key: publicKey(name, point), dsaEncoding }, signature),
      );
      return verdict ?? pure.verify(point, message, signature);
    },
  };
}

export const ecdsa: Readonly<Record<CurveName, Ecdsa>> = {
  p256: nativeEcdsa('p256'),
  p384: nativeEcdsa('p384'),
  p521: nativeEcdsa('p521'),
};

export const rsa: Rsa = {
  sign(key, hash, message) {
    rsaNumbers(key, 'local');
    const signature = attempt(() => plain(createSignature(hash, message, rsaPrivateKey(key))));
    // A runtime does not look whether the parts of a key fit together, and a wrong signature can give the key away.
    if (signature !== undefined && rsa.verify(key, hash, message, signature) === true) return signature;
    return pureProvider.rsa.sign(key, hash, message);
  },
  verify(key, hash, message, signature) {
    if (signature.length !== rsaNumbers(key, 'peer').size) return false;
    const verdict = attempt(() => verifySignature(hash, message, rsaPublicKey(key), signature));
    return verdict ?? pureProvider.rsa.verify(key, hash, message, signature);
  },
  async generate(bits, random) {
    checkNewBits(bits);
    try {
      return await newRsaKey(bits);
    } catch {
      return pureProvider.rsa.generate(bits, random);
    }
  },
};
