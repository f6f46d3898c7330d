/**
 * The pure provider with a memory: the same asymmetric operation on the same inputs is computed once. With seeded randomness
 * every scenario repeats the same handshake, so hundreds of them cost little more than one.
 */

import { hex } from '../../src/bytes/text.ts';
import type { Agreement, CryptoProvider, Ed25519, MaybePromise } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';

const X25519_SIZE = 32;

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

function memoAgreement(agreement: Agreement): Agreement {
  const generate = memo((drawn) => agreement.generate(() => drawn as Uint8Array));
  const respond = memo((drawn, initiator) => agreement.respond(() => drawn as Uint8Array, initiator as Uint8Array));
  const finish = memo((secret, responder) => agreement.finish(secret as Uint8Array, responder as Uint8Array));
  // what is given out is the caller's, who wipes what is secret
  return {
    generate: (random) => structuredClone(generate(random(X25519_SIZE))),
    respond: (random, initiator) => structuredClone(respond(random(X25519_SIZE), initiator)),
    finish: (secret, responder) => structuredClone(finish(secret, responder)),
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

/** Use this provider in wire tests. */
export const memoCrypto: CryptoProvider = {
  ...pureProvider,
  name: 'pure, remembered',
  agreements: { ...pureProvider.agreements, x25519: memoAgreement(pureProvider.agreements.x25519) },
  ed25519: memoEd25519(pureProvider.ed25519),
};
