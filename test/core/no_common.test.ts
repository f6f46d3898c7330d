/** The advice of a failed negotiation: what it tells to set, and that setting it helps. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AlgorithmCategory, chooseAlgorithms, defaultAlgorithms } from '../../src/core/algorithms/lists.ts';
import type { Role } from '../../src/core/events.ts';
import { noCommon } from '../../src/core/no_common.ts';
import { crypto } from './tools.ts';

const defaults = defaultAlgorithms(crypto);

function said(
  category: AlgorithmCategory,
  theirs: readonly string[],
  role: Role = 'client',
  ours: readonly string[] = defaults[category],
): string {
  const { message } = noCommon(category, ours, theirs, role);
  const start = `we offer ${ours.join(', ')}; the peer offers ${theirs.join(', ') || 'none'}. `;
  const at = message.indexOf(start);
  assert.ok(message.startsWith('No common ') && at > 0, message);
  return message.slice(at + start.length);
}

describe('noCommon', () => {
  it('names the first that puressh knows and does not offer, with the preset that would do', () => {
    assert.equal(
      said('ciphers', ['arcfour', '3des-cbc', 'aes128-cbc']),
      "To allow this weak one, set algorithms: { ciphers: '+aes128-cbc' }, or algorithms: 'legacy' to allow everything that is weak",
    );
    assert.match(said('macs', ['umac-64@openssh.com', 'hmac-md5']), /set algorithms: \{ macs: '\+hmac-md5' \}, or /);
  });

  it('prefers one that is not weak, and does not speak of weakness then', () => {
    assert.equal(
      said('ciphers', ['3des-cbc', 'aes256-ctr'], 'client', ['aes128-ctr']),
      "To allow it, set algorithms: { ciphers: '+aes256-ctr' }",
    );
  });

  it('says so where puressh knows none', () => {
    for (const theirs of [['arcfour', 'x\x1b'], []]) {
      const { message } = noCommon('ciphers', ['aes128-ctr'], theirs, 'server');
      assert.match(message, /\. puressh knows none of the peer's: it has to offer another$/);
      assert.ok(!message.includes('\x1b'));
    }
  });

  it('tells a server that it lacks a key', () => {
    assert.equal(
      said('hostKeys', ['rsa-sha2-256'], 'server', ['ssh-ed25519']),
      'Give hostKeys a key that signs with rsa-sha2-256',
    );
  });

  it('tells that compression takes a library, and that it can be left out', () => {
    assert.equal(said('compression', ['zlib']), 'To compress, set compression: zlibFrom(pako)');
    assert.equal(
      said('compression', ['none'], 'client', ['zlib']),
      "To allow it, set algorithms: { compression: '+none' }",
    );
  });

  it('gives advice that helps', () => {
    for (const category of ['kex', 'ciphers', 'macs', 'hostKeys'] as const) {
      const everything = chooseAlgorithms(crypto, 'legacy')[category];
      const weak = everything.filter((name) => !defaults[category].includes(name));
      for (const name of weak) {
        const found = /set algorithms: \{ (\w+): '([^']+)' \}, or algorithms: 'legacy'/.exec(said(category, [name]));
        assert.ok(found !== null, name);
        assert.ok(chooseAlgorithms(crypto, { [found[1] as string]: found[2] })[category].includes(name), name);
      }
    }
  });

  it('is an error of policy that ends the key exchange', () => {
    const { code, fault, phase, disconnect } = noCommon('kex', ['a'], ['b'], 'client');
    assert.deepEqual([code, fault, phase, disconnect], ['no-common-algorithm', 'policy', 'key-exchange', 3]);
  });
});
