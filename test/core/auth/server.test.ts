import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LoginVerdict } from '../../../src/core/events.ts';
import type { SshError, SshErrorCode } from '../../../src/errors.ts';
import { thrown } from '../tools.ts';
import { failure, SUCCESS, sessionId, string } from './desk.ts';
import {
  accept,
  FAILURE,
  keyboard,
  listening,
  password,
  refuse,
  request,
  responses,
  SERVICE_ACCEPT,
  SERVICE_REQUEST,
  ServerDesk,
} from './server_desk.ts';

/** What `work` ends the connection with, which must tell the peer this reason. */
function ends(reason: number, work: () => unknown, code: SshErrorCode = 'protocol'): SshError {
  const error = thrown(code, work);
  assert.equal(error.disconnect, reason, error.message);
  assert.deepEqual([error.fault, error.phase], ['peer', 'authentication']);
  return error;
}

const partial = (...methods: string[]): LoginVerdict => ({ verdict: 'partial', methods });

/** The succeeded methods that the open question tells. */
function succeededIn(desk: ServerDesk): readonly string[] {
  const question = desk.question();
  assert.ok(question.kind === 'login');
  return question.succeeded;
}

describe('ServerAuth, starting,', () => {
  it('grants ssh-userauth once the keys are there', () => {
    const desk = new ServerDesk();
    assert.equal(desk.auth.phase, 'service');
    desk.auth.start(sessionId);
    assert.deepEqual([desk.takeSent(), desk.auth.phase], [[], 'service']);
    assert.deepEqual(desk.say(SERVICE_REQUEST), [SERVICE_ACCEPT]);
    assert.equal(desk.auth.phase, 'auth');
  });

  it('grants it again in the middle of a login, which stands where it stood, but not for ever', () => {
    const desk = listening({ limits: { authRounds: 4 } });
    const prompts = [{ text: 'a', echo: true }];
    desk.attempt(keyboard(), { verdict: 'prompt', title: '', instruction: '', prompts });
    assert.deepEqual(desk.say(SERVICE_REQUEST), [SERVICE_ACCEPT]);
    assert.deepEqual(desk.attempt(responses('x'), refuse), [FAILURE]);
    assert.deepEqual(desk.say(SERVICE_REQUEST), [SERVICE_ACCEPT]);
    assert.equal(desk.auth.phase, 'auth');
    ends(14, () => desk.receive(SERVICE_REQUEST), 'auth-failed');
  });

  it('grants nothing else: reason 7 (RFC 4253 §10)', () => {
    for (const service of ['ssh-connection', 'ssh-userauth@x', '', 'a\x1bb']) {
      const desk = new ServerDesk();
      desk.auth.start(sessionId);
      ends(7, () => desk.receive(`05${string(service)}`));
      assert.deepEqual(desk.takeSent(), []);
    }
    const shown = ends(7, () => listening().receive(`05${string('a\x1bb')}`)).message;
    assert.equal(shown, 'The client wants the service "a\\x1bb", which is not to be had now');
    ends(7, () => listening().receive(`05${string('ssh-connection')}`));
  });

  it('logs in for no other service than ssh-connection: reason 7 (RFC 4252 §5)', () => {
    for (const service of ['ssh-userauth', 'ssh-connectio', '']) {
      ends(7, () => listening().receive(request('none', 'ada', service)));
    }
  });

  it('takes no answer to a question that it has not asked, and nothing of a method that does not run', () => {
    ends(2, () => listening().receive(responses()));
    for (const number of ['3c', '3e', '4f']) ends(2, () => listening().receive(number));
  });

  it('has no use for what a client announces or does not know', () => {
    const desk = listening();
    desk.auth.extInfo();
    desk.auth.unimplemented();
    assert.deepEqual([desk.takeSent(), desk.auth.phase], [[], 'auth']);
  });
});

