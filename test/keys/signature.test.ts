import assert from 'node:assert/strict';
import * as node from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { Reader } from '../../src/bytes/reader.ts';
import { base64, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import type { PrivateKey } from '../../src/keys/key_pair.ts';
import { parsePrivateKey, signerOf } from '../../src/keys/private_key.ts';
import { type PublicKey, parsePublicKey } from '../../src/keys/public_key.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { algorithmsOf, encodeSignature, signatureAlgorithms, verifySignature } from '../../src/keys/signature.ts';
import {
  bytes,
  crypto,
  generate,
  inScratch,
  keyTypes,
  noKeygen,
  output,
  privateRow,
  run,
  signatureRows,
  sshError,
} from './tools.ts';

const native = nodeProvider();
const message = utf8('what was signed');

function privateKey(name: string): PrivateKey {
  const { openssh, pkcs8 } = privateRow(name);
  return parsePrivateKey(openssh ?? pkcs8 ?? '', crypto);
}

/** A key of each type. */
const keys: PrivateKey[] = ['ed25519', 'ecdsa256', 'ecdsa384', 'ecdsa521', 'rsa1024'].map(privateKey);

/** Every algorithm with a key for it. */
const pairs = keys.flatMap((key) => algorithmsOf(key.publicKey.type, true).map((algorithm) => ({ key, algorithm })));

/** The body of a signature blob. */
function bodyOf(blob: Uint8Array): Uint8Array {
  const reader = new Reader(blob);
  reader.string();
  return reader.string();
}

/** r and s of an ECDSA signature blob. */
function halvesOf(blob: Uint8Array): [Uint8Array, Uint8Array] {
  const reader = new Reader(bodyOf(blob));
  return [reader.string(), reader.string()];
}

function ecdsaBlob(algorithm: string, r: Uint8Array, s: Uint8Array, trailing = new Uint8Array(0)): Uint8Array {
  return encodeSignature(algorithm, new Writer().string(r).string(s).raw(trailing).finish());
}

/** The same public key in the hands of OpenSSL. */
function nodeKey(key: PublicKey): node.KeyObject {
  const url = (part: Uint8Array) => base64(part).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  const jwk = (value: node.JsonWebKey) => node.createPublicKey({ key: value, format: 'jwk' });
  if (key.type === 'ssh-ed25519') return jwk({ kty: 'OKP', crv: 'Ed25519', x: url(key.publicKey) });
  if (key.type === 'ssh-rsa') return jwk({ kty: 'RSA', n: url(key.key.modulus), e: url(key.key.exponent) });
  if ('application' in key) throw new Error('OpenSSL knows no security keys');
  const size = (key.point.length - 1) / 2;
  const [x, y] = [url(key.point.subarray(1, 1 + size)), url(key.point.subarray(1 + size))];
  return jwk({ kty: 'EC', crv: `P-${key.curve.slice(1)}`, x, y });
}

const nodeHash: Record<string, string | null> = {
  'ssh-ed25519': null,
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
  'ssh-rsa': 'sha1',
  'rsa-sha2-256': 'sha256',
  'rsa-sha2-512': 'sha512',
};

/** A signature body as OpenSSL wants it. */
function nodeSignature(key: PublicKey, blob: Uint8Array): Uint8Array {
  if (!key.type.startsWith('ecdsa')) return bodyOf(blob);
  const size = key.type === 'ecdsa-sha2-nistp521' ? 66 : key.type === 'ecdsa-sha2-nistp384' ? 48 : 32;
  const fixed = (half: Uint8Array) => concat(new Uint8Array(size), half).slice(-size);
  return concat(...halvesOf(blob).map(fixed));
}

describe('signatureAlgorithms', () => {
  it('has these rows, and for each key type the best first', () => {
    assert.deepEqual(
      [...signatureAlgorithms.values()].map(({ name, keyType }) => `${name}: ${keyType}`),
      [
        'ssh-ed25519: ssh-ed25519',
        'ecdsa-sha2-nistp256: ecdsa-sha2-nistp256',
        'ecdsa-sha2-nistp384: ecdsa-sha2-nistp384',
        'ecdsa-sha2-nistp521: ecdsa-sha2-nistp521',
        'rsa-sha2-512: ssh-rsa',
        'rsa-sha2-256: ssh-rsa',
        'sk-ssh-ed25519@openssh.com: sk-ssh-ed25519@openssh.com',
        'sk-ecdsa-sha2-nistp256@openssh.com: sk-ecdsa-sha2-nistp256@openssh.com',
        'webauthn-sk-ecdsa-sha2-nistp256@openssh.com: sk-ecdsa-sha2-nistp256@openssh.com',
        'ssh-rsa: ssh-rsa',
        'ssh-ed25519-cert-v01@openssh.com: ssh-ed25519-cert-v01@openssh.com',
        'ecdsa-sha2-nistp256-cert-v01@openssh.com: ecdsa-sha2-nistp256-cert-v01@openssh.com',
        'ecdsa-sha2-nistp384-cert-v01@openssh.com: ecdsa-sha2-nistp384-cert-v01@openssh.com',
        'ecdsa-sha2-nistp521-cert-v01@openssh.com: ecdsa-sha2-nistp521-cert-v01@openssh.com',
        'rsa-sha2-512-cert-v01@openssh.com: ssh-rsa-cert-v01@openssh.com',
        'rsa-sha2-256-cert-v01@openssh.com: ssh-rsa-cert-v01@openssh.com',
        'sk-ssh-ed25519-cert-v01@openssh.com: sk-ssh-ed25519-cert-v01@openssh.com',
        'sk-ecdsa-sha2-nistp256-cert-v01@openssh.com: sk-ecdsa-sha2-nistp256-cert-v01@openssh.com',
        'webauthn-sk-ecdsa-sha2-nistp256-cert-v01@openssh.com: sk-ecdsa-sha2-nistp256-cert-v01@openssh.com',
        'ssh-rsa-cert-v01@openssh.com: ssh-rsa-cert-v01@openssh.com',
      ],
    );
    assert.deepEqual(algorithmsOf('ssh-rsa'), ['rsa-sha2-512', 'rsa-sha2-256']);
    assert.deepEqual(algorithmsOf('ssh-rsa', true), ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa']);
    assert.deepEqual(algorithmsOf('ssh-dss'), []);
  });
});

describe('verifySignature', () => {
  for (const row of signatureRows) {
    const key = parsePublicKey(bytes(row.publicKey), crypto);
    const signed = bytes(row.message);
    const blob = bytes(row.signature);

    it(`accepts what OpenSSH or OpenSSL signed, for that message only: ${row.name}`, async () => {
      for (const provider of [crypto, native]) {
        assert.equal(await verifySignature(provider, row.algorithm, key, signed, blob), true, provider.name);
        const other = concat(signed, utf8('.'));
        assert.equal(await verifySignature(provider, row.algorithm, key, other, blob), false, provider.name);
      }
    });

    if (/top bit|begins with a zero/.test(row.name)) continue;

    it(`is false for the signature cut off anywhere, with a byte behind it or inside it: ${row.name}`, async () => {
      for (let length = 0; length < blob.length; length++) {
        assert.equal(await verifySignature(native, row.algorithm, key, signed, blob.subarray(0, length)), false);
      }
      assert.equal(await verifySignature(native, row.algorithm, key, signed, concat(blob, Uint8Array.of(0))), false);
      const longer = encodeSignature(row.algorithm, concat(bodyOf(blob), Uint8Array.of(0)));
      assert.equal(await verifySignature(crypto, row.algorithm, key, signed, longer), false);
    });

    it(`is false when any byte of the signature is changed: ${row.name}`, async () => {
      for (let at = 0; at < blob.length; at++) {
        const changed = blob.slice();
        changed[at] = (changed[at] as number) ^ 0x01;
        assert.equal(await verifySignature(native, row.algorithm, key, signed, changed), false, `byte ${at}`);
      }
    });
  }

  it('is false unless the blob names the algorithm that was agreed', async () => {
    const key = privateKey('rsa1024');
    const blob = await signerOf(crypto, key).sign(message, 'rsa-sha2-256');
    assert.equal(await verifySignature(crypto, 'rsa-sha2-256', key.publicKey, message, blob), true);
    for (const algorithm of ['rsa-sha2-512', 'ssh-rsa', 'ssh-ed25519', '']) {
      assert.equal(await verifySignature(crypto, algorithm, key.publicKey, message, blob), false);
      const renamed = encodeSignature(algorithm, bodyOf(blob));
      assert.equal(await verifySignature(crypto, algorithm, key.publicKey, message, renamed), false);
    }
  });

  it('is false for a key of another type', async () => {
    for (const { key, algorithm } of pairs) {
      const blob = await signerOf(crypto, key).sign(message, algorithm);
      for (const other of keys.filter(({ publicKey }) => publicKey.type !== key.publicKey.type)) {
        assert.equal(await verifySignature(crypto, algorithm, other.publicKey, message, blob), false);
      }
    }
  });

  it('accepts superfluous zeros before r and s, as some switches send them', async () => {
    for (const name of ['ecdsa256', 'ecdsa384', 'ecdsa521']) {
      const key = privateKey(name);
      const algorithm = key.publicKey.type;
      const [r, s] = halvesOf(await signerOf(crypto, key).sign(message, algorithm));
      for (const zeros of [1, 2, 70]) {
        const blob = ecdsaBlob(algorithm, concat(new Uint8Array(zeros), r), concat(new Uint8Array(zeros), s));
        assert.equal(await verifySignature(crypto, algorithm, key.publicKey, message, blob), true, `${name} ${zeros}`);
      }
    }
  });

  it('is false for ECDSA numbers that are negative, too large, zero or missing', async () => {
    const key = privateKey('ecdsa256');
    const algorithm = key.publicKey.type;
    const verify = (blob: Uint8Array) => verifySignature(crypto, algorithm, key.publicKey, message, blob);
    const [r, s] = halvesOf(await signerOf(crypto, key).sign(message, algorithm));
    assert.equal(await verify(ecdsaBlob(algorithm, r, s)), true);
    const negative = Uint8Array.of(0x80, ...r.slice(-31));
    const large = concat(Uint8Array.of(1), new Uint8Array(33 - r.length), r);
    for (const bad of [negative, large, new Uint8Array(0), Uint8Array.of(0), new Uint8Array(5000).fill(1)]) {
      assert.equal(await verify(ecdsaBlob(algorithm, bad, s)), false);
      assert.equal(await verify(ecdsaBlob(algorithm, r, bad)), false);
    }
    assert.equal(await verify(ecdsaBlob(algorithm, r, s, Uint8Array.of(0))), false);
    assert.equal(await verify(encodeSignature(algorithm, new Writer().string(r).finish())), false);
  });

  it('is false for a negative number whose value would verify', async () => {
    const key = privateKey('ecdsa256');
    const algorithm = key.publicKey.type;
    // Half of all r have the top bit set: without the zero before it such an mpint is negative.
    for (let i = 0; i < 64; i++) {
      const text = utf8(`message ${i}`);
      const [r, s] = halvesOf(await signerOf(crypto, key).sign(text, algorithm));
      if (r[0] !== 0) continue;
      const blob = ecdsaBlob(algorithm, r.subarray(1), s);
      assert.equal(await verifySignature(crypto, algorithm, key.publicKey, text, blob), false);
      return;
    }
    assert.fail('no r with its top bit set among 64');
  });

  it('accepts an RSA signature without its leading zeros, and none longer than the modulus', async () => {
    const key = privateKey('rsa1024');
    const signer = signerOf(crypto, key);
    const verify = (text: Uint8Array, body: Uint8Array) =>
      verifySignature(crypto, 'rsa-sha2-256', key.publicKey, text, encodeSignature('rsa-sha2-256', body));
    let shortened = 0;
    for (let i = 0; i < 5000 && shortened < 2; i++) {
      const text = utf8(`message ${i}`);
      const body = bodyOf(await signer.sign(text, 'rsa-sha2-256'));
      assert.equal(body.length, 128);
      if (i === 0) assert.equal(await verify(text, concat(Uint8Array.of(0), body)), false);
      if (body[0] !== 0) continue;
      shortened++;
      assert.equal(await verify(text, body), true);
      assert.equal(await verify(text, body.subarray(1)), true);
    }
    assert.equal(shortened, 2);
  });
});

describe('signerOf', () => {
  for (const { key, algorithm } of pairs) {
    it(`makes signatures that OpenSSL and we accept: ${algorithm}`, async () => {
      const signer = signerOf(crypto, key);
      const blob = await signer.sign(message, algorithm);
      assert.equal(await verifySignature(crypto, algorithm, key.publicKey, message, blob), true);
      const options = { key: nodeKey(key.publicKey), dsaEncoding: 'ieee-p1363' } as const;
      assert.ok(node.verify(nodeHash[algorithm], message, options, nodeSignature(key.publicKey, blob)));
    });
  }

  it('offers the algorithms of its key, and refuses others', () => {
    const signer = signerOf(crypto, privateKey('rsa3072'));
    assert.equal(signer.keyType, 'ssh-rsa');
    assert.deepEqual(signer.algorithms, ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa']);
    assert.equal(signer.comment, 'rsa3072 of the vectors');
    assert.deepEqual(signer.publicKey, privateKey('rsa3072').publicKey.blob);
    for (const name of ['rsa-sha2-512-cert-v01@openssh.com', 'ssh-ed25519']) {
      assert.throws(
        () => signer.sign(message, name),
        sshError('bad-argument', /cannot sign with [-@.\w]+, only rsa-sha2-512/),
      );
    }
  });
});

/** What an SSH signature file covers (OpenSSH PROTOCOL.sshsig), for SHA-512. */
function sshsigMessage(namespace: string, text: Uint8Array): Uint8Array {
  const digest = Uint8Array.from(node.createHash('sha512').update(text).digest());
  return concat(utf8('SSHSIG'), new Writer().string(namespace).string('').string('sha512').string(digest).finish());
}

function sshsig(publicKey: Uint8Array, namespace: string, signature: Uint8Array): string {
  const fields = new Writer().u32(1).string(publicKey).string(namespace).string('').string('sha512').string(signature);
  const lines = base64(concat(utf8('SSHSIG'), fields.finish())).match(/.{1,70}/g) ?? [];
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----', ''].join('\n');
}

describe('signatures and ssh-keygen -Y', () => {
  for (const type of Object.keys(keyTypes)) {
    it(`verifies a fresh signature of OpenSSH, and OpenSSH ours: ${type}`, { skip: noKeygen }, () =>
      inScratch(async (path) => {
        generate(type, path('key'));
        writeFileSync(path('allowed'), `ada ${readFileSync(path('key.pub'), 'utf8')}`);
        const key = parsePrivateKey(readFileSync(path('key')), crypto);
        const signer = signerOf(crypto, key);
        const signed = sshsigMessage('test', message);

        // OpenSSH takes no SHA-1 in signature files
        for (const algorithm of signer.algorithms.filter((name) => name !== 'ssh-rsa')) {
          const blob = await signer.sign(signed, algorithm);
          writeFileSync(path('sig'), sshsig(signer.publicKey, 'test', blob));
          const verify = ['-Y', 'verify', '-n', 'test', '-f', path('allowed'), '-I', 'ada', '-s', path('sig')];
          assert.equal(run('ssh-keygen', verify, message).status, 0);
          assert.notEqual(run('ssh-keygen', verify, utf8('something else')).status, 0);
        }

        const made = output('ssh-keygen', ['-Y', 'sign', '-q', '-n', 'test', '-f', path('key')], message);
        const reader = new Reader(bytes(made.replaceAll(/-----[A-Z ]+-----/g, '')), 10);
        for (let i = 0; i < 4; i++) reader.string();
        const theirs = reader.string();
        const best = signer.algorithms[0] as string;
        const { blob } = parsePublicKeyLine(readFileSync(path('key.pub'), 'utf8'));
        assert.equal(await verifySignature(crypto, best, parsePublicKey(blob, crypto), signed, theirs), true);
      }),
    );
  }
});
