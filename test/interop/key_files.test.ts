/**
 * Key files between puressh and the tools that people have: every type in every format of ssh-keygen, puttygen and openssl opens here
 * and logs in to sshd; what is written here opens there, with the same comment and fingerprint.
 */

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { keyFingerprint } from '../../src/keys/fingerprint.ts';
import { keyPairOf, type PrivateKey, type PrivateKeySecret } from '../../src/keys/key_pair.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { formatPrivateKey, type PrivateKeyFormat } from '../../src/keys/private_key_format.ts';
import { formatPublicKey, parsePublicKeyFile } from '../../src/keys/public_key_file.ts';
import type { KeyFileOptions } from '../../src/transports/key_file.ts';
import { inScratch, output, without } from '../keys/tools.ts';
import { api } from '../support/connect.ts';
import * as asyncssh from '../support/peers/asyncssh.ts';
import { type KeyName, keyNames, testKeys } from '../support/peers/keys.ts';
import * as openssh from '../support/peers/openssh.ts';
import { type Peer, type SharedPeer, usePeer } from '../support/peers/peer.ts';
import { isThorough } from '../support/thorough.ts';

const crypto = nodeProvider();
const passphrase = 'a pässphrase';
const missing =
  openssh.available() ?? (without('puttygen', ['--version']) || without('openssl', ['version']) || undefined);
const skip = isThorough ? missing : 'tried in Node 24';
const asyncsshSkip = isThorough ? asyncssh.available() : 'tried in Node 24';
const cheap = ['--ppk-param', 'memory=64,passes=1'];

/** Where a test works: `path` gives files in its folder, of which `passphrase` and `empty` hold passphrases. */
type Path = (name: string) => string;
type Make = (path: Path, from: string, to: string) => void;

const keygen =
  (...args: readonly string[]): Make =>
  (_path, from, to) => {
    copyFileSync(from, to);
    output('ssh-keygen', ['-q', '-p', '-P', '', '-f', to, ...args]);
  };
const puttygen =
  (kind: string, password: 'passphrase' | 'empty', ...args: readonly string[]): Make =>
  (path, from, to) => {
    // puttygen does not write the format that it reads, not even with another passphrase
    const via = kind === 'private' ? from : path('via');
    if (via !== from) output('puttygen', [from, '-O', 'private', '-o', via, '--new-passphrase', path('empty')]);
    output('puttygen', [via, '-O', kind, '-o', to, '--new-passphrase', path(password), ...args]);
  };
const openssl =
  (...args: readonly string[]): Make =>
  (path, from, to) => {
    const plain = formatPrivateKey(crypto, parsePrivateKey(readFileSync(from), crypto), { format: 'pkcs8' });
    writeFileSync(to, output('openssl', [...args, '-passout', `file:${path('passphrase')}`], plain), { mode: 0o600 });
  };

