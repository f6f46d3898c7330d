/** Keys whose signature costs a person something: the server is asked first. RFC 4252 §7. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../../../src/bytes/text.ts';
import type { Question } from '../../../src/core/events.ts';
import { quirksOf } from '../../../src/core/quirks.ts';
import { SshError } from '../../../src/errors.ts';
import type { Signer } from '../../../src/keys/signature.ts';
import { thrown } from '../tools.ts';
import { Desk, deciding, failure, none, password, request, SUCCESS, string } from './desk.ts';

/** A key that notes what it signs with. */
function asked(signed: string[], algorithms: readonly string[] = ['ssh-ed25519']): Signer {
  return {
    publicKey: utf8('BLOB'),
    keyType: 'ssh-ed25519',
    algorithms,
    queryFirst: true,
    sign(_message, algorithm) {
      signed.push(algorithm);
      return utf8('SIGNATURE');
    },
  };
}

const ok = (algorithm: string, blob = 'BLOB'): string => `3c${string(algorithm)}${string(blob)}`;
const query = `${request('publickey')}00${string('ssh-ed25519')}${string('BLOB')}`;
const proof = `${request('publickey')}01${string('ssh-ed25519')}${string('BLOB')}${string('SIGNATURE')}`;

type Credentials = Extract<Question, { kind: 'credentials' }>;

function querying(signed: string[]): Desk {
  const desk = deciding();
  assert.deepEqual(desk.attempt({ method: 'publickey', signer: asked(signed) }), [query]);
  return desk;
}

describe('ClientAuth, with a key that costs a person something,', () => {
  it('asks whether it would do, and signs once the server says so', () => {
    const signed: string[] = [];
    const desk = querying(signed);
    assert.deepEqual([signed, desk.auth.hopeful, desk.auth.attempts], [[], undefined, 1]);
    desk.receive(ok('ssh-ed25519'));
    assert.deepEqual([signed, desk.takeSent()], [['ssh-ed25519'], [proof]]);
    assert.deepEqual([desk.auth.hopeful, desk.auth.attempts], [2, 2]);
    desk.receive(SUCCESS);
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['publickey'] }]);
  });

  it('signs nothing for a server that says no', () => {
    const signed: string[] = [];
    const desk = querying(signed);
    desk.receive(failure('publickey,password', false));
    const { methods, failed, partial, unsent } = desk.question() as Credentials;
    assert.deepEqual(
      [methods, failed?.method, partial, unsent],
      [['publickey', 'password'], 'publickey', false, undefined],
    );
    assert.deepEqual(signed, []);
  });

  it('counts no success where nothing was proved', () => {
    const signed: string[] = [];
    const desk = querying(signed);
    desk.receive(failure('password', true));
    assert.equal((desk.question() as Credentials).partial, false);
    const accepted = querying(signed);
    thrown('protocol', () => accepted.receive(SUCCESS));
  });

  it('goes on only for the key that it asked about', () => {
    for (const answer of [ok('ssh-ed25519', 'OTHER'), ok('ssh-rsa'), ok('ssh-ed25519', '')]) {
      const signed: string[] = [];
      const error = thrown('protocol', () => querying(signed).receive(answer));
      assert.match(error.message, /accepts another key/);
      assert.deepEqual(signed, []);
    }
    for (const answer of [`3d${string('')}`, '3c', `3c${string('ssh-ed25519')}`, `${ok('ssh-ed25519')}00`]) {
      assert.throws(() => querying([]).receive(answer), SshError);
    }
  });

  it('takes the name of the key type in place of the algorithm', () => {
    const signed: string[] = [];
    const desk = deciding();
    const rsa = { ...asked(signed, ['rsa-sha2-512']), keyType: 'ssh-rsa' };
    desk.attempt({ method: 'publickey', signer: rsa });
    desk.receive(ok('ssh-rsa'));
    assert.deepEqual(signed, ['rsa-sha2-512']);
  });

  it('takes no second answer', () => {
    const desk = querying([]);
    desk.receive(ok('ssh-ed25519'));
    assert.match(thrown('protocol', () => desk.receive(ok('ssh-ed25519'))).message, /no answer to a publickey request/);
  });

  it('gives the server time for the query, and then for the proof', () => {
    const desk = querying([]);
    assert.equal(desk.auth.dueAt(1000), 121_000);
    thrown('timeout', () => desk.auth.tick(121_000));
    const signing = deciding();
    const never = { ...asked([]), sign: () => new Promise<never>(() => {}) };
    signing.attempt({ method: 'publickey', signer: never });
    signing.receive(ok('ssh-ed25519'));
    assert.equal(signing.auth.dueAt(1000), Number.POSITIVE_INFINITY, 'a person is not timed');
  });

  it('is told that the server knows no such request', () => {
    thrown('protocol', () => querying([]).auth.unimplemented(50));
  });

  it('may ask right behind the service, once the server has said what it takes', () => {
    const signed: string[] = [];
    const desk = new Desk();
    desk.auth.extInfo(new Map([['server-sig-algs', utf8('ssh-ed25519')]]), quirksOf(''));
    desk.takeSent();
    assert.deepEqual(desk.attempt({ method: 'publickey', signer: asked(signed) }), [query]);
  });
});

