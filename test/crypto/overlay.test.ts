/** The overlay and the self test: what is right is used, what is wrong in any way is not, and nothing is tried early. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { trimZeros } from '../../src/bytes/mpint.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { type NativePrimitives, overlay } from '../../src/crypto/overlay.ts';
import type { Agreement, CryptoProvider, Hash, Kem, Stream } from '../../src/crypto/provider.ts';
import { pureProvider as pure } from '../../src/crypto/pure/index.ts';

/** A copy of `target` in which some members are others. */
function but<T extends object>(target: T, changes: Partial<T>): T {
  return { ...target, ...changes };
}

/** One candidate: how to offer it, and what the overlay made of it. */
interface Candidate {
  readonly what: string;
  readonly native: NativePrimitives;
  readonly chosen: (provider: CryptoProvider) => unknown;
  readonly offered: unknown;
}

function candidates(): { readonly good: Candidate[]; readonly bad: Candidate[] } {
  const good: Candidate[] = [];
  const bad: Candidate[] = [];
  const add = (list: Candidate[], what: string, native: NativePrimitives, chosen: Candidate['chosen']) => {
    list.push({ what, native, chosen, offered: chosen(native as CryptoProvider) });
  };
  const throwing = () => {
    throw new Error('not here');
  };

  const sha256 = (hash: Hash) => ({ hashes: { sha256: hash } });
  const ofHash = (provider: CryptoProvider) => provider.hashes.sha256;
  add(good, 'a hash', sha256(but(pure.hashes.sha256, {})), ofHash);
  add(bad, 'a hash that is another', sha256(pure.hashes.sha512), ofHash);
  add(bad, 'a hash of the wrong size', sha256(but(pure.hashes.sha256, { size: 31 })), ofHash);
  add(bad, 'a hash that throws', sha256(but(pure.hashes.sha256, { digest: throwing })), ofHash);
  const promised = (message: Uint8Array) => Promise.resolve(pure.hashes.sha256.digest(message)) as never;
  add(bad, 'a hash that answers later', sha256(but(pure.hashes.sha256, { digest: promised })), ofHash);

  const mac = pure.macs['hmac-sha256'];
  const ofMac = (provider: CryptoProvider) => provider.macs['hmac-sha256'];
  add(good, 'a mac', { macs: { 'hmac-sha256': but(mac, {}) } }, ofMac);
  const deaf = but(mac, {
    create: (key) => ({ compute: (first) => mac.create(key).compute(first, new Uint8Array(0)) }),
  });
  add(bad, 'a mac that hears half', { macs: { 'hmac-sha256': deaf } }, ofMac);
  const once = but(mac, {
    create(key) {
      let used = false;
      const keyed = mac.create(key);
      const compute = (first: Uint8Array, second: Uint8Array) => {
        if (used) throw new Error('already finished');
        used = true;
        return keyed.compute(first, second);
      };
      return { compute };
    },
  });
  add(bad, 'a mac for one message', { macs: { 'hmac-sha256': once } }, ofMac);

  const stream = pure.streams['aes256-ctr'];
  const ofStream = (provider: CryptoProvider) => provider.streams['aes256-ctr'];
  add(good, 'a stream', { streams: { 'aes256-ctr': but(stream, {}) } }, ofStream);
  const forgetful = but(stream, {
    create: (key, counter): Stream => ({ apply: (data) => stream.create(key, counter).apply(data) }),
  });
  add(bad, 'a stream that forgets its position', { streams: { 'aes256-ctr': forgetful } }, ofStream);

  const chained = pure.cbc['aes256-cbc'];
  const ofCbc = (provider: CryptoProvider) => provider.cbc['aes256-cbc'];
  add(good, 'a chained cipher', { cbc: { 'aes256-cbc': but(chained, {}) } }, ofCbc);
  const unchained = but(chained, {
    create: (key, iv, direction): Stream => ({ apply: (data) => chained.create(key, iv, direction).apply(data) }),
  });
  add(bad, 'a chained cipher that forgets the last block', { cbc: { 'aes256-cbc': unchained } }, ofCbc);
  const oneWay = but(chained, { create: (key, iv) => chained.create(key, iv, 'encrypt') });
  add(bad, 'a chained cipher that only enciphers', { cbc: { 'aes256-cbc': oneWay } }, ofCbc);
  add(bad, 'an md5 that is another hash', { md5: pure.hashes.sha1 }, (provider) => provider.md5);

  const aead = pure.aeads['aes128-gcm'];
  const ofAead = (provider: CryptoProvider) => provider.aeads['aes128-gcm'];
  add(good, 'an aead', { aeads: { 'aes128-gcm': but(aead, {}) } }, ofAead);
  const trusting = but(aead, {
    create: (key) => but(aead.create(key), { open: (_nonce, _associated, data) => data.subarray(0, -16) }),
  });
  const careless = but(aead, {
    create: (key) => {
      const keyed = aead.create(key);
      return but(keyed, {
        open: (nonce, associated, data) => keyed.open(nonce, associated, data) ?? new Uint8Array(0),
      });
    },
  });
  add(bad, 'an aead that opens nothing', { aeads: { 'aes128-gcm': trusting } }, ofAead);
  add(bad, 'an aead that lets altered data through', { aeads: { 'aes128-gcm': careless } }, ofAead);

  const ofChacha = (provider: CryptoProvider) => provider.chacha20;
  add(good, 'a chacha20', { chacha20: but(pure.chacha20, {}) }, ofChacha);
  const stuck = but(pure.chacha20, { apply: (key, nonce, _counter, data) => pure.chacha20.apply(key, nonce, 0, data) });
  add(bad, 'a chacha20 that does not count', { chacha20: stuck }, ofChacha);

  const halved = but(pure.chacha20, {
    authenticate: (key, nonce, _first, second) => pure.chacha20.authenticate(key, nonce, new Uint8Array(0), second),
  });
  add(bad, 'a chacha20 that authenticates half', { chacha20: halved }, ofChacha);
  const short = but(pure.chacha20, {
    authenticate: (key, nonce, first, second) =>
      pure.chacha20.authenticate(key, nonce, first, second.subarray(0, 4096)),
  });
  add(bad, 'a chacha20 that authenticates only so much', { chacha20: short }, ofChacha);

  const { mlkem768 } = pure.kems;
  const encapsulated = (kem: Kem) => ({ kems: { mlkem768: kem } });
  const ofKem = (provider: CryptoProvider) => provider.kems.mlkem768;
  add(good, 'a kem', encapsulated(but(mlkem768, {})), ofKem);
  add(bad, 'a kem that is another', encapsulated(pure.kems.mlkem1024), ofKem);
  add(
    bad,
    'a kem with its own randomness',
    encapsulated(but(mlkem768, { generate: () => mlkem768.generate(pure.random) })),
    ofKem,
  );
  const rejecting = but(mlkem768, { decapsulate: () => new Uint8Array(32) });
  add(bad, 'a kem that opens nothing', encapsulated(rejecting), ofKem);
  add(
    bad,
    'a kem that takes any length',
    encapsulated(
      but(mlkem768, {
        decapsulate: (secret, ciphertext) =>
          mlkem768.decapsulate(secret, ciphertext.length === 1088 ? ciphertext : new Uint8Array(1088)),
      }),
    ),
    ofKem,
  );

  const ofPower = (provider: CryptoProvider) => provider.modularPower;
  const power = pure.modularPower;
  add(good, 'a modular power', { modularPower: (...numbers) => power(...numbers) }, ofPower);
  add(bad, 'a modular power that drops zeros', { modularPower: (...numbers) => trimZeros(power(...numbers)) }, ofPower);
  add(
    bad,
    'a modular power for any modulus',
    { modularPower: (base, exponent, modulus) => (modulus.length === 1 ? modulus : power(base, exponent, modulus)) },
    ofPower,
  );

  const p256 = pure.agreements.p256;
  const agreed = (agreement: Agreement) => ({ agreements: { p256: agreement } });
  const ofAgreement = (provider: CryptoProvider) => provider.agreements.p256;
  add(good, 'an agreement', agreed(but(p256, {})), ofAgreement);
  const stripping = but(p256, {
    finish: (secret, responder) => (p256.finish(secret, responder) as Uint8Array).subarray(1),
  });
  add(bad, 'an agreement that drops leading zeros', agreed(stripping), ofAgreement);
  const credulous = but(p256, {
    finish(secret, responder) {
      try {
        return p256.finish(secret, responder);
      } catch {
        return new Uint8Array(32);
      }
    },
  });
  add(bad, 'an agreement that takes points off the curve', agreed(credulous), ofAgreement);
  add(
    bad,
    'an agreement with its own randomness',
    agreed(but(p256, { generate: () => p256.generate(pure.random) })),
    ofAgreement,
  );

  const ofEd25519 = (provider: CryptoProvider) => provider.ed25519;
  add(good, 'an ed25519', { ed25519: but(pure.ed25519, {}) }, ofEd25519);
  add(bad, 'an ed25519 that verifies all', { ed25519: but(pure.ed25519, { verify: () => true }) }, ofEd25519);
  add(bad, 'an ed25519 that verifies nothing', { ed25519: but(pure.ed25519, { verify: () => false }) }, ofEd25519);
  add(bad, 'an ed25519 that cannot sign', { ed25519: but(pure.ed25519, { sign: throwing }) }, ofEd25519);

  const ofEcdsa = (provider: CryptoProvider) => provider.ecdsa.p256;
  add(good, 'an ecdsa', { ecdsa: { p256: but(pure.ecdsa.p256, {}) } }, ofEcdsa);
  add(bad, 'an ecdsa that verifies all', { ecdsa: { p256: but(pure.ecdsa.p256, { verify: () => true }) } }, ofEcdsa);
  const der = but(pure.ecdsa.p256, { sign: () => new Uint8Array(71) });
  add(bad, 'an ecdsa that signs in another form', { ecdsa: { p256: der } }, ofEcdsa);
  add(bad, 'an ecdsa of another curve', { ecdsa: { p256: pure.ecdsa.p384 } }, ofEcdsa);

  const ofRsa = (provider: CryptoProvider) => provider.rsa;
  add(good, 'an rsa', { rsa: but(pure.rsa, {}) }, ofRsa);
  add(bad, 'an rsa that verifies all', { rsa: but(pure.rsa, { verify: () => true }) }, ofRsa);
  const oneHash = but(pure.rsa, { sign: (key, _hash, message) => pure.rsa.sign(key, 'sha256', message) });
  add(bad, 'an rsa that knows one hash', { rsa: oneHash }, ofRsa);
  return { good, bad };
}

