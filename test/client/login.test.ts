import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AuthMethod, key, keyboardInteractive, password } from '../../src/client/auth.ts';
import { Login } from '../../src/client/login.ts';
import type { AuthAttempt, Prompt, Question } from '../../src/core/events.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { keyPairOf } from '../../src/keys/key_pair.ts';
import { fingerprint } from '../../src/keys/public_key.ts';
import { algorithmsOf, type Signer } from '../../src/keys/signature.ts';
import { rejectsWith } from '../support/rejects.ts';

/** A signer that never signs: only its key counts here. */
function signer(keyType: string, byte: number): Signer {
  const publicKey = Uint8Array.of(byte, byte);
  return { publicKey, keyType, algorithms: algorithmsOf(keyType), sign: () => assert.fail('it signed') };
}

const ed25519 = signer('ssh-ed25519', 1);
const ecdsa = signer('ecdsa-sha2-nistp256', 2);
const rsa = signer('ssh-rsa', 3);

type Credentials = Partial<Extract<Question, { kind: 'credentials' }>>;

function loginWith(methods: readonly AuthMethod[], maxFailures = 5): Login {
  return new Login({ username: 'ada', methods, maxFailures, crypto: pureProvider });
}

/** What is tried next; `methods` as the server lists them. */
function next(login: Login, question: Credentials = {}): Promise<AuthAttempt> {
  const base = { kind: 'credentials', methods: undefined, failed: undefined, partial: false, serverSigAlgs: undefined };
  return login.credentials({ ...base, ...question } as Extract<Question, { kind: 'credentials' }>);
}

function prompts(login: Login, ...asked: Prompt[]): Promise<readonly string[]> {
  return login.prompts({ kind: 'prompts', title: 't', instruction: 'i', prompts: asked });
}

const hidden = { text: 'Password: ', echo: false };
const shown = { text: 'Code: ', echo: true };

describe('Login', () => {
  it('tries explicit keys at once, in order, each once', async () => {
    const login = loginWith([key(ecdsa), key(ed25519), key(signer('ssh-ed25519', 2)), key(rsa)]);
    const methods = ['publickey'];
    assert.deepEqual(await next(login), { method: 'publickey', signer: ecdsa });
    const failed = { method: 'publickey', signer: ecdsa } as const;
    assert.deepEqual(await next(login, { methods, failed }), { method: 'publickey', signer: ed25519 });
    assert.deepEqual(await next(login, { methods, failed }), { method: 'publickey', signer: rsa });
    await rejectsWith(next(login, { methods, failed }), 'auth-failed');
  });

  it('tries none where it has nothing else', async () => {
    const login = loginWith([]);
    assert.deepEqual(await next(login), { method: 'none' });
    const error = await rejectsWith(next(login, { methods: ['password'], failed: { method: 'none' } }), 'auth-failed');
    assert.match(error.message, /^Login as "ada" failed: tried nothing; the server accepts password; give auth/);
    assert.equal(error.fault, 'policy');
  });

  it('asks nobody for a password that the server would not take', async () => {
    const login = loginWith([password(() => assert.fail('asked')), key(ed25519)]);
    assert.deepEqual(await next(login), { method: 'none' });
    assert.deepEqual(await next(login, { methods: ['publickey'], failed: { method: 'none' } }), {
      method: 'publickey',
      signer: ed25519,
    });
  });

  it('follows the list of the server', async () => {
    const login = loginWith([key(ed25519), password('pw'), keyboardInteractive(() => [])]);
    await next(login);
    const methods = ['keyboard-interactive', 'hostbased'];
    assert.deepEqual(await next(login, { methods }), { method: 'keyboard-interactive' });
  });

  it('goes on after a partial success, with the same method and the next key', async () => {
    const login = loginWith([key(ed25519), key(ecdsa), password('pw')]);
    await next(login);
    const methods = ['publickey', 'password'];
    assert.deepEqual(await next(login, { methods, partial: true }), { method: 'publickey', signer: ecdsa });
    assert.deepEqual(await next(login, { methods: ['password'], partial: true }), {
      method: 'password',
      password: 'pw',
    });
    const error = await rejectsWith(next(login, { methods: ['password'], partial: true }), 'auth-failed');
    assert.match(error.message, /ecdsa-sha2-nistp256 SHA256:\S+ \(accepted, but not enough\)/);
  });

  it('answers keyboard-interactive again after a partial success, and once only after a refusal', async () => {
    const login = loginWith([keyboardInteractive(() => ['x'])]);
    const methods = ['keyboard-interactive'];
    const attempt = { method: 'keyboard-interactive' } as const;
    assert.deepEqual(await next(login), attempt);
    assert.deepEqual(await next(login, { methods, partial: true }), attempt);
    await rejectsWith(next(login, { methods, failed: attempt }), 'auth-failed');
  });

  it('skips keys whose signatures the server does not take, and says so at the end', async () => {
    const login = loginWith([key(rsa), key(ed25519)]);
    const serverSigAlgs = ['ssh-ed25519'];
    assert.deepEqual(await next(login, { serverSigAlgs }), { method: 'publickey', signer: ed25519 });
    const error = await rejectsWith(next(login, { methods: ['publickey'], serverSigAlgs }), 'auth-failed');
    assert.match(
      error.message,
      /did not try ssh-rsa SHA256:\S+, since the server takes signatures by ssh-ed25519 only$/,
    );
    const willing = loginWith([key(rsa)]);
    assert.deepEqual(await next(willing, { serverSigAlgs: ['rsa-sha2-256'] }), { method: 'publickey', signer: rsa });
  });

  it('stops after so many refused attempts', async () => {
    const keys = [1, 2, 3, 4].map((byte) => key(signer('ssh-ed25519', byte)));
    const login = loginWith(keys, 3);
    for (let i = 0; i < 3; i++) await next(login, { methods: ['publickey'] });
    const error = await rejectsWith(next(login, { methods: ['publickey'] }), 'auth-failed');
    assert.match(error.message, /stopped after 3 refused attempts \(maxAuthFailures\)$/);
  });

  it('names the file of a key, and never a password', async () => {
    const login = loginWith([key(ed25519, '/home/ada/.ssh/id'), password('hunter2')]);
    const methods = ['publickey', 'password'];
    for (let i = 0; i < 2; i++) await next(login, { methods });
    const { message } = await rejectsWith(next(login, { methods }), 'auth-failed');
    const shownKey = fingerprint(pureProvider, ed25519.publicKey);
    assert.ok(message.includes(`publickey ssh-ed25519 ${shownKey} from /home/ada/.ssh/id, password;`), message);
    assert.equal(message.includes('hunter2'), false);
  });

  it('shows no secret when it is printed', () => {
    const secret = keyPairOf(pureProvider, { type: 'ssh-ed25519', seed: new Uint8Array(32).fill(0x41) });
    const text = JSON.stringify([password('hunter2'), key(secret), key('-----BEGIN PRIVATE KEY-----')]);
    assert.equal(/hunter2|BEGIN|65,65/.test(text), false, text);
  });

  it('fails with what a key fails with, before anything is tried', async () => {
    const login = loginWith([key(ed25519), key('not a key', 'my_key')]);
    const error = await rejectsWith(login.loaded(), 'key-format-unsupported');
    assert.match(error.message, /my_key/);
    assert.equal(await rejectsWith(next(login), 'key-format-unsupported'), error);
    const agent = loginWith([{ method: 'publickey', signer: () => Promise.reject(new Error('no agent')) }]);
    assert.equal((await rejectsWith(agent.loaded(), 'bad-argument')).message, 'no agent');
  });
});

