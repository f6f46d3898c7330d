/**
 * The pure provider with a memory: the same asymmetric operation on the same inputs is computed once. With seeded randomness
 * every scenario repeats the same handshake, so hundreds of them cost little more than one.
 */

import { hex } from '../../src/bytes/text.ts';
import type { Agreement, CryptoProvider, Ecdsa, Ed25519, Kem, MaybePromise, Rsa } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { seededRandom } from './random.ts';

/** Bytes that each agreement draws for a secret. */
const DRAWN = { x25519: 32, p256: 32, p384: 48, p521: 66 } as const;

/** `compute`, or what it gave for the same inputs before. Failures are not kept. */
function memo<T>(compute: (...inputs: Uint8Array[]) => T): (...inputs: Uint8Array[]) => T {
  const known = new Map<string, T>();
  return (...inputs) => {
    const key = inputs.map(hex).join('/');
    let value = known.get(key);
    if (value === undefined) {
      value = compute(...inputs);
      known.set(key, value);
    }
    return value;
  };
}

function memoAgreement(agreement: Agreement, drawnSize: number): Agreement {
  // what is drawn becomes the secret, which gets wiped
  const generate = memo((drawn) => agreement.generate(() => (drawn as Uint8Array).slice()));
  const respond = memo((drawn, initiator) =>
    agreement.respond(() => (drawn as Uint8Array).slice(), initiator as Uint8Array),
  );
  const finish = memo((secret, responder) => agreement.finish(secret as Uint8Array, responder as Uint8Array));
  // what is given out is the caller's, who wipes what is secret
  return {
    generate: (random) => structuredClone(generate(random(drawnSize))),
    respond: (random, initiator) => structuredClone(respond(random(drawnSize), initiator)),
    finish: (secret, responder) => structuredClone(finish(secret, responder)),
  };
}

/** ML-KEM, which draws 64 bytes for a key and 32 for a ciphertext (FIPS 203 §7.1, §7.2). */
function memoMlKem(kem: Kem): Kem {
  const generate = memo((drawn) => kem.generate(() => (drawn as Uint8Array).slice()));
  const encapsulate = memo((drawn, publicValue) =>
    kem.encapsulate(() => (drawn as Uint8Array).slice(), publicValue as Uint8Array),
  );
  return memoKem(
    kem,
    (random) => generate(random(64)),
    (random, publicValue) => encapsulate(random(32), publicValue),
  );
}

/** sntrup761, which draws again where there is no inverse: here each operation draws a seed, and of that makes what it needs. */
function memoSntrup(kem: Kem): Kem {
  const from = (drawn: Uint8Array | undefined) => seededRandom(hex(drawn as Uint8Array));
  const generate = memo((drawn) => kem.generate(from(drawn)));
  const encapsulate = memo((drawn, publicValue) => kem.encapsulate(from(drawn), publicValue as Uint8Array));
  return memoKem(
    kem,
    (random) => generate(random(32)),
    (random, publicValue) => encapsulate(random(32), publicValue),
  );
}

function memoKem(kem: Kem, generate: Kem['generate'], encapsulate: Kem['encapsulate']): Kem {
  const decapsulate = memo((secret, ciphertext) => kem.decapsulate(secret as Uint8Array, ciphertext as Uint8Array));
  return {
    ...kem,
    generate: (random) => structuredClone(generate(random)),
    encapsulate: (random, publicValue) => structuredClone(encapsulate(random, publicValue)),
    decapsulate: (secret, ciphertext) => structuredClone(decapsulate(secret, ciphertext)),
  };
}

function memoEd25519(ed25519: Ed25519): Ed25519 {
  const publicKey = memo((seed) => ed25519.publicKey(seed as Uint8Array));
  const sign = memo(
    (seed, message): MaybePromise<Uint8Array> => ed25519.sign(seed as Uint8Array, message as Uint8Array),
  );
  const verify = memo(
    (key, message, signature): MaybePromise<boolean> =>
      ed25519.verify(key as Uint8Array, message as Uint8Array, signature as Uint8Array),
  );
  return {
    publicKey: (seed) => publicKey(seed),
    sign: (seed, message) => sign(seed, message),
    verify: (key, message, signature) => verify(key, message, signature),
  };
}

function memoEcdsa(ecdsa: Ecdsa): Ecdsa {
  const publicKey = memo((scalar) => ecdsa.publicKey(scalar as Uint8Array));
  const isPublicKey = memo((point) => ecdsa.isPublicKey(point as Uint8Array));
  const sign = memo((scalar, message) => ecdsa.sign(scalar as Uint8Array, message as Uint8Array));
  const verify = memo((point, message, signature) =>
    ecdsa.verify(point as Uint8Array, message as Uint8Array, signature as Uint8Array),
  );
  return {
    ...ecdsa,
    publicKey: (scalar) => publicKey(scalar),
    isPublicKey: (point) => isPublicKey(point),
    sign: (scalar, message) => sign(scalar, message),
    verify: (point, message, signature) => verify(point, message, signature),
  };
}

function memoRsa(rsa: Rsa): Rsa {
  const signed = new Map<string, MaybePromise<Uint8Array>>();
  return {
    ...rsa,
    // PKCS #1 v1.5 signatures are a function of key and message
    sign(key, hash, message) {
      const name = [hash, hex(key.modulus), hex(message)].join('/');
      const signature = signed.get(name) ?? rsa.sign(key, hash, message);
      signed.set(name, signature);
      return signature;
    },
  };
}

const { agreements, kems, ed25519, ecdsa, rsa } = pureProvider;
const modularPower = memo((base, exponent, modulus) =>
  pureProvider.modularPower(base as Uint8Array, exponent as Uint8Array, modulus as Uint8Array),
);

/** Use this provider in wire tests. */
export const memoCrypto: CryptoProvider = {
  ...pureProvider,
  name: 'pure, remembered',
  agreements: {
    ...agreements,
    x25519: memoAgreement(agreements.x25519, DRAWN.x25519),
    p256: memoAgreement(agreements.p256, DRAWN.p256),
    p384: memoAgreement(agreements.p384, DRAWN.p384),
    p521: memoAgreement(agreements.p521, DRAWN.p521),
  },
  kems: {
    mlkem768: memoMlKem(kems.mlkem768),
    mlkem1024: memoMlKem(kems.mlkem1024),
    sntrup761: memoSntrup(kems.sntrup761),
  },
  modularPower: (base, exponent, modulus) => modularPower(base, exponent, modulus).slice(),
  ed25519: memoEd25519(ed25519),
  ecdsa: { p256: memoEcdsa(ecdsa.p256), p384: memoEcdsa(ecdsa.p384), p521: memoEcdsa(ecdsa.p521) },
  rsa: memoRsa(rsa),
};
