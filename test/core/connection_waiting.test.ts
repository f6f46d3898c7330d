/** The driving contract of `Connection`: questions, held input, and a peer that is silent. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultLimits } from '../../src/core/limits.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { connection as rows } from '../../src/wire/connection.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { userauth } from '../../src/wire/userauth.ts';
import { Link } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { withChannel } from './with_channel.ts';

const none = new Uint8Array(0);

describe('Connection, with a question open,', () => {
  /** The server has sent all of its exchange, a DEBUG behind it, and the client asks about the host key. */
  function asking(): Link {
    const link = new Link('whole', { script: { onHostKey: () => 'later' } });
    const { peer } = link;
    peer.identify();
    peer.sendKexinit();
    peer.takeKexinit();
    peer.send(encode(ecdh.reply, peer.reply()));
    peer.sendNewkeys();
    peer.send(encode(transport.debug, { alwaysDisplay: true, message: 'after', language: '' }));
    link.pump();
    return link;
  }

  function idOf({ client }: Link): number {
    const [question] = client.questions;
    assert.ok(question !== undefined);
    return question.id;
  }

  it('keeps input, and processes it in order after the answer', () => {
    const link = asking();
    const { client } = link;
    assert.deepEqual([client.connection.holdsInput, client.has('keys'), client.has('debug')], [true, false, false]);
    client.connection.answer(idOf(link), true);
    client.settle();
    const last = client.events.slice(-3).map(({ type }) => type);
    assert.deepEqual([last, client.connection.holdsInput], [['keys', 'question', 'debug'], false]);
  });

  it('takes one answer, and only to a question that it asked', () => {
    const link = asking();
    const { connection } = link.client;
    connection.answer(idOf(link) + 1000, true);
    connection.refuse(idOf(link) + 1000, new SshError('host-key-unknown', 'no'));
    assert.equal(connection.holdsInput, true);
    connection.answer(idOf(link), true);
    connection.answer(idOf(link), true);
    connection.refuse(idOf(link), new SshError('host-key-unknown', 'no'));
    assert.deepEqual([connection.closed, connection.holdsInput], [false, false]);
    link.client.settle();
    assert.equal(link.client.of('keys').length, 1);
  });

  it('ends with the error of a refusal, and tells the peer no more than its code', () => {
    const link = asking();
    const { client, peer } = link;
    const error = new SshError('host-key-unknown', 'secret path', { fault: 'policy', disconnect: 9 });
    client.connection.refuse(idOf(link), error);
    client.settle();
    assert.equal(client.cause, error);
    const { reason, description } = peer.take(transport.disconnect);
    assert.deepEqual([reason, description], [9, 'host-key-unknown']);
  });

  it('goes on receiving while the user thinks about a password', () => {
    const link = new Link('whole', { script: { onCredentials: () => 'later' } });
    link.peer.handshake();
    link.peer.grantService();
    link.pump();
    const { connection } = link.client;
    assert.deepEqual([link.client.questions.length, connection.holdsInput], [1, false]);
    link.peer.send(encode(userauth.banner, { message: 'hello', language: '' }));
    link.pump();
    assert.equal(link.client.only('banner').text, 'hello');
  });

  it('waits for work of the provider, and takes its result or its failure', async () => {
    const crypto: CryptoProvider = {
      ...memoCrypto,
      ed25519: { ...memoCrypto.ed25519, verify: async (...inputs) => memoCrypto.ed25519.verify(...inputs) },
    };
    for (const works of [true, false]) {
      const link = new Link('whole', { client: { crypto } });
      const { peer, client } = link;
      peer.identify();
      peer.sendKexinit();
      peer.takeKexinit();
      peer.send(encode(ecdh.reply, peer.reply()));
      peer.sendNewkeys();
      link.pump();
      const [question] = client.questions;
      assert.ok(question?.question.kind === 'work');
      assert.equal(client.connection.holdsInput, true);
      if (works) client.connection.answer(question.id, await question.question.promise);
      else client.connection.refuse(question.id, new SshError('crypto', 'hardware is gone'));
      client.settle();
      if (works) assert.equal(client.of('keys').length, 1);
      else client.failed('crypto');
    }
  });

  it('does not time the user who looks at the host key', () => {
    const link = asking();
    const { connection } = link.client;
    link.client.now += 1e9;
    connection.tick(link.client.now);
    assert.equal(connection.holdsInput, true);
    link.client.settle();
    link.client.alive();
  });
});

describe('Connection, when its answers are not taken,', () => {
  const limits = { ...defaultLimits, queuedReplies: 10_000 };
  const request = (i: number): Uint8Array =>
    encode(rows.channelRequest, { recipient: 0, request: `r${i}`, wantReply: true, body: none });

  it('stops processing at the limit, keeps the rest, and goes on when there is room', () => {
    const link = withChannel({ client: { limits } });
    const { client, peer } = link;
    for (let i = 0; i < 1000; i++) peer.send(request(i));
    for (const packet of peer.takeOutput()) client.receive(packet);
    const first = client.of('channel-request').length;
    // a CHANNEL_FAILURE of 5 bytes counts 133: the 76th is one too many
    assert.deepEqual([first, client.connection.holdsInput], [76, true]);
    link.pump();
    assert.deepEqual([client.of('channel-request').length, client.connection.holdsInput], [1000, false]);
    assert.deepEqual(
      client.of('channel-request').map((event) => event.request),
      Array.from({ length: 1000 }, (_, i) => `r${i}`),
    );
    assert.equal(peer.inbox.length, 1000);
    client.alive();
  });
});

describe('Connection, keeping alive,', () => {
  const keepalive = { interval: 15_000, count: 2 };

  it('asks a silent peer, keeps the answer to itself, and goes on', () => {
    const link = withChannel({ client: { keepalive } });
    const { client, peer } = link;
    const own = client.connection.requestGlobal('mine', none, true);
    peer.expect(rows.globalRequest.number);
    for (let i = 0; i < 5; i++) {
      link.advance(15_000);
      const { request, wantReply, body } = peer.take(rows.globalRequest);
      assert.deepEqual([request, wantReply, body.length], ['keepalive@openssh.com', true, 0]);
      if (i === 0) peer.send(encode(rows.requestSuccess, { body: none }));
      peer.send(encode(rows.requestFailure, {}));
      link.pump();
    }
    client.alive();
    assert.deepEqual(
      client.of('global-reply').map(({ id, ok }) => [id, ok]),
      [[own, true]],
    );
  });

  it('ends when the peer stays silent, without a word to it', () => {
    const link = withChannel({ client: { keepalive } });
    link.advance(44_999);
    assert.equal(link.client.connection.closed, false);
    link.advance(1);
    const cause = link.client.failed('keepalive-timeout');
    assert.equal(cause.message, 'Nothing was heard from the peer for 3 times 15000 ms');
    assert.deepEqual(link.client.takeOutput(), []);
  });

  it('does not ask before the user is logged in', () => {
    const link = new Link('whole', { client: { keepalive }, script: { onCredentials: () => 'later' } });
    link.peer.handshake();
    link.peer.grantService();
    link.pump();
    link.advance(1_000_000);
    link.client.alive();
    link.peer.expectNothing();
  });
});
