/** Key files with what stands beside them, over files in memory. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { utf8 } from '../../src/bytes/text.ts';
import { isPublicOnly } from '../../src/client/identities.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { FOREVER, signCertificate } from '../../src/keys/certificate.ts';
import { newKey } from '../../src/keys/generate.ts';
import type { PrivateKey } from '../../src/keys/key_pair.ts';
import { signerOf } from '../../src/keys/private_key.ts';
import { formatPrivateKey } from '../../src/keys/private_key_format.ts';
import { formatPublicKey, parsePublicKeyFile } from '../../src/keys/public_key_file.ts';
import { type Signer, verifySignature } from '../../src/keys/signature.ts';
import type { HomeSystem } from '../../src/transports/home.ts';
import { type KeyFileOptions, keyFileOf } from '../../src/transports/key_file.ts';
import { certifiedRows } from '../keys/key_files.ts';
import { shared } from '../keys/tools.ts';
import { rejectsWith } from '../support/rejects.ts';

const crypto = pureProvider;
const make = async () => await newKey(crypto, { type: 'ed25519' }, 'one');
const passphrase = 'a passphrase';

function files(contents: Readonly<Record<string, string>>): HomeSystem {
  const refuse = () => Promise.reject(new Error('not here'));
  return {
    home: () => '/home/me',
    read(path) {
      const text = contents[path];
      if (text !== undefined) return Promise.resolve(utf8(text));
      return Promise.reject(Object.assign(new Error('missing'), { code: 'ENOENT' }));
    },
    appendLine: refuse,
    follow: refuse,
    create: refuse,
    rename: refuse,
    remove: refuse,
  };
}

function load(contents: Readonly<Record<string, string>>, path: string, options?: KeyFileOptions) {
  return Promise.resolve(keyFileOf(files(contents), path, options).signers(crypto));
}

async function certificateFor(key: PrivateKey): Promise<string> {
  const request = {
    key: key.publicKey,
    kind: 'user' as const,
    keyId: 'me',
    serial: 1n,
    principals: ['me'],
    validAfter: 0n,
    validBefore: FOREVER,
  };
  const { blob } = await signCertificate(crypto, signerOf(crypto, await make()), request, crypto.random);
  return formatPublicKey(blob, { comment: 'certified' });
}

async function works(signer: Signer | undefined, key: PrivateKey): Promise<void> {
  assert.ok(signer);
  const message = utf8('a message');
  const signature = await signer.sign(message, signer.algorithms[0] as string);
  assert.equal(await verifySignature(crypto, 'ssh-ed25519', key.publicKey, message, signature), true);
}

describe('keyFileOf', () => {
  it('gives the key of a file, and the certificate beside it before it', async () => {
    const key = await make();
    const contents = { '/home/me/id': formatPrivateKey(crypto, key) };
    const alone = await load(contents, '~/id');
    assert.deepEqual(
      alone.map(({ keyType }) => keyType),
      ['ssh-ed25519'],
    );
    await works(alone[0], key);
    const certified = { ...contents, '/home/me/id-cert.pub': await certificateFor(key) };
    const both = await load(certified, '~/id');
    assert.deepEqual(
      both.map(({ keyType }) => keyType),
      ['ssh-ed25519-cert-v01@openssh.com', 'ssh-ed25519'],
    );
    await works(both[0], key);
    await works(both[1], key);
  });

  it('takes the certificate of a PPK that has one', async () => {
    const { file, passphrase: secret = '', certificate } = certifiedRows[0] as (typeof certifiedRows)[0];
    const both = await load({ '/id.ppk': file }, '/id.ppk', { passphrase: () => secret });
    assert.deepEqual(
      both.map(({ keyType, queryFirst }) => [keyType, queryFirst]),
      [
        ['ssh-ed25519-cert-v01@openssh.com', true],
        ['ssh-ed25519', true],
      ],
    );
    assert.deepEqual(both[0]?.publicKey, parsePublicKeyFile(certificate).blob);
    await both[0]?.sign(utf8('x'), 'ssh-ed25519-cert-v01@openssh.com');
  });

  it('passes over a certificate beside the key that is damaged or for another, not one that was named', async () => {
    const key = await make();
    const contents = { '/id': formatPrivateKey(crypto, key) };
    for (const text of [await certificateFor(await make()), 'damaged', formatPublicKey(key.publicKey.blob)]) {
      assert.equal((await load({ ...contents, '/id-cert.pub': text }, '/id')).length, 1);
    }
    const named = {
      ...contents,
      '/home/me/c.pub': await certificateFor(key),
      '/other.pub': await certificateFor(await make()),
    };
    const [only, none] = await load(named, '/id', { certificate: '~/c.pub' });
    assert.deepEqual([only?.keyType, none], ['ssh-ed25519-cert-v01@openssh.com', undefined]);
    await rejectsWith(load(named, '/id', { certificate: '/other.pub' }), 'bad-argument');
    await rejectsWith(load(named, '/id', { certificate: '/missing.pub' }), 'bad-local-file');
  });

  it('does not ask for a passphrase before it signs', async () => {
    const key = await make();
    const contents = { '/id': formatPrivateKey(crypto, key, { passphrase, rounds: 1 }) };
    const given = ['wrong', passphrase];
    const [signer] = await load(contents, '/id', { passphrase: () => given.shift() as string });
    assert.equal(given.length, 2);
    assert.deepEqual([signer?.queryFirst, signer?.comment], [true, undefined]);
    await works(signer, key);
    await works(signer, key); // it stays open
    assert.equal(given.length, 0);
  });

  it('takes the public half of a file that encrypts its own from beside it, and finds out if it is of another', async () => {
    const key = await make();
    const text = formatPrivateKey(crypto, key, { passphrase, format: 'pkcs8', rounds: 1 });
    const ask = { passphrase: () => passphrase };
    const [locked] = await load({ '/id': text, '/id.pub': formatPublicKey(key.publicKey.blob) }, '/id', ask);
    assert.equal(locked?.queryFirst, true);
    await works(locked, key);
    const other = formatPublicKey((await make()).publicKey.blob);
    const [wrong] = await load({ '/id': text, '/id.pub': other }, '/id', ask);
    await rejectsWith(Promise.resolve(wrong?.sign(utf8('x'), 'ssh-ed25519')), 'bad-argument');
    const [opened] = await load({ '/id': text }, '/id', ask); // nothing says what key it is: it is opened at once
    assert.equal(opened?.queryFirst, undefined);
    await rejectsWith(load({ '/id': text }, '/id'), 'key-passphrase-needed');
  });

  it('names the key of a public file, of one without its private half, and of the handle of a security key', async () => {
    const key = await make();
    const line = formatPublicKey(key.publicKey.blob, { comment: 'mine' });
    for (const [contents, path] of [
      [{ '/id.pub': line }, '/id.pub'],
      [{ '/id.pub': line }, '/id'],
      [{ '/id': line }, '/id'],
    ] as const) {
      const [signer] = await load(contents, path);
      assert.ok(signer !== undefined && isPublicOnly(signer));
      assert.deepEqual([signer.publicKey, signer.comment], [key.publicKey.blob, 'mine']);
    }
    const { path, skip } = shared('openssh/sshkey/ed25519_sk1');
    if (skip === false) {
      const [handle] = await load({ '/id': readFileSync(path, 'utf8') }, '/id');
      assert.ok(handle !== undefined && isPublicOnly(handle));
      assert.equal(handle.keyType, 'sk-ssh-ed25519@openssh.com');
    }
    const certified = { '/id.pub': line, '/id-cert.pub': await certificateFor(key) };
    assert.equal((await load(certified, '/id.pub')).length, 2);
  });

  it('refuses options that are none, without showing a passphrase', () => {
    const given = (options: object) => () => keyFileOf(files({}), '/id', options as KeyFileOptions);
    assert.throws(given({ passwd: 'x' }), { code: 'bad-argument', message: /no option passwd/ });
    assert.throws(given({ certificate: 7 }), { code: 'bad-argument', message: /certificate must be a path/ });
    assert.throws(given({ passphrase: 48151623 }), { code: 'bad-argument', message: /^((?!48151623).)*$/ });
    assert.throws(() => keyFileOf(files({}), 7 as never), { code: 'bad-argument', message: /path must be a string/ });
  });

  it('says what is wrong with a file', async () => {
    await rejectsWith(load({}, '/id'), 'bad-local-file');
    await rejectsWith(load({ '/id': 'prose' }, '/id'), 'key-format-unsupported');
    await rejectsWith(load({ '/id': '-----BEGIN PRIVATE KEY-----\n' }, '/id'), 'key-corrupt');
    const named = await rejectsWith(
      load({ '/id': await certificateFor(await make()) }, '/id'),
      'key-format-unsupported',
    );
    assert.match(named.message, /^\/id is a certificate, and no key; give the key that it is for/);
  });
});
