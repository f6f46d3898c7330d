/** The two providers against each other on random inputs: every length, and views that start anywhere. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { hex } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import type {
  AeadName,
  AgreementName,
  CbcName,
  CurveName,
  HashName,
  MacName,
  StreamName,
} from '../../src/crypto/provider.ts';
import { pureProvider as pure } from '../../src/crypto/pure/index.ts';
import { seededRandom } from '../support/random.ts';
import { lengths, shifted } from './tools.ts';

const native = nodeProvider();
const offsets = [0, 1, 2, 3, 4, 5, 6, 7];
const keysOf = <K extends string>(table: Readonly<Record<K, unknown>>) => Object.keys(table) as K[];

/** `message` at an offset that varies with its length, so that all lengths meet all offsets over the primitives. */
function anywhere(message: Uint8Array, turn: number): Uint8Array {
  return shifted(message, offsets[(message.length + turn) % offsets.length] as number);
}

/** The lengths at which `same` is false. */
function differing(same: (length: number) => boolean): number[] {
  return lengths.filter((length) => !same(length));
}

describe('pure and node+pure agree', () => {
  for (const name of keysOf<HashName>(pure.hashes)) {
    it(`on ${name} of every length`, () => {
      const random = seededRandom(name);
      const wrong = differing((length) => {
        const message = random(length);
        return (
          hex(pure.hashes[name].digest(anywhere(message, 0))) === hex(native.hashes[name].digest(anywhere(message, 3)))
        );
      });
      assert.deepEqual(wrong, []);
    });
  }

  for (const name of keysOf<MacName>(pure.macs)) {
    it(`on ${name} with keys and messages of every length`, () => {
      const random = seededRandom(name);
      const wrong = differing((length) => {
        const [key, first, second] = [random(length % 300), random(length % 7), random(length)];
        const [ours, theirs] = [pure.macs[name].create(key), native.macs[name].create(anywhere(key, 1))];
        return (
          hex(ours.compute(anywhere(first, 1), anywhere(second, 2))) === hex(theirs.compute(first, anywhere(second, 5)))
        );
      });
      assert.deepEqual(wrong, []);
    });
  }

  for (const name of keysOf<StreamName>(pure.streams)) {
    it(`on ${name} over a long run of pieces of every length`, () => {
      const random = seededRandom(name);
      const [key, counter] = [random(pure.streams[name].keySize), concat(random(12), new Uint8Array(4).fill(0xff))];
      const [ours, theirs] = [pure.streams[name].create(key, counter), native.streams[name].create(key, counter)];
      const wrong = differing((length) => {
        const piece = random(length);
        return hex(ours.apply(anywhere(piece, 0))) === hex(theirs.apply(anywhere(piece, 3)));
      });
      assert.deepEqual(wrong, []);
    });
  }

  for (const name of keysOf<CbcName>(pure.cbc)) {
    it(`on ${name} over a long run of pieces of every number of blocks`, () => {
      const random = seededRandom(name);
      const { keySize, blockSize } = pure.cbc[name];
      const [key, iv] = [random(keySize), random(blockSize)];
      for (const direction of ['encrypt', 'decrypt'] as const) {
        const [ours, theirs] = [pure, native].map((each) => each.cbc[name].create(key, iv, direction));
        const wrong = differing((length) => {
          const piece = random(length - (length % blockSize));
          return hex(ours?.apply(anywhere(piece, 0)) ?? piece) === hex(theirs?.apply(anywhere(piece, 3)) ?? key);
        });
        assert.deepEqual(wrong, [], direction);
      }
    });
  }

  for (const name of keysOf<AeadName>(pure.aeads)) {
    it(`on ${name} of every length, each opening what the other sealed`, () => {
      const random = seededRandom(name);
      const key = random(pure.aeads[name].keySize);
      const [ours, theirs] = [pure.aeads[name].create(key), native.aeads[name].create(key)];
      const wrong = differing((length) => {
        const [nonce, associated, data] = [random(12), random(length % 21), random(length)];
        const sealed = concat(...ours.seal(nonce, associated, anywhere(data, 0)));
        const same = hex(concat(...theirs.seal(nonce, associated, anywhere(data, 4)))) === hex(sealed);
        const opened = [ours, theirs].map((aead, i) => aead.open(nonce, associated, anywhere(sealed, i)));
        sealed[length % sealed.length] = (sealed[length % sealed.length] as number) ^ 0x10;
        const refused = [ours, theirs].every((aead) => aead.open(nonce, associated, anywhere(sealed, 2)) === undefined);
        return same && refused && opened.every((plain) => plain !== undefined && hex(plain) === hex(data));
      });
      assert.deepEqual(wrong, []);
    });
  }

  it('on chacha20 of every length, at every offset', () => {
    const random = seededRandom('chacha20');
    const wrong = differing((length) => {
      const [key, nonce, data] = [random(32), random(8), random(length)];
      const counter = length % 3 === 0 ? 0 : length;
      const ours = pure.chacha20.apply(anywhere(key, 1), anywhere(nonce, 2), counter, anywhere(data, 3));
      return hex(ours) === hex(native.chacha20.apply(key, nonce, counter, anywhere(data, 4)));
    });
    assert.deepEqual(wrong, []);
  });

  it('on tags under a key of ChaCha20, of every length around a block, short and long', () => {
    const random = seededRandom('tags');
    const lengths = [
      0,
      1,
      15,
      16,
      17,
      31,
      32,
      100,
      1000,
      ...Array.from({ length: 70 }, (_, i) => 4080 + i),
      32_776,
      65_543,
    ];
    for (const length of lengths) {
      for (const start of [0, 4, 16, 20]) {
        const [key, nonce, first, second] = [
          random(32).slice(),
          random(8).slice(),
          random(start).slice(),
          random(length).slice(),
        ];
        const ours = hex(
          pure.chacha20.authenticate(anywhere(key, 1), anywhere(nonce, 2), anywhere(first, 3), anywhere(second, 1)),
        );
        assert.equal(
          hex(native.chacha20.authenticate(key, nonce, first, second)),
          ours,
          `${start} and ${length} bytes`,
        );
        assert.equal(hex(native.chacha20.authenticate(key, nonce, first, anywhere(second, 3))), ours);
      }
    }
  });

  it('on tags of messages that are all ones, or all zeros', () => {
    for (const fill of [0, 0xff]) {
      for (const length of [4096, 4100, 4108, 4112]) {
        const [key, nonce] = [new Uint8Array(32).fill(fill), new Uint8Array(8).fill(fill)];
        const [first, second] = [new Uint8Array(4).fill(fill), new Uint8Array(length).fill(fill)];
        const ours = hex(pure.chacha20.authenticate(key, nonce, first, second));
        assert.equal(hex(native.chacha20.authenticate(key, nonce, first, second)), ours);
      }
    }
  });

  for (const name of keysOf<AgreementName>(pure.agreements)) {
    it(`on ${name}: the same randomness gives the same keys and secrets`, { timeout: 60_000 }, async () => {
      for (let round = 0; round < (name === 'x25519' ? 20 : 5); round++) {
        const random = () => seededRandom(`${name} ${round}`);
        const [ours, theirs] = [pure.agreements[name].generate(random()), native.agreements[name].generate(random())];
        assert.deepEqual([hex(theirs.secret), hex(theirs.publicValue)], [hex(ours.secret), hex(ours.publicValue)]);
        const peer = seededRandom(`${name} peer ${round}`);
        const responded = await native.agreements[name].respond(peer, ours.publicValue);
        const again = await pure.agreements[name].respond(seededRandom(`${name} peer ${round}`), ours.publicValue);
        assert.deepEqual(
          [hex(again.publicValue), hex(again.shared)],
          [hex(responded.publicValue), hex(responded.shared)],
        );
        for (const side of [pure, native]) {
          const shared = await side.agreements[name].finish(ours.secret, anywhere(responded.publicValue, round));
          assert.equal(hex(shared), hex(responded.shared));
        }
      }
    });
  }

  it('on ed25519', async () => {
    const random = seededRandom('ed25519');
    for (let round = 0; round < 30; round++) {
      const [seed, message] = [random(32), random(round * 11)];
      const publicKey = pure.ed25519.publicKey(seed);
      const signature = await pure.ed25519.sign(anywhere(seed, round), anywhere(message, round));
      assert.equal(hex(native.ed25519.publicKey(anywhere(seed, round))), hex(publicKey));
      assert.equal(hex(await native.ed25519.sign(anywhere(seed, round), anywhere(message, round))), hex(signature));
      const bit = random(1)[0] as number;
      const forged = new Uint8Array(signature);
      forged[bit % 64] = (forged[bit % 64] as number) ^ (1 << (bit >> 6));
      for (const side of [pure, native]) {
        assert.equal(await side.ed25519.verify(publicKey, message, anywhere(signature, round)), true);
        assert.equal(await side.ed25519.verify(publicKey, message, forged), false);
        assert.equal(await side.ed25519.verify(random(32), message, signature), false);
      }
    }
  });

  for (const name of keysOf<CurveName>(pure.ecdsa)) {
    it(`on ecdsa ${name}`, { timeout: 60_000 }, async () => {
      const random = seededRandom(`ecdsa ${name}`);
      for (let round = 0; round < 5; round++) {
        const { secret } = pure.agreements[name].generate(random);
        const message = random(round * 50);
        const publicKey = pure.ecdsa[name].publicKey(secret);
        assert.equal(hex(native.ecdsa[name].publicKey(anywhere(secret, round))), hex(publicKey));
        for (const signer of [pure, native]) {
          const signature = await signer.ecdsa[name].sign(anywhere(secret, round), anywhere(message, round));
          const forged = new Uint8Array(signature);
          const at = (random(1)[0] as number) % forged.length;
          forged[at] = (forged[at] as number) ^ 4;
          for (const verifier of [pure, native]) {
            assert.equal(await verifier.ecdsa[name].verify(publicKey, message, anywhere(signature, round)), true);
            assert.equal(await verifier.ecdsa[name].verify(publicKey, message, forged), false);
          }
        }
      }
    });
  }
});
