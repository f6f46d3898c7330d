import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../../src/bytes/text.ts';
import { ClientAuth, signatureAlgorithmFor } from '../../../src/core/auth/client.ts';
import type { AuthAttempt, Event, Question } from '../../../src/core/events.ts';
import { defaultLimits, type Limits } from '../../../src/core/limits.ts';
import type { MaybePromise } from '../../../src/crypto/provider.ts';
import type { Signer } from '../../../src/keys/signature.ts';
import { pattern, thrown } from '../tools.ts';

const sessionId = pattern(32, 100);

/** `string` of RFC 4251 §5, as hex. */
function string(value: string | Uint8Array): string {
  const bytes = typeof value === 'string' ? utf8(value) : value;
  return bytes.length.toString(16).padStart(8, '0') + hex(bytes);
}

/** USERAUTH_REQUEST up to the method, as hex: RFC 4252 §5. */
const request = (method: string): string => `32${string('ada')}${string('ssh-connection')}${string(method)}`;
const SERVICE_ACCEPT = `06${string('ssh-userauth')}`;
const SUCCESS = '34';
const failure = (methods: string, partial: boolean): string => `33${string(methods)}${partial ? '01' : '00'}`;

interface Asked {
  readonly question: Question;
  readonly hold: boolean;
  readonly answered: (value: never) => void;
}

/** An authentication with a fake rest of the core. */
class Desk {
  readonly auth: ClientAuth;
  readonly sent: string[] = [];
  readonly events: Event[] = [];
  readonly asked: Asked[] = [];
  /** What waits for promises. */
  readonly settling: { readonly value: Promise<unknown>; readonly next: (value: unknown) => void }[] = [];

  constructor(limits: Partial<Limits> = {}) {
    this.auth = new ClientAuth(
      'ada',
      { ...defaultLimits, ...limits },
      {
        send: (payload) => void this.sent.push(hex(payload)),
        emit: (event) => void this.events.push(event),
        ask: (question, hold, answered) => void this.asked.push({ question, hold, answered }),
        settle: <T>(value: MaybePromise<T>, next: (value: T) => void) => {
          if (value instanceof Promise) this.settling.push({ value, next: next as (value: unknown) => void });
          else next(value);
        },
      },
    );
    this.auth.start(sessionId);
  }

  receive(payload: string): void {
    this.auth.receive(fromHex(payload));
  }

  /** What was sent since the last call. */
  takeSent(): string[] {
    return this.sent.splice(0);
  }

  /** The only open question. */
  question(): Question {
    assert.equal(this.asked.length, 1, 'one question is open');
    return (this.asked[0] as Asked).question;
  }

  answer(value: unknown): void {
    const asked = this.asked.shift();
    assert.ok(asked !== undefined, 'a question is open');
    asked.answered(value as never);
  }

  /** Answers with an attempt; gives what was sent. */
  attempt(attempt: AuthAttempt): string[] {
    this.answer(attempt);
    return this.takeSent();
  }
}

/** A desk that asks for the first credentials. */
function deciding(limits: Partial<Limits> = {}): Desk {
  const desk = new Desk(limits);
  desk.receive(SERVICE_ACCEPT);
  desk.takeSent();
  return desk;
}

const password: AuthAttempt = { method: 'password', password: 'gr\u00fcn' };
const keyboard: AuthAttempt = { method: 'keyboard-interactive' };
const none: AuthAttempt = { method: 'none' };

/** Signs by showing what it was given. */
function signerOf(algorithms: readonly string[], signed: string[] = []): Signer {
  return {
    publicKey: utf8('BLOB'),
    keyType: 'test',
    algorithms,
    sign(message, algorithm) {
      signed.push(hex(message));
      return utf8(`signed with ${algorithm}`);
    },
  };
}

