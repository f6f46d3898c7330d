/**
 * In which order keys are tried: those that the caller names, those of an agent that the caller names without being able to sign with
 * them, and the rest of the agent. No key twice. Pure; must not know servers.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { SshError } from '../errors.ts';
import { certified, isCertificateType, parseCertificate } from '../keys/certificate.ts';
import type { Signer } from '../keys/signature.ts';

/** A key that may be tried. */
export interface Identity {
  readonly signer: Signer;
  /** Where it comes from, in words for messages; '' if there is nothing to say. */
  readonly source: string;
}

/** What may be tried, as the caller listed it: keys, or something else. */
export type Entry<T> =
  | { readonly kind: 'keys'; readonly from: 'files' | 'agent'; readonly identities: readonly Identity[] }
  | { readonly kind: 'other'; readonly other: T };

/** Whether a key is named only: without algorithms nothing signs with it. See `publicHalf`. */
export function isPublicOnly(signer: Signer): boolean {
  return signer.algorithms.length === 0;
}

/** A key that is named and cannot sign here: the one in an agent with the same blob is used. */
export function publicHalf(publicKey: Uint8Array, keyType: string, comment = ''): Signer {
  return {
    publicKey,
    keyType,
    algorithms: [],
    comment,
    sign: () => Promise.reject(new SshError('bad-argument', 'The private half of this key is not here')),
  };
}

/**
 * Keys that the caller names and that sign here, in order; keys of the agent in place of those that are named by their public half or
 * cost a person something; and the rest of the agent, unless `identitiesOnly`. What is named by its public half only, and not
 * in the agent, is left out.
 */
export function orderIdentities(
  explicit: readonly Identity[],
  fromAgent: readonly Identity[],
  identitiesOnly: boolean,
): readonly Identity[] {
  const here: Identity[] = [];
  const matching: Identity[] = [];
  for (const identity of explicit) {
    const { signer } = identity;
    const isLocked = signer.queryFirst === true || isPublicOnly(signer);
    const twin = isLocked ? twinOf(identity, fromAgent) : undefined;
    if (twin !== undefined) matching.push(twin);
    else if (!isPublicOnly(signer)) here.push(identity);
  }
  return withoutRepeats([...here, ...matching, ...(identitiesOnly ? [] : fromAgent)]);
}

/** The agent's key that signs as this one would; where a certificate is named, its key will do. */
function twinOf(identity: Identity, fromAgent: readonly Identity[]): Identity | undefined {
  const twin = fromAgent.find((other) => isSame(other, identity));
  const { keyType, publicKey } = identity.signer;
  if (twin !== undefined || !isCertificateType(keyType)) return twin;
  const certificate = parseCertificate(publicKey);
  const plain = fromAgent.find(({ signer }) => equalBytes(signer.publicKey, certificate.key.blob));
  return plain && { signer: certified(plain.signer, certificate), source: plain.source };
}

/**
 * All that may be tried, in the caller's order. Keys of an agent stand where the agent is listed, but behind all keys that are
 * listed beside it or later.
 */
export function orderEntries<T>(entries: readonly Entry<T>[], identitiesOnly: boolean): readonly (Identity | T)[] {
  const keysOf = (list: readonly Entry<T>[], from: 'files' | 'agent'): Identity[] =>
    list.flatMap((entry) => (entry.kind === 'keys' && entry.from === from ? entry.identities : []));
  const fromAgent = keysOf(entries, 'agent');
  // where the run of keys begins that the agent stands in
  let start = entries.findIndex((entry) => entry.kind === 'keys' && entry.from === 'agent');
  if (start < 0) start = entries.length;
  while (start < entries.length && start > 0 && entries[start - 1]?.kind === 'keys') start--;
  const before = entries.slice(0, start);
  const after = entries.slice(start);
  const ordered = [
    ...before.flatMap((entry): readonly (Identity | T)[] =>
      entry.kind === 'keys' ? orderIdentities(entry.identities, fromAgent, true) : [entry.other],
    ),
    ...orderIdentities(keysOf(after, 'files'), fromAgent, identitiesOnly),
    ...after.flatMap((entry) => (entry.kind === 'other' ? [entry.other] : [])),
  ];
  const seen: Identity[] = [];
  return ordered.filter((each) => {
    if (!isIdentity(each)) return true;
    const isNew = !seen.some((other) => isSame(other, each));
    if (isNew) seen.push(each);
    return isNew;
  });
}

function isIdentity(value: unknown): value is Identity {
  return typeof value === 'object' && value !== null && 'signer' in value && 'source' in value;
}

function isSame(a: Identity, b: Identity): boolean {
  return equalBytes(a.signer.publicKey, b.signer.publicKey);
}

function withoutRepeats(identities: readonly Identity[]): Identity[] {
  return identities.filter((each, index) => !identities.slice(0, index).some((other) => isSame(each, other)));
}
