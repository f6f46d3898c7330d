/** All keys that OpenSSH has for its own tests, so that none is left out: private and public halves, and its known_hosts file. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { hex } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { keyFingerprint } from '../../src/keys/fingerprint.ts';
import { checkHostKey, parseKnownHosts } from '../../src/keys/known_hosts.ts';
import { peekPrivateKey } from '../../src/keys/private_key.ts';
import { parsePublicKeyFile } from '../../src/keys/public_key_file.ts';
import { parseShownKey } from '../../src/keys/shown_key.ts';
import { isThorough } from '../support/thorough.ts';
import { outcome } from './key_files.ts';
import { shared, sshError } from './tools.ts';

const crypto = nodeProvider();
const { path, skip } = shared('openssh');
const names = (folder: string, pattern: RegExp): string[] =>
  readdirSync(`${path}/${folder}`)
    .filter((each) => pattern.test(each))
    .sort();
const read = (file: string): string => readFileSync(`${path}/${file}`, 'utf8');

describe('OpenSSH’s own files', () => {
  it('private keys open, and belong to the public ones; those of security keys and unknown types say so', {
    skip,
  }, () => {
    const passphrase = read('sshkey/pw').trim();
    const found: Record<string, string[]> = {};
    for (const name of names('sshkey', /^(?!pw$)\w+$/)) {
      const encrypted = name.endsWith('_pw');
      if (encrypted && !isThorough) continue; // their key derivations take tenths of a second
      const text = read(`sshkey/${name}`);
      const blob = parsePublicKeyFile(read(`sshkey/${name.replace('_n', '_1').replace('_pw', '')}.pub`)).blob;
      const code = outcome(text, crypto, encrypted ? { passphrase } : {});
      const { publicBlob } = peekPrivateKey(text);
      if (publicBlob !== undefined) assert.equal(hex(publicBlob), hex(blob), name);
      const what = code === hex(blob) ? 'opens' : code;
      found[what] = [...(found[what] ?? []), name];
    }
    const all = {
      opens: [
        ...['ecdsa_1', 'ecdsa_1_pw', 'ecdsa_2', 'ecdsa_n', 'ecdsa_n_pw', 'ed25519_1', 'ed25519_1_pw', 'ed25519_2'],
        ...['rsa_1', 'rsa_1_pw', 'rsa_1_sha1', 'rsa_1_sha512', 'rsa_2', 'rsa_n', 'rsa_n_pw'],
      ],
      'key-format-unsupported': [
        ...['ecdsa_sk1', 'ecdsa_sk1_pw', 'ecdsa_sk2', 'ed25519_sk1', 'ed25519_sk1_pw', 'ed25519_sk2'],
        ...['mldsa44_ed25519_1', 'mldsa44_ed25519_1_pw', 'mldsa44_ed25519_2'],
      ],
    };
    const here = (list: string[]) => list.filter((name) => isThorough || !name.endsWith('_pw'));
    assert.deepEqual(found, {
      opens: here(all.opens),
      'key-format-unsupported': here(all['key-format-unsupported']),
    });
  });

  it('public keys have the fingerprints that are written beside them', { skip }, () => {
    const all = names('sshkey', /\.fp$/);
    for (const name of all) {
      const { blob } = parsePublicKeyFile(read(`sshkey/${name.replace('.fp', '.pub')}`));
      if (name === 'mldsa44_ed25519_1-cert.fp')
        assert.throws(() => keyFingerprint(crypto, blob), sshError('not-supported'));
      else assert.equal(keyFingerprint(crypto, blob), read(`sshkey/${name}`).trim(), name);
    }
    assert.equal(all.length, 18);
  });

  it('the hosts of known_hosts are known by their keys, or say why not', { skip }, async () => {
    const { entries } = parseKnownHosts(read('hostkeys/known_hosts'), 'known_hosts');
    const found: Record<string, string> = {};
    for (const name of names('hostkeys', /^(?:ecdsa|ed25519|rsa)_\d\.pub$/)) {
      const key = parseShownKey(parsePublicKeyFile(read(`hostkeys/${name}`)).blob);
      const states: string[] = [];
      for (const host of ['sisyphus.example.com', 'prometheus.example.com', 'any.example.com']) {
        states.push((await checkHostKey(crypto, entries, host, 22, key, 0)).state);
      }
      found[name] = states.join(' ');
    }
    // the fourth are a key that is revoked, one of an authority, and one that is not in the file
    const states = (type: string, fourth: string) => [
      [`${type}_1.pub`, 'known changed changed'],
      [`${type}_2.pub`, 'changed known changed'],
      [`${type}_3.pub`, 'known known known'],
      [`${type}_4.pub`, `${fourth} changed changed`],
      [`${type}_5.pub`, 'known changed changed'],
      [`${type}_6.pub`, 'changed known changed'],
    ];
    const all = [...states('ecdsa', 'changed'), ...states('ed25519', 'revoked'), ...states('rsa', 'changed')];
    assert.deepEqual(found, Object.fromEntries(all));
  });
});