describe('ClientAuth, starting,', () => {
  it('requests the service, and asks for credentials once it is accepted', () => {
    const desk = new Desk();
    assert.deepEqual(desk.takeSent(), [`05${string('ssh-userauth')}`]);
    assert.deepEqual([desk.auth.phase, desk.asked.length], ['service', 0]);
    desk.receive(SERVICE_ACCEPT);
    assert.equal(desk.auth.phase, 'auth');
    assert.deepEqual(desk.question(), {
      kind: 'credentials',
      methods: undefined,
      failed: undefined,
      partial: false,
      serverSigAlgs: undefined,
    });
    assert.equal(desk.asked[0]?.hold, false, 'the peer may go on meanwhile');
    assert.deepEqual(desk.takeSent(), []);
  });

  it('takes no other service, and none twice', () => {
    const error = thrown('protocol', () => new Desk().receive(`06${string('ssh-connection\x1b')}`));
    assert.equal(error.message, 'SERVICE_ACCEPT for "ssh-connection\\x1b", which was not requested');
    thrown('protocol', () => deciding().receive(SERVICE_ACCEPT));
  });

  it('takes no answer before it has asked', () => {
    for (const answer of [SUCCESS, failure('password', false), `3c${string('')}`]) {
      const error = thrown('protocol', () => deciding().receive(answer));
      assert.match(error.message, / without an authentication request$/);
      assert.equal(error.phase, 'authentication');
    }
  });
});

describe('ClientAuth, attempting,', () => {
  it('none: writes RFC 4252 §5.2', () => {
    assert.deepEqual(deciding().attempt(none), [request('none')]);
  });

  it('password: writes RFC 4252 §8, in UTF-8', () => {
    assert.deepEqual(deciding().attempt(password), [`${request('password')}00${string('gr\u00fcn')}`]);
    assert.ok(string('gr\u00fcn').startsWith('000000056772c3bc6e'));
  });

  it('keyboard-interactive: writes RFC 4256 §3.1', () => {
    assert.deepEqual(deciding().attempt(keyboard), [`${request('keyboard-interactive')}0000000000000000`]);
  });

  it('publickey: signs at once what RFC 4252 §7 says, and sends it', () => {
    const signed: string[] = [];
    const desk = deciding();
    const sent = desk.attempt({ method: 'publickey', signer: signerOf(['test-alg'], signed) });
    const body = `${request('publickey')}01${string('test-alg')}${string('BLOB')}`;
    assert.deepEqual(signed, [`${string(sessionId)}${body}`]);
    assert.deepEqual(sent, [`${body}${string('signed with test-alg')}`]);
  });

  it('publickey: sends when a signature that takes its time is there', async () => {
    const desk = deciding();
    const signer: Signer = { ...signerOf(['test-alg']), sign: () => Promise.resolve(utf8('late')) };
    assert.deepEqual(desk.attempt({ method: 'publickey', signer }), []);
    const [work] = desk.settling;
    assert.ok(work !== undefined);
    work.next(await work.value);
    assert.deepEqual(desk.takeSent(), [
      `${request('publickey')}01${string('test-alg')}${string('BLOB')}${string('late')}`,
    ]);
  });

  it('tells that it is logged in, and by what', () => {
    const desk = deciding();
    desk.attempt(password);
    desk.receive(SUCCESS);
    assert.deepEqual(desk.events, [{ type: 'authenticated', methods: ['password'] }]);
    assert.deepEqual([desk.auth.phase, desk.asked.length], ['open', 0]);
  });

  it('asks again after FAILURE, with what can continue and what failed', () => {
    const desk = deciding();
    desk.attempt(password);
    desk.receive(failure('publickey,key\x1bboard,password', false));
    assert.deepEqual(desk.question(), {
      kind: 'credentials',
      methods: ['publickey', 'key\\x1bboard', 'password'],
      failed: password,
      partial: false,
      serverSigAlgs: undefined,
    });
    assert.deepEqual(desk.events, []);
    desk.attempt(none);
    desk.receive(failure('', false));
    assert.deepEqual(desk.question(), {
      kind: 'credentials',
      methods: [],
      failed: none,
      partial: false,
      serverSigAlgs: undefined,
    });
  });

  it('counts partial success (RFC 4252 §5.1) as success and goes on', () => {
    const desk = deciding();
    desk.attempt({ method: 'publickey', signer: signerOf(['a']) });
    desk.receive(failure('password', true));
    const question = desk.question();
    assert.ok(question.kind === 'credentials');
    assert.deepEqual([question.partial, question.failed, question.methods], [true, undefined, ['password']]);
    desk.attempt(none);
    desk.receive(failure('password', false));
    desk.attempt(password);
    desk.receive(SUCCESS);
    assert.deepEqual(desk.events, [{ type: 'authenticated', methods: ['publickey', 'password'] }]);
  });

  it('shows a banner at any time, its lines kept, its controls not', () => {
    const desk = deciding();
    const banner = `35${string('Hello\r\n\x1b[2Jworld\ttab\n')}${string('')}`;
    desk.receive(banner);
    desk.attempt(none);
    desk.receive(banner);
    const event = { type: 'banner', text: 'Hello\n\\x1b[2Jworld\ttab\n' };
    assert.deepEqual(desk.events, [event, event]);
    desk.receive(SUCCESS);
    assert.equal(desk.auth.phase, 'open');
  });

  it('refuses messages that are no answer to the method', () => {
    const signer = signerOf(['a']);
    const cases: readonly (readonly [AuthAttempt, number])[] = [
      [none, 60],
      [{ method: 'publickey', signer }, 60], // PK_OK answers queries, and there was none
      [password, 61],
      [keyboard, 61],
      [keyboard, 79],
    ];
    for (const [attempt, number] of cases) {
      const desk = deciding();
      desk.attempt(attempt);
      const error = thrown('protocol', () => desk.auth.receive(concat(Uint8Array.of(number), new Uint8Array(16))));
      assert.equal(error.message, `Message ${number} is no answer to a ${attempt.method} request`);
    }
  });

  it('refuses answers that are cut off or too long', () => {
    const answers: readonly string[] = [SUCCESS, failure('password', false), `35${string('x')}${string('')}`];
    for (const answer of answers) {
      const whole = fromHex(answer);
      for (let length = 1; length < whole.length; length++) {
        const desk = deciding();
        desk.attempt(none);
        thrown('decode', () => desk.auth.receive(whole.subarray(0, length)));
      }
      const desk = deciding();
      desk.attempt(none);
      thrown('decode', () => desk.auth.receive(concat(whole, Uint8Array.of(0))));
    }
  });
});

