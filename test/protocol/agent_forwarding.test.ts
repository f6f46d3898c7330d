/** An agent that is forwarded: for whom channels are opened to it, and for whom not. OpenSSH PROTOCOL.agent, RFC 9987 §5. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Agent } from '../../src/agent/agent.ts';
import { AgentClient } from '../../src/agent/client.ts';
import { agentOf } from '../../src/agent/keys.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import type { SshError } from '../../src/errors.ts';
import { signerOf } from '../../src/keys/private_key.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { type Signer, verifySignature } from '../../src/keys/signature.ts';
import type { Program, ServerSession } from '../../src/server/session.ts';
import { connection } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import { frame, identities } from '../agent/scripted_agent.ts';
import { ApiLink } from '../support/api_link.ts';
import { ApiPair } from '../support/api_pair.ts';
import { chunkings } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import type { PeerChannel } from '../support/peer_channel.ts';
import { rejectsWith } from '../support/rejects.ts';
import { testKey } from '../support/test_keys.ts';

const KIND = 'auth-agent@openssh.com';
const REQUEST = 'auth-agent-req@openssh.com';

const key = testKey('ssh-ed25519', 'user');

const named = (name: string): Agent => ({
  identities: () => [{ blob: utf8(name), comment: name }],
  sign: () => undefined,
});

/** The peer wants a channel to the agent; what the client says to that. */
async function open(link: ApiLink, sender: number): Promise<number> {
  const terms = { sender, window: 100_000, maxPacket: 32_768, body: new Uint8Array(0) };
  link.peer.send(encode(connection.channelOpen, { kind: KIND, ...terms }));
  await link.quiet();
  return link.peer.inbox.at(-1)?.payload[0] ?? assert.fail('no answer');
}

const CONFIRMED = connection.channelOpenConfirmation.number;
const REFUSED = connection.channelOpenFailure.number;

/** Asks for the list over a channel that was confirmed; the answer, as hex. */
async function list(link: ApiLink): Promise<string> {
  const { sender } = link.peer.take(connection.channelOpenConfirmation);
  link.peer.send(encode(connection.channelData, { recipient: sender, data: fromHex(frame('0b')) }));
  await link.quiet();
  return hex(link.peer.take(connection.channelData).data.subarray(4));
}

async function session(link: ApiLink, agent?: Agent): Promise<PeerChannel> {
  const ssh = await link.now(link.connected);
  ssh.exec('true', { agent }).catch(() => {});
  const channel = await link.channel();
  if (agent !== undefined) {
    const { request, wantReply, body } = channel.takeRequest();
    assert.deepEqual([request, wantReply, body.length], [REQUEST, false, 0]);
  }
  assert.equal(channel.takeRequest().request, 'exec');
  channel.success();
  await link.quiet();
  return channel;
}

async function end(link: ApiLink, channel: PeerChannel): Promise<void> {
  channel.close();
  await link.quiet();
  link.peer.inbox.length = 0;
}

scenario('a server gets no channel to an agent that nobody has forwarded', async (chunking) => {
  const link = new ApiLink(chunking);
  await link.login();
  assert.equal(await open(link, 7), REFUSED);
  link.peer.inbox.length = 0;
  await session(link);
  assert.equal(await open(link, 8), REFUSED);
});

scenario('a server gets channels while a session lives that forwards, and no longer', async (chunking) => {
  const link = new ApiLink(chunking);
  await link.login();
  const first = await session(link, named('first'));
  assert.equal(await open(link, 7), CONFIRMED);
  assert.equal(await list(link), identities([utf8('first'), 'first']));
  const second = await session(link, named('second'));
  assert.equal(await open(link, 8), CONFIRMED);
  assert.equal(await list(link), identities([utf8('second'), 'second']));
  await end(link, second);
  assert.equal(await open(link, 9), CONFIRMED);
  assert.equal(await list(link), identities([utf8('first'), 'first']), 'of those that live, the latest');
  await end(link, first);
  assert.equal(await open(link, 10), REFUSED);
});

scenario('a server gets no more than 32 channels to an agent at once', async (chunking) => {
  const link = new ApiLink(chunking);
  await link.login();
  await session(link, named('agent'));
  for (let i = 0; i < 32; i++) assert.equal(await open(link, 100 + i), CONFIRMED);
  assert.equal(await open(link, 200), REFUSED);
  const { sender } = link.peer.take(connection.channelOpenConfirmation);
  link.peer.inbox.length = 0;
  link.peer.send(encode(connection.channelClose, { recipient: sender }));
  await link.quiet();
  assert.equal(await open(link, 201), CONFIRMED, 'one that has ended makes room');
});

describe('an agent that is forwarded', () => {
  it('must be one', async () => {
    const pair = await ApiPair.start();
    const ssh = await pair.now(pair.connect());
    for (const wrong of [null, 'agent', {}, { identities: () => [] }]) {
      const { message } = await rejectsWith(
        pair.now(ssh.exec('x', { agent: wrong as unknown as Agent })),
        'bad-argument',
      );
      assert.match(message, /^agent must be an agent: agent\(\)/);
    }
    assert.equal(ssh.stats.channels, 0, 'nothing was opened');
  });

  for (const chunking of chunkings) {
    it(`signs for a program of our server (${chunking})`, async () => {
      const data = utf8('data');
      const signed: Uint8Array[] = [];
      const exec: Program = async (session) => {
        const client = new AgentClient(() => session.agent());
        const [signer] = await client.signers();
        signed.push(await (signer as Signer).sign(data, 'ssh-ed25519'));
        client.close();
        return session.hasAgent ? 0 : 1;
      };
      const pair = await ApiPair.start({ chunking, server: { session: { exec } } });
      const ssh = await pair.now(pair.connect());
      const agent = agentOf(memoCrypto, [signerOf(memoCrypto, key)]);
      assert.equal((await pair.now(ssh.run('sign', { agent }))).code, 0);
      const publicKey = parsePublicKey(key.publicKey.blob);
      assert.equal(signed.length, 1);
      assert.equal(await verifySignature(memoCrypto, 'ssh-ed25519', publicKey, data, signed[0] as Uint8Array), true);
    });
  }

  it('is not there for a session that does not forward it, nor for a user who may not have it', async () => {
    const failures: SshError[] = [];
    const exec: Program = async (session) => {
      assert.equal(session.hasAgent, false);
      failures.push(await rejectsWith(session.agent(), 'request-failed'));
    };
    const permissions = { agentForwarding: false };
    const password = (): { permissions: typeof permissions } => ({ permissions });
    const agent = named('agent');
    for (const [server, options] of [
      [{ session: { exec } }, {}],
      [{ session: { exec }, auth: { password } }, { agent }],
    ] as const) {
      const pair = await ApiPair.start({ server });
      const ssh = await pair.now(pair.connect());
      assert.equal((await pair.now(ssh.run('sign', options))).code, 0);
    }
    assert.deepEqual(
      failures.map(({ message }) => message),
      Array.from({ length: 2 }, () => 'The client forwards no agent to this session'),
    );
  });

  it('is out of reach once the session has ended', async () => {
    let kept: ServerSession | undefined;
    const exec: Program = (session) => {
      kept = session;
    };
    const pair = await ApiPair.start({ server: { session: { exec } } });
    const ssh = await pair.now(pair.connect());
    await pair.now(ssh.run('keep', { agent: named('agent') }));
    const ended = await rejectsWith((kept as ServerSession).agent(), 'request-failed');
    assert.equal(ended.message, 'The session has ended');
  });
});
