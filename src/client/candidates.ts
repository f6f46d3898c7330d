/**
 * What a login may try, made of the ways that a caller listed: keys are loaded, agents asked for theirs, and all is put in order.
 * Must not know what a server says.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { printable } from '../bytes/text.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { type SshError, toSshError } from '../errors.ts';
import { fingerprint } from '../keys/public_key.ts';
import { plainAlgorithm, type Signer } from '../keys/signature.ts';
import type {
  AuthMethod,
  IdentitiesMethod,
  KeyboardMethod,
  LoginSurroundings,
  PasswordMethod,
  PublicKeyMethod,
} from './auth.ts';
import { type Entry, type Identity, isPublicOnly, orderEntries } from './identities.ts';

export interface KeyCandidate {
  readonly kind: 'key';
  readonly signer: Signer;
  /** How messages name it. */
  readonly name: string;
  /** The same key, with SHA-2 too, which stands before this one that signs with SHA-1 only. */
  readonly better?: Signer;
  left: number;
}

export interface AskedCandidate {
  readonly kind: 'asked';
  readonly source: PasswordMethod | KeyboardMethod;
  /** How often it may still be tried. */
  left: number;
}

export type Candidate = KeyCandidate | AskedCandidate;

export interface Candidates {
  readonly list: readonly Candidate[];
  /** Why keys that could have been expected are not in it, in words. */
  readonly notes: readonly string[];
}

export interface CandidateOptions {
  readonly methods: readonly AuthMethod[];
  readonly crypto: CryptoProvider;
  readonly identitiesOnly: boolean;
  readonly surroundings: LoginSurroundings;
}

/** Loads all keys at once. A key that cannot be used is an error; an agent that cannot be reached only where nothing else is there. */
export async function loadCandidates(options: CandidateOptions): Promise<Candidates> {
  const { methods, crypto, identitiesOnly, surroundings } = options;
  const loaded = await Promise.all(methods.map((method) => load(method, crypto, surroundings)));
  const ordered = orderEntries(
    loaded.map(({ entry }) => entry),
    identitiesOnly,
  );
  const list = ordered.flatMap((each): Candidate[] => ('signer' in each ? keyCandidates(each, crypto) : [asked(each)]));
  const failures = loaded.flatMap(({ failure }) => (failure === undefined ? [] : [failure]));
  if (list.length === 0 && failures[0] !== undefined) throw failures[0];
  const notes = [...failures.map(({ message }) => message), ...leftOut(loaded, ordered, crypto, identitiesOnly)];
  return { list, notes };
}

interface Loaded {
  readonly entry: Entry<PasswordMethod | KeyboardMethod>;
  readonly failure?: SshError;
}

async function load(method: AuthMethod, crypto: CryptoProvider, surroundings: LoginSurroundings): Promise<Loaded> {
  if (method.method !== 'publickey') return { entry: { kind: 'other', other: method } };
  const from = 'signers' in method ? method.from : 'files';
  try {
    const signers = 'signers' in method ? await method.signers(crypto, surroundings) : [await method.signer(crypto)];
    const identities = signers.map((signer) => ({ signer, source: sourceOf(method, signer) }));
    return { entry: { kind: 'keys', from, identities } };
  } catch (error) {
    const failure = toSshError(error, 'bad-argument');
    if (failure.code !== 'agent-failed') throw failure;
    return { entry: { kind: 'keys', from, identities: [] }, failure };
  }
}

function sourceOf(method: PublicKeyMethod | IdentitiesMethod, signer: Signer): string {
  if ('signers' in method && method.from === 'agent') {
    const comment = printable(signer.comment ?? '', 80);
    return ` of ${printable(method.name ?? 'the agent')}${comment === '' ? '' : ` (${comment})`}`;
  }
  return method.name === undefined ? '' : ` from ${printable(method.name)}`;
}

function keyCandidates(identity: Identity, crypto: CryptoProvider): KeyCandidate[] {
  const { signer } = identity;
  const candidate: KeyCandidate = { kind: 'key', signer, name: nameOf(identity, crypto), left: 1 };
  const sha1 = signer.algorithms.filter((name) => plainAlgorithm(name) === 'ssh-rsa');
  if (sha1.length === 0 || sha1.length === signer.algorithms.length) return [candidate];
  const old: Signer = {
    publicKey: signer.publicKey,
    keyType: signer.keyType,
    algorithms: sha1,
    ...(signer.queryFirst === undefined ? {} : { queryFirst: signer.queryFirst }),
    sign: (message, algorithm) => signer.sign(message, algorithm),
  };
  return [candidate, { ...candidate, signer: old, name: `${candidate.name} by ssh-rsa`, better: signer }];
}

function nameOf({ signer, source }: Identity, crypto: CryptoProvider): string {
  return `${printable(signer.keyType, 64)} ${fingerprint(crypto, signer.publicKey)}${source}`;
}

function asked(source: PasswordMethod | KeyboardMethod): AskedCandidate {
  return { kind: 'asked', source, left: source.method === 'password' ? source.tries : 1 };
}

function leftOut(
  loaded: readonly Loaded[],
  ordered: readonly (Identity | PasswordMethod | KeyboardMethod)[],
  crypto: CryptoProvider,
  identitiesOnly: boolean,
): string[] {
  const used = ordered.flatMap((each) => ('signer' in each ? [each.signer] : []));
  const entries = loaded.flatMap(({ entry }) => (entry.kind === 'keys' ? [entry] : []));
  const named = entries
    .flatMap((entry) => (entry.from === 'files' ? entry.identities : []))
    .filter(({ signer }) => isPublicOnly(signer))
    .filter(({ signer }) => !isIn(used, signer));
  const notes = named.map(
    (identity) => `${nameOf(identity, crypto)} is a public key, and no agent has the private one`,
  );
  const agents = entries.filter(({ from }) => from === 'agent');
  const keys = agents.flatMap(({ identities }) => identities);
  const unused = keys.filter(({ signer }) => !isIn(used, signer));
  if (identitiesOnly && unused.length > 0) {
    notes.push(`keys of the agent that are not named were not tried (identitiesOnly): ${unused.length}`);
  }
  if (agents.length > 0 && keys.length === 0 && !loaded.some(({ failure }) => failure)) {
    notes.push('there is no agent, or it has no keys (`ssh-add` adds them)');
  }
  return notes;
}

function isIn(signers: readonly Signer[], signer: Signer): boolean {
  return signers.some(({ publicKey }) => equalBytes(publicKey, signer.publicKey));
}