/** Formats by who writes them; those that keep no comment are marked. */
const formats: Readonly<Record<string, { readonly make: Make; readonly comment: boolean; readonly not?: RegExp }>> = {
  'openssh-key-v1 of ssh-keygen, plain': { make: keygen('-N', ''), comment: true },
  'openssh-key-v1 of ssh-keygen': { make: keygen('-N', passphrase, '-a', '2'), comment: true },
  'openssh-key-v1 of ssh-keygen, chacha20': {
    make: keygen('-N', passphrase, '-a', '1', '-Z', 'chacha20-poly1305@openssh.com'),
    comment: true,
  },
  'PEM of ssh-keygen': { make: keygen('-N', '', '-m', 'PEM'), comment: false, not: /ed25519/ },
  'PEM of ssh-keygen, encrypted': { make: keygen('-N', passphrase, '-m', 'PEM'), comment: false, not: /ed25519/ },
  'PKCS#8 of ssh-keygen, encrypted': { make: keygen('-N', passphrase, '-m', 'PKCS8'), comment: false, not: /ed25519/ },
  'PKCS#8 of ssh-keygen, plain': { make: keygen('-N', '', '-m', 'PKCS8'), comment: false, not: /ed25519/ },
  'PPK 3 of puttygen': { make: puttygen('private', 'empty'), comment: true },
  'PPK 3 of puttygen, encrypted': { make: puttygen('private', 'passphrase', ...cheap), comment: true },
  'PPK 2 of puttygen': { make: puttygen('private', 'empty', '--ppk-param', 'version=2'), comment: true },
  'PPK 2 of puttygen, encrypted': {
    make: puttygen('private', 'passphrase', '--ppk-param', 'version=2'),
    comment: true,
  },
  'openssh-key-v1 of puttygen, encrypted': {
    make: puttygen('private-openssh-new', 'passphrase'),
    comment: true,
  },
  'PEM of puttygen, encrypted': { make: puttygen('private-openssh', 'passphrase'), comment: false, not: /ed25519/ },
  'PEM of puttygen, plain': { make: puttygen('private-openssh', 'empty'), comment: false, not: /ed25519/ },
  'PKCS#8 of openssl, plain': { make: openssl('pkey'), comment: false },
  'PKCS#8 of openssl, PBKDF2': { make: openssl('pkcs8', '-topk8', '-v2', 'aes-192-cbc'), comment: false },
  'PKCS#8 of openssl, scrypt': { make: openssl('pkcs8', '-topk8', '-scrypt'), comment: false },
  'PKCS#8 of openssl, triple DES': { make: openssl('pkcs8', '-topk8', '-v2', 'des3'), comment: false },
  'PEM of openssl, plain': { make: openssl('pkey', '-traditional'), comment: false, not: /ed25519/ },
  'PEM of openssl, AES-256': { make: openssl('pkey', '-traditional', '-aes256'), comment: false, not: /ed25519/ },
};

function inFolder(use: (path: Path) => void | Promise<void>): Promise<void> {
  return inScratch(async (path) => {
    writeFileSync(path('passphrase'), passphrase);
    writeFileSync(path('empty'), '');
    await use(path);
  });
}

function original(name: KeyName): { readonly key: PrivateKey; readonly path: string; readonly line: string } {
  const path = testKeys().user[name].openssh;
  return { path, key: parsePrivateKey(readFileSync(path), crypto), line: readFileSync(`${path}.pub`, 'utf8').trim() };
}

describe('key files of other tools', () => {
  // where CI is set a peer that is missing is no reason to skip, but that another runtime tries it is one
  const server = isThorough
    ? usePeer(missing, () => openssh.startSshd())
    : ({ options: { skip: 'tried in Node 24' } } as SharedPeer);

  for (const [format, { make, comment, not }] of Object.entries(formats)) {
    it(`open, and log in: ${format}`, { ...server.options, timeout: 60_000 }, () =>
      inFolder(async (path) => {
        const names = keyNames.filter((each) => not?.test(each) !== true);
        for (const name of names) {
          const { key, path: from } = original(name);
          make(path, from, path(name));
          const read = parsePrivateKey(readFileSync(path(name)), crypto, { passphrase });
          assert.deepEqual(read.publicKey, key.publicKey, name);
          assert.deepEqual(read.secret(), key.secret(), name);
          assert.equal(read.comment, comment ? key.comment : '', name);
        }
        await Promise.all(names.map((name) => logIn(server.peer, path(name), { passphrase })));
      }),
    );
  }

  it('log in with a passphrase that is asked for until it is right', { ...server.options, timeout: 30_000 }, () =>
    inFolder(async (path) => {
      formats['PKCS#8 of openssl, scrypt']?.make(path, original('ecdsa384').path, path('key'));
      const given = ['wrong', passphrase];
      await logIn(server.peer, path('key'), { passphrase: () => given.shift() as string });
      assert.deepEqual(given, []);
    }),
  );
});

/** Logs in with a key file and nothing else. */
async function logIn(peer: Peer, path: string, options: KeyFileOptions): Promise<void> {
  const { host, port, username, knownHosts } = peer;
  const auth = [api.keyFile(path, options)];
  await using ssh = await api.connect({ host, port, username, auth, hostKey: api.knownHosts(knownHosts) });
  assert.deepEqual(ssh.info.authMethods, ['publickey']);
}

