/** Every byte of every key file damaged, of each kind in two ways: a typed error, or the same key. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { SshError } from '../../src/errors.ts';
import type { KdfLimits } from '../../src/keys/kdf_limits.ts';
import { peekPrivateKey } from '../../src/keys/private_key.ts';
import { isThorough } from '../support/thorough.ts';
import { blobOf, keyFileRow, keyFileRows, opening, outcome, remembering } from './key_files.ts';
import { armour, armoured } from './tools.ts';

const crypto = remembering(nodeProvider());
const codes = [
  'key-cipher-unsupported',
  'key-corrupt',
  'key-format-unsupported',
  'key-passphrase-needed',
  'key-passphrase-wrong',
];
/** What the files cost, and no more: a cost that was altered is refused, not computed. */
const limits: KdfLimits = {
  bcryptRounds: 1,
  pbkdf2Iterations: 3,
  scryptMemory: 128 * 16 * 2,
  scryptWork: 16 * 2,
  argon2Memory: 64,
  argon2Work: 128,
  argon2Lanes: 2,
};

/** What the blob of an Ed25519 key begins with. */
const SEED = '0000000b7373682d6564323535313900000020';

const step = isThorough ? 1 : 13;

function tryAll(
  id: string,
  whole: Uint8Array,
  write: (bytes: Uint8Array) => string | Uint8Array,
  masks: readonly number[] = [0x04, 0xff],
): void {
  const row = keyFileRow(id);
  const options = opening(row, { limits });
  const right = hex(blobOf(row));
  assert.equal(outcome(write(whole), crypto, options), right);
  const seen = new Set<string>();
  for (const mask of masks) {
    for (let at = mask % step; at < whole.length; at += step) {
      const changed = whole.slice();
      changed[at] = (changed[at] as number) ^ mask;
      const found = outcome(write(changed), crypto, options);
      if (found !== right) seen.add(found);
      try {
        peekPrivateKey(write(changed));
      } catch (error) {
        assert.ok(error instanceof SshError && codes.includes(error.code), String(error));
      }
    }
  }
  for (const code of codes) seen.delete(code);
  // A seed without a public half beside it, and without a MAC around it, is a good key whatever its bytes are.
  const others = id.startsWith('pbes2-openssl-ed25519')
    ? [...seen].filter((each) => !each.startsWith(SEED))
    : [...seen];
  assert.deepEqual(others, []);
}

describe('parsePrivateKey, damaged files of every kind', () => {
  const binary = [
    'openssh-ed25519-aes256-ctr',
    'openssh-ed25519-3des-cbc',
    'openssh-ed25519-aes256-gcm@openssh.com',
    'openssh-ed25519-chacha20-poly1305@openssh.com',
    'pem-rsa1024',
    'pem-ecdsa256',
    'pbes2-openssl-ed25519-hmacWithSHA1-des3',
    'pbes2-rsa1024-hmacWithSHA256-aes256',
    'pbes2-openssl-p256-scrypt',
  ];
  for (const id of binary) {
    it(`finds no other key in ${id}`, { timeout: 60_000 }, () => {
      const { file } = keyFileRow(id);
      const label = /BEGIN (.+?)-----/.exec(file)?.[1] as string;
      tryAll(id, armoured(file), (bytes) => armour(label, bytes));
    });
  }

  const text = [
    'ppk3-ed25519',
    'ppk2-ed25519',
    'ppk3-ed25519-plain',
    'dek-rsa1024-aes-128-cbc',
    'dek-ecdsa384-des-ede3-cbc',
  ];
  for (const id of text) {
    it(`finds no other key in ${id}, whose text is damaged`, { timeout: 60_000 }, () => {
      tryAll(id, utf8(keyFileRow(id).file), (bytes) => bytes);
    });
  }

  for (const { id, file } of keyFileRows.filter((row) => !binary.includes(row.id) && !text.includes(row.id))) {
    it(`finds no other key in ${id} either`, { timeout: 60_000, skip: isThorough ? false : 'tried in Node 24' }, () => {
      const [, label] = /BEGIN (.+?)-----/.exec(file) ?? [];
      if (label === undefined || id.startsWith('dek')) tryAll(id, utf8(file), (bytes) => bytes, [0x04]);
      else tryAll(id, armoured(file), (bytes) => armour(label, bytes), [0x04]);
    });
  }

  it('finds every file corrupt that is cut off', () => {
    for (const id of [...text, ...binary]) {
      const row = keyFileRow(id);
      const whole = utf8(row.file.trimEnd());
      for (let end = 80; end < whole.length; end += isThorough ? 7 : 41) {
        const found = outcome(whole.subarray(0, end), crypto, opening(row, { limits }));
        assert.ok(found === 'key-corrupt', `${id} cut at ${end}: ${found}`);
      }
    }
  });
});
