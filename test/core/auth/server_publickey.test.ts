import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../../src/bytes/bytes.ts';
import { decodeFields } from '../../../src/bytes/schema.ts';
import { fromHex, hex } from '../../../src/bytes/text.ts';
import { Writer } from '../../../src/bytes/writer.ts';
import type { CryptoProvider } from '../../../src/crypto/provider.ts';
import { certified, signCertificate } from '../../../src/keys/certificate.ts';
import { parsePublicKey } from '../../../src/keys/public_key.ts';
import { encodeSignature, type Signer } from '../../../src/keys/signature.ts';
import { requestBody } from '../../../src/wire/userauth.ts';
import { memoCrypto } from '../../support/memo_crypto.ts';
import { ed25519Signer } from '../../support/scripted_peer.ts';
import { testAlgorithms, testSigner } from '../../support/test_keys.ts';
import { thrown } from '../tools.ts';
import { failure, SUCCESS, sessionId, string } from './desk.ts';
import { accept, FAILURE, listening, password, refuse, request, type ServerDesk } from './server_desk.ts';

const ada = ed25519Signer(memoCrypto, 1);

/** A query: RFC 4252 §7. */
const query = (algorithm: string, blob: Uint8Array, user?: string): string =>
  `${request('publickey', user)}00${string(algorithm)}${string(blob)}`;

/** The part of an attempt that is signed, and its body. */
function unsigned(algorithm: string, blob: Uint8Array, user?: string): string {
  return `${request('publickey', user)}01${string(algorithm)}${string(blob)}`;
}

interface Changes {
  readonly algorithm?: string;
  /** With which the signer signs. Default: `algorithm`. */
  readonly signWith?: string;
  readonly blob?: Uint8Array;
  readonly user?: string;
  readonly signed?: string;
  readonly signature?: Uint8Array;
}

/** An attempt with a signature that is right, where nothing is changed. */
function attempt(signer: Signer, changes: Changes = {}): string {
  const { algorithm = signer.algorithms[0] as string, blob = signer.publicKey, user } = changes;
  const body = unsigned(algorithm, blob, user);
  const message = fromHex(changes.signed ?? `${string(sessionId)}${body}`);
  const signature = changes.signature ?? signer.sign(message, changes.signWith ?? algorithm);
  assert.ok(!(signature instanceof Promise));
  return `${body}${string(signature)}`;
}

