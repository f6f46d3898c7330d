import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../../src/bytes/text.ts';
import { type Entry, type Identity, orderEntries, orderIdentities, publicHalf } from '../../src/client/identities.ts';
import { certified, signCertificate } from '../../src/keys/certificate.ts';
import { signerOf } from '../../src/keys/private_key.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { seededRandom } from '../support/random.ts';
import { testKey } from '../support/test_keys.ts';

/** A key called `blob`: one that signs, one that costs a person something, one that is named only, or one in the agent. */
function signer(blob: string, kind: 'free' | 'locked'): Signer {
  return {
    publicKey: utf8(blob),
    keyType: 'ssh-ed25519',
    algorithms: ['ssh-ed25519'],
    queryFirst: kind === 'locked',
    sign: () => assert.fail('it signed'),
  };
}

const free = (blob: string): Identity => ({ signer: signer(blob, 'free'), source: 'free' });
const locked = (blob: string): Identity => ({ signer: signer(blob, 'locked'), source: 'locked' });
const named = (blob: string): Identity => ({ signer: publicHalf(utf8(blob), 'ssh-ed25519'), source: 'named' });
const inAgent = (...blobs: readonly string[]): Identity[] =>
  blobs.map((blob) => ({ signer: signer(blob, 'locked'), source: 'agent' }));

const shown = (identities: readonly Identity[]): string[] =>
  identities.map(({ signer, source }) => `${new TextDecoder().decode(signer.publicKey)} ${source}`);

describe('orderIdentities', () => {
  it('puts explicit keys first, then those of the agent that are named, then its rest', () => {
    const explicit = [locked('B'), named('D'), free('A'), locked('X'), named('Y')];
    const ordered = orderIdentities(explicit, inAgent('C', 'D', 'B'), false);
    assert.deepEqual(shown(ordered), ['A free', 'X locked', 'B agent', 'D agent', 'C agent']);
  });

  it('leaves the rest out with identitiesOnly', () => {
    const explicit = [locked('B'), named('D'), free('A')];
    assert.deepEqual(shown(orderIdentities(explicit, inAgent('C', 'D', 'B'), true)), ['A free', 'B agent', 'D agent']);
    assert.deepEqual(orderIdentities([], inAgent('C'), true), []);
  });

  it('has no key twice, and signs itself with a key that is free', () => {
    const explicit = [free('A'), free('A'), locked('B'), named('B')];
    assert.deepEqual(shown(orderIdentities(explicit, inAgent('B', 'A', 'B', 'C'), false)), [
      'A free',
      'B agent',
      'C agent',
    ]);
  });

  it('has the agent sign for a certificate whose key it has', async () => {
    const key = testKey('ssh-ed25519', 'user');
    const plain = signerOf(memoCrypto, key);
    const request = { key: key.publicKey, kind: 'user', keyId: 'ada', principals: ['ada'] } as const;
    const authority = signerOf(memoCrypto, testKey('ssh-ed25519', 'host'));
    const certificate = await signCertificate(memoCrypto, authority, request, seededRandom('certificate'));
    const explicit = { signer: certified(publicHalf(key.publicKey.blob, 'ssh-ed25519'), certificate), source: 'file' };
    const agent = { signer: plain, source: 'agent' };
    const ordered = orderIdentities([explicit], [...inAgent('C'), agent], true);
    assert.deepEqual(
      ordered.map(({ signer, source }) => [signer.keyType, signer.algorithms, source]),
      [['ssh-ed25519-cert-v01@openssh.com', ['ssh-ed25519-cert-v01@openssh.com'], 'agent']],
    );
    assert.deepEqual(ordered[0]?.signer.publicKey, certificate.blob);
    assert.deepEqual(orderIdentities([explicit], inAgent('C'), true), []);
  });
});

describe('orderEntries', () => {
  const files = (...identities: readonly Identity[]): Entry<string> => ({ kind: 'keys', from: 'files', identities });
  const agent = (...blobs: readonly string[]): Entry<string> => ({
    kind: 'keys',
    from: 'agent',
    identities: inAgent(...blobs),
  });
  const other = (name: string): Entry<string> => ({ kind: 'other', other: name });
  const order = (...entries: readonly Entry<string>[]): string[] =>
    orderEntries(entries, false).flatMap((each) => (typeof each === 'string' ? [each] : shown([each])));

  it('keeps the order of the caller', () => {
    assert.deepEqual(order(files(free('A')), other('password'), files(free('B')), other('keyboard')), [
      'A free',
      'password',
      'B free',
      'keyboard',
    ]);
    assert.deepEqual(order(other('password')), ['password']);
    assert.deepEqual(order(), []);
  });

  it('puts the agent where it is listed, behind the keys beside it and those listed later', () => {
    assert.deepEqual(order(files(free('A')), agent('C'), files(free('B')), other('password'), files(free('D'))), [
      'A free',
      'B free',
      'D free',
      'C agent',
      'password',
    ]);
    assert.deepEqual(order(files(free('A')), other('password'), agent('C'), files(free('B'))), [
      'A free',
      'password',
      'B free',
      'C agent',
    ]);
    assert.deepEqual(order(other('password'), agent('C')), ['password', 'C agent']);
  });

  it('uses the agent for keys that were named before it', () => {
    assert.deepEqual(order(files(locked('C'), named('D')), other('password'), agent('A', 'D', 'C')), [
      'C agent',
      'D agent',
      'password',
      'A agent',
    ]);
  });

  it('takes two agents, and files with several keys', () => {
    assert.deepEqual(order(agent('A', 'B'), agent('B', 'C'), files(free('D'), free('A'))), [
      'D free',
      'A free',
      'B agent',
      'C agent',
    ]);
  });
});