const { good, bad } = candidates();

describe('overlay', () => {
  for (const { what, native, chosen, offered } of good) {
    it(`uses ${what} that gives the known answers`, () => {
      const provider = overlay('test', pure, native);
      assert.equal(chosen(provider), offered);
      assert.notEqual(chosen(provider), chosen(pure));
    });
  }

  for (const { what, native, chosen, offered } of bad) {
    it(`does not use ${what}`, () => {
      const provider = overlay('test', pure, native);
      assert.equal(chosen(provider), chosen(pure));
      assert.notEqual(chosen(provider), offered);
    });
  }

  it('is its base where nothing is offered', () => {
    const provider = overlay('bare', pure, {});
    assert.deepEqual({ ...provider, name: 'pure' }, { ...pure });
    assert.equal(provider.name, 'bare');
  });

  it('tries nothing before it is asked for, and once only', () => {
    let tries = 0;
    const digest = (message: Uint8Array) => {
      tries += 1;
      return pure.hashes.sha1.digest(message);
    };
    const provider = overlay('lazy', pure, { hashes: { sha1: { size: 20, digest } } });
    assert.equal(provider.hashes.sha256, pure.hashes.sha256);
    assert.equal(tries, 0);
    assert.equal(provider.hashes.sha1, provider.hashes.sha1);
    assert.equal(tries, 1);
  });

  it('calls AES fast exactly where AES-GCM is not the one of its base', () => {
    assert.equal(pure.fastAes, false);
    assert.equal(overlay('a', pure, {}).fastAes, false);
    assert.equal(overlay('b', pure, { aeads: { 'aes128-gcm': but(pure.aeads['aes128-gcm'], {}) } }).fastAes, true);
    assert.equal(overlay('c', pure, { aeads: { 'aes128-gcm': pure.aeads['aes256-gcm'] } }).fastAes, false);
  });
});