describe('ClientAuth, with a key that does not sign,', () => {
  const signer = (sign: () => never | Promise<never>): Signer => ({ ...asked([]), queryFirst: false, sign });

  for (const code of ['agent-failed', 'key-passphrase-wrong', 'key-passphrase-needed'] as const) {
    it(`has the next key tried: ${code}`, async () => {
      const error = new SshError(code, 'no');
      const now = deciding();
      now.attempt({
        method: 'publickey',
        signer: signer(() => {
          throw error;
        }),
      });
      const later = deciding();
      later.attempt({ method: 'publickey', signer: signer(() => Promise.reject(error)) });
      const { value, next } = later.settling[0] ?? assert.fail('it waits for the signature');
      next(await value);
      for (const desk of [now, later]) {
        const { unsent, cause, methods } = desk.question() as Credentials;
        assert.deepEqual([unsent, cause, methods], [true, error, undefined]);
        assert.equal(desk.attempt(none).length, 1);
      }
    });
  }

  it('fails with what else went wrong', async () => {
    const error = new SshError('internal', 'no');
    const desk = deciding();
    thrown('internal', () =>
      desk.attempt({
        method: 'publickey',
        signer: signer(() => {
          throw error;
        }),
      }),
    );
    const later = deciding();
    later.attempt({ method: 'publickey', signer: signer(() => Promise.reject(error)) });
    await assert.rejects(later.settling[0]?.value ?? Promise.resolve(), error);
  });
});

describe('ClientAuth with requireSignature', () => {
  const start = (): Desk => deciding({}, { requireSignature: true });

  it('is not let in by nothing, nor by a password', () => {
    for (const attempt of [none, password]) {
      const desk = start();
      desk.attempt(attempt);
      assert.equal(desk.auth.hopeful, undefined, 'nothing may follow it');
      const error = thrown('auth-failed', () => desk.receive(SUCCESS));
      assert.equal(
        error.message,
        `The server let "ada" in by ${attempt.method}, without a signature of a key, which requireSignature demands: it may not be the server that it seems`,
      );
      assert.deepEqual([error.fault, error.disconnect, desk.events], ['policy', 11, []]);
    }
  });

  it('is let in by a key, and by a password behind one', () => {
    const signer = { ...asked([]), queryFirst: false };
    const keyed = start();
    keyed.attempt({ method: 'publickey', signer });
    keyed.receive(SUCCESS);
    assert.equal(keyed.auth.phase, 'open');
    const both = start();
    both.attempt({ method: 'publickey', signer });
    both.receive(failure('password', true));
    both.attempt(password);
    assert.equal(both.auth.hopeful, 2);
    both.receive(SUCCESS);
    assert.equal(both.auth.phase, 'open');
  });
});

describe('ClientAuth with a list of signatures', () => {
  it('signs with none that is not in it, whatever the server takes', () => {
    const rsa = { ...asked([], ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa']), queryFirst: false };
    const sentBy = (signatures: readonly string[] | undefined, server: string): string => {
      const desk = deciding({}, signatures === undefined ? {} : { signatures });
      desk.auth.extInfo(new Map([['server-sig-algs', utf8(server)]]), quirksOf(''));
      const [sent = ''] = desk.attempt({ method: 'publickey', signer: rsa });
      const found = ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'].find((name) => sent.includes(`01${string(name)}`));
      return found ?? 'nothing';
    };
    assert.equal(sentBy(undefined, 'ssh-rsa'), 'nothing');
    assert.equal(sentBy(['ssh-rsa'], 'ssh-rsa'), 'ssh-rsa');
    assert.equal(sentBy(['rsa-sha2-256'], 'rsa-sha2-512,rsa-sha2-256'), 'rsa-sha2-256');
    assert.equal(sentBy(['ssh-ed25519'], 'rsa-sha2-512'), 'nothing');
  });
});
