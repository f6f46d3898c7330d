/**
 * Lays a runtime's own primitives over a complete provider. Each is tried by the self test at its first use, not before:
 * a connection needs few of them, and the slow curves take milliseconds. What fails or throws there is never used.
 */

import * as check from './check.ts';
import { kdfAnswers } from './check_kdfs.ts';
import type { Kdfs } from './kdfs.ts';
import type {
  AeadName,
  AeadPrimitive,
  Agreement,
  AgreementName,
  CbcName,
  CbcPrimitive,
  ChaCha,
  CryptoProvider,
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
  StreamName,
  StreamPrimitive,
} from './provider.ts';

/** What a runtime may offer. */
export interface NativePrimitives {
  readonly hashes?: Partial<Record<HashName, Hash>>;
  readonly md5?: Hash;
  readonly macs?: Partial<Record<MacName, MacPrimitive>>;
  readonly streams?: Partial<Record<StreamName, StreamPrimitive>>;
  readonly cbc?: Partial<Record<CbcName, CbcPrimitive>>;
  readonly aeads?: Partial<Record<AeadName, AeadPrimitive>>;
  readonly chacha20?: ChaCha;
  readonly agreements?: Partial<Record<AgreementName, Agreement>>;
  readonly kems?: Partial<Record<KemName, Kem>>;
  readonly modularPower?: ModularPower;
  readonly ed25519?: Ed25519;
  readonly ecdsa?: Partial<Record<CurveName, Ecdsa>>;
  readonly rsa?: Rsa;
  readonly kdfs?: Partial<Kdfs>;
}

type Makers<T> = { readonly [K in keyof T]: () => T[K] };

/** An object whose members are made when they are first read. */
function lazy<T extends object>(makers: Makers<T>): T {
  const made = {} as T;
  for (const name of Object.keys(makers) as (keyof T)[]) {
    Object.defineProperty(made, name, {
      configurable: true,
      enumerable: true,
      get() {
        const value = makers[name]();
        Object.defineProperty(made, name, { value, enumerable: true });
        return value;
      },
    });
  }
  return made;
}

/** `candidate` if there is one and it passes, else `fallback`. */
function choose<T>(candidate: T | undefined, passes: (candidate: T) => boolean, fallback: T): T {
  return candidate !== undefined && passes(candidate) ? candidate : fallback;
}

/** The same for every member of a table. */
function chooseEach<K extends string, T>(
  candidates: Partial<Record<K, T>> | undefined,
  passes: (name: K, candidate: T) => boolean,
  fallbacks: Readonly<Record<K, T>>,
): Readonly<Record<K, T>> {
  const names = Object.keys(fallbacks) as K[];
  const makers = names.map((name) => [
    name,
    () => choose<T>(candidates?.[name], (candidate: T) => passes(name, candidate), fallbacks[name]),
  ]);
  return lazy(Object.fromEntries(makers) as Makers<Record<K, T>>);
}

/** The same for the key derivations, each of which has its own type. */
function chooseKdfs(candidates: Partial<Kdfs> | undefined, base: Kdfs): Kdfs {
  const one = <K extends keyof Kdfs>(name: K): Kdfs[K] =>
    choose<Kdfs[K]>(candidates?.[name], (candidate) => kdfAnswers(name, candidate), base[name]);
  return lazy<Kdfs>({
    pbkdf2: () => one('pbkdf2'),
    scrypt: () => one('scrypt'),
    argon2: () => one('argon2'),
    bcrypt: () => one('bcrypt'),
  });
}

/** `base` with every primitive of `native` that passes its self test. `name` is for traces. */
export function overlay(name: string, base: CryptoProvider, native: NativePrimitives): CryptoProvider {
  const aeads = chooseEach(native.aeads, check.aeadAnswers, base.aeads);
  return lazy<CryptoProvider>({
    name: () => name,
    random: () => base.random,
    hashes: () => chooseEach(native.hashes, check.hashAnswers, base.hashes),
    md5: () => choose(native.md5, check.md5Answers, base.md5),
    macs: () => chooseEach(native.macs, check.macAnswers, base.macs),
    streams: () => chooseEach(native.streams, check.streamAnswers, base.streams),
    cbc: () => chooseEach(native.cbc, check.cbcAnswers, base.cbc),
    aeads: () => aeads,
    chacha20: () => choose(native.chacha20, check.chachaAnswers, base.chacha20),
    agreements: () => chooseEach(native.agreements, check.agreementAnswers, base.agreements),
    kems: () => chooseEach(native.kems, check.kemAnswers, base.kems),
    modularPower: () => choose(native.modularPower, check.modularPowerAnswers, base.modularPower),
    ed25519: () => choose(native.ed25519, check.ed25519Answers, base.ed25519),
    ecdsa: () => chooseEach(native.ecdsa, check.ecdsaAnswers, base.ecdsa),
    rsa: () => choose(native.rsa, check.rsaAnswers, base.rsa),
    kdfs: () => chooseKdfs(native.kdfs, base.kdfs),
    // A runtime that has AES-GCM has it in hardware, as far as can be told without measuring.
    fastAes: () => aeads['aes128-gcm'] !== base.aeads['aes128-gcm'],
  });
}
