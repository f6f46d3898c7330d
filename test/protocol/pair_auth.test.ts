/** Our client logs in at our server, by every method, in several steps, and not at all. RFC 4252, RFC 4256. */

import assert from 'node:assert/strict';
import type { AuthAttempt, LoginAttempt, LoginVerdict, Prompt } from '../../src/core/events.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { SshError } from '../../src/errors.ts';
import type { LoginQuestion, ServerScript } from '../support/core_server.ts';
import { scenario } from '../support/link.ts';
import { Pair, type PairOptions } from '../support/pair.ts';
import { testAlgorithms, testSigner } from '../support/test_keys.ts';

const none: AuthAttempt = { method: 'none' };
const keyboard: AuthAttempt = { method: 'keyboard-interactive' };
const password = (text: string): AuthAttempt => ({ method: 'password', password: text });
const publickey = (algorithm: string, use = 'user'): AuthAttempt => ({
  method: 'publickey',
  signer: testSigner(algorithm, use),
});

const accept: LoginVerdict = { verdict: 'accept' };
const refuse: LoginVerdict = { verdict: 'refuse' };

/** What the server was asked, in words. */
function told({ attempt, succeeded }: LoginQuestion): string {
  const steps = succeeded.length === 0 ? '' : ` after ${succeeded.join(', ')}`;
  return `${inWords(attempt)}${steps}`;
}

function inWords(attempt: LoginAttempt): string {
  switch (attempt.method) {
    case 'password':
      return `password ${attempt.password}${attempt.newPassword === undefined ? '' : ` to ${attempt.newPassword}`}`;
    case 'publickey':
      return `publickey ${attempt.algorithm}`;
    default:
      return attempt.method;
  }
}

interface Played {
  readonly pair: Pair;
  /** The server's questions about logins. */
  readonly asked: string[];
}

/** A client that makes these attempts at a server that lets in who says what `decide` wants. */
function play(
  options: PairOptions,
  attempts: readonly AuthAttempt[],
  decide: (attempt: string) => LoginVerdict,
  script: ServerScript = {},
): Played {
  const asked: string[] = [];
  const pair = new Pair({
    ...options,
    clientScript: { attempts, ...options.clientScript },
    serverScript: {
      onLogin(question) {
        assert.equal(question.username, 'ada');
        asked.push(told(question));
        return decide(asked.at(-1) as string);
      },
      ...script,
    },
  });
  pair.pump();
  return { pair, asked };
}

/** Both sides must know that she is logged in, and by what. */
function loggedIn(pair: Pair, methods: readonly string[]): void {
  pair.alive();
  assert.deepEqual(pair.client.only('authenticated').methods, methods);
  const { username, methods: known } = pair.server.only('authenticated');
  assert.equal(username, 'ada');
  assert.deepEqual(known, methods);
}

/** `only(x)` accepts x and refuses all else. */
const only =
  (right: string) =>
  (attempt: string): LoginVerdict =>
    attempt === right ? accept : refuse;

scenario('none logs in where the server asks for nothing, and costs no attempt where it does', (chunking) => {
  const open = play({ chunking }, [none], only('none'));
  loggedIn(open.pair, ['none']);
  const limits = { ...defaultLimits, authFailures: 1 };
  const { pair, asked } = play({ chunking, server: { limits } }, [none, none, password('x')], only('password x'));
  loggedIn(pair, ['password']);
  assert.deepEqual(asked, ['none', 'none', 'password x']);
});

scenario('a password that is refused may be followed by one that is right, or wrong for ever', (chunking) => {
  const wrong = ['a', 'b', 'c', 'd'].map(password);
  const { pair, asked } = play({ chunking }, [...wrong, password('grün 🔑')], only('password grün 🔑'));
  loggedIn(pair, ['password']);
  assert.equal(asked.length, 5);
  const out = play({ chunking }, wrong, () => refuse);
  // the client gives up by itself, before the server does
  out.pair.client.failed('auth-failed');
  assert.match(out.pair.server.failed('connection-lost').message, /in phase auth/);
  assert.ok(!out.pair.server.has('authenticated'));
});

scenario('the server ends a login after its limit of refused attempts', (chunking) => {
  const limits = { ...defaultLimits, authFailures: 3 };
  const attempts = ['a', 'b', 'c', 'right'].map(password);
  const { pair, asked } = play({ chunking, server: { limits } }, attempts, only('password right'));
  assert.deepEqual(asked, ['password a', 'password b', 'password c']);
  assert.match(pair.server.failed('auth-failed').message, /3 attempts were refused/);
  assert.match(pair.client.failed('disconnected').message, /\(14, noMoreAuthMethodsAvailable\): Too many/);
});

