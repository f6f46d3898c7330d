/** A server tells and proves its host keys: OpenSSH PROTOCOL §2.5. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { copy } from '../../src/bytes/bytes.ts';
import { Reader } from '../../src/bytes/reader.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { certified, signCertificate } from '../../src/keys/certificate.ts';
import { parsePrivateKey, signerOf } from '../../src/keys/private_key.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { type Signer, verifySignature } from '../../src/keys/signature.ts';
import { HostKeyProofs } from '../../src/server/host_key_proof.ts';
import { connection } from '../../src/wire/connection.ts';
import { privateRow } from '../keys/tools.ts';
import { it } from '../support/limited.ts';
import { memoCrypto as crypto } from '../support/memo_crypto.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';
import { type RawClient, Serving } from '../support/serving.ts';

const SESSION = new Uint8Array(32).fill(9);
const first = ed25519Signer(crypto, 7);
const second = ed25519Signer(crypto, 8);
const rsa = signerOf(crypto, parsePrivateKey(privateRow('rsa1024').openssh as string, crypto));

const strings = (...items: readonly (Uint8Array | string)[]): Uint8Array => {
  const writer = new Writer();
  for (const item of items) writer.string(item);
  return copy(writer.finish());
};
const listOf = (...signers: readonly Signer[]): Uint8Array => strings(...signers.map(({ publicKey }) => publicKey));

/** The algorithm of a proof, which must be a signature of what OpenSSH says. */
async function algorithmOf(
  signature: Uint8Array,
  { publicKey }: Signer,
  session: Uint8Array = SESSION,
): Promise<string> {
  const name = new Reader(signature).name();
  const message = strings('hostkeys-prove-00@openssh.com', session, publicKey);
  assert.ok(await verifySignature(crypto, name, parsePublicKey(publicKey), message, signature), name);
  return name;
}

function stringsOf(body: Uint8Array): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (const reader = new Reader(body); reader.remaining > 0; ) found.push(reader.string());
  return found;
}

describe('HostKeyProofs', () => {
  it('tells each key once, those of certificates without them', async () => {
    const key = parsePublicKey(first.publicKey);
    const certificate = await signCertificate(crypto, second, { key, kind: 'host', keyId: 'x', principals: ['a'] });
    assert.deepEqual(new HostKeyProofs([first, certified(first, certificate), rsa]).list(), listOf(first, rsa));
    const alone = new HostKeyProofs([certified(first, certificate)]);
    assert.deepEqual(alone.list(), listOf(first));
    const { ok, body = new Uint8Array(0) } = await alone.prove(
      listOf(first),
      SESSION,
      'ssh-ed25519-cert-v01@openssh.com',
    );
    assert.ok(ok);
    assert.equal(await algorithmOf(stringsOf(body)[0] as Uint8Array, first), 'ssh-ed25519');
  });

  it('proves what it is asked for, RSA as negotiated, or as well as it can, and never by SHA-1', async () => {
    for (const [negotiated, expected] of [
      ['rsa-sha2-256', 'rsa-sha2-256'],
      ['rsa-sha2-256-cert-v01@openssh.com', 'rsa-sha2-256'],
      ['rsa-sha2-512', 'rsa-sha2-512'],
      ['ssh-ed25519', 'rsa-sha2-512'],
      ['ssh-rsa', 'rsa-sha2-512'],
    ] as const) {
      const { ok, body } = await new HostKeyProofs([first, second, rsa]).prove(listOf(rsa, first), SESSION, negotiated);
      assert.ok(ok && body !== undefined);
      const [ofRsa, ofFirst, ...more] = stringsOf(body);
      assert.equal(await algorithmOf(ofRsa as Uint8Array, rsa), expected, negotiated);
      assert.equal(await algorithmOf(ofFirst as Uint8Array, first), 'ssh-ed25519');
      assert.deepEqual(more, []);
    }
  });

  it('proves nothing if one of the keys is not its own, or comes twice, or nothing is asked', async () => {
    const proofs = new HostKeyProofs([first, rsa]);
    for (const wrong of [
      new Uint8Array(0),
      listOf(second),
      listOf(first, second),
      listOf(first, first),
      listOf(first).subarray(0, -1),
      strings(''),
      Uint8Array.of(255, 255, 255, 255),
    ]) {
      assert.deepEqual(await proofs.prove(wrong, SESSION, 'ssh-ed25519'), { ok: false });
    }
  });

  it('proves 256 times for one client', async () => {
    const proofs = new HostKeyProofs([first, second]);
    for (let i = 0; i < 128; i++) assert.ok((await proofs.prove(listOf(first, second), SESSION, '')).ok);
    assert.deepEqual(await proofs.prove(listOf(first), SESSION, ''), { ok: false });
  });
});

/** The answer to a request for proofs. */
async function ask(raw: RawClient, body: Uint8Array): Promise<Uint8Array | undefined> {
  raw.client.globalRequest('hostkeys-prove-00@openssh.com', body, true);
  await raw.quiet();
  const payload = raw.client.poll();
  if (payload?.[0] === connection.requestFailure.number) return undefined;
  assert.equal(payload?.[0], connection.requestSuccess.number);
  return payload?.subarray(1);
}

describe('a client of a server', () => {
  it('is told the keys behind the login, and gets proofs for its session', async () => {
    await using serving = await Serving.start({ hostKeys: [first, second] });
    const raw = serving.raw();
    await raw.handshake();
    raw.client.requestPassword('secret');
    await raw.quiet();
    raw.client.expect(52);
    const told = raw.client.take(connection.globalRequest);
    assert.deepEqual([told.request, told.wantReply], ['hostkeys-00@openssh.com', false]);
    assert.deepEqual(told.body, listOf(first, second));
    const proofs = stringsOf((await ask(raw, listOf(second))) ?? assert.fail('no proofs'));
    assert.equal(proofs.length, 1);
    const session = raw.client.sessionId ?? assert.fail('no session');
    assert.equal(await algorithmOf(proofs[0] as Uint8Array, second, session), 'ssh-ed25519');
    assert.equal(await ask(raw, listOf(rsa)), undefined);
    assert.deepEqual(serving.takeFailures(), []);
  });

  it('is told nothing where it is known to break off over that', async () => {
    await using serving = await Serving.start();
    const raw = serving.raw({ identification: 'SSH-2.0-TTSSH/2.72 Win32\r\n' });
    await raw.handshake();
    raw.client.requestPassword('secret');
    await raw.quiet();
    raw.client.expect(52);
    raw.client.expectNothing();
  });

  it('is answered in order, and refused where a key cannot sign, which is told', async () => {
    const broken: Signer = {
      ...second,
      sign: (message, algorithm) => {
        if (message[7] === 'h'.charCodeAt(0) || message[4] === 'h'.charCodeAt(0)) throw new Error('no card');
        return second.sign(message, algorithm);
      },
    };
    await using serving = await Serving.start({ hostKeys: [first, broken] });
    const raw = await serving.rawOpen();
    for (const [name, body] of [
      ['hostkeys-prove-00@openssh.com', listOf(first)],
      ['x@y', new Uint8Array(0)],
      ['hostkeys-prove-00@openssh.com', listOf(broken)],
      ['hostkeys-prove-00@openssh.com', listOf(first)],
    ] as const) {
      raw.client.globalRequest(name, body, true);
    }
    await raw.quiet();
    raw.client.expect(81);
    raw.client.expect(82);
    raw.client.expect(82);
    raw.client.expect(81);
    assert.deepEqual(serving.takeFailures(), ['crypto: no card']);
  });
});