describe('ClientAuth, with keyboard-interactive,', () => {
  const info = (title: string, instruction: string, ...prompts: readonly (readonly [string, boolean])[]): string =>
    `3c${string(title)}${string(instruction)}${string('')}${prompts.length.toString(16).padStart(8, '0')}` +
    prompts.map(([text, echo]) => `${string(text)}${echo ? '01' : '00'}`).join('');

  function asked(limits: Partial<Limits> = {}): Desk {
    const desk = deciding(limits);
    desk.attempt(keyboard);
    return desk;
  }

  it('answers a round without prompts by itself (RFC 4256 §3.2)', () => {
    const desk = asked();
    desk.receive(info('', ''));
    assert.deepEqual([desk.takeSent(), desk.asked.length], [['3d00000000'], 0]);
    desk.receive(SUCCESS);
    assert.deepEqual(desk.events, [{ type: 'authenticated', methods: ['keyboard-interactive'] }]);
  });

  it('asks what the server asks, sanitised, and sends the answers in order', () => {
    const desk = asked();
    desk.receive(info('T\x07', 'one\ntwo', ['Password: ', false], ['C\x1bode: ', true]));
    assert.deepEqual(desk.question(), {
      kind: 'prompts',
      title: 'T\\x07',
      instruction: 'one\ntwo',
      prompts: [
        { text: 'Password: ', echo: false },
        { text: 'C\\x1bode: ', echo: true },
      ],
    });
    desk.answer(['secr\u00e9t', '']);
    assert.deepEqual(desk.takeSent(), [`3d00000002${string('secr\u00e9t')}${string('')}`]);
  });

  it('goes through several rounds', () => {
    const desk = asked();
    for (const text of ['first', 'second', 'third']) {
      desk.receive(info('', '', [text, true]));
      desk.answer([text]);
      assert.deepEqual(desk.takeSent(), [`3d00000001${string(text)}`]);
      desk.receive(info('', ''));
      assert.deepEqual(desk.takeSent(), ['3d00000000']);
    }
    desk.receive(failure('password', false));
    const question = desk.question();
    assert.ok(question.kind === 'credentials');
    assert.deepEqual(question.failed, keyboard);
  });

  it('wants as many answers as there are prompts', () => {
    for (const answers of [[], ['a'], ['a', 'b', 'c']]) {
      const desk = asked();
      desk.receive(info('', '', ['x', true], ['y', true]));
      const error = thrown('bad-argument', () => desk.answer(answers));
      assert.equal(error.message, `2 prompts need 2 responses, not ${answers.length}`);
      assert.deepEqual(desk.takeSent(), []);
    }
  });

  it('takes 100 prompts and no more, whatever follows', () => {
    const prompts = (count: number): [string, boolean][] => Array.from({ length: count }, () => ['p', true]);
    const desk = asked();
    desk.receive(info('', '', ...prompts(100)));
    const question = desk.question();
    assert.ok(question.kind === 'prompts' && question.prompts.length === 100);
    const error = thrown('protocol', () => asked().receive(info('', '', ...prompts(101))));
    assert.equal(error.message, 'The server asks 101 questions at once; 100 are allowed');
    thrown('protocol', () => asked().receive(`3c${string('')}${string('')}${string('')}ffffffff`));
  });

  it('refuses requests that are cut off or too long', () => {
    const whole = fromHex(info('a', 'b', ['c', true], ['d', false]));
    for (let length = 1; length < whole.length; length++) {
      thrown('decode', () => asked().auth.receive(whole.subarray(0, length)));
    }
    thrown('decode', () => asked().auth.receive(concat(whole, Uint8Array.of(0))));
  });
});