scenario('keys sign with every algorithm, and the server verifies them', (chunking) => {
  for (const algorithm of testAlgorithms) {
    const { pair, asked } = play({ chunking }, [publickey(algorithm)], only(`publickey ${algorithm}`));
    loggedIn(pair, ['publickey']);
    assert.deepEqual(asked, [`publickey ${algorithm}`]);
  }
});

scenario('a signature that is not of the key is no attempt that anybody is asked about', (chunking) => {
  const good = testSigner('ssh-ed25519', 'user');
  const forged: AuthAttempt = {
    method: 'publickey',
    signer: { ...good, sign: (message, algorithm) => good.sign(message.subarray(1), algorithm) },
  };
  const { pair, asked } = play({ chunking }, [forged, forged, publickey('ssh-ed25519')], () => accept);
  loggedIn(pair, ['publickey']);
  assert.deepEqual(asked, ['publickey ssh-ed25519'], 'about the good one alone');
});

scenario('a client does not sign with what the server does not take (RFC 8308)', (chunking) => {
  const { pair, asked } = play(
    { chunking, server: { signatures: ['ecdsa-sha2-nistp384', 'ssh-ed25519'] } },
    [publickey('ecdsa-sha2-nistp256'), publickey('rsa-sha2-512'), publickey('ecdsa-sha2-nistp384')],
    () => accept,
  );
  loggedIn(pair, ['publickey']);
  assert.deepEqual(asked, ['publickey ecdsa-sha2-nistp384']);
});

scenario('methods that a server does not have are refused, and are no attempts', (chunking) => {
  const server = { methods: ['password'], limits: { ...defaultLimits, authFailures: 1 } };
  const attempts = [publickey('ssh-ed25519'), keyboard, keyboard, password('x')];
  const { pair, asked } = play({ chunking, server }, attempts, () => accept);
  loggedIn(pair, ['password']);
  assert.deepEqual(asked, ['password x']);
});

scenario('an expired password is changed on the way in (RFC 4252 §8)', (chunking) => {
  const prompts: string[] = [];
  const { pair, asked } = play(
    {
      chunking,
      clientScript: {
        onNewPassword(prompt) {
          prompts.push(prompt);
          return prompts.length === 1 ? 'short' : 'long enough';
        },
      },
    },
    [password('old')],
    (attempt) =>
      attempt === 'password old to long enough'
        ? accept
        : { verdict: 'change-password', prompt: attempt === 'password old' ? 'New one, please:' : 'Longer:' },
  );
  loggedIn(pair, ['password']);
  assert.deepEqual(prompts, ['New one, please:', 'Longer:']);
  assert.deepEqual(asked, ['password old', 'password old to short', 'password old to long enough']);
});

scenario('keyboard-interactive goes through rounds, one of them without prompts', (chunking) => {
  const rounds: Extract<LoginVerdict, { verdict: 'prompt' }>[] = [
    { verdict: 'prompt', title: 'Door', instruction: 'Who?\nSay it.', prompts: [{ text: 'Name: ', echo: true }] },
    { verdict: 'prompt', title: '', instruction: 'Wait', prompts: [] },
    {
      verdict: 'prompt',
      title: '',
      instruction: '',
      prompts: [
        { text: 'Word: ', echo: false },
        { text: 'Number: ', echo: true },
      ],
    },
  ];
  const seen: (readonly Prompt[])[] = [];
  const answered: (readonly string[])[] = [];
  let next = 0;
  const { pair, asked } = play(
    {
      chunking,
      clientScript: {
        onPrompts(prompts) {
          seen.push(prompts);
          return prompts.map(({ text }) => `${text}ß`);
        },
      },
    },
    [keyboard],
    () => rounds[next++] as LoginVerdict,
    {
      onResponses(responses) {
        answered.push(responses);
        return rounds[next++] ?? accept;
      },
    },
  );
  loggedIn(pair, ['keyboard-interactive']);
  assert.deepEqual(asked, ['keyboard-interactive']);
  assert.deepEqual(seen, [rounds[0]?.prompts, rounds[2]?.prompts], 'a round without prompts asks nobody');
  assert.deepEqual(answered, [['Name: ß'], [], ['Word: ß', 'Number: ß']]);
});

