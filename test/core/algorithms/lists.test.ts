import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ciphers } from '../../../src/core/algorithms/ciphers.ts';
import { exchanges } from '../../../src/core/algorithms/exchanges.ts';
import { type AlgorithmLists, chooseAlgorithms, defaultAlgorithms } from '../../../src/core/algorithms/lists.ts';
import { macs } from '../../../src/core/algorithms/macs.ts';
import { crypto, thrown } from '../tools.ts';

const slowAes = { ...crypto, fastAes: false };
const fastAes = { ...crypto, fastAes: true };

const expected: AlgorithmLists = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
  ],
  hostKeys: [
    'ssh-ed25519',
    'ecdsa-sha2-nistp256',
    'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521',
    'rsa-sha2-512',
    'rsa-sha2-256',
  ],
  ciphers: [
    'chacha20-poly1305@openssh.com',
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'aes128-ctr',
    'aes192-ctr',
    'aes256-ctr',
  ],
  macs: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compression: ['none'],
};

describe('defaultAlgorithms', () => {
  it('offers everything secure, ChaCha20 first where AES is software', () => {
    assert.deepEqual(defaultAlgorithms(slowAes), expected);
  });

  it('offers AES-GCM first where AES is hardware', () => {
    const [chacha, gcm128, gcm256, ...ctr] = expected.ciphers;
    assert.deepEqual(defaultAlgorithms(fastAes), { ...expected, ciphers: [gcm128, gcm256, chacha, ...ctr] });
  });

  it('offers no name twice, and only what has a row', () => {
    const { kex, ciphers: offered, macs: offeredMacs } = defaultAlgorithms(slowAes);
    assert.deepEqual([...kex].sort(), [...exchanges.keys()].sort());
    assert.deepEqual([...offered].sort(), [...ciphers.keys()].sort());
    assert.deepEqual([...offeredMacs].sort(), [...macs.keys()].sort());
  });
});

describe('chooseAlgorithms', () => {
  it('gives the defaults where nothing else is wanted', () => {
    assert.deepEqual(chooseAlgorithms(slowAes), expected);
    assert.deepEqual(chooseAlgorithms(slowAes, {}), expected);
  });

  it("puts the caller's lists in place of the defaults, in their order", () => {
    const kex = ['ecdh-sha2-nistp521', 'curve25519-sha256'];
    assert.deepEqual(chooseAlgorithms(slowAes, { kex }), { ...expected, kex });
    assert.deepEqual(chooseAlgorithms(slowAes, { ciphers: ['aes256-ctr'], macs: ['hmac-sha2-512'] }), {
      ...expected,
      ciphers: ['aes256-ctr'],
      macs: ['hmac-sha2-512'],
    });
  });

  for (const category of Object.keys(expected) as (keyof AlgorithmLists)[]) {
    it(`refuses an empty list of ${category}`, () => {
      const error = thrown('bad-argument', () => chooseAlgorithms(slowAes, { [category]: [] }));
      assert.equal(error.message, `algorithms.${category} is empty: name at least one`);
    });

    it(`refuses a name among ${category} that it does not know, and lists those it knows`, () => {
      const known = expected[category];
      const error = thrown('bad-argument', () => chooseAlgorithms(slowAes, { [category]: [known[0] ?? '', 'x\n'] }));
      assert.ok(
        error.message.startsWith(`algorithms.${category} names "x\\x0a", which puressh does not know; it knows `),
      );
      for (const name of known) assert.ok(error.message.includes(name), `${name} is listed`);
      assert.equal(error.fault, 'local');
    });
  }

  it('refuses a list that it does not know, whose names would not narrow anything', () => {
    const misspelt = { cipher: ['aes256-ctr'] } as object;
    const error = thrown('bad-argument', () => chooseAlgorithms(slowAes, misspelt));
    assert.equal(error.message, 'algorithms has no list cipher; there are kex, hostKeys, ciphers, macs, compression');
  });

  it('refuses markers, and no cipher at all', () => {
    for (const name of ['ext-info-c', 'kex-strict-c-v00@openssh.com']) {
      thrown('bad-argument', () => chooseAlgorithms(slowAes, { kex: [name] }));
    }
    thrown('bad-argument', () => chooseAlgorithms(slowAes, { ciphers: ['none'] }));
  });
});