describe('ServerAuth, asked about a key,', () => {
  it('asks whether it would do, and says yes with the same key (RFC 4252 §7)', () => {
    const desk = listening();
    desk.receive(query('ssh-ed25519', ada.publicKey));
    const question = desk.question();
    assert.ok(question.kind === 'key-query');
    assert.deepEqual([question.username, question.algorithm, question.succeeded], ['ada', 'ssh-ed25519', []]);
    assert.equal(hex(question.publicKey.blob), hex(ada.publicKey));
    assert.deepEqual(desk.answer(true), [`3c${string('ssh-ed25519')}${string(ada.publicKey)}`]);
    assert.deepEqual([desk.events, desk.auth.phase], [[], 'auth']);
  });

  it('says no, which is no attempt', () => {
    const desk = listening({ limits: { authFailures: 1 } });
    for (let i = 0; i < 5; i++) {
      desk.receive(query('ssh-ed25519', ada.publicKey));
      assert.deepEqual(desk.answer(false), [FAILURE]);
    }
  });

  it('keeps the key, whatever becomes of the bytes that it came in', () => {
    const desk = listening();
    const payload = fromHex(query('ssh-ed25519', ada.publicKey));
    desk.auth.receive(payload);
    payload.fill(0);
    assert.deepEqual(desk.answer(true), [`3c${string('ssh-ed25519')}${string(ada.publicKey)}`]);
  });

  it('says no by itself to a key that does not fit or is none, and asks nobody', () => {
    const rsa = testSigner('rsa-sha2-256', 'user');
    const cases: readonly [what: string, algorithm: string, blob: Uint8Array][] = [
      ['another type', 'ssh-ed25519', rsa.publicKey],
      ['another type', 'rsa-sha2-256', ada.publicKey],
      ['the type in place of the algorithm', 'ssh-rsa', rsa.publicKey],
      ['an unknown algorithm', 'ssh-dss', ada.publicKey],
      ['a certificate', 'ssh-ed25519-cert-v01@openssh.com', ada.publicKey],
      ['no algorithm', '', ada.publicKey],
      ['no key', 'ssh-ed25519', new Uint8Array(0)],
      ['half a key', 'ssh-ed25519', ada.publicKey.subarray(0, 40)],
      ['more than a key', 'ssh-ed25519', concat(ada.publicKey, new Uint8Array(1))],
      ['a name only', 'ssh-ed25519', new Writer().string('ssh-ed25519').finish()],
      ['a length past the end', 'ssh-ed25519', fromHex('7fffffff 00')],
      ['a huge RSA key', 'rsa-sha2-512', rsaBlob(16385)],
      ['a small RSA key', 'rsa-sha2-512', rsaBlob(1023)],
      ['an RSA key with a huge exponent', 'rsa-sha2-512', rsaBlob(2048, 2048)],
      ['a point off its curve', 'ecdsa-sha2-nistp256', offCurve()],
    ];
    for (const [what, algorithm, blob] of cases) {
      assert.deepEqual(listening().say(query(algorithm, blob)), [FAILURE], what);
      const desk = listening();
      const signed = `${unsigned(algorithm, blob)}${string(encodeSignature(algorithm, new Uint8Array(64)))}`;
      assert.deepEqual(desk.say(signed), [FAILURE], `${what}, signed`);
    }
  });

  it('says no to algorithms that are not on the list', () => {
    const rsa = testSigner('rsa-sha2-256', 'user');
    const desk = listening({ signatures: ['rsa-sha2-512', 'ecdsa-sha2-nistp256'] });
    assert.deepEqual(desk.say(query('ssh-ed25519', ada.publicKey)), [FAILURE]);
    assert.deepEqual(desk.say(query('rsa-sha2-256', rsa.publicKey)), [FAILURE]);
    assert.deepEqual(desk.say(attempt(ada)), [FAILURE]);
    desk.receive(query('rsa-sha2-512', rsa.publicKey));
    assert.equal(desk.question().kind, 'key-query');
  });

  it('takes no body that is cut short or too long', () => {
    const [asking, trying] = [query('ssh-ed25519', ada.publicKey), attempt(ada)];
    for (const body of [request('publickey'), asking.slice(0, -2), `${asking}00`, trying.slice(0, -2), `${trying}00`]) {
      thrown('decode', () => listening().receive(body));
    }
  });
});