describe('ServerAuth, with none,', () => {
  it('asks, and refuses without counting it (RFC 4252 §5.2)', () => {
    const desk = listening({ limits: { authFailures: 1 } });
    desk.receive(request('none'));
    assert.deepEqual(desk.question(), { kind: 'login', username: 'ada', attempt: { method: 'none' }, succeeded: [] });
    assert.deepEqual(desk.answer(refuse), [FAILURE]);
    assert.deepEqual(desk.attempt(request('none'), refuse), [FAILURE]);
    assert.deepEqual(desk.attempt(request('none'), accept), [SUCCESS]);
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['none'] }]);
    assert.equal(desk.auth.phase, 'open');
  });

  it('lists no method where there is none', () => {
    assert.deepEqual(listening({ methods: [] }).attempt(request('none'), refuse), [failure('', false)]);
  });
});

describe('ServerAuth, with a password,', () => {
  it('asks about RFC 4252 §8', () => {
    const desk = listening();
    desk.receive(password('gr\u00fcn'));
    const attempt = { method: 'password', password: 'gr\u00fcn' } as const;
    assert.deepEqual(desk.question(), { kind: 'login', username: 'ada', attempt, succeeded: [] });
    assert.deepEqual(desk.answer(accept), [SUCCESS]);
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['password'] }]);
  });

  it('asks for another one, and about the change', () => {
    const desk = listening();
    const sent = desk.attempt(password('old'), { verdict: 'change-password', prompt: 'Expired' });
    assert.deepEqual(sent, [`3c${string('Expired')}${string('')}`]);
    desk.receive(`${request('password')}01${string('old')}${string('new')}`);
    const attempt = { method: 'password', password: 'old', newPassword: 'new' } as const;
    assert.deepEqual(desk.question(), { kind: 'login', username: 'ada', attempt, succeeded: [] });
    assert.deepEqual(desk.answer(accept), [SUCCESS]);
  });

  it('goes on with any method where another password was asked for', () => {
    const desk = listening();
    desk.attempt(password('old'), { verdict: 'change-password', prompt: 'Expired' });
    assert.deepEqual(desk.attempt(keyboard(), refuse), [FAILURE]);
  });

  it('takes no body that is cut short or too long', () => {
    const whole = password('x');
    for (const body of [whole.slice(0, -2), `${whole}00`, request('password')]) {
      thrown('decode', () => listening().receive(body));
    }
  });

  it('is told by a verdict of another method that the caller is mistaken', () => {
    for (const [payload, verdict] of [
      [password('x'), { verdict: 'prompt', title: '', instruction: '', prompts: [] }],
      [request('none'), { verdict: 'change-password', prompt: '' }],
    ] as const) {
      const desk = listening();
      assert.equal(thrown('bad-argument', () => desk.attempt(payload, verdict)).fault, 'local');
    }
  });
});

