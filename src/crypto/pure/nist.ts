/**
 * ECDH (SP 800-56A §5.7.1.2) and ECDSA (FIPS 186-5 §6) on P-256, P-384 and P-521, by noble. Points are uncompressed
 * (SEC 1 §2.3.3); the other encodings of SEC 1 are refused, as RFC 5656 §3.1 allows and OpenSSH does.
 */

import { p256, p384, p521 } from '@noble/curves/nist.js';
import { agreement, type GroupOperations } from '../agreement.ts';
import type { Agreement, CurveName, Ecdsa, HashName, RandomSource } from '../provider.ts';
import { expectLength, refused } from '../refuse.ts';

/** One of the curves. */
export interface NistCurve {
  readonly title: string;
  /** Bytes of a scalar and of a coordinate. */
  readonly size: number;
  /** The bits of a scalar's first byte that are in use. */
  readonly topBits: number;
  /** The hash of RFC 5656 §6.2.1, which is noble's default for the curve too. */
  readonly hash: HashName;
  readonly noble: typeof p256;
}

export const nistCurves: Readonly<Record<CurveName, NistCurve>> = {
  p256: { title: 'P-256', size: 32, topBits: 0xff, hash: 'sha256', noble: p256 },
  p384: { title: 'P-384', size: 48, topBits: 0xff, hash: 'sha384', noble: p384 },
  p521: { title: 'P-521', size: 66, topBits: 0x01, hash: 'sha512', noble: p521 },
};

const MAX_DRAWS = 16; // a draw misses 1..n-1 with probability 2^-32 at most (P-256): a second one is hardly ever seen

/** Bytes of an uncompressed point. */
function pointSize(curve: NistCurve): number {
  return 1 + 2 * curve.size;
}

/** Whether `point` is an uncompressed point on `curve` and not the point at infinity. */
function isPoint(curve: NistCurve, point: Uint8Array): boolean {
  return point.length === pointSize(curve) && curve.noble.utils.isValidPublicKey(point, false);
}

/** A scalar in 1..n-1 by rejection (FIPS 186-5 A.2.2), so that equal randomness gives equal scalars everywhere. */
function randomScalar(curve: NistCurve, random: RandomSource): Uint8Array {
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const scalar = random(curve.size);
    scalar[0] = (scalar[0] as number) & curve.topBits;
    if (curve.noble.utils.isValidSecretKey(scalar)) return scalar;
  }
  throw refused(`The random source gave no ${curve.title} scalar in ${MAX_DRAWS} draws: it is broken`, 'local');
}

/** Throws `crypto` unless `scalar` is a private key of `curve`. */
export function checkScalar(curve: NistCurve, scalar: Uint8Array): void {
  expectLength(scalar, curve.size, `${curve.title} scalar`);
  if (!curve.noble.utils.isValidSecretKey(scalar)) {
    throw refused(`${curve.title} private key is not between 1 and the order of the curve`, 'local');
  }
}

/** ECDH over `curve` by the operations given, with the checks that every provider makes. */
export function ecdhOver(curve: NistCurve, by: GroupOperations): Agreement {
  return agreement({
    name: curve.title,
    secretSize: curve.size,
    publicSize: pointSize(curve),
    newSecret: (random) => randomScalar(curve, random),
    publicValue: by.publicValue,
    shared(secret, publicValue) {
      if (!isPoint(curve, publicValue)) throw refused(`Not an uncompressed point on ${curve.title}`);
      return by.shared(secret, publicValue);
    },
  });
}

function nobleEcdh(curve: NistCurve): Agreement {
  const multiply = (scalar: Uint8Array, point: Uint8Array) => curve.noble.getSharedSecret(scalar, point, false);
  const basePoint = curve.noble.Point.BASE.toBytes(false);
  return ecdhOver(curve, {
    // Like any other point: noble's `getPublicKey` spends 60 ms and more on tables at its first use.
    publicValue: (secret) => multiply(secret, basePoint),
    shared: (secret, publicValue) => multiply(secret, publicValue).subarray(1, 1 + curve.size), // the x coordinate
  });
}

export const nistAgreements: Readonly<Record<CurveName, Agreement>> = {
  p256: nobleEcdh(nistCurves.p256),
  p384: nobleEcdh(nistCurves.p384),
  p521: nobleEcdh(nistCurves.p521),
};

function nobleEcdsa(curve: NistCurve): Ecdsa {
  return {
    size: curve.size,
    hash: curve.hash,
    publicKey(scalar) {
      checkScalar(curve, scalar);
      return curve.noble.getPublicKey(scalar, false);
    },
    isPublicKey: (point) => isPoint(curve, point),
    sign(scalar, message) {
      checkScalar(curve, scalar);
      return curve.noble.sign(message, scalar, { lowS: false });
    },
    verify(point, message, signature) {
      if (signature.length !== 2 * curve.size || !isPoint(curve, point)) return false;
      return curve.noble.verify(signature, message, point, { lowS: false });
    },
  };
}

export const ecdsa: Readonly<Record<CurveName, Ecdsa>> = {
  p256: nobleEcdsa(nistCurves.p256),
  p384: nobleEcdsa(nistCurves.p384),
  p521: nobleEcdsa(nistCurves.p521),
};