describe('Login with a password', () => {
  it('tries a fixed one once', async () => {
    const login = loginWith([password('pw')]);
    const attempt = { method: 'password', password: 'pw' } as const;
    assert.deepEqual(await next(login), attempt);
    await rejectsWith(next(login, { methods: ['password'], failed: attempt }), 'auth-failed');
  });

  it('asks three times', async () => {
    const attempts: number[] = [];
    const login = loginWith([password((attempt) => `try ${attempts.push(attempt)}`)]);
    const methods = ['password'];
    assert.deepEqual(await next(login), { method: 'none' });
    for (let i = 1; i <= 3; i++)
      assert.deepEqual(await next(login, { methods }), { method: 'password', password: `try ${i}` });
    await rejectsWith(next(login, { methods }), 'auth-failed');
    assert.deepEqual(attempts, [1, 2, 3]);
  });

  it('answers a single hidden prompt with it where the server has only keyboard-interactive', async () => {
    const login = loginWith([password('pw')]);
    const failed = { method: 'password', password: 'pw' } as const;
    await next(login);
    const methods = ['publickey', 'keyboard-interactive'];
    assert.deepEqual(await next(login, { methods, failed }), { method: 'keyboard-interactive' });
    assert.deepEqual(await prompts(login, hidden), ['pw']);
    await rejectsWith(next(login, { methods, failed: { method: 'keyboard-interactive' } }), 'auth-failed');
  });

  it('does not answer other prompts with it', async () => {
    for (const asked of [[shown], [hidden, hidden]]) {
      const login = loginWith([password('pw')]);
      await next(login, { methods: ['keyboard-interactive'] });
      assert.deepEqual(
        await prompts(login, ...asked),
        asked.map(() => ''),
      );
      const error = await rejectsWith(next(login, { methods: ['keyboard-interactive'] }), 'auth-failed');
      assert.ok(error.message.includes(`cannot answer "${asked[0]?.text.trim()}"`), error.message);
    }
  });

  it('changes an expired one if it can', async () => {
    const login = loginWith([password('old', { newPassword: (prompt) => `new for ${prompt}` })]);
    await next(login);
    assert.equal(await login.newPassword('Expired'), 'new for Expired');
    const unable = loginWith([password('old')]);
    await next(unable);
    const error = await rejectsWith(unable.newPassword('Expired\n'), 'auth-failed');
    assert.match(error.message, /expired.*"Expired".*newPassword/);
  });
});

describe('Login with keyboard-interactive', () => {
  it('hands out what the server asks, round by round', async () => {
    const requests: unknown[] = [];
    const login = loginWith([
      keyboardInteractive(async (request) => {
        requests.push(request);
        return request.prompts.map(({ text }) => text.toUpperCase());
      }),
    ]);
    await next(login);
    assert.deepEqual(await prompts(login, hidden), ['PASSWORD: ']);
    assert.deepEqual(await prompts(login, shown, hidden), ['CODE: ', 'PASSWORD: ']);
    assert.deepEqual(requests, [
      { title: 't', instruction: 'i', prompts: [hidden] },
      { title: 't', instruction: 'i', prompts: [shown, hidden] },
    ]);
  });
});