describe('ServerAuth, with keyboard-interactive,', () => {
  const prompts = (...texts: string[]): LoginVerdict => ({
    verdict: 'prompt',
    title: 'T',
    instruction: 'I',
    prompts: texts.map((text, i) => ({ text, echo: i > 0 })),
  });
  const round = (...texts: string[]): string =>
    `3c${string('T')}${string('I')}${string('')}${texts.length.toString(16).padStart(8, '0')}` +
    texts.map((text, i) => `${string(text)}${i > 0 ? '01' : '00'}`).join('');

  it('asks, round after round (RFC 4256 §3)', () => {
    const desk = listening();
    desk.receive(keyboard());
    const attempt = { method: 'keyboard-interactive', submethods: '' } as const;
    assert.deepEqual(desk.question(), { kind: 'login', username: 'ada', attempt, succeeded: [] });
    assert.deepEqual(desk.answer(prompts('Password: ', 'Code: ')), [round('Password: ', 'Code: ')]);
    desk.receive(responses('p\u00e4ss', ''));
    assert.deepEqual(desk.question(), { kind: 'responses', responses: ['p\u00e4ss', ''] });
    assert.deepEqual(desk.answer(prompts('Again: ')), [round('Again: ')]);
    assert.deepEqual(desk.attempt(responses('x'), accept), [SUCCESS]);
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['keyboard-interactive'] }]);
  });

  it('tells what kind the client would like, sanitised', () => {
    const desk = listening();
    desk.receive(`${request('keyboard-interactive')}${string('de')}${string('otp\x1b,pam')}`);
    const question = desk.question();
    assert.ok(question.kind === 'login' && question.attempt.method === 'keyboard-interactive');
    assert.equal(question.attempt.submethods, 'otp\\x1b,pam');
  });

  it('asks without prompts, which wants an answer all the same', () => {
    const desk = listening();
    assert.deepEqual(desk.attempt(keyboard(), prompts()), [round()]);
    assert.deepEqual(desk.attempt(responses(), accept), [SUCCESS]);
  });

  it('refuses after the answers, and counts that once', () => {
    const desk = listening({ limits: { authFailures: 2 } });
    desk.attempt(keyboard(), prompts('a'));
    assert.deepEqual(desk.attempt(responses('wrong'), refuse), [FAILURE]);
    desk.attempt(keyboard(), prompts('a'));
    ends(14, () => desk.attempt(responses('wrong'), refuse), 'auth-failed');
  });

  it('takes exactly as many answers as there were prompts', () => {
    for (const wrong of [responses(), responses('a', 'b'), `3dffffffff${string('a')}`]) {
      const desk = listening();
      desk.attempt(keyboard(), prompts('a'));
      ends(2, () => desk.receive(wrong));
    }
  });

  it('takes no answers that are cut short or too long', () => {
    for (const wrong of [`3d00000001`, '3d000000', '3d0000000100000002aa', `${responses('a')}00`]) {
      const desk = listening();
      desk.attempt(keyboard(), prompts('a'));
      thrown('decode', () => desk.receive(wrong));
    }
  });

  it('is abandoned by any other request, and its answers mean nothing then (RFC 4252 §5)', () => {
    const others = [keyboard(), password('x'), request('none'), request('hostbased'), password('x', 'bob')];
    for (const other of others) {
      const desk = listening();
      desk.attempt(keyboard(), prompts('a'));
      desk.receive(other);
      const sent = desk.asked.length > 0 ? desk.answer(refuse) : desk.takeSent();
      assert.deepEqual(sent, [FAILURE]);
      ends(2, () => desk.receive(responses('a')));
    }
  });

  it('takes answers once', () => {
    const desk = listening();
    desk.attempt(keyboard(), prompts('a'));
    desk.attempt(responses('a'), refuse);
    ends(2, () => desk.receive(responses('a')));
  });
});

describe('ServerAuth, with other methods,', () => {
  it('refuses at once what it does not offer, and asks nobody', () => {
    for (const method of ['hostbased', 'gssapi-with-mic', '', 'PASSWORD', 'password ']) {
      assert.deepEqual(listening().say(request(method)), [FAILURE]);
    }
    const desk = listening({ methods: ['publickey'] });
    assert.deepEqual(desk.say(password('x')), [failure('publickey', false)]);
    assert.deepEqual(desk.say(keyboard()), [failure('publickey', false)]);
  });

  it('does not read the body of a method that it does not offer', () => {
    assert.deepEqual(listening({ methods: ['publickey'] }).say(`${request('password')}ff`), [
      failure('publickey', false),
    ]);
  });
});

describe('ServerAuth, with several methods,', () => {
  it('says partial success, and wants what the verdict says (RFC 4252 §5.1)', () => {
    const desk = listening();
    const sent = desk.attempt(password('x'), partial('keyboard-interactive', 'publickey'));
    assert.deepEqual(sent, [failure('keyboard-interactive,publickey', true)]);
    assert.deepEqual([desk.events, desk.auth.phase], [[], 'auth']);
    assert.deepEqual(desk.say(password('x')), [failure('keyboard-interactive,publickey', false)], 'not wanted now');
    desk.receive(keyboard());
    assert.deepEqual(succeededIn(desk), ['password']);
    assert.deepEqual(desk.answer(accept), [SUCCESS]);
    assert.deepEqual(desk.events, [
      { type: 'authenticated', username: 'ada', methods: ['password', 'keyboard-interactive'] },
    ]);
  });

  it('keeps what was right when the next step is wrong', () => {
    const desk = listening();
    desk.attempt(password('x'), partial('keyboard-interactive'));
    assert.deepEqual(desk.attempt(keyboard(), refuse), [failure('keyboard-interactive', false)]);
    desk.receive(keyboard());
    assert.deepEqual(succeededIn(desk), ['password']);
  });

  it('begins anew when the user changes, for the other one and for the first', () => {
    const desk = listening();
    desk.attempt(password('x'), partial('keyboard-interactive'));
    desk.receive(keyboard('bob'));
    assert.deepEqual(succeededIn(desk), []);
    assert.deepEqual(desk.answer(refuse), [FAILURE]);
    desk.receive(password('x'));
    assert.deepEqual(succeededIn(desk), []);
    assert.deepEqual(desk.answer(accept), [SUCCESS]);
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['password'] }]);
  });

  it('tells a copy of what succeeded', () => {
    const desk = listening();
    desk.receive(password('x'));
    const before = succeededIn(desk);
    desk.answer(partial('password'));
    assert.deepEqual(before, []);
  });
});

