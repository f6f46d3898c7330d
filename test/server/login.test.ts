/** Logging in at a server: what its functions are told, and what comes of what they say. RFC 4252, RFC 4256. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { key, keyboardInteractive, password } from '../../src/client/auth.ts';
import { SshError } from '../../src/errors.ts';
import { parsePrivateKey, signerOf } from '../../src/keys/private_key.ts';
import { fingerprint, type PublicKey, parsePublicKey } from '../../src/keys/public_key.ts';
import { formatPublicKeyLine } from '../../src/keys/public_key_line.ts';
import { authorizedKeys } from '../../src/server/authorized_keys.ts';
import type { Attempt, LoginHandlers, LoginResult, QuestionRound } from '../../src/server/handlers.ts';
import { privateRow } from '../keys/tools.ts';
import { it } from '../support/limited.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';
import { PASSWORD, REMOTE, Serving } from '../support/serving.ts';

const first = ed25519Signer(memoCrypto, 1);
const second = ed25519Signer(memoCrypto, 2);
const print = (signer: typeof first): string => fingerprint(memoCrypto, signer.publicKey);

/** A server with these functions, gone when the test is over. */
const serve = (auth: LoginHandlers): Promise<Serving> => Serving.start({ auth });

/** Lets in with this. */
const when = (right: boolean) => (): LoginResult => right;

describe('login', () => {
  it('with a password', async () => {
    await using serving = await serve({ password: ({ password }) => password === 'gr\u00fcn' });
    const ssh = await serving.connect({ auth: [password('gr\u00fcn')] });
    assert.deepEqual(ssh.info.authMethods, ['password']);
    await rejectsWith(serving.connect({ auth: [password('gruen')] }), 'auth-failed');
    assert.deepEqual(serving.takeFailures(), []);
  });

  it('with a key, whose function runs once its signature is verified', async () => {
    const heard: string[] = [];
    await using serving = await serve({
      publickey({ username, key: shown, algorithm }) {
        heard.push(`${username} ${algorithm} ${shown.publicKey.type} ${shown.fingerprint}`);
        return shown.fingerprint === print(second);
      },
    });
    await serving.connect({ auth: [key(first), key(second)] });
    assert.deepEqual(heard, [
      `ada ssh-ed25519 ssh-ed25519 ${print(first)}`,
      `ada ssh-ed25519 ssh-ed25519 ${print(second)}`,
    ]);
  });

  it('with nothing, where the server wants nothing', async () => {
    await using serving = await serve({ none: ({ username }) => username === 'ada' });
    const ssh = await serving.connect({ auth: [] });
    assert.deepEqual(ssh.info.authMethods, ['none']);
    await rejectsWith(serving.connect({ auth: [], username: 'bob' }), 'auth-failed');
  });

  it('by answering questions, round after round, of a function that takes its time', async () => {
    const rounds: QuestionRound[] = [
      {
        title: 'First',
        instruction: 'Two things',
        prompts: [
          { text: 'A: ', echo: true },
          { text: 'B: ', echo: false },
        ],
      },
      { prompts: [] },
      { prompts: [{ text: 'C: ', echo: false }] },
    ];
    const told: (readonly string[])[] = [];
    await using serving = await serve({
      async keyboardInteractive({ username }, ask) {
        for (const round of rounds) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          told.push(await ask(round));
        }
        return username === 'ada';
      },
    });
    const asked: unknown[] = [];
    const answers = [['a', 'b\u00e9'], ['']];
    const method = keyboardInteractive((round) => {
      asked.push(round);
      return answers[asked.length - 1] ?? [];
    });
    const ssh = await serving.connect({ auth: [method] });
    assert.deepEqual(ssh.info.authMethods, ['keyboard-interactive']);
    assert.deepEqual(told, [['a', 'b\u00e9'], [], ['']]);
    // a round without prompts is answered by the client itself
    assert.deepEqual(asked, [
      { title: 'First', instruction: 'Two things', prompts: rounds[0]?.prompts },
      { title: '', instruction: '', prompts: rounds[2]?.prompts },
    ]);
  });

  it('offers the methods that have a function, and no other', async () => {
    await using serving = await serve({ none: when(false), keyboardInteractive: when(false) });
    const error = await rejectsWith(serving.connect({ auth: [password('x'), key(first)] }), 'auth-failed');
    assert.match(error.message, /keyboard-interactive/);
    assert.doesNotMatch(error.message, /accepts.*(?:password|publickey)/);
  });

  it('tells each function who tries, and from where', async () => {
    const attempts: Attempt[] = [];
    const hear = (attempt: Attempt): boolean => {
      attempts.push(attempt);
      return false;
    };
    await using serving = await serve({ none: hear, password: hear, publickey: hear, keyboardInteractive: hear });
    const auth = [key(first), keyboardInteractive(() => []), password('x')];
    await rejectsWith(serving.connect({ auth, username: 'eve\u00e9', software: 'test_1' }), 'auth-failed');
    assert.ok(attempts.length >= 3);
    for (const { username, peer, steps } of attempts) {
      assert.equal(username, 'eve\u00e9');
      assert.deepEqual(peer, { ...REMOTE, identification: 'SSH-2.0-test_1' });
      assert.deepEqual(steps, []);
    }
  });

  it('calls functions as the methods that they are', async () => {
    class Users implements LoginHandlers {
      readonly name = 'ada';
      password({ username }: Attempt): boolean {
        return username === this.name;
      }
      async keyboardInteractive({ username }: Attempt): Promise<boolean> {
        return username === this.name;
      }
      publickey({ username }: Attempt): boolean {
        return username === this.name;
      }
      none({ username }: Attempt): boolean {
        return username !== this.name;
      }
    }
    await using serving = await serve(new Users());
    for (const method of [password('x'), key(first), keyboardInteractive(() => [])]) {
      await serving.connect({ auth: [method] });
    }
    assert.deepEqual(serving.takeFailures(), []);
  });

  it('keeps who it was, for sessions and for the owner of the server', async () => {
    const identity = { uid: 7 };
    await using serving = await serve({ password: () => ({ identity, permissions: { pty: false } }) });
    const [, connection] = [await serving.connect(), serving.connections[0]];
    assert.deepEqual(connection?.login, {
      username: 'ada',
      steps: [{ method: 'password' }],
      permissions: { pty: false },
      identity,
      peer: { ...REMOTE, identification: 'SSH-2.0-puressh_0.1.0' },
    });
    assert.equal(connection.login?.identity, identity);
  });
});