describe('key files for other tools', () => {
  const comment = 'me at hôme';
  const written: Readonly<Record<string, PrivateKeyFormat>> = {
    'openssh, plain': { comment },
    'openssh, encrypted': { comment, passphrase },
    'openssh, aes256-gcm': { comment, passphrase, rounds: 1, cipher: 'aes256-gcm@openssh.com' },
    'openssh, chacha20': { comment, passphrase, rounds: 1, cipher: 'chacha20-poly1305@openssh.com' },
    'openssh, 3des': { comment, passphrase, rounds: 1, cipher: '3des-cbc' },
    'pkcs8, plain': { format: 'pkcs8' },
    'pkcs8, encrypted': { format: 'pkcs8', passphrase },
    'ppk, plain': { format: 'ppk', comment },
    'ppk, encrypted': { format: 'ppk', comment, passphrase },
  };
  for (const [form, options] of Object.entries(written)) {
    it(`open there: ${form}`, { ...(skip === undefined ? {} : { skip }) }, () =>
      inFolder((path) => {
        for (const name of keyNames) {
          const { key } = original(name);
          const cost = options.passphrase === undefined || name === 'ed25519' ? {} : { rounds: 2 }; // what it is by default once
          writeFileSync(path(name), formatPrivateKey(crypto, key, { ...cost, ...options }), { mode: 0o600 });
          const { blob, comment: found } = publicHalfBy(path, path(name), options);
          assert.deepEqual(blob, key.publicKey.blob, name);
          if (options.format !== 'pkcs8') assert.equal(found, comment, name);
        }
      }),
    );
  }

  it('have the fingerprints that these show', { ...(skip === undefined ? {} : { skip }) }, () =>
    inFolder((path) => {
      for (const name of keyNames) {
        const { key } = original(name);
        const { blob } = key.publicKey;
        writeFileSync(path(name), formatPrivateKey(crypto, key, { comment }), { mode: 0o600 });
        writeFileSync(path('ppk'), formatPrivateKey(crypto, key, { comment, format: 'ppk' }), { mode: 0o600 });
        for (const hash of ['sha256', 'md5'] as const) {
          const shown = output('ssh-keygen', ['-l', '-E', hash, '-f', path(name)]);
          assert.equal(shown.split(' ')[1], keyFingerprint(crypto, blob, hash));
          const putty = output('puttygen', ['-l', '-E', hash, path('ppk')]);
          assert.ok(putty.includes(keyFingerprint(crypto, blob, hash).replace('MD5:', '')), putty);
        }
        assert.deepEqual(parsePublicKeyFile(output('puttygen', ['-p', path('ppk')])), { blob, comment });
        if (name === 'ed25519') continue; // which ssh-keygen does not write as PKCS #8
        assert.deepEqual(parsePublicKeyFile(output('ssh-keygen', ['-e', '-m', 'PKCS8', '-f', path(name)])).blob, blob);
      }
    }),
  );
});

/** Opens what it is given, and makes keys of its own in every format that it has: JSON in, JSON out. */
const ASYNCSSH = `
import asyncssh, json, sys
given = json.load(sys.stdin)
secret = given['passphrase']
opened = [asyncssh.import_private_key(text, secret).export_public_key().decode() for text in given['files']]
made = []
for type, args in (('ssh-ed25519', {}), ('ecdsa-sha2-nistp384', {}), ('ssh-rsa', {'key_size': 2048})):
    key = asyncssh.generate_private_key(type, comment='mine', **args)
    line = key.export_public_key().decode()
    ways = [('openssh', {'cipher_name': cipher, 'rounds': 1, 'ignore_few_rounds': True})
            for cipher in ('aes192-cbc', 'aes128-ctr', 'aes256-gcm@openssh.com', 'chacha20-poly1305@openssh.com')]
    ways += [('pkcs8-pem', {'cipher_name': cipher, 'hash_name': hash})
             for cipher, hash in (('aes128-cbc', 'sha1'), ('aes192-cbc', 'sha384'), ('des3-cbc', 'sha512'))]
    if type != 'ssh-ed25519':
        ways += [('pkcs1-pem', {'cipher_name': cipher}) for cipher in ('aes192-cbc', 'des3-cbc')]
    for format, options in ways:
        text = key.export_private_key(format, secret, **options).decode()
        made.append({'name': f'{type} {format} {options}', 'line': line, 'text': text})
json.dump({'opened': opened, 'made': made}, sys.stdout)
`;