describe('ClientAuth, when the password has expired,', () => {
  it('asks for a new one and sends both (RFC 4252 §8)', () => {
    const desk = deciding();
    desk.attempt(password);
    desk.receive(`3c${string('Too old\x1b')}${string('en')}`);
    assert.deepEqual(desk.question(), { kind: 'new-password', prompt: 'Too old\\x1b' });
    desk.answer('n\u00e9w');
    assert.deepEqual(desk.takeSent(), [`${request('password')}01${string('gr\u00fcn')}${string('n\u00e9w')}`]);
    desk.receive(SUCCESS);
    assert.deepEqual(desk.events, [{ type: 'authenticated', methods: ['password'] }]);
  });
});

describe('ClientAuth, choosing a signature algorithm,', () => {
  const rsa = signerOf(['rsa-sha2-512', 'rsa-sha2-256']);

  it("takes the signer's first that the server accepts, or its first", () => {
    assert.equal(signatureAlgorithmFor(rsa, undefined), 'rsa-sha2-512');
    assert.equal(signatureAlgorithmFor(rsa, ['rsa-sha2-256']), 'rsa-sha2-256');
    assert.equal(signatureAlgorithmFor(rsa, ['ssh-ed25519', 'rsa-sha2-256', 'rsa-sha2-512']), 'rsa-sha2-512');
    assert.equal(signatureAlgorithmFor(rsa, ['ssh-ed25519', 'ssh-rsa']), undefined);
    assert.equal(signatureAlgorithmFor(rsa, []), undefined);
    assert.equal(signatureAlgorithmFor(signerOf([]), undefined), undefined);
  });

  it('signs with it', () => {
    const desk = deciding();
    desk.auth.serverSigAlgs(['rsa-sha2-256']);
    const [sent = ''] = desk.attempt({ method: 'publickey', signer: rsa });
    assert.ok(sent.endsWith(string('signed with rsa-sha2-256')));
  });

  it('skips a key that the server would refuse, without a word to it', () => {
    const desk = deciding();
    desk.attempt(none);
    desk.auth.serverSigAlgs(['ssh-ed25519']);
    desk.receive(failure('publickey', false));
    const attempt: AuthAttempt = { method: 'publickey', signer: rsa };
    assert.deepEqual(desk.attempt(attempt), []);
    assert.deepEqual(desk.question(), {
      kind: 'credentials',
      methods: ['publickey'],
      failed: attempt,
      partial: false,
      serverSigAlgs: ['ssh-ed25519'],
    });
  });

  it('goes by the latest EXT_INFO (RFC 8308 §2.4)', () => {
    const desk = deciding();
    desk.auth.serverSigAlgs(['rsa-sha2-256']);
    desk.auth.serverSigAlgs(undefined);
    const [sent = ''] = desk.attempt({ method: 'publickey', signer: rsa });
    assert.ok(sent.endsWith(string('signed with rsa-sha2-512')));
  });
});