describe('ServerAuth, shown a certificate,', () => {
  const CERT = 'ssh-ed25519-cert-v01@openssh.com';
  const authority = ed25519Signer(memoCrypto, 3);
  const made = signCertificate(memoCrypto, authority, {
    key: parsePublicKey(ada.publicKey),
    kind: 'user',
    keyId: 'ada',
  });

  it('says yes with the same certificate, and tells who has signed it', async () => {
    const { blob } = await made;
    const desk = listening();
    desk.receive(query(CERT, blob));
    const question = desk.question();
    assert.ok(question.kind === 'key-query');
    assert.equal(hex(question.publicKey.blob), hex(ada.publicKey));
    assert.equal(hex(question.certificate?.authority.blob ?? new Uint8Array(0)), hex(authority.publicKey));
    assert.deepEqual(desk.answer(true), [`3c${string(CERT)}${string(blob)}`]);
  });

  it('asks who it is, once both signatures are verified', async () => {
    const desk = listening();
    const signer = certified(ada, await made);
    desk.receive(attempt(signer));
    const question = desk.question();
    assert.ok(question.kind === 'login' && question.attempt.method === 'publickey');
    assert.deepEqual([question.attempt.algorithm, question.attempt.certificate?.keyId], [CERT, 'ada']);
    assert.deepEqual(desk.answer(accept), [SUCCESS]);
  });

  it('says no by itself where the algorithm, the authority or a signature is wrong', async () => {
    const { blob } = await made;
    const signer = certified(ada, await made);
    const forged = blob.with(-1, (blob.at(-1) as number) ^ 1);
    const cases: readonly [what: string, payload: string][] = [
      ['by the plain algorithm', query('ssh-ed25519', blob)],
      ['by the algorithm of another type', query('ecdsa-sha2-nistp256-cert-v01@openssh.com', blob)],
      ['that is forged', query(CERT, forged)],
      ['that is cut', query(CERT, blob.subarray(0, -1))],
      ['by the plain algorithm, signed', attempt(signer, { algorithm: 'ssh-ed25519', signWith: CERT })],
      ['that is forged, signed', attempt(signer, { blob: forged })],
      ['of somebody else', attempt(ed25519Signer(memoCrypto, 2), { blob, algorithm: CERT, signWith: 'ssh-ed25519' })],
      [
        'with a signature that names the algorithm of certificates',
        attempt(signer, { signature: encodeSignature(CERT, new Uint8Array(64)) }),
      ],
    ];
    for (const [what, payload] of cases) assert.deepEqual(listening().say(payload), [FAILURE], what);
    const desk = listening({ signatures: ['rsa-sha2-512'] });
    assert.deepEqual(desk.say(query(CERT, blob)), [FAILURE]);
    assert.deepEqual(desk.say(attempt(signer)), [FAILURE]);
  });
});

describe('ServerAuth, shown a signature,', () => {
  it('asks who it is, once it is verified (RFC 4252 §7)', () => {
    const desk = listening();
    desk.receive(attempt(ada));
    const question = desk.question();
    assert.ok(question.kind === 'login' && question.attempt.method === 'publickey');
    assert.equal(question.attempt.algorithm, 'ssh-ed25519');
    assert.equal(hex(question.attempt.publicKey.blob), hex(ada.publicKey));
    assert.deepEqual(desk.answer(accept), [SUCCESS]);
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['publickey'] }]);
  });

  it('verifies every algorithm', () => {
    for (const algorithm of testAlgorithms) {
      const desk = listening();
      desk.receive(attempt(testSigner(algorithm, 'user'), { algorithm }));
      const question = desk.question();
      assert.ok(question.kind === 'login' && question.attempt.method === 'publickey');
      assert.equal(question.attempt.algorithm, algorithm);
    }
  });

  it('counts a refusal', () => {
    const desk = listening({ limits: { authFailures: 2 } });
    assert.deepEqual(desk.attempt(attempt(ada), refuse), [FAILURE]);
    assert.equal(thrown('auth-failed', () => desk.attempt(attempt(ada), refuse)).disconnect, 14);
  });

  const other = ed25519Signer(memoCrypto, 2);
  const right = (() => {
    const { signature } = decodeFields(
      requestBody.publicKeySigned,
      fromHex(attempt(ada)).subarray(4 + 1 + 3 + 18 + 13),
    );
    return signature;
  })();
  const signedAs = (user: string): string => `${string(sessionId)}${unsigned('ssh-ed25519', ada.publicKey, user)}`;
  const rsa = testSigner('rsa-sha2-512', 'user');

  const wrong: readonly [what: string, payload: string][] = [
    ['by another key', attempt(other, { blob: ada.publicKey })],
    [
      'of another session',
      attempt(ada, { signed: signedAs('ada').replace(hex(sessionId), hex(sessionId).replace(/^../, 'ff')) }),
    ],
    ['of another user', attempt(ada, { signed: signedAs('bob') })],
    ['of a query', attempt(ada, { signed: `${string(sessionId)}${query('ssh-ed25519', ada.publicKey)}` })],
    ['of nothing', attempt(ada, { signed: '' })],
    ['with a bit that is wrong', attempt(ada, { signature: right.with(-1, (right.at(-1) as number) ^ 1) })],
    ['without its end', attempt(ada, { signature: right.subarray(0, -1) })],
    ['with bytes behind it', attempt(ada, { signature: concat(right, new Uint8Array(1)) })],
    ['that is empty', attempt(ada, { signature: new Uint8Array(0) })],
    ['without its name', attempt(ada, { signature: right.subarray(15) })],
    ['that names another algorithm', attempt(rsa, { algorithm: 'rsa-sha2-256', signWith: 'rsa-sha2-512' })],
    [
      'that names the type in place of the algorithm',
      attempt(rsa, { signature: encodeSignature('ssh-rsa', new Uint8Array(256)) }),
    ],
  ];

  for (const [what, payload] of wrong) {
    it(`refuses one ${what}, asks nobody, and counts it`, () => {
      const desk = listening({ limits: { authFailures: 2 } });
      assert.deepEqual(desk.say(payload), [FAILURE]);
      assert.equal(thrown('auth-failed', () => desk.receive(payload)).disconnect, 14);
      assert.deepEqual(desk.asked, []);
    });
  }

  it('asks when a verification that takes its time says yes', async () => {
    for (const valid of [true, false]) {
      const crypto = slow(valid);
      const desk = listening({ crypto });
      desk.receive(attempt(ada));
      assert.deepEqual([desk.asked, desk.takeSent()], [[], []]);
      const [work] = desk.settling.splice(0);
      assert.ok(work !== undefined);
      work.next(await work.value);
      if (valid) assert.equal(desk.question().kind, 'login');
      else assert.deepEqual([desk.asked, desk.takeSent()], [[], [FAILURE]]);
    }
  });
});