describe('key files and asyncssh', () => {
  it('open each other’s', { ...(asyncsshSkip === undefined ? {} : { skip: asyncsshSkip }), timeout: 30_000 }, () => {
    const forms: readonly PrivateKeyFormat[] = [
      { passphrase, rounds: 2 },
      { passphrase, rounds: 1, cipher: 'aes128-gcm@openssh.com' },
      { passphrase, rounds: 1000, format: 'pkcs8' },
      { format: 'pkcs8' },
    ];
    const keys = keyNames.flatMap((name) => forms.map((form) => ({ key: original(name).key, form })));
    const files = keys.map(({ key, form }) => formatPrivateKey(crypto, key, form));
    const python = asyncssh.asyncsshPython() as string;
    const said = output(python, ['-W', 'ignore', '-c', ASYNCSSH], JSON.stringify({ passphrase, files }));
    const { opened, made } = JSON.parse(said) as { opened: string[]; made: Record<'name' | 'line' | 'text', string>[] };
    assert.deepEqual(
      opened.map((line) => parsePublicKeyFile(line).blob),
      keys.map(({ key }) => key.publicKey.blob),
    );
    for (const { name, line, text } of made) {
      const { publicKey, comment } = parsePrivateKey(text, crypto, { passphrase });
      assert.deepEqual(publicKey.blob, parsePublicKeyFile(line).blob, name);
      assert.equal(comment, name.includes(' openssh ') ? 'mine' : '', name);
    }
    assert.equal(made.length, 25);
  });
});

describe('key files of numbers at the edges', () => {
  it('open there and here: leading and trailing zeros, set top bits', { ...(skip === undefined ? {} : { skip }) }, () =>
    inFolder((path) => {
      for (const secret of edges()) {
        const key = keyPairOf(crypto, secret, 'x');
        for (const format of ['openssh', 'pkcs8', 'ppk'] as const) {
          writeFileSync(path('key'), formatPrivateKey(crypto, key, { format }), { mode: 0o600 });
          assert.deepEqual(publicHalfBy(path, path('key'), { format }).blob, key.publicKey.blob);
        }
        writeFileSync(path('from'), formatPrivateKey(crypto, key), { mode: 0o600 });
        puttygen('private', 'empty')(path, path('from'), path('ppk')); // leaves out zeros at the end of a seed
        assert.deepEqual(parsePrivateKey(readFileSync(path('ppk')), crypto).secret(), secret);
      }
    }),
  );
});

function edges(): PrivateKeySecret[] {
  const bytes = (size: number, byte: (i: number) => number) => Uint8Array.from({ length: size }, (_, i) => byte(i));
  return [
    { type: 'ssh-ed25519', seed: bytes(32, (i) => (i < 29 ? 0x91 : 0)) },
    { type: 'ecdsa-sha2-nistp256', curve: 'p256', scalar: bytes(32, (i) => (i < 3 ? 0 : 0x91)) },
    { type: 'ecdsa-sha2-nistp384', curve: 'p384', scalar: bytes(48, () => 0x91) },
    { type: 'ecdsa-sha2-nistp521', curve: 'p521', scalar: bytes(66, (i) => (i < 1 ? 0 : 0x91)) },
  ];
}

/** The public half of a file as another program has it. */
function publicHalfBy(path: Path, file: string, { format }: PrivateKeyFormat): ReturnType<typeof parsePublicKeyFile> {
  if (format === 'ppk') {
    return parsePublicKeyFile(output('puttygen', ['-L', '--old-passphrase', path('passphrase'), file]));
  }
  if (format === 'pkcs8') {
    const spki = output('openssl', ['pkey', '-in', file, '-passin', `file:${path('passphrase')}`, '-pubout']);
    const found = parsePublicKeyFile(spki);
    assert.equal(formatPublicKey(found.blob, { format: 'pkcs8' }), spki);
    return found;
  }
  return parsePublicKeyFile(output('ssh-keygen', ['-y', '-P', passphrase, '-f', file]));
}