describe('login in several steps', () => {
  it('takes two methods, and tells the second about the first', async () => {
    const steps: unknown[] = [];
    await using serving = await serve({
      publickey: () => ({ partial: ['password'] }),
      password(attempt) {
        steps.push(attempt.steps.map((step) => [step.method, step.key?.fingerprint]));
        return attempt.password === 'p' && attempt.steps.length === 1;
      },
    });
    const ssh = await serving.connect({ auth: [key(first), password('p')] });
    assert.deepEqual(ssh.info.authMethods, ['publickey', 'password']);
    assert.deepEqual(steps, [[['publickey', print(first)]]]);
    assert.deepEqual(
      serving.connections[0]?.login?.steps.map(({ method }) => method),
      ['publickey', 'password'],
    );
  });

  it('keeps what each step restricts, and the identity that was given last', async () => {
    const file = `command="backup",no-port-forwarding ${formatPublicKeyLine(first.publicKey)}`;
    const keys = authorizedKeys({ ada: file });
    for (const last of [true, { identity: 7 }, { permissions: { pty: false, portForwarding: true } }]) {
      await using serving = await serve({
        async publickey(attempt) {
          const result = await keys(attempt);
          return result && { ...result, partial: ['password'] };
        },
        password: () => last,
      });
      await serving.connect({ auth: [key(first), password('p')] });
      const login = serving.connections[0]?.login;
      const { command, portForwarding, pty } = login?.permissions ?? {};
      const isTerminalRefused = typeof last === 'object' && 'permissions' in last;
      assert.deepEqual([command, portForwarding, pty], ['backup', false, !isTerminalRefused]);
      if (typeof last === 'object' && 'identity' in last) assert.equal(login?.identity, 7);
      else assert.deepEqual({ ...(login?.identity as object), line: 1 }, login?.identity);
    }
  });

  it('keeps nothing of what another user was granted', async () => {
    await using serving = await serve({
      publickey: () => ({ partial: ['password'], permissions: { command: 'x' }, identity: 'of ada' }),
      password: () => true,
    });
    const raw = serving.raw();
    await raw.handshake();
    raw.client.requestSigned(first);
    await raw.quiet();
    assert.equal(raw.client.expect(51).at(-1), 1);
    raw.client.requestPassword('p', 'bob');
    await raw.quiet();
    raw.client.expect(52);
    const login = serving.connections[0]?.login;
    assert.deepEqual([login?.username, login?.permissions, login?.identity], ['bob', {}, undefined]);
  });

  it('lets nobody in whom two steps bind to two commands', async () => {
    await using serving = await serve({
      publickey: () => ({ partial: ['password'], permissions: { command: 'a' } }),
      password: () => ({ permissions: { command: 'b' } }),
    });
    await rejectsWith(serving.connect({ auth: [key(first), password('p')] }), 'auth-failed');
    const failures = serving.takeFailures();
    assert.deepEqual(failures, ['bad-argument: Two steps of one login bind the user to two different commands']);
  });

  it('takes two keys, which must be two (T34)', async () => {
    const handlers: LoginHandlers = {
      publickey: ({ steps }) => (steps.length === 0 ? { partial: ['publickey'] } : true),
    };
    await using serving = await serve(handlers);
    const ssh = await serving.connect({ auth: [key(first), key(second)] });
    assert.deepEqual(ssh.info.authMethods, ['publickey', 'publickey']);
    assert.deepEqual(
      serving.connections[0]?.login?.steps.map((step) => step.key?.fingerprint),
      [print(first), print(second)],
    );
    await rejectsWith(serving.connect({ auth: [key(first), key(first)] }), 'auth-failed');
  });

  it('takes one key for one, in whatever bytes it comes', async () => {
    const rsa = signerOf(memoCrypto, parsePrivateKey(privateRow('rsa1024').openssh ?? '', memoCrypto));
    const { key: numbers } = parsePublicKey(rsa.publicKey) as Extract<PublicKey, { type: 'ssh-rsa' }>;
    const zeros = new Uint8Array(3);
    const publicKey = new Writer()
      .string('ssh-rsa')
      .string(concat(zeros, numbers.exponent))
      .string(concat(zeros, numbers.modulus))
      .finish();
    const padded = { ...rsa, publicKey };
    const lines = [rsa, padded].map((each) => `${formatPublicKeyLine(each.publicKey)}\n`).join('');
    const known = authorizedKeys({ ada: lines });
    await using serving = await serve({
      async publickey(attempt) {
        const grant = await known(attempt);
        return grant !== false && attempt.steps.length === 0 ? { ...grant, partial: ['publickey'] } : grant;
      },
    });
    const error = await rejectsWith(serving.connect({ auth: [key(rsa), key(padded)] }), 'auth-failed');
    assert.match(error.message, /accepted, but not enough/);
    assert.deepEqual(serving.takeFailures(), []);
  });

  it('says no to a key that was used already, also where it is only shown', async () => {
    const publickey: LoginHandlers['publickey'] = ({ steps }) =>
      steps.length === 0 ? { partial: ['publickey'] } : true;
    await using serving = await serve({ publickey });
    const raw = serving.raw();
    await raw.handshake();
    raw.client.requestSigned(first);
    await raw.quiet();
    assert.equal(raw.client.expect(51).at(-1), 1, 'partial success');
    raw.client.requestQuery(second.publicKey, 'ssh-ed25519');
    await raw.quiet();
    raw.client.expect(60);
    raw.client.requestQuery(first.publicKey, 'ssh-ed25519');
    raw.client.requestSigned(first);
    for (let i = 0; i < 2; i++) assert.equal((await raw.coming(51)).at(-1), 0);
    raw.client.requestSigned(second);
    await raw.quiet();
    raw.client.expect(52);
  });

  it('begins anew with another user, also for a key that is only shown', async () => {
    const heard: string[] = [];
    await using serving = await serve({
      publickey({ username, key: shown, steps }) {
        heard.push(`${username} ${shown.fingerprint === print(first) ? 1 : 2} after ${steps.length}`);
        return steps.length === 0 ? { partial: ['publickey'] } : true;
      },
    });
    const raw = serving.raw();
    await raw.handshake();
    raw.client.requestSigned(first);
    raw.client.requestQuery(first.publicKey, 'ssh-ed25519', 'bob');
    await raw.quiet();
    raw.client.expect(51);
    raw.client.expect(60);
    raw.client.requestSigned(first, { user: 'bob' });
    await raw.quiet();
    assert.equal(raw.client.expect(51).at(-1), 1);
    assert.deepEqual(heard, ['ada 1 after 0', 'bob 1 after 0', 'bob 1 after 0']);
  });

  it('has a password changed that has expired', async () => {
    const heard: unknown[] = [];
    await using serving = await serve({
      password({ password, newPassword }) {
        heard.push([password, newPassword]);
        return newPassword === undefined ? { changePassword: 'Expired. New one: ' } : newPassword === 'new';
      },
    });
    const prompts: string[] = [];
    const method = password('old', {
      newPassword(prompt) {
        prompts.push(prompt);
        return 'new';
      },
    });
    await serving.connect({ auth: [method] });
    assert.deepEqual(heard, [
      ['old', undefined],
      ['old', 'new'],
    ]);
    assert.deepEqual(prompts, ['Expired. New one: ']);
  });
});