describe('ServerAuth, greeting,', () => {
  it('shows its text before the first answer, once', () => {
    const desk = listening({ banner: 'Hej\n' });
    const banner = `35${string('Hej\n')}${string('')}`;
    desk.receive(request('none'));
    assert.deepEqual(desk.takeSent(), [banner]);
    desk.answer(refuse);
    assert.deepEqual(desk.attempt(password('x', 'bob'), refuse), [FAILURE]);
  });

  it('shows nothing where there is no text', () => {
    const desk = listening();
    desk.receive(request('none'));
    assert.deepEqual(desk.takeSent(), []);
  });
});

describe('ServerAuth, at its limits,', () => {
  it('ends at the refusal that is one too many: reason 14', () => {
    const desk = listening({ limits: { authFailures: 3 } });
    desk.attempt(password('a'), refuse);
    desk.attempt(password('b', 'bob'), refuse);
    const error = ends(14, () => desk.attempt(password('c'), refuse), 'auth-failed');
    assert.equal(error.message, 'Too many authentication failures: 3 attempts were refused');
    assert.deepEqual(desk.takeSent(), [], 'DISCONNECT says it all');
  });

  it('counts refusals only', () => {
    const desk = listening({ limits: { authFailures: 1 } });
    desk.attempt(password('a'), partial('password'));
    desk.attempt(password('a'), { verdict: 'change-password', prompt: '' });
    desk.say(request('hostbased'));
    assert.deepEqual(desk.attempt(password('a'), accept), [SUCCESS]);
  });

  it('ends a login that goes on and on: reason 14', () => {
    const rounds: (readonly [payload: string, answer: unknown])[] = [
      [request('none'), refuse],
      [request('hostbased'), undefined],
      [password('a'), partial('password', 'keyboard-interactive')],
      [keyboard(), { verdict: 'prompt', title: '', instruction: '', prompts: [] }],
      [responses(), { verdict: 'prompt', title: '', instruction: '', prompts: [] }],
      [password('a'), { verdict: 'change-password', prompt: '' }],
    ];
    const desk = listening({ limits: { authRounds: rounds.length } });
    for (const [payload, answer] of rounds) {
      if (answer === undefined) desk.say(payload);
      else desk.attempt(payload, answer);
    }
    const error = ends(14, () => desk.receive(password('a')), 'auth-failed');
    assert.match(error.message, /did not end within 6 rounds$/);
  });

  it('ends a login that takes too long, from the very start, whoever is waited for: reason 11', () => {
    const states: ((desk: ServerDesk) => void)[] = [
      () => {},
      (desk) => desk.auth.start(sessionId),
      (desk) => {
        desk.auth.start(sessionId);
        desk.receive(SERVICE_REQUEST);
      },
      (desk) => {
        desk.auth.start(sessionId);
        desk.receive(SERVICE_REQUEST);
        desk.receive(password('x'));
      },
    ];
    for (const reach of states) {
      const desk = new ServerDesk({ limits: { loginTime: 5000 } });
      assert.equal(desk.auth.dueAt(1000), 6000);
      reach(desk);
      assert.equal(desk.auth.dueAt(3000), 6000);
      desk.auth.tick(5999);
      ends(11, () => desk.auth.tick(6000), 'timeout');
    }
  });

  it('has no timer once somebody is logged in', () => {
    const desk = listening({ limits: { loginTime: 5000 } });
    desk.auth.dueAt(0);
    desk.attempt(password('x'), accept);
    assert.equal(desk.auth.dueAt(0), Number.POSITIVE_INFINITY);
    desk.auth.tick(99_999);
  });
});
