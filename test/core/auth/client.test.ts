import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../../src/bytes/text.ts';
import { DEFAULT_SIGNATURES } from '../../../src/core/algorithms/host_key_order.ts';
import { signatureAlgorithmFor } from '../../../src/core/auth/client_key.ts';
import type { AuthAttempt } from '../../../src/core/events.ts';
import { quirksOf } from '../../../src/core/quirks.ts';
import type { Signer } from '../../../src/keys/signature.ts';
import { thrown } from '../tools.ts';
import {
  Desk,
  deciding,
  failure,
  keyboard,
  none,
  password,
  request,
  SERVICE_ACCEPT,
  SUCCESS,
  sessionId,
  string,
} from './desk.ts';

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

function announcing(names: string): Map<string, Uint8Array> {
  return new Map([['server-sig-algs', utf8(names)]]);
}

describe('ClientAuth, starting,', () => {
  const first = {
    kind: 'credentials',
    methods: undefined,
    failed: undefined,
    partial: false,
    serverSigAlgs: undefined,
  };

  it('requests the service, and asks for credentials at once', () => {
    const desk = new Desk();
    assert.deepEqual(desk.takeSent(), [`05${string('ssh-userauth')}`]);
    assert.equal(desk.auth.phase, 'service');
    assert.deepEqual(desk.question(), first);
    assert.equal(desk.asked[0]?.hold, false, 'the peer may go on meanwhile');
    desk.receive(SERVICE_ACCEPT);
    assert.equal(desk.auth.phase, 'auth');
    assert.deepEqual(desk.question(), first);
    assert.deepEqual(desk.takeSent(), []);
  });

  it('waits for SERVICE_ACCEPT where the peer is known to need that', () => {
    const desk = new Desk({}, { acceptsServiceFirst: true });
    assert.deepEqual([desk.takeSent(), desk.asked.length], [[`05${string('ssh-userauth')}`], 0]);
    desk.receive(SERVICE_ACCEPT);
    assert.deepEqual(desk.question(), first);
    assert.deepEqual(desk.attempt(none), [request('none')]);
  });

  it('sends the first request without waiting, and takes the answers in order', () => {
    const desk = new Desk();
    desk.takeSent();
    assert.deepEqual(desk.attempt(none), [request('none')]);
    assert.equal(desk.auth.phase, 'service', 'for the phase table no answer to it may come yet');
    thrown('protocol', () => desk.receive(SUCCESS));
    desk.receive(SERVICE_ACCEPT);
    assert.equal(desk.auth.phase, 'auth');
    desk.receive(failure('password', false));
    assert.deepEqual(desk.attempt(password).length, 1);
    desk.receive(SUCCESS);
    assert.equal(desk.auth.phase, 'open');
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
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['password'] }]);
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
    desk.attempt({ method: 'publickey', signer: signerOf(['ssh-ed25519']) });
    desk.receive(failure('password', true));
    const question = desk.question();
    assert.ok(question.kind === 'credentials');
    assert.deepEqual([question.partial, question.failed, question.methods], [true, undefined, ['password']]);
    desk.attempt(none);
    desk.receive(failure('password', false));
    desk.attempt(password);
    desk.receive(SUCCESS);
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['publickey', 'password'] }]);
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