describe('ClientAuth, without end,', () => {
  it('stops after 64 rounds of FAILURE', () => {
    const desk = deciding();
    for (let round = 1; round < 64; round++) {
      desk.attempt(none);
      desk.receive(failure('none', false));
    }
    desk.attempt(none);
    const error = thrown('limit', () => desk.receive(failure('none', false)));
    assert.equal(error.message, 'Authentication did not end within 64 rounds');
    assert.deepEqual([error.fault, error.phase, error.disconnect], ['peer', 'authentication', 14]);
  });

  it('stops after 64 rounds of empty prompts', () => {
    const desk = deciding();
    desk.attempt(keyboard);
    const empty = `3c${string('')}${string('')}${string('')}00000000`;
    for (let round = 1; round < 64; round++) desk.receive(empty);
    thrown('limit', () => desk.receive(empty));
  });

  it('stops a driver that offers a refused key for ever', () => {
    const desk = deciding();
    desk.auth.serverSigAlgs([]);
    thrown('limit', () => {
      for (let round = 0; round < 100; round++) desk.attempt({ method: 'publickey', signer: signerOf(['a']) });
    });
    assert.deepEqual(desk.takeSent(), []);
  });
});

describe('ClientAuth, timed,', () => {
  const silent = Number.POSITIVE_INFINITY;

  it('gives the server 120 seconds for the service', () => {
    const desk = new Desk();
    assert.equal(desk.auth.dueAt(1000), 121_000);
    desk.auth.tick(120_999);
    const error = thrown('timeout', () => desk.auth.tick(121_000));
    assert.equal(error.message, 'The server did not answer within 120000 ms');
    assert.deepEqual([error.fault, error.phase, error.disconnect], ['network', 'authentication', 11]);
  });

  it('gives the user all the time of the world', () => {
    const desk = new Desk();
    desk.auth.dueAt(1000);
    desk.receive(SERVICE_ACCEPT);
    assert.equal(desk.auth.dueAt(1000), silent);
    desk.auth.tick(1e9);
    desk.attempt(keyboard);
    assert.equal(desk.auth.dueAt(1e9), 1e9 + 120_000);
    desk.receive(`3c${string('')}${string('')}${string('')}00000001${string('x')}01`);
    assert.equal(desk.auth.dueAt(1e9), silent);
    desk.auth.tick(2e9);
    desk.answer(['y']);
    assert.equal(desk.auth.dueAt(2e9), 2e9 + 120_000);
    desk.receive(failure('none', false));
    assert.equal(desk.auth.dueAt(2e9), silent);
  });

  it('gives the server 120 seconds for each answer, and none after the last', () => {
    const desk = deciding();
    desk.attempt(none);
    desk.auth.dueAt(5000);
    thrown('timeout', () => desk.auth.tick(125_000));
    desk.receive(SUCCESS);
    assert.equal(desk.auth.dueAt(9000), silent);
  });

  it('is not put off by banners', () => {
    const desk = deciding();
    desk.attempt(none);
    desk.auth.dueAt(5000);
    desk.receive(`35${string('still here')}${string('')}`);
    assert.equal(desk.auth.dueAt(100_000), 125_000);
  });
});

describe('ClientAuth, when the peer knows no message of ours,', () => {
  it('ends for the messages of authentication while it waits, and for nothing else', () => {
    const waiting = (): Desk => {
      const desk = deciding();
      desk.attempt(none);
      return desk;
    };
    assert.equal(
      thrown('protocol', () => new Desk().auth.unimplemented(5)).message,
      'The server does not implement SSH_MSG_SERVICE_REQUEST',
    );
    assert.equal(
      thrown('protocol', () => waiting().auth.unimplemented(50)).message,
      'The server does not implement SSH_MSG_USERAUTH_REQUEST',
    );
    waiting().auth.unimplemented(2);
    deciding().auth.unimplemented(50);
    const done = waiting();
    done.receive(SUCCESS);
    done.auth.unimplemented(50);
  });
});
