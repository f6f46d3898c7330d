import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { Reader } from '../../src/bytes/reader.ts';
import { base64, decodeLenient, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { keyPairOf } from '../../src/keys/key_pair.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { encodePublicKey, type PublicKey, parsePublicKey } from '../../src/keys/public_key.ts';
import { signatureAlgorithms, verifySignature } from '../../src/keys/signature.ts';
import { readPresence } from '../../src/keys/sk_signature.ts';
import { bytes, crypto, privateRow, shared, signatureRows, sshError } from './tools.ts';

const native = nodeProvider();
const WEBAUTHN = 'webauthn-sk-ecdsa-sha2-nistp256@openssh.com';
const sha256 = native.hashes.sha256.digest;

describe('readPresence', () => {
  it('tells what the key said, and nothing of other signatures', () => {
    const found = signatureRows.map(({ name, signature }) => [name, readPresence(bytes(signature))] as const);
    for (const [name, presence] of found) {
      if (!/^sk-|^webauthn/.test(name)) assert.equal(presence, undefined, name);
      else if (/not touched/.test(name)) assert.deepEqual(presence, { touched: false, verified: false, counter: 0 });
      else if (/verified/.test(name)) {
        assert.deepEqual(presence, { touched: true, verified: true, counter: 0xff000001 });
      } else assert.deepEqual(presence, { touched: true, verified: false, counter: 1 });
    }
    assert.equal(found.filter(([, presence]) => presence !== undefined).length, 10);
    assert.equal(readPresence(new Uint8Array(0)), undefined);
    assert.equal(readPresence(new Writer().string(WEBAUTHN).string('').finish()), undefined);
  });
});

/** A key of a browser, in the hands of OpenSSL, and what it signs. */
function browser(): { readonly key: PublicKey; sign(change?: Change): Promise<Uint8Array> } {
  const pair = parsePrivateKey(privateRow('ecdsa256').openssh ?? '', native);
  const secret = pair.secret();
  assert.ok(secret.type === 'ecdsa-sha2-nistp256' && 'point' in pair.publicKey);
  const parts = {
    type: 'sk-ecdsa-sha2-nistp256@openssh.com',
    curve: 'p256',
    point: pair.publicKey.point,
    application: 'example.org',
  } as const;
  return {
    key: parsePublicKey(encodePublicKey(parts), native),
    async sign({ origin = 'https://example.org', clientData, flags = 1, extensions = '', trailing = '' } = {}) {
      const client = utf8(clientData ?? jsonOf(message, origin));
      const more = new Writer().u8(flags).u32(9).finish();
      const data = concat(sha256(utf8(parts.application)), more, utf8(extensions), sha256(client));
      const made = await native.ecdsa.p256.sign(secret.scalar, data);
      const body = new Writer().mpint(made.subarray(0, 32)).mpint(made.subarray(32)).finish();
      const start = new Writer().string(WEBAUTHN).string(body).raw(more);
      return start.string(origin).string(client).string(extensions).raw(utf8(trailing)).finish();
    },
  };
}

interface Change {
  readonly origin?: string;
  readonly clientData?: string;
  readonly flags?: number;
  readonly extensions?: string;
  readonly trailing?: string;
}

const message = utf8('what was signed, with bits that base64url writes as - and _: \u{3fffe}\u00ff');

function jsonOf(signed: Uint8Array, origin: string): string {
  const challenge = base64(signed).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return `{"type":"webauthn.get","challenge":"${challenge}","origin":"${origin}","crossOrigin":false}`;
}

describe('signatures of browsers', () => {
  const { key, sign } = browser();
  const verify = async (change?: Change): Promise<boolean> =>
    await verifySignature(native, WEBAUTHN, key, message, await sign(change));

  it('count when the client data are for the message, from the origin that is named', async () => {
    assert.equal(await verify(), true);
    assert.equal(await verify({ origin: 'http://localhost:8080' }), true);
    assert.equal(await verify({ flags: 0x85, extensions: '\u00a1' }), true);
    assert.equal(await verify({ flags: 0x00 }), true, 'whether it was touched is for others to judge');
    assert.equal(await verifySignature(native, WEBAUTHN, key, utf8('other'), await sign()), false);
  });

  it('do not count where anything of it is not as browsers write it', async () => {
    const right = jsonOf(message, 'https://example.org');
    const wrong: [what: string, change: Change][] = [
      ['another message', { clientData: jsonOf(utf8('other'), 'https://example.org') }],
      ['another origin', { clientData: jsonOf(message, 'https://example.com') }],
      ['a longer origin', { clientData: jsonOf(message, 'https://example.org.evil.example') }],
      ['another type', { clientData: right.replace('webauthn.get', 'webauthn.create') }],
      ['another order', { clientData: right.replace('"type":"webauthn.get",', '') }],
      ['padding', { clientData: right.replace('","origin', '=","origin') }],
      ['a quote in the origin', { origin: 'https://example.org","x":"' }],
      ['white space', { clientData: right.replace(',', ', ') }],
      ['no client data', { clientData: '' }],
      ['extensions without their flag', { extensions: 'x' }],
      ['the flag without extensions', { flags: 0x81 }],
      ['the answer to a request for a key', { flags: 0x41 }],
      ['bytes behind it', { trailing: 'x' }],
    ];
    for (const [what, change] of wrong) assert.equal(await verify(change), false, what);
  });

  it('are for keys of that type, and by no other name', async () => {
    const blob = await sign();
    const plain = parsePrivateKey(privateRow('ecdsa256').openssh ?? '', native).publicKey;
    assert.equal(await verifySignature(native, WEBAUTHN, plain, message, blob), false);
    assert.equal(await verifySignature(native, 'sk-ecdsa-sha2-nistp256@openssh.com', key, message, blob), false);
    const reader = new Reader(blob);
    reader.string();
    const renamed = concat(new Writer().string('sk-ecdsa-sha2-nistp256@openssh.com').finish(), reader.rest());
    assert.equal(await verifySignature(native, 'sk-ecdsa-sha2-nistp256@openssh.com', key, message, renamed), false);
  });
});

describe('signatures of security keys', () => {
  it('cover the application, the flags and the counter', async () => {
    for (const row of signatureRows.filter(({ name }) => /^sk-.*verified/.test(name))) {
      const key = parsePublicKey(bytes(row.publicKey), native);
      assert.ok('application' in key);
      const other = { ...key, application: `${key.application}x` };
      const [signed, blob] = [bytes(row.message), bytes(row.signature)];
      assert.equal(await verifySignature(native, row.algorithm, key, signed, blob), true);
      assert.equal(await verifySignature(native, row.algorithm, other, signed, blob), false);
      for (let at = blob.length - 5; at < blob.length; at++) {
        const changed = blob.slice();
        changed[at] = (changed[at] as number) ^ 0x04;
        assert.equal(await verifySignature(native, row.algorithm, key, signed, changed), false);
      }
    }
  });

  it('are made by nobody but the key, an agent or a signer', () => {
    for (const name of ['sk-ssh-ed25519@openssh.com', 'sk-ecdsa-sha2-nistp256@openssh.com', WEBAUTHN]) {
      assert.equal(signatureAlgorithms.get(name)?.sign, undefined);
    }
  });
});

describe('keys of security keys', () => {
  it('keep their application, which must be text', () => {
    const publicKey = keyPairOf(crypto, { type: 'ssh-ed25519', seed: new Uint8Array(32) }).publicKey;
    assert.ok(publicKey.type === 'ssh-ed25519');
    const type = 'sk-ssh-ed25519@openssh.com';
    const blob = encodePublicKey({ type, publicKey: publicKey.publicKey, application: 'ssh:für ada' });
    const parsed = parsePublicKey(blob);
    assert.ok(parsed.type === type);
    assert.equal(parsed.application, 'ssh:für ada');
    assert.deepEqual(encodePublicKey(parsed), blob);
    const binary = new Writer().string(type).string(publicKey.publicKey).string(Uint8Array.of(0xff)).finish();
    assert.throws(() => parsePublicKey(binary), sshError('decode', /application .* is not UTF-8/));
    const short = new Writer().string(type).string(publicKey.publicKey).finish();
    assert.throws(() => parsePublicKey(short), sshError('decode', /Truncated/));
    assert.throws(() => parsePublicKey(concat(blob, Uint8Array.of(0))), sshError('decode', /1 bytes too many/));
  });
});

const published = shared('openssh/sshsig');

describe('signature files of OpenSSH’s own tests', { skip: published.skip }, () => {
  /** What the armour of a signature file holds (PROTOCOL.sshsig), and the bytes that its signature covers. */
  function signatureIn(file: string): { blob: Uint8Array; covered: Uint8Array; signature: Uint8Array } {
    const text = readFileSync(`${published.path}/${file}`, 'utf8').replaceAll(/-----[A-Z ]+-----/g, '');
    const reader = new Reader(bytes(text), 10);
    const blob = reader.string();
    const namespace = reader.string();
    reader.string();
    const hash = decodeLenient(reader.string());
    const digest = createHash(hash)
      .update(readFileSync(`${published.path}/signed-data`))
      .digest();
    const fields = new Writer().string(namespace).string('').string(hash).string(Uint8Array.from(digest));
    return { blob, covered: concat(utf8('SSHSIG'), fields.finish()), signature: reader.string() };
  }

  for (const [name, algorithm] of [
    ['ecdsa', 'ecdsa-sha2-nistp256'],
    ['ecdsa_sk', 'sk-ecdsa-sha2-nistp256@openssh.com'],
    ['ecdsa_sk_webauthn', WEBAUTHN],
    ['ed25519', 'ssh-ed25519'],
    ['ed25519_sk', 'sk-ssh-ed25519@openssh.com'],
    ['rsa', 'rsa-sha2-512'],
  ] as const) {
    it(`verify on both providers, unless a byte is another: ${name}`, async () => {
      const { blob, covered, signature } = signatureIn(`${name}.sig`);
      const key = parsePublicKey(blob, native);
      for (const provider of [crypto, native]) {
        assert.equal(await verifySignature(provider, algorithm, key, covered, signature), true, provider.name);
      }
      for (let at = 0; at < signature.length; at++) {
        const changed = signature.slice();
        changed[at] = (changed[at] as number) ^ 0x04;
        assert.equal(await verifySignature(native, algorithm, key, covered, changed), false, `byte ${at}`);
      }
    });
  }

  it('are of a type that is not known, once', () => {
    const { blob } = signatureIn('mldsa44-ed25519.sig');
    assert.throws(() => parsePublicKey(blob), sshError('not-supported', /ssh-mldsa44-ed25519@openssh\.com/));
  });
});