describe('a function of a login', () => {
  it('that throws lets nobody in, is told, and costs no connection', async () => {
    const handlers: LoginHandlers = {
      publickey: () => {
        throw new Error('no database');
      },
      keyboardInteractive: () => Promise.reject(new SshError('timeout', 'too slow')),
      password: ({ password }) => password === PASSWORD,
    };
    await using serving = await serve(handlers);
    const ssh = await serving.connect({ auth: [key(first), keyboardInteractive(() => []), password(PASSWORD)] });
    assert.deepEqual(ssh.info.authMethods, ['password']);
    assert.deepEqual(serving.takeFailures(), ['internal: no database', 'timeout: too slow']);
  });

  it('that throws in the middle of a conversation lets nobody in', async () => {
    await using serving = await serve({
      async keyboardInteractive(_attempt, ask) {
        await ask({ prompts: [{ text: 'A: ', echo: true }] });
        throw new Error('no database');
      },
    });
    await rejectsWith(serving.connect({ auth: [keyboardInteractive(() => ['x'])] }), 'auth-failed');
    assert.ok(serving.takeFailures().includes('internal: no database'));
  });

  it('that gives what is no result lets nobody in, and is told', async () => {
    const nonsense: unknown[] = [
      'yes',
      1,
      0,
      '',
      null,
      undefined,
      Symbol('s'),
      [],
      { partial: [] },
      { partial: 'password' },
      { partial: undefined },
      { changePassword: 7 },
      { permission: {} },
    ];
    const tryWith = async (result: unknown): Promise<void> => {
      const say = (): LoginResult => result as LoginResult;
      await using serving = await serve({ password: say, keyboardInteractive: say, publickey: say });
      const auth = [key(first), keyboardInteractive(() => []), password('x')];
      await rejectsWith(serving.connect({ auth }), 'auth-failed');
      const failures = serving.takeFailures();
      if (result !== null && result !== undefined) {
        assert.equal(failures.length, 3, String(JSON.stringify(result)));
        for (const failure of failures) assert.match(failure, /^bad-argument: /);
      }
    };
    await Promise.all(nonsense.map(tryWith));
  });

  it('may ask for a new password where there is one, and nowhere else', async () => {
    const change = (): LoginResult => ({ changePassword: 'New: ' });
    await using serving = await serve({ publickey: change, keyboardInteractive: change });
    await rejectsWith(serving.connect({ auth: [key(first), keyboardInteractive(() => [])] }), 'auth-failed');
    const [one, two, ...rest] = serving.takeFailures();
    for (const failure of [one, two])
      assert.equal(failure, 'bad-argument: changePassword is for the method password only');
    assert.deepEqual(rest, []);
  });

  it('may want no method in the next step that nobody can take', async () => {
    await using serving = await serve({ publickey: () => ({ partial: ['publickey', 'password'] }) });
    await rejectsWith(serving.connect({ auth: [key(first)] }), 'auth-failed');
    const [failure, ...rest] = serving.takeFailures();
    assert.equal(
      failure,
      'bad-argument: partial names "password", for which auth has no function; it has some for publickey',
    );
    assert.deepEqual(rest, []);
  });
});

