/**
 * The self test: whether a primitive that a runtime offers gives the known answers and refuses what must be refused.
 * Each test says no rather than throw. Knows neither noble nor any runtime. Only primitives that answer at once can pass.
 */

import { concat } from '../bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import * as known from './known_answers.ts';
import { kemAnswers as kemAnswersOf } from './known_kem.ts';
import { modularPowers } from './known_modp.ts';
import type {
  AeadName,
  AeadPrimitive,
  Agreement,
  AgreementName,
  CbcName,
  CbcPrimitive,
  ChaCha,
  CurveName,
  Ecdsa,
  Ed25519,
  Hash,
  HashName,
  Kem,
  KemName,
  MacName,
  MacPrimitive,
  ModularPower,
  Rsa,
  RsaPrivateKey,
  StreamName,
  StreamPrimitive,
} from './provider.ts';

/** Whether `bytes` are plain bytes that read as `expected`. A promise is not. */
function reads(bytes: unknown, expected: string): boolean {
  return bytes instanceof Uint8Array && hex(bytes) === expected;
}

function altered(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[0] = (copy[0] as number) ^ 1;
  return copy;
}

/** Whether `action` throws the error that refuses a peer's value. */
function refuses(action: () => unknown): boolean {
  try {
    action();
    return false;
  } catch (error) {
    return error instanceof SshError && error.code === 'crypto' && error.fault === 'peer';
  }
}

/** Makes a test that answers `false` where `test` throws. */
function safely<A extends unknown[]>(test: (...args: A) => boolean): (...args: A) => boolean {
  return (...args) => {
    try {
      return test(...args);
    } catch {
      return false;
    }
  };
}

export const hashAnswers: (name: HashName, hash: Hash) => boolean = safely(
  (name, hash) =>
    reads(hash.digest(utf8('abc')), known.digestsOfAbc[name]) && known.digestsOfAbc[name].length === 2 * hash.size,
);

export const md5Answers: (hash: Hash) => boolean = safely(
  (hash) => reads(hash.digest(utf8('abc')), known.md5OfAbc) && hash.size === 16,
);

export const macAnswers: (name: MacName, primitive: MacPrimitive) => boolean = safely((name, primitive) => {
  const mac = primitive.create(utf8('Jefe'));
  const tag = known.tagsOfJefe[name];
  return (
    reads(mac.compute(utf8('what do ya want '), utf8('for nothing?')), tag) &&
    reads(mac.compute(utf8('what do ya want for nothing?'), new Uint8Array(0)), tag) &&
    tag.length === 2 * primitive.size
  );
});

export const streamAnswers: (name: StreamName, primitive: StreamPrimitive) => boolean = safely((name, primitive) => {
  const { key, ciphertext } = known.counterMode[name];
  const stream = primitive.create(fromHex(key), fromHex(known.counterModeStart));
  const parts = [0, 16, 21, 64].map((end, i, ends) => fromHex(known.modesPlaintext).slice(ends[i - 1] ?? 0, end));
  return reads(concat(...parts.map((part) => stream.apply(part))), ciphertext);
});

export const cbcAnswers: (name: CbcName, primitive: CbcPrimitive) => boolean = safely((name, primitive) => {
  const { key, iv, plaintext, ciphertext } = known.chained[name];
  const { blockSize } = primitive;
  const runs = (from: string, direction: 'encrypt' | 'decrypt', to: string): boolean => {
    const stream = primitive.create(fromHex(key), fromHex(iv), direction);
    const [first, rest] = [fromHex(from).slice(0, blockSize), fromHex(from).slice(blockSize)];
    return reads(concat(stream.apply(first), stream.apply(rest)), to);
  };
  return runs(plaintext, 'encrypt', ciphertext) && runs(ciphertext, 'decrypt', plaintext);
});

export const aeadAnswers: (name: AeadName, primitive: AeadPrimitive) => boolean = safely((name, primitive) => {
  const { key, sealed } = known.galoisMode[name];
  const aead = primitive.create(fromHex(key));
  const nonce = fromHex(known.galoisNonce);
  const associated = fromHex(known.galoisAssociated);
  return (
    reads(concat(...aead.seal(nonce, associated, fromHex(known.galoisPlaintext))), sealed) &&
    reads(aead.open(nonce, associated, fromHex(sealed)), known.galoisPlaintext) &&
    aead.open(nonce, associated, altered(fromHex(sealed))) === undefined &&
    aead.open(nonce, altered(associated), fromHex(sealed)) === undefined
  );
});

