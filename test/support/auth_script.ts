/** A server's and a client's steps of a login, as scripts take them: RFC 4252, RFC 4256. */

import assert from 'node:assert/strict';
import { Reader } from '../../src/bytes/reader.ts';
import { decodeFields, encodeFields } from '../../src/bytes/schema.ts';
import { Writer } from '../../src/bytes/writer.ts';
import type { AuthAttempt, Prompt } from '../../src/core/events.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { type Signer, verifySignature } from '../../src/keys/signature.ts';
import { encode, type MessageOf } from '../../src/wire/message.ts';
import { keyboardAuth, requestBody, signedRequest, userauth } from '../../src/wire/userauth.ts';
import type { ClientScript } from './core_client.ts';
import type { Chunking } from './feed.ts';
import { Link } from './link.ts';
import { memoCrypto } from './memo_crypto.ts';
import type { ScriptedPeer } from './scripted_peer.ts';

/** A link after the first exchange, the service granted. */
export function granted(chunking: Chunking, script: ClientScript): Link {
  const link = new Link(chunking, { script });
  link.peer.handshake();
  link.peer.grantService();
  return link;
}

export function takeRequest(peer: ScriptedPeer, method: string): MessageOf<typeof userauth.request> {
  const request = peer.take(userauth.request);
  assert.equal(request.method, method);
  assert.equal(request.user, 'ada');
  assert.equal(request.service, 'ssh-connection');
  return request;
}

export function fail(peer: ScriptedPeer, methods: string, partialSuccess = false): void {
  peer.send(encode(userauth.failure, { methods: methods.split(','), partialSuccess }));
}

export function succeed(link: Link, methods: readonly string[]): void {
  link.peer.send(encode(userauth.success, {}));
  link.pump();
  link.client.alive();
  assert.deepEqual(link.client.only('authenticated').methods, methods);
}

/** Takes a publickey request and proves its signature; returns the algorithm and the key. */
export function takeSigned(peer: ScriptedPeer): { algorithm: string; publicKey: Uint8Array } {
  const { rest, user, service, method } = takeRequest(peer, 'publickey');
  const { signed, algorithm, publicKey, signature } = decodeFields(requestBody.publicKeySigned, rest);
  assert.equal(signed, true, 'keys are signed with at once');
  const sessionId = peer.sessionId ?? assert.fail();
  const message = encodeFields(signedRequest, {
    sessionId,
    number: 50,
    user,
    service,
    method,
    signed,
    algorithm,
    publicKey,
  });
  if (algorithm === 'ssh-ed25519') {
    const key = parsePublicKey(publicKey, memoCrypto);
    assert.equal(verifySignature(memoCrypto, algorithm, key, message, signature), true);
  }
  return { algorithm, publicKey };
}

/** A signer that only claims to be RSA. */
export const rsa: Signer = {
  publicKey: new Writer().string('ssh-rsa').string('e').string('n').finish(),
  keyType: 'ssh-rsa',
  algorithms: ['rsa-sha2-512', 'rsa-sha2-256'],
  sign: (_message, algorithm) => new Writer().string(algorithm).string('signature').finish(),
};

export const publickey = (signer: Signer): AuthAttempt => ({ method: 'publickey', signer });

export function infoRequest(prompts: readonly Prompt[], title = '', instruction = ''): Uint8Array {
  const body = new Writer();
  for (const { text, echo } of prompts) body.string(text).bool(echo);
  return encode(keyboardAuth.infoRequest, {
    title,
    instruction,
    language: '',
    count: prompts.length,
    prompts: body.finish(),
  });
}

export function takeResponses(peer: ScriptedPeer): string[] {
  const { count, responses } = peer.take(keyboardAuth.infoResponse);
  const reader = new Reader(responses);
  const texts = Array.from({ length: count }, () => reader.text());
  reader.expectEnd();
  return texts;
}