describe('ClientAuth, choosing a signature algorithm,', () => {
  const rsa = signerOf(['rsa-sha2-512', 'rsa-sha2-256']);

  it("takes the signer's first that the server accepts, or its first", () => {
    const choose = (signer: Signer, server?: readonly string[]): string | undefined =>
      signatureAlgorithmFor(signer, DEFAULT_SIGNATURES, server);
    assert.equal(choose(rsa), 'rsa-sha2-512');
    assert.equal(choose(rsa, ['rsa-sha2-256']), 'rsa-sha2-256');
    assert.equal(choose(rsa, ['ssh-ed25519', 'rsa-sha2-256', 'rsa-sha2-512']), 'rsa-sha2-512');
    assert.equal(choose(rsa, ['ssh-ed25519', 'ssh-rsa']), undefined);
    assert.equal(choose(rsa, []), undefined);
    assert.equal(choose(signerOf([])), undefined);
  });

  it('signs with it', () => {
    const desk = deciding();
    desk.auth.extInfo(announcing('rsa-sha2-256'), quirksOf(''));
    const [sent = ''] = desk.attempt({ method: 'publickey', signer: rsa });
    assert.ok(sent.endsWith(string('signed with rsa-sha2-256')));
  });

  it('skips a key that the server would refuse, without a word to it', () => {
    const desk = deciding();
    desk.attempt(none);
    desk.auth.extInfo(announcing('ssh-ed25519'), quirksOf(''));
    desk.receive(failure('publickey', false));
    const attempt: AuthAttempt = { method: 'publickey', signer: rsa };
    assert.deepEqual(desk.attempt(attempt), []);
    assert.deepEqual(desk.question(), {
      kind: 'credentials',
      methods: ['publickey'],
      failed: attempt,
      partial: false,
      unsent: true,
      serverSigAlgs: ['ssh-ed25519'],
    });
  });

  it('tells in an open question what the server says meanwhile', () => {
    const desk = new Desk();
    const question = desk.question();
    assert.ok(question.kind === 'credentials');
    desk.auth.extInfo(announcing('ssh-ed25519'), quirksOf(''));
    assert.deepEqual(question.serverSigAlgs, ['ssh-ed25519']);
  });

  it('holds a key that signs in several ways until the server has said which it takes, or will not any more', () => {
    const attempt: AuthAttempt = { method: 'publickey', signer: rsa };
    for (const says of ['rsa-sha2-256', 'ssh-ed25519', undefined]) {
      const desk = new Desk();
      desk.takeSent();
      assert.deepEqual(desk.attempt(attempt), []);
      if (says !== undefined) desk.auth.extInfo(announcing(says), quirksOf(''));
      else desk.receive(SERVICE_ACCEPT);
      const [sent = ''] = desk.takeSent();
      if (says === 'ssh-ed25519') {
        assert.equal(sent, '');
        const question = desk.question();
        assert.ok(question.kind === 'credentials' && question.unsent && question.failed === attempt);
        assert.deepEqual(desk.attempt(none), [request('none')]);
      } else {
        assert.ok(sent.endsWith(string(`signed with ${says ?? 'rsa-sha2-512'}`)));
      }
      if (says !== undefined) desk.receive(SERVICE_ACCEPT);
      assert.deepEqual([desk.asked.length, desk.takeSent()], [0, []]);
      desk.receive(SUCCESS);
    }
    const said = new Desk();
    said.takeSent();
    said.auth.extInfo(announcing('rsa-sha2-256'), quirksOf(''));
    assert.equal(said.attempt(attempt).length, 1, 'with the keys of the server');
    const single = new Desk();
    single.takeSent();
    assert.equal(single.attempt({ method: 'publickey', signer: signerOf(['ssh-ed25519']) }).length, 1);
  });

  it('goes by the latest EXT_INFO (RFC 8308 §2.4)', () => {
    const desk = deciding();
    desk.auth.extInfo(announcing('rsa-sha2-256'), quirksOf(''));
    desk.auth.extInfo(new Map(), quirksOf(''));
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
    desk.auth.extInfo(announcing(''), quirksOf(''));
    thrown('limit', () => {
      for (let round = 0; round < 100; round++)
        desk.attempt({ method: 'publickey', signer: signerOf(['ssh-ed25519']) });
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

  it('gives it as much for the answer to a request that went along, and none while a key signs', async () => {
    const desk = new Desk();
    desk.auth.dueAt(1000);
    const signer: Signer = { ...signerOf(['test-alg']), sign: () => Promise.resolve(utf8('late')) };
    desk.attempt({ method: 'publickey', signer });
    assert.equal(desk.auth.dueAt(1000), silent);
    const [work] = desk.settling;
    work?.next(await work.value);
    assert.equal(desk.auth.dueAt(500_000), 620_000);
    desk.receive(SERVICE_ACCEPT);
    assert.equal(desk.auth.dueAt(600_000), 720_000);
    thrown('timeout', () => desk.auth.tick(720_000));
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