describe('ask', () => {
  const round: QuestionRound = { prompts: [{ text: 'Code: ', echo: true }] };

  /** A server that runs `converse`, and what the calls to `ask` in it failed with. */
  async function conversing(converse: NonNullable<LoginHandlers['keyboardInteractive']>) {
    const serving = await serve({ keyboardInteractive: converse, password: ({ password }) => password === PASSWORD });
    const raw = serving.raw();
    await raw.handshake();
    raw.client.requestKeyboard();
    await raw.quiet();
    return { serving, raw, [Symbol.asyncDispose]: () => serving.close() };
  }

  it('is aborted when the client turns to another method', async () => {
    let failure: unknown;
    await using parts = await conversing(async (_attempt, ask) => {
      await ask(round).catch((error) => {
        failure = error;
      });
      return true;
    });
    const { serving, raw } = parts;
    raw.client.expect(60);
    raw.client.requestPassword(PASSWORD);
    await raw.quiet();
    raw.client.expect(52);
    assert.ok(failure instanceof SshError && failure.code === 'aborted', String(failure));
    assert.equal(serving.connections[0]?.login?.steps[0]?.method, 'password');
  });

  it('is aborted when the client asks for a conversation anew, which is another one', async () => {
    const outcomes: string[] = [];
    let count = 0;
    await using parts = await conversing(async (_attempt, ask) => {
      const number = count++;
      const answers = await ask(round).catch((error: SshError) => [error.code]);
      outcomes.push(`${number} ${answers[0]}`);
      return answers[0] === 'right';
    });
    const { raw } = parts;
    raw.client.expect(60);
    raw.client.requestKeyboard();
    await raw.quiet();
    raw.client.expect(60);
    raw.client.send(responses('right'));
    await raw.quiet();
    raw.client.expect(52);
    assert.deepEqual(outcomes, ['0 aborted', '1 right']);
  });

  it('is aborted when the client goes away, and a function that does not listen harms nobody', async () => {
    let failure: unknown;
    await using parts = await conversing(async (_attempt, ask) => {
      const waiting = ask(round);
      waiting.catch((error) => {
        failure = error;
      });
      ask(round); // one at a time, and nobody looks at how this one fails
      await waiting;
      return true;
    });
    const { serving, raw } = parts;
    raw.client.expect(60);
    raw.reset();
    await serving.cause();
    await raw.quiet();
    assert.ok(failure instanceof SshError && failure.code === 'aborted', String(failure));
  });

  it('takes one round at a time, and none with an empty prompt', async () => {
    const failures: string[] = [];
    await using parts = await conversing(async (_attempt, ask) => {
      const keep = (error: SshError): string[] => {
        failures.push(error.code);
        return [];
      };
      await ask({
        prompts: [
          { text: 'A: ', echo: true },
          { text: '', echo: true },
        ],
      }).catch(keep);
      const going = ask(round);
      await ask(round).catch(keep);
      return (await going)[0] === 'right';
    });
    const { raw } = parts;
    raw.client.expect(60);
    raw.client.send(responses('right'));
    await raw.quiet();
    raw.client.expect(52);
    assert.deepEqual(failures, ['bad-argument', 'bad-argument']);
  });

  it('lets nobody in who has not answered yet', async () => {
    await using parts = await conversing((_attempt, ask) => {
      ask(round);
      return true;
    });
    const { raw } = parts;
    raw.client.expect(60);
    raw.client.send(responses('x'));
    await raw.coming(51);
  });
});

/** INFO_RESPONSE with one answer: RFC 4256 §3.4. */
function responses(answer: string): Uint8Array {
  const text = new TextEncoder().encode(answer);
  return Uint8Array.of(61, 0, 0, 0, 1, 0, 0, 0, text.length, ...text);
}
