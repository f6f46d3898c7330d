/** Logging in to servers of every temper: RFC 4252, RFC 4256, RFC 8308 §3.1, RFC 8332. */

import assert from 'node:assert/strict';
import { decodeFields } from '../../src/bytes/schema.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import type { AuthAttempt, Prompt } from '../../src/core/events.ts';
import { buildExtInfo } from '../../src/core/ext_info.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { SshError } from '../../src/errors.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { passwordAuth, requestBody, userauth } from '../../src/wire/userauth.ts';
import {
  fail,
  granted,
  infoRequest,
  publickey,
  rsa,
  succeed,
  takeRequest,
  takeResponses,
  takeSigned,
} from '../support/auth_script.ts';
import type { Chunking } from '../support/feed.ts';
import { Link, scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';

scenario('a FAILURE, a BANNER or a second SUCCESS after SUCCESS changes nothing', (chunking) => {
  const link = granted(chunking, {});
  takeRequest(link.peer, 'none');
  link.peer.send(encode(userauth.success, {}));
  fail(link.peer, 'publickey,password');
  link.peer.send(encode(userauth.banner, { message: 'late', language: '' }));
  link.peer.send(encode(userauth.success, {}));
  link.peer.expectNothing();
  link.client.alive();
  link.client.only('authenticated');
  assert.ok(!link.client.has('banner'));
  link.client.connection.openChannel('session', new Uint8Array(0));
  link.peer.expect(90);
});

scenario(
  'prompts: a round of none is answered by itself, a round of one is asked once, echo and text come through',
  (chunking) => {
    const asked: (readonly Prompt[])[] = [];
    const link = granted(chunking, {
      attempts: [{ method: 'keyboard-interactive' }],
      onPrompts: (prompts) => {
        asked.push(prompts);
        return ['123456'];
      },
    });
    takeRequest(link.peer, 'keyboard-interactive');
    link.peer.send(infoRequest([]));
    assert.deepEqual(takeResponses(link.peer), []);
    link.peer.send(infoRequest([{ text: 'Code\u001b[2J: ', echo: true }], 'Second factor', 'Look at your phone'));
    assert.deepEqual(takeResponses(link.peer), ['123456']);
    link.peer.send(infoRequest([]));
    assert.deepEqual(takeResponses(link.peer), []);
    succeed(link, ['keyboard-interactive']);
    assert.deepEqual(asked, [[{ text: 'Code\\x1b[2J: ', echo: true }]]);
    const question = link.client.of('question').find((event) => event.question.kind === 'prompts')?.question;
    assert.ok(question?.kind === 'prompts');
    assert.equal(question.title, 'Second factor');
    assert.equal(question.instruction, 'Look at your phone');
  },
);

scenario('prompts: several in one round, empty and UTF-8 answers', (chunking) => {
  const answers = ['', 'pässwörd', 'x'.repeat(300)];
  const link = granted(chunking, { attempts: [{ method: 'keyboard-interactive' }], onPrompts: () => answers });
  takeRequest(link.peer, 'keyboard-interactive');
  link.peer.send(infoRequest(answers.map(() => ({ text: '?', echo: false }))));
  assert.deepEqual(takeResponses(link.peer), answers);
  succeed(link, ['keyboard-interactive']);
});

scenario('prompts beyond the limit, cut short or with bytes after them end the connection', (chunking) => {
  const whole = infoRequest([{ text: 'Code: ', echo: true }]);
  const many = infoRequest(Array.from({ length: 101 }, () => ({ text: '', echo: true })));
  const lying = whole.slice();
  lying.set([0xff, 0xff, 0xff, 0xff], whole.length - 15);
  for (const payload of [many, whole.subarray(0, -1), new Writer().raw(whole).u8(0).finish(), lying]) {
    const link = granted(chunking, { attempts: [{ method: 'keyboard-interactive' }] });
    takeRequest(link.peer, 'keyboard-interactive');
    link.peer.send(payload);
    link.pump();
    link.client.failed('protocol');
    assert.equal(link.peer.take(transport.disconnect).reason, 2);
  }
});

scenario('publickey,publickey: the first key is taken in part, the second one ends it', (chunking) => {
  const [first, second] = [ed25519Signer(memoCrypto, 1), ed25519Signer(memoCrypto, 2)];
  const link = granted(chunking, { attempts: [publickey(first), publickey(second)] });
  assert.deepEqual(takeSigned(link.peer).publicKey, first.publicKey);
  fail(link.peer, 'publickey', true);
  assert.deepEqual(takeSigned(link.peer).publicKey, second.publicKey);
  const questions = link.client
    .of('question')
    .flatMap(({ question }) => (question.kind === 'credentials' ? [question] : []));
  assert.deepEqual(
    questions.map(({ partial, failed, methods }) => ({ partial, failed: failed !== undefined, methods })),
    [
      { partial: false, failed: false, methods: undefined },
      { partial: true, failed: false, methods: ['publickey'] },
    ],
  );
  succeed(link, ['publickey', 'publickey']);
});

scenario('a key, then a code: partial success goes on to the other method', (chunking) => {
  const signer = ed25519Signer(memoCrypto, 1);
  const link = granted(chunking, {
    attempts: [{ method: 'none' }, publickey(signer), { method: 'keyboard-interactive' }],
    onPrompts: () => ['000000'],
  });
  takeRequest(link.peer, 'none');
  fail(link.peer, 'publickey');
  takeSigned(link.peer);
  fail(link.peer, 'keyboard-interactive', true);
  takeRequest(link.peer, 'keyboard-interactive');
  link.peer.send(infoRequest([{ text: 'Code: ', echo: false }]));
  assert.deepEqual(takeResponses(link.peer), ['000000']);
  succeed(link, ['publickey', 'keyboard-interactive']);
});

/** The server's EXT_INFO with this list, or none. */
function announced(chunking: Chunking, list: string | undefined, attempts: readonly AuthAttempt[]): Link {
  const link = new Link(chunking, { script: { attempts } });
  link.peer.handshake();
  if (list !== undefined) link.peer.send(buildExtInfo(new Map([['server-sig-algs', list]])));
  link.peer.grantService();
  return link;
}

scenario('server-sig-algs decides how an RSA key signs, and whether it is tried at all', (chunking) => {
  const attempts: AuthAttempt[] = [publickey(rsa), publickey(ed25519Signer(memoCrypto, 1))];
  const cases: [string | undefined, string[]][] = [
    ['rsa-sha2-256', ['rsa-sha2-256']],
    ['ssh-rsa,rsa-sha2-256,rsa-sha2-512', ['rsa-sha2-512']],
    [undefined, ['rsa-sha2-512']],
    ['ssh-ed25519', ['ssh-ed25519']],
    ['', []],
  ];
  for (const [list, expected] of cases) {
    const link = announced(chunking, list, attempts);
    if (expected.length === 0) {
      link.pump();
      link.client.failed('auth-failed');
      continue;
    }
    for (const algorithm of expected) assert.equal(takeSigned(link.peer).algorithm, algorithm, String(list));
    succeed(link, ['publickey']);
  }
});

scenario('a second EXT_INFO before SUCCESS replaces the first; one after it is ignored', (chunking) => {
  const link = announced(chunking, 'ssh-ed25519', [{ method: 'none' }, publickey(rsa)]);
  takeRequest(link.peer, 'none');
  link.peer.send(buildExtInfo(new Map([['server-sig-algs', 'rsa-sha2-256']])));
  fail(link.peer, 'publickey');
  assert.equal(takeSigned(link.peer).algorithm, 'rsa-sha2-256');
  link.peer.send(encode(userauth.success, {}));
  link.peer.send(buildExtInfo(new Map([['no-flow-control', 'p']])));
  link.pump();
  link.client.alive();
});

scenario('unknown extensions, a count that lies, and bytes after the last one', (chunking) => {
  const good = buildExtInfo(
    new Map([
      ['unknown@example.org', '\u0000\u0001'],
      ['server-sig-algs', 'ssh-ed25519'],
    ]),
  );
  const link = granted(chunking, {});
  link.peer.send(good);
  link.pump();
  link.client.alive();
  const lying = good.slice();
  lying.set([0xff, 0xff, 0xff, 0xff], 1);
  for (const bad of [lying, good.subarray(0, -1), new Writer().raw(good).u8(0).finish()]) {
    const other = granted(chunking, {});
    other.peer.send(bad);
    other.pump();
    other.client.failed('protocol');
  }
});

scenario('banners are shown, sanitised, with their line ends', (chunking) => {
  const link = granted(chunking, {});
  link.peer.send(encode(userauth.banner, { message: 'Hello\r\n\u001b]0;x\u0007bye\n', language: 'en' }));
  takeRequest(link.peer, 'none');
  succeed(link, ['none']);
  assert.equal(link.client.only('banner').text, 'Hello\n\\x1b]0;x\\x07bye\n');
});

scenario('an expired password: the new one goes out with the old one, or the login is given up', (chunking) => {
  const link = granted(chunking, { attempts: [{ method: 'password', password: 'old' }] });
  const { rest } = takeRequest(link.peer, 'password');
  assert.deepEqual(decodeFields(requestBody.password, rest), { change: false, password: 'old' });
  link.peer.send(encode(passwordAuth.changeRequest, { prompt: 'Choose a new one', language: '' }));
  link.pump();
  link.client.failed('auth-failed');
});

scenario('a client that gives up says why to its caller and DISCONNECT to the server only if asked to', (chunking) => {
  const why = new SshError('auth-failed', 'all keys were refused', { fault: 'policy', disconnect: 14 });
  const link = granted(chunking, {
    onCredentials: ({ methods }) => (methods === undefined ? { method: 'none' } : why),
  });
  takeRequest(link.peer, 'none');
  fail(link.peer, 'publickey');
  assert.equal(link.peer.take(transport.disconnect).reason, 14);
  assert.equal(link.client.failed('auth-failed'), why);
});

scenario('answers that nothing asked for end the connection', (chunking) => {
  const signer = ed25519Signer(memoCrypto, 1);
  const cases: [readonly AuthAttempt[], Uint8Array][] = [
    [[{ method: 'none' }], infoRequest([])],
    [[{ method: 'none' }], encode(passwordAuth.changeRequest, { prompt: '', language: '' })],
    [[publickey(signer)], infoRequest([])],
    [[{ method: 'password', password: 'x' }], Uint8Array.of(61)],
    [[{ method: 'none' }], Uint8Array.of(79)],
  ];
  for (const [attempts, answer] of cases) {
    const link = granted(chunking, { attempts });
    link.peer.expect(50);
    link.peer.send(answer);
    link.pump();
    link.client.failed('protocol');
  }
  const deciding = granted(chunking, { onCredentials: () => 'later' });
  fail(deciding.peer, 'password');
  deciding.pump();
  deciding.client.failed('protocol');
});

scenario('a service that is refused, or that nobody asked for, ends the connection', (chunking) => {
  const other = new Link(chunking);
  other.peer.handshake();
  other.peer.expect(5);
  other.peer.send(encode(transport.serviceAccept, { service: 'ssh-connection' }));
  other.pump();
  assert.match(other.client.failed('protocol').message, /ssh-connection/);
  const refused = new Link(chunking);
  refused.peer.handshake();
  refused.peer.expect(5);
  const { lastSequence } = refused.peer;
  refused.peer.send(encode(transport.unimplemented, { sequence: lastSequence }));
  refused.pump();
  assert.match(refused.client.failed('protocol').message, /SERVICE_REQUEST/);
});

scenario('a server that asks for ever meets a limit', (chunking) => {
  const link = granted(chunking, { attempts: [{ method: 'keyboard-interactive' }] });
  takeRequest(link.peer, 'keyboard-interactive');
  for (let round = 0; round < defaultLimits.authRounds + 1 && !link.client.connection.closed; round++) {
    link.peer.send(infoRequest([]));
    link.pump();
  }
  link.client.failed('limit');
});

scenario('a server that does not answer a request times out; a person who thinks does not', (chunking) => {
  const silent = granted(chunking, {});
  silent.pump();
  silent.advance(defaultLimits.authTime - 1);
  silent.client.alive();
  silent.advance(1);
  assert.equal(silent.client.failed('timeout').phase, 'authentication');

  const thinking = granted(chunking, { onCredentials: () => 'later' });
  thinking.pump();
  thinking.advance(60 * 60_000);
  thinking.client.alive();
  const question = thinking.client.questions.find((event) => event.question.kind === 'credentials');
  thinking.client.connection.answer(question?.id ?? 0, { method: 'password', password: 'finally' });
  takeRequest(thinking.peer, 'password');
  thinking.client.settle();
  thinking.advance(1000);
  succeed(thinking, ['password']);
});

scenario(
  'a signature that comes later, in a promise, holds the input meanwhile and time does not run',
  async (chunking) => {
    const signer = ed25519Signer(memoCrypto, 1);
    const slow: Signer = { ...signer, sign: async (message, algorithm) => signer.sign(message, algorithm) };
    const link = granted(chunking, { attempts: [publickey(slow)] });
    link.pump();
    const event = link.client.questions[0] ?? assert.fail('the promise must be a question');
    assert.ok(event.question.kind === 'work' && link.client.connection.holdsInput);
    link.peer.send(encode(userauth.banner, { message: 'wait', language: '' }));
    link.pump();
    assert.ok(!link.client.has('banner'), 'input is held');
    link.advance(60 * 60_000);
    link.client.connection.answer(event.id, await event.question.promise);
    link.client.settle();
    takeSigned(link.peer);
    assert.ok(link.client.has('banner'));
    link.advance(60_000);
    succeed(link, ['publickey']);
    link.advance(24 * 60 * 60_000);
  },
);

scenario(
  'a signer that fails ends the connection with its error, and nothing of it reaches the server',
  async (chunking) => {
    const error = new SshError('crypto', 'the agent said no', { fault: 'local' });
    const broken: Signer = { ...ed25519Signer(memoCrypto, 1), sign: () => Promise.reject(error) };
    const link = granted(chunking, { attempts: [publickey(broken)] });
    link.pump();
    const event = link.client.questions[0] ?? assert.fail('the promise must be a question');
    assert.ok(event.question.kind === 'work');
    await event.question.promise.catch((reason) => link.client.connection.refuse(event.id, reason));
    link.client.settle();
    link.pump();
    assert.equal(link.client.failed('crypto'), error);
    assert.ok(!link.peer.inbox.some(({ payload }) => new TextDecoder().decode(payload).includes('agent')));
  },
);

scenario('method names from the server are sanitised before anyone sees them', (chunking) => {
  const link = granted(chunking, { attempts: [{ method: 'none' }, { method: 'none' }] });
  takeRequest(link.peer, 'none');
  link.peer.send(new Writer().u8(51).string(utf8('pass\u0000word,\u001b[1m')).bool(false).finish());
  link.peer.expect(50);
  const question = link.client.of('question').at(-1)?.question;
  assert.ok(question?.kind === 'credentials');
  assert.deepEqual(question.methods, ['pass\\x00word', '\\x1b[1m']);
});