describe('ServerAuth, wanting two keys,', () => {
  const second = ed25519Signer(memoCrypto, 2);
  const partial = { verdict: 'partial', methods: ['publickey'] } as const;

  function halfway(): ServerDesk {
    const desk = listening();
    assert.deepEqual(desk.attempt(attempt(ada), partial), [failure('publickey', true)]);
    return desk;
  }

  it('takes one after the other, and tells that one has succeeded', () => {
    const desk = halfway();
    desk.receive(attempt(second));
    const question = desk.question();
    assert.ok(question.kind === 'login');
    assert.deepEqual(question.succeeded, ['publickey']);
    assert.deepEqual(desk.answer(accept), [SUCCESS]);
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['publickey', 'publickey'] }]);
  });

  it('begins anew with another user, also for a key that is only shown', () => {
    const desk = halfway();
    desk.receive(query('ssh-ed25519', ada.publicKey, 'bob'));
    const question = desk.question();
    assert.ok(question.kind === 'key-query');
    assert.deepEqual([question.username, question.succeeded], ['bob', []]);
  });

  it('takes queries in between, and no other method', () => {
    const desk = halfway();
    desk.receive(query('ssh-ed25519', second.publicKey));
    const question = desk.question();
    assert.ok(question.kind === 'key-query');
    assert.deepEqual(question.succeeded, ['publickey']);
    assert.deepEqual(desk.answer(true), [`3c${string('ssh-ed25519')}${string(second.publicKey)}`]);
    assert.deepEqual(desk.say(password('x')), [failure('publickey', false)]);
  });
});

/** A provider whose Ed25519 takes its time to say this. */
function slow(valid: boolean): CryptoProvider {
  return { ...memoCrypto, ed25519: { ...memoCrypto.ed25519, verify: () => Promise.resolve(valid) } };
}

/** An RSA key of so many bits that is no product of anything. */
function rsaBlob(bits: number, exponentBits = 17): Uint8Array {
  const integer = (size: number): Uint8Array => {
    const bytes = new Uint8Array(Math.ceil(size / 8)).fill(0xff);
    bytes[0] = 0xff >> (bytes.length * 8 - size);
    return bytes;
  };
  return new Writer().string('ssh-rsa').mpint(integer(exponentBits)).mpint(integer(bits)).finish();
}

function offCurve(): Uint8Array {
  const point = new Uint8Array(65).fill(5);
  point[0] = 4;
  return new Writer().string('ecdsa-sha2-nistp256').string('nistp256').string(point).finish();
}
