/** Key derivations of both providers against RFC 6070, RFC 7914, and other implementations; and which ones a runtime's may replace. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex } from '../../src/bytes/text.ts';
import { kdfAnswers } from '../../src/crypto/check_kdfs.ts';
import type { Argon2Kind, KdfHash, Kdfs } from '../../src/crypto/kdfs.ts';
import { overlay } from '../../src/crypto/overlay.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { isThorough } from '../support/thorough.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, providers, reads } from './tools.ts';

interface Row {
  readonly id: string;
  readonly password: string;
  readonly salt: string;
  readonly key: string;
  readonly hash: KdfHash;
  readonly iterations: number;
  readonly kind: Argon2Kind;
  readonly memory: number;
  readonly passes: number;
  readonly lanes: number;
  readonly n: number;
  readonly r: number;
  readonly p: number;
  readonly rounds: number;
}
type Group = VectorGroup<Row> & { readonly kdf: keyof Kdfs };

function derive({ kdfs }: CryptoProvider, kdf: keyof Kdfs, row: Row): Uint8Array {
  const [password, salt, size] = [fromHex(row.password), fromHex(row.salt), row.key.length / 2];
  switch (kdf) {
    case 'pbkdf2':
      return kdfs.pbkdf2(row.hash, password, salt, row.iterations, size);
    case 'scrypt':
      return kdfs.scrypt(password, salt, row, size);
    case 'argon2':
      return kdfs.argon2(row.kind, password, salt, row, size);
    case 'bcrypt':
      return kdfs.bcrypt(password, salt, row.rounds, size);
  }
}

/** What takes plain JavaScript more than a tenth of a second is tried where tests are thorough. */
const isCostly = (row: Row): boolean => row.iterations > 10_000 || row.n * row.r * row.p > 100_000;

for (const provider of providers) {
  describe(`key derivations of ${provider.name}`, () => {
    for (const group of ownVectors<Group>('crypto/kdf.json')) {
      it(`give the keys of ${group.source}: ${group.kdf}`, async () => {
        const rows = group.rows.filter((row) => isThorough || provider !== pureProvider || !isCostly(row));
        await assertEach(
          rows,
          (row) => row.id,
          (row) => {
            const key = derive(provider, group.kdf, row);
            return key.constructor === Uint8Array && reads(key, row.key);
          },
        );
      });
    }
  });
}

describe('kdfAnswers', () => {
  const right = pureProvider.kdfs;

  it('is yes for what is right', () => {
    for (const name of ['pbkdf2', 'scrypt', 'argon2'] as const) assert.equal(kdfAnswers(name, right[name]), true, name);
  });

  it('is no for what is wrong, throws, or does not know one of the kinds', () => {
    const wrong: Partial<Kdfs> = {
      pbkdf2: (hash, ...rest) => right.pbkdf2(hash === 'sha384' ? 'sha512' : hash, ...rest),
      scrypt: (password, salt, cost, size) => right.scrypt(password, salt, { ...cost, r: 2 }, size),
      argon2(kind, ...rest) {
        if (kind === 'd') throw new Error('no such kind');
        return right.argon2(kind, ...rest);
      },
    };
    const provider = overlay('wrong', pureProvider, { kdfs: wrong });
    for (const name of ['pbkdf2', 'scrypt', 'argon2'] as const) {
      assert.equal(kdfAnswers(name, wrong[name] as never), false, name);
      assert.equal(provider.kdfs[name], right[name], name);
    }
  });
});