describe('nodeProvider', () => {
  it('is one value with every member of the pure provider', () => {
    assert.equal(nodeProvider(), nodeProvider());
    assert.equal(nodeProvider().name, 'node+pure');
    assert.deepEqual(Object.keys(nodeProvider()), Object.keys(pure));
    for (const table of ['hashes', 'macs', 'streams', 'aeads', 'agreements', 'ecdsa'] as const) {
      assert.deepEqual(Object.keys(nodeProvider()[table]), Object.keys(pure[table]));
    }
  });

  it('takes from the runtime all that it has', () => {
    const provider = nodeProvider();
    const single = ['chacha20', 'ed25519', 'rsa'] as const;
    const tables = ['hashes', 'macs', 'streams', 'aeads', 'agreements', 'ecdsa'] as const;
    const pureOnes: string[] = single.filter((name) => provider[name] === pure[name]);
    for (const table of tables) {
      const [ours, base] = [provider[table], pure[table]] as Record<string, unknown>[];
      pureOnes.push(...Object.keys(pure[table]).filter((name) => ours?.[name] === base?.[name]));
    }
    // Bun has no ChaCha20 by itself.
    assert.deepEqual(pureOnes, 'Bun' in globalThis ? ['chacha20'] : []);
    assert.equal(provider.fastAes, true);
  });
});
