/** Which ways to log in the real client tries in which order, against servers that ask for several: RFC 4252 §5.1, RFC 4256. */

import assert from 'node:assert/strict';
import { Reader } from '../../src/bytes/reader.ts';
import { decodeFields } from '../../src/bytes/schema.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { type AuthMethod, keyboardInteractive, key as keyMethod, password } from '../../src/client/auth.ts';
import { buildExtInfo } from '../../src/core/ext_info.ts';
import { SshError } from '../../src/errors.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { encode } from '../../src/wire/message.ts';
import { keyboardAuth, requestBody, userauth } from '../../src/wire/userauth.ts';
import { ApiLink } from '../support/api_link.ts';
import type { Chunking } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';

const [first, second] = [ed25519Signer(memoCrypto, 1), ed25519Signer(memoCrypto, 2)];

/** A signer that only claims to be RSA. */
const rsa: Signer = {
  publicKey: new Writer()
    .string('ssh-rsa')
    .mpint(Uint8Array.of(1, 0, 1))
    .mpint(new Uint8Array(256).fill(0xc1))
    .finish(),
  keyType: 'ssh-rsa',
  algorithms: ['rsa-sha2-512', 'rsa-sha2-256'],
  sign: (_message, algorithm) => new Writer().string(algorithm).string('signature').finish(),
};

/** A client at a server that has granted the service. */
async function at(chunking: Chunking, auth: readonly AuthMethod[], sigAlgs?: string): Promise<ApiLink> {
  const link = new ApiLink(chunking, { client: { auth } });
  await link.handshake();
  if (sigAlgs !== undefined) link.peer.send(buildExtInfo(new Map([['server-sig-algs', sigAlgs]])));
  link.peer.grantService();
  await link.quiet();
  return link;
}

async function refuse(link: ApiLink, methods: string, partialSuccess = false): Promise<void> {
  link.peer.send(encode(userauth.failure, { methods: methods.split(','), partialSuccess }));
  await link.quiet();
}

async function accept(link: ApiLink): Promise<readonly string[]> {
  link.peer.send(encode(userauth.success, {}));
  const ssh = await link.now(link.connected);
  return ssh.info.authMethods;
}

/** The client's next request: its method, and for a key the algorithm and the key. */
function request(link: ApiLink): { method: string; algorithm?: string; publicKey?: Uint8Array } {
  const { method, rest } = link.peer.take(userauth.request);
  if (method !== 'publickey') return { method };
  const { algorithm, publicKey } = decodeFields(requestBody.publicKeySigned, rest);
  return { method, algorithm, publicKey };
}

async function prompt(link: ApiLink, texts: readonly string[]): Promise<string[]> {
  const body = new Writer();
  for (const text of texts) body.string(text).bool(false);
  const message = { title: '', instruction: '', language: '', count: texts.length, prompts: body.finish() };
  link.peer.send(encode(keyboardAuth.infoRequest, message));
  await link.quiet();
  const { count, responses } = link.peer.take(keyboardAuth.infoResponse);
  const reader = new Reader(responses);
  return Array.from({ length: count }, () => reader.text());
}

scenario('a server that wants two keys gets the first, then the second', async (chunking) => {
  const link = await at(chunking, [keyMethod(first), keyMethod(second)]);
  assert.deepEqual(request(link).publicKey, first.publicKey);
  await refuse(link, 'publickey', true);
  assert.deepEqual(request(link).publicKey, second.publicKey);
  assert.deepEqual(await accept(link), ['publickey', 'publickey']);
});

scenario('the same key given twice goes out once', async (chunking) => {
  const link = await at(chunking, [keyMethod(first), keyMethod(first), password('secret')]);
  assert.deepEqual(request(link).publicKey, first.publicKey);
  await refuse(link, 'publickey,password');
  assert.equal(request(link).method, 'password');
  assert.deepEqual(await accept(link), ['password']);
});

scenario(
  'a key, then a code: the next method comes after the partial success, and not another key',
  async (chunking) => {
    const asked: string[] = [];
    const code = keyboardInteractive(({ prompts }) => {
      asked.push(...prompts.map(({ text }) => text));
      return ['123456'];
    });
    const link = await at(chunking, [keyMethod(first), keyMethod(second), code]);
    request(link);
    await refuse(link, 'keyboard-interactive', true);
    assert.equal(request(link).method, 'keyboard-interactive');
    assert.deepEqual(await prompt(link, []), []);
    assert.deepEqual(await prompt(link, ['Code: ']), ['123456']);
    assert.deepEqual(await prompt(link, []), []);
    assert.deepEqual(asked, ['Code: ']);
    assert.deepEqual(await accept(link), ['publickey', 'keyboard-interactive']);
  },
);

scenario('an RSA key signs as server-sig-algs says, and is left out where it could not', async (chunking) => {
  const cases: [string | undefined, string, string][] = [
    ['rsa-sha2-256', 'rsa-sha2-256', 'ssh-rsa'],
    [undefined, 'rsa-sha2-512', 'ssh-rsa'],
    ['ssh-ed25519', 'ssh-ed25519', 'ssh-ed25519'],
  ];
  for (const [sigAlgs, algorithm, type] of cases) {
    const link = await at(chunking, [keyMethod(rsa), keyMethod(first)], sigAlgs);
    const sent = request(link);
    assert.equal(sent.algorithm, algorithm);
    assert.equal(new Reader(sent.publicKey ?? new Uint8Array(0)).name(), type);
    assert.deepEqual(await accept(link), ['publickey']);
  }
});

scenario('when nothing is left the error says what was tried and what the server takes', async (chunking) => {
  const link = await at(chunking, [keyMethod(rsa, 'id_rsa'), keyMethod(first, 'id_ed25519')], 'ssh-ed25519');
  request(link);
  await refuse(link, 'publickey,hostbased');
  const error = await link.now(link.connected.catch((reason: unknown) => reason));
  assert.ok(error instanceof SshError);
  assert.equal(error.code, 'auth-failed');
  assert.match(error.message, /id_ed25519/);
  assert.match(error.message, /publickey, hostbased/);
  assert.match(error.message, /id_rsa.*ssh-ed25519 only/);
  assert.equal(link.peer.inbox.at(-1)?.payload[0], 1, 'the server hears DISCONNECT');
  await link.quiet();
  assert.equal(link.clock.timers, 0);
});

scenario('a person has all the time in the world to answer a prompt', async (chunking) => {
  let answer: (texts: string[]) => void = () => {};
  const slow = keyboardInteractive(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  const link = await at(chunking, [slow]);
  assert.equal(request(link).method, 'keyboard-interactive');
  const body = new Writer().string('Code: ').bool(true).finish();
  link.peer.send(
    encode(keyboardAuth.infoRequest, { title: '', instruction: '', language: '', count: 1, prompts: body }),
  );
  await link.quiet();
  await link.clock.pass(60 * 60_000);
  answer(['late']);
  await link.quiet();
  assert.equal(link.peer.take(keyboardAuth.infoResponse).count, 1);
  assert.deepEqual(await accept(link), ['keyboard-interactive']);
});