scenario('wrong answers are refused, and another method may follow', (chunking) => {
  const prompt: LoginVerdict = { verdict: 'prompt', title: '', instruction: '', prompts: [{ text: '?', echo: true }] };
  const { pair } = play(
    { chunking },
    [keyboard, keyboard, password('x')],
    (attempt) => (attempt === 'password x' ? accept : prompt),
    { onResponses: () => refuse },
  );
  loggedIn(pair, ['password']);
});

scenario('several methods in a row: each that is right leads to the next (RFC 4252 §5.1)', (chunking) => {
  const methods: (readonly string[] | undefined)[] = [];
  const attempts = [none, publickey('ssh-ed25519'), password('wrong'), password('right'), keyboard];
  const steps: Record<string, LoginVerdict> = {
    'publickey ssh-ed25519': { verdict: 'partial', methods: ['password', 'keyboard-interactive'] },
    'password right after publickey': { verdict: 'partial', methods: ['keyboard-interactive'] },
    'keyboard-interactive after publickey, password': accept,
  };
  const partials: boolean[] = [];
  const left = [...attempts];
  const { pair, asked } = play(
    {
      chunking,
      clientScript: {
        onCredentials(question) {
          methods.push(question.methods);
          partials.push(question.partial);
          return left.shift() ?? assert.fail('asked too often');
        },
      },
    },
    [],
    (attempt) => steps[attempt] ?? refuse,
  );
  loggedIn(pair, ['publickey', 'password', 'keyboard-interactive']);
  assert.deepEqual(asked, [
    'none',
    'publickey ssh-ed25519',
    'password wrong after publickey',
    'password right after publickey',
    'keyboard-interactive after publickey, password',
  ]);
  const all = ['publickey', 'password', 'keyboard-interactive'];
  assert.deepEqual(methods, [undefined, all, ['password', 'keyboard-interactive'], methods[2], [all[2]]]);
  assert.deepEqual(partials, [false, false, true, false, true]);
});

scenario('a banner comes once, sanitised, before the login ends', (chunking) => {
  const { pair } = play(
    { chunking, server: { banner: 'Hello,\nada \u001b[31m\n' } },
    [none, password('x')],
    only('password x'),
  );
  loggedIn(pair, ['password']);
  const { text } = pair.client.only('banner');
  assert.ok(text.startsWith('Hello,\nada ') && !text.includes('\u001b'), JSON.stringify(text));
  const types = pair.client.events.map(({ type }) => type);
  assert.ok(types.indexOf('banner') < types.indexOf('authenticated'));
});

scenario('answers may come late on either side, and input waits for them', (chunking) => {
  const asked: LoginQuestion[] = [];
  const pair = new Pair({
    chunking,
    clientScript: { onHostKey: () => 'later', onCredentials: () => 'later' },
    serverScript: {
      onLogin(question) {
        asked.push(question);
        return 'later';
      },
    },
  });
  const { client, server } = pair;
  const answer = (side: Pair['client'] | Pair['server'], value: unknown): void => {
    const open = side.questions.shift();
    assert.ok(open !== undefined, 'a question is open');
    side.connection.answer(open.id, value);
    side.settle();
    pair.pump();
  };
  pair.pump();
  assert.ok(client.connection.holdsInput && !client.has('keys'));
  answer(client, true);
  assert.ok(client.has('keys') && !client.connection.holdsInput);
  for (const [i, attempt] of [password('a'), password('b')].entries()) {
    answer(client, attempt);
    assert.equal(asked.length, i + 1);
    assert.ok(server.connection.holdsInput);
    assert.equal(client.questions.length, 0, 'the client waits');
    answer(server, i === 0 ? refuse : accept);
  }
  loggedIn(pair, ['password']);
});

scenario('a host key that is refused ends both, and nothing of the login was said', (chunking) => {
  const refusal = new SshError('host-key-mismatch', 'another key', { fault: 'policy', disconnect: 9 });
  const pair = new Pair({ chunking, clientScript: { onHostKey: () => refusal } });
  pair.pump();
  assert.equal(pair.client.failed('host-key-mismatch'), refusal);
  // what our own policy says is not for the peer: the code alone
  assert.match(
    pair.server.failed('disconnected').message,
    /\(9, hostKeyNotVerifiable\): (?!another key)host-key-mismatch$/,
  );
  assert.ok(!pair.server.has('question'));
});
