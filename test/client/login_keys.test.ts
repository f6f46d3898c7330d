/** Which keys are tried in which order, of files and agents, and what a login that failed says about them. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { AgentLogin } from '../../src/client/agent_login.ts';
import { type AuthMethod, type IdentitiesMethod, key, password } from '../../src/client/auth.ts';
import { publicHalf } from '../../src/client/identities.ts';
import { Login, type LoginOptions } from '../../src/client/login.ts';
import type { AuthAttempt, Question } from '../../src/core/events.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { SshError } from '../../src/errors.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { rejectsWith } from '../support/rejects.ts';

type Credentials = Partial<Extract<Question, { kind: 'credentials' }>>;

/** An Ed25519 key, encrypted with the passphrase `secret` in one round: `ssh-keygen -t ed25519 -a 1`. */
const LOCKED = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABCMpPXe6W
Tbv6Lt6mS7m3X+AAAAAQAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIOp/fUjzrK2zh56c
dp2NHofMzWRVtKOMMRzw7wBK91G5AAAAkEThM5dmq24yUPM4aoNMMWZWipCMLN8rFNcKc/
ygJ0dp5RlZdTkSIGqHpFSswHGkRYFzl29E7wDhFuOVu4aejdQ2Cc9lgk4N11nmAyEcZH3R
BILW2STRCiH5nORnSWnMzQuPyV8pSUZmagc8qVCGo/94ukyCkHnzoUflBNdy47OfwHPa9m
Y6UqFm72umiIgzKQ==
-----END OPENSSH PRIVATE KEY-----
`;
const LOCKED_PUBLIC = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOp/fUjzrK2zh56cdp2NHofMzWRVtKOMMRzw7wBK91G5';
const lockedBlob = parsePublicKeyLine(LOCKED_PUBLIC).blob;

function signer(keyType: string, byte: number, algorithms: readonly string[] = [keyType]): Signer {
  const publicKey = new Writer().string(keyType).string(Uint8Array.of(byte)).finish();
  return { publicKey, keyType, algorithms, sign: () => assert.fail('it signed') };
}

const RSA = ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'];
const ed25519 = signer('ssh-ed25519', 1);

function agent(...signers: readonly Signer[]): IdentitiesMethod {
  return { method: 'publickey', from: 'agent', signers: () => signers };
}

function broken(error: Error): IdentitiesMethod {
  return { method: 'publickey', from: 'agent', signers: () => Promise.reject(error) };
}

function loginWith(methods: readonly AuthMethod[], changes: Partial<LoginOptions> = {}): Login {
  return new Login({ username: 'ada', methods, maxFailures: 5, crypto: pureProvider, ...changes });
}

function next(login: Login, question: Credentials = {}): Promise<AuthAttempt> {
  const base = { kind: 'credentials', methods: ['publickey'], failed: undefined, partial: false };
  return login.credentials({ ...base, serverSigAlgs: undefined, ...question } as Extract<
    Question,
    { kind: 'credentials' }
  >);
}

/** All that is tried where everything is refused, and the error at the end. */
async function all(login: Login, question: Credentials = {}): Promise<{ tried: string[]; error: SshError }> {
  const tried: string[] = [];
  for (;;) {
    try {
      const attempt = await next(login, question);
      tried.push(
        attempt.method === 'publickey'
          ? `${attempt.signer.keyType} ${attempt.signer.publicKey.at(-1)} ${attempt.signer.algorithms.join()}`
          : attempt.method,
      );
    } catch (error) {
      assert.ok(error instanceof SshError, String(error));
      return { tried, error };
    }
  }
}

describe('Login with an agent', () => {
  it('offers every key of it behind the explicit ones, whatever its type', async () => {
    const sk = signer('sk-ssh-ed25519@openssh.com', 3);
    const unknown = signer('ssh-dilithium@example.org', 4);
    const login = loginWith([agent(sk, unknown, ed25519), key(signer('ssh-ed25519', 9)), key(ed25519)]);
    const { tried } = await all(login, { serverSigAlgs: ['ssh-ed25519', 'sk-ssh-ed25519@openssh.com'] });
    assert.deepEqual(
      tried.map((each) => each.split(' ').slice(0, 2).join(' ')),
      ['ssh-ed25519 9', 'ssh-ed25519 1', 'sk-ssh-ed25519@openssh.com 3', 'ssh-dilithium@example.org 4'],
    );
  });

  it('stops within the budget, and says what was offered, where it is from, and what was not', async () => {
    const many = Array.from({ length: 20 }, (_, i) => ({ ...signer('ssh-ed25519', i), comment: `key\x1b ${i}` }));
    const { tried, error } = await all(loginWith([agent(...many)], { maxFailures: 3 }));
    assert.equal(tried.length, 3);
    assert.equal(error.code, 'auth-failed');
    const sourced = /publickey ssh-ed25519 SHA256:\S+ of the agent \(key\\x1b 0\), publickey ssh-ed25519 SHA256:/;
    assert.match(error.message, sourced);
    assert.match(error.message, /; stopped after 3 refused attempts \(maxAuthFailures\)$/);
  });

  it('uses with identitiesOnly what the caller names, and says what it left out', async () => {
    const named = publicHalf(signer('ssh-ed25519', 2).publicKey, 'ssh-ed25519');
    const methods = [agent(ed25519, signer('ssh-ed25519', 2), signer('ssh-ed25519', 3)), key(named)];
    const { tried, error } = await all(loginWith(methods, { identitiesOnly: true }));
    assert.deepEqual(tried, ['ssh-ed25519 2 ssh-ed25519']);
    assert.match(
      error.message,
      /; keys of the agent that are not named were not tried \(identitiesOnly\): 2; give auth/,
    );
  });

  it('says that a key is named only, and no agent has it', async () => {
    const named = publicHalf(signer('ssh-ed25519', 2).publicKey, 'ssh-ed25519');
    for (const methods of [[key(named, 'id.pub')], [key(named, 'id.pub'), agent(ed25519)]]) {
      const { error } = await all(loginWith(methods));
      assert.match(
        error.message,
        /; ssh-ed25519 SHA256:\S+ from id\.pub is a public key, and no agent has the private/,
      );
    }
  });

  it('goes on without an agent that cannot be reached, and tells why', async () => {
    const away = new SshError('agent-failed', 'Cannot reach the agent: nobody there');
    const { tried, error } = await all(loginWith([broken(away), key(ed25519)]));
    assert.deepEqual([tried.length, error.code], [1, 'auth-failed']);
    assert.match(error.message, /; Cannot reach the agent: nobody there; give auth/);
    assert.equal(await rejectsWith(loginWith([broken(away)]).loaded(), 'agent-failed'), away);
    const bug = new Error('bug');
    assert.equal((await rejectsWith(loginWith([broken(bug), key(ed25519)]).loaded(), 'bad-argument')).cause, bug);
  });

  it('says that there is no agent, or none with keys', async () => {
    for (const none of [agent(), new AgentLogin(undefined)]) {
      const { tried, error } = await all(loginWith([none, password('pw')]));
      assert.deepEqual(tried, []);
      assert.match(error.message, /; there is no agent, or it has no keys \(`ssh-add` adds them\); give auth/);
    }
  });

  it('passes over a key that the agent refuses to sign with, and says so', async () => {
    const login = loginWith([agent(ed25519, signer('ssh-ed25519', 2))]);
    await next(login);
    const cause = new SshError('agent-failed', 'the agent refused to sign');
    const { tried, error } = await all(login, { unsent: true, cause });
    assert.deepEqual(tried, ['ssh-ed25519 2 ssh-ed25519']);
    assert.match(
      error.message,
      /^Login as "ada" failed: tried publickey ssh-ed25519 \S+ of the agent \(the agent refused/,
    );
    assert.equal(error.code, 'auth-failed');
  });
});

describe('AgentLogin', () => {
  const unreachable = (): Promise<never> => Promise.reject(new SshError('connect-failed', 'nothing is there'));

  it('counts an agent that nobody promised as one without keys', async () => {
    const maybe = new AgentLogin({ open: unreachable, mayBeMissing: true });
    assert.deepEqual([await maybe.identities(), await maybe.signers()], [[], []]);
    await rejectsWith(maybe.sign(ed25519.publicKey, utf8('x'), 0), 'agent-failed');
    const promised = new AgentLogin({ open: unreachable, mayBeMissing: false });
    await rejectsWith(promised.identities(), 'agent-failed');
    const other = new AgentLogin({ open: () => Promise.reject(new Error('other')), mayBeMissing: true });
    await rejectsWith(other.identities(), 'agent-failed');
  });
});

describe('Login with RSA keys', () => {
  const rsa = signer('ssh-rsa', 5, RSA);
  const legacy = ['ssh-ed25519', 'rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'];

  it('tries no SHA-1 unless it is allowed', async () => {
    const { tried, error } = await all(loginWith([key(rsa)]), { serverSigAlgs: ['ssh-rsa'] });
    assert.deepEqual(tried, []);
    assert.match(
      error.message,
      /did not try ssh-rsa SHA256:\S+, since the server takes signatures by ssh-rsa only; if /,
    );
    assert.deepEqual((await all(loginWith([key(rsa)]))).tried, [`ssh-rsa 5 ${RSA}`]);
  });

  it('says how SHA-1 is allowed where the server may know nothing else', async () => {
    const advice = /; if the server is so old .*allow that weak one with algorithms: 'legacy'$/;
    const told = async (own: Signer, serverSigAlgs?: readonly string[], signatures?: readonly string[]) => {
      const login = loginWith([key(own)], signatures === undefined ? {} : { signatures });
      return advice.test((await all(login, serverSigAlgs === undefined ? {} : { serverSigAlgs })).error.message);
    };
    assert.deepEqual(await Promise.all([told(rsa), told(rsa, ['ssh-rsa'])]), [true, true]);
    const others = [
      told(rsa, ['ssh-ed25519']),
      told(rsa, ['ssh-rsa', ...RSA]),
      told(ed25519),
      told(rsa, undefined, legacy),
    ];
    assert.deepEqual(await Promise.all(others), [false, false, false, false]);
  });

  it('tries SHA-1 behind SHA-2 where it is allowed and the server does not say that it takes none', async () => {
    const silent = await all(loginWith([key(rsa), key(ed25519)], { signatures: legacy }));
    assert.deepEqual(silent.tried, [`ssh-rsa 5 ${RSA}`, 'ssh-rsa 5 ssh-rsa', 'ssh-ed25519 1 ssh-ed25519']);
    assert.match(silent.error.message, /publickey ssh-rsa SHA256:\S+ by ssh-rsa, publickey/);
    const old = await all(loginWith([key(rsa)], { signatures: legacy }), { serverSigAlgs: ['ssh-rsa'] });
    assert.deepEqual(old.tried, [`ssh-rsa 5 ${RSA}`]);
    const both = await all(loginWith([key(rsa)], { signatures: legacy }), { serverSigAlgs: RSA });
    assert.deepEqual(both.tried, [`ssh-rsa 5 ${RSA}`, 'ssh-rsa 5 ssh-rsa']);
    const modern = await all(loginWith([key(rsa)], { signatures: legacy }), { serverSigAlgs: ['rsa-sha2-256'] });
    assert.deepEqual(modern.tried, [`ssh-rsa 5 ${RSA}`]);
  });

  it('signs with the same key the second time', async () => {
    const signing = { ...rsa, sign: (message: Uint8Array, name: string) => utf8(`${name} ${message.length}`) };
    const login = loginWith([key(signing)], { signatures: legacy });
    await next(login);
    const attempt = await next(login);
    assert.ok(attempt.method === 'publickey');
    assert.deepEqual(await attempt.signer.sign(fromHex('00'), 'ssh-rsa'), utf8('ssh-rsa 1'));
  });

  it('says that this side does not allow what a key signs with', async () => {
    const { tried, error } = await all(loginWith([key(rsa)], { signatures: ['ssh-ed25519'] }));
    assert.deepEqual(tried, []);
    assert.match(
      error.message,
      /did not try ssh-rsa \S+, since only signatures by ssh-ed25519 are allowed: see the options/,
    );
  });
});

describe('key() with a passphrase', () => {
  const signed = async (method: AuthMethod): Promise<Uint8Array> => {
    const attempt = await next(loginWith([method]));
    assert.ok(attempt.method === 'publickey');
    assert.deepEqual([attempt.signer.publicKey, attempt.signer.queryFirst], [lockedBlob, true]);
    return await attempt.signer.sign(utf8('data'), 'ssh-ed25519');
  };

  it('opens the key at once where the passphrase is there', async () => {
    const attempt = await next(loginWith([key(LOCKED, { passphrase: 'secret' })]));
    assert.ok(attempt.method === 'publickey');
    assert.equal(attempt.signer.queryFirst, undefined);
    assert.ok((await attempt.signer.sign(utf8('data'), 'ssh-ed25519')).length > 64);
    await rejectsWith(loginWith([key(LOCKED, { passphrase: 'wrong' })]).loaded(), 'key-passphrase-wrong');
  });

  it('asks for it when it is needed, and once', async () => {
    let asked = 0;
    const passphrase = async (): Promise<string> => {
      asked++;
      return 'secret';
    };
    const method = key(LOCKED, { name: 'id', passphrase });
    const attempt = await next(loginWith([method]));
    assert.ok(attempt.method === 'publickey');
    assert.equal(asked, 0);
    for (let i = 0; i < 2; i++) assert.ok((await attempt.signer.sign(utf8('data'), 'ssh-ed25519')).length > 64);
    assert.equal(asked, 1);
  });

  it('asks again where it is wrong, three times', async () => {
    const given = ['wrong', 'wronger', 'secret'];
    assert.ok((await signed(key(LOCKED, { passphrase: () => given.shift() ?? '' }))).length > 64);
    let asked = 0;
    const wrong = key(LOCKED, {
      passphrase() {
        asked++;
        return 'wrong';
      },
    });
    await rejectsWith(signed(wrong), 'key-passphrase-wrong');
    assert.equal(asked, 3);
    await rejectsWith(signed(key(LOCKED, { passphrase: () => 7 as unknown as string })), 'bad-argument');
  });

  it('is asked about without one, and only then missing', async () => {
    await rejectsWith(signed(key(LOCKED)), 'key-passphrase-needed');
    const login = loginWith([key(LOCKED), key(ed25519)]);
    await next(login);
    const cause = new SshError('key-passphrase-needed', 'id is encrypted');
    assert.equal((await next(login, { unsent: true, cause })).method, 'publickey');
    const { message, cause: why } = await rejectsWith(next(login), 'key-passphrase-needed');
    assert.match(
      message,
      /^Login as "ada" failed: tried publickey ssh-ed25519 SHA256:\S+ \(id is encrypted\), publickey/,
    );
    assert.equal(why, cause);
  });

  it('has an agent sign that has the key, and nobody is asked', async () => {
    const twin: Signer = { ...signer('ssh-ed25519', 0), publicKey: lockedBlob, sign: () => utf8('by the agent') };
    const login = loginWith([key(LOCKED, { passphrase: () => assert.fail('asked') }), agent(ed25519, twin)]);
    const attempt = await next(login);
    assert.ok(attempt.method === 'publickey');
    assert.deepEqual(await attempt.signer.sign(utf8('data'), 'ssh-ed25519'), utf8('by the agent'));
  });

  it('takes names and options, and nothing else', () => {
    assert.equal(key(LOCKED, 'name').name, 'name');
    assert.equal(key(LOCKED, { name: 'name' }).name, 'name');
    assert.equal('name' in key(LOCKED), false);
    for (const wrong of [7, null]) {
      assert.throws(() => key(LOCKED, wrong as unknown as string), { code: 'bad-argument' });
    }
  });

  it('shows no passphrase when it is printed', () => {
    const text = JSON.stringify(key(LOCKED, { passphrase: 'secret' }));
    assert.equal(/secret|BEGIN/.test(text), false, text);
  });
});