export const chachaAnswers: (chacha: ChaCha) => boolean = safely((chacha) => {
  const { key, nonce, plaintext, ciphertext } = known.chacha;
  const [first, second] = [fromHex(plaintext).slice(0, 4), fromHex(plaintext).slice(4)];
  const long = Uint8Array.from({ length: known.chachaLong }, (_, i) => i * i);
  return (
    reads(chacha.apply(fromHex(key), fromHex(nonce), known.chachaCounter, fromHex(plaintext)), ciphertext) &&
    reads(chacha.authenticate(fromHex(key), fromHex(nonce), first, second), known.chachaTag) &&
    reads(chacha.authenticate(fromHex(key), fromHex(nonce), first, long), known.chachaLongTag)
  );
});

export const agreementAnswers: (name: AgreementName, agreement: Agreement) => boolean = safely((name, agreement) => {
  const answer = known.agreementAnswers[name];
  const secret = fromHex(answer.secret);
  const random = () => new Uint8Array(secret);
  const pair = agreement.generate(random);
  const responded = agreement.respond(random, fromHex(answer.public));
  return (
    reads(pair.publicValue, answer.ownPublic) &&
    'shared' in responded &&
    reads(responded.publicValue, answer.ownPublic) &&
    reads(responded.shared, answer.shared) &&
    reads(agreement.finish(pair.secret, fromHex(answer.public)), answer.shared) &&
    refuses(() => agreement.finish(pair.secret, fromHex(answer.refused)))
  );
});

export const kemAnswers: (name: KemName, kem: Kem) => boolean = safely((name, kem) => {
  const answer = kemAnswersOf[name];
  if (answer === undefined) return false;
  const { publicStart, publicEnd, ciphertext, shared, rejected } = answer;
  const pair = kem.generate((length) => Uint8Array.from({ length }, (_, i) => i));
  const key = hex(pair.publicValue);
  return (
    key.length === 2 * kem.publicSize &&
    key.startsWith(publicStart) &&
    key.endsWith(publicEnd) &&
    pair.secret.length === kem.secretSize &&
    ciphertext.length === 2 * kem.ciphertextSize &&
    reads(kem.decapsulate(pair.secret, fromHex(ciphertext)), shared) &&
    reads(kem.decapsulate(pair.secret, altered(fromHex(ciphertext))), rejected) &&
    refuses(() => kem.decapsulate(pair.secret, fromHex(ciphertext).subarray(1)))
  );
});

export const modularPowerAnswers: (modularPower: ModularPower) => boolean = safely(
  (modularPower) =>
    modularPowers.every(({ base, exponent, modulus, power }) =>
      reads(modularPower(fromHex(base), fromHex(exponent), fromHex(modulus)), power),
    ) && refuses(() => modularPower(Uint8Array.of(2), Uint8Array.of(2), Uint8Array.of(4))),
);

export const ed25519Answers: (ed25519: Ed25519) => boolean = safely((ed25519) => {
  const { seed, publicKey, message, signature } = known.ed25519Answer;
  const [key, text, right] = [fromHex(publicKey), fromHex(message), fromHex(signature)];
  return (
    reads(ed25519.publicKey(fromHex(seed)), publicKey) &&
    reads(ed25519.sign(fromHex(seed), text), signature) &&
    ed25519.verify(key, text, right) === true &&
    ed25519.verify(key, altered(text), right) === false
  );
});

export const ecdsaAnswers: (name: CurveName, ecdsa: Ecdsa) => boolean = safely((name, ecdsa) => {
  const { scalar, publicKey, signature } = known.ecdsaAnswers[name];
  const [key, text, right] = [fromHex(publicKey), utf8('sample'), fromHex(signature)];
  const made = ecdsa.sign(fromHex(scalar), text);
  return (
    reads(ecdsa.publicKey(fromHex(scalar)), publicKey) &&
    ecdsa.verify(key, text, right) === true &&
    ecdsa.verify(key, altered(text), right) === false &&
    made instanceof Uint8Array &&
    made.length === 2 * ecdsa.size &&
    ecdsa.verify(key, text, made) === true
  );
});

export const rsaAnswers: (rsa: Rsa) => boolean = safely((rsa) => {
  const key = Object.fromEntries(Object.entries(known.rsaKey).map(([part, value]) => [part, fromHex(value)]));
  const pair = key as unknown as RsaPrivateKey;
  const text = utf8(known.rsaMessage);
  return (Object.keys(known.rsaSignatures) as HashName[]).every((hash) => {
    const signature = fromHex(known.rsaSignatures[hash]);
    return (
      reads(rsa.sign(pair, hash, text), known.rsaSignatures[hash]) &&
      rsa.verify(pair, hash, text, signature) === true &&
      rsa.verify(pair, hash, altered(text), signature) === false
    );
  });
});
