/** An agent's keys in a login, byte for byte: asked about first, signed with then, and those that nobody knows among them. */

import assert from 'node:assert/strict';
import type { Agent } from '../../src/agent/agent.ts';
import { agentOf } from '../../src/agent/keys.ts';
import { serveAgent } from '../../src/agent/server.ts';
import { Reader } from '../../src/bytes/reader.ts';
import { decodeFields, encodeFields } from '../../src/bytes/schema.ts';
import { hex } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { AgentLogin } from '../../src/client/agent_login.ts';
import type { AuthMethod } from '../../src/client/auth.ts';
import type { ClientOptions } from '../../src/connect.ts';
import { buildExtInfo } from '../../src/core/ext_info.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { verifySignature } from '../../src/keys/signature.ts';
import { encode } from '../../src/wire/message.ts';
import { publicKeyAuth, requestBody, signedRequest, userauth } from '../../src/wire/userauth.ts';
import { ApiLink } from '../support/api_link.ts';
import { type Chunking, cut } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { seededRandom } from '../support/random.ts';
import { rejectsWith } from '../support/rejects.ts';
import { testKey } from '../support/test_keys.ts';

const ed25519 = testKey('ssh-ed25519', 'user');
const rsa = testKey('ssh-rsa', 'user');

/** A client of `agent`, over a pipe that is cut as the line is. */
function agentOver(chunking: Chunking, agent: Agent, served: Promise<void>[] = []): AgentLogin {
  const random = seededRandom('agent');
  const open = async () => {
    const [near, far] = memoryPipes({ chunk: (bytes) => cut(bytes, chunking, random) });
    served.push(serveAgent(far, agent));
    return near;
  };
  return new AgentLogin({ open, mayBeMissing: false });
}

async function at(
  chunking: Chunking,
  auth: readonly AuthMethod[],
  sigAlgs?: string,
  options: Partial<ClientOptions> = {},
): Promise<ApiLink> {
  const link = new ApiLink(chunking, { client: { auth, ...options }, quietTurns: 12 });
  await link.handshake();
  if (sigAlgs !== undefined) link.peer.send(buildExtInfo(new Map([['server-sig-algs', sigAlgs]])));
  link.peer.grantService();
  await link.quiet();
  return link;
}

interface Shown {
  readonly algorithm: string;
  readonly publicKey: Uint8Array;
}

/** The client's query. */
function query(link: ApiLink): Shown {
  const { method, rest } = link.peer.take(userauth.request);
  assert.equal(method, 'publickey');
  const { signed, ...shown } = decodeFields(requestBody.publicKeyQuery, rest);
  assert.equal(signed, false, 'it signs nothing yet');
  return shown;
}

async function refuse(link: ApiLink, methods: string): Promise<void> {
  link.peer.send(encode(userauth.failure, { methods: methods.split(','), partialSuccess: false }));
  await link.quiet();
}

/** Says that the key would do, and takes the proof; its signature must be right. */
async function approve(link: ApiLink, shown: Shown): Promise<void> {
  link.peer.send(encode(publicKeyAuth.ok, shown));
  await link.quiet();
  const { rest, user, service, method } = link.peer.take(userauth.request);
  const { signature, ...proof } = decodeFields(requestBody.publicKeySigned, rest);
  assert.deepEqual(proof, { signed: true, ...shown });
  const sessionId = link.peer.sessionId ?? assert.fail();
  const message = encodeFields(signedRequest, { sessionId, number: 50, user, service, method, signed: true, ...shown });
  const key = parsePublicKey(shown.publicKey);
  assert.equal(await verifySignature(memoCrypto, shown.algorithm, key, message, signature), true);
}

async function accept(link: ApiLink): Promise<readonly string[]> {
  link.peer.send(encode(userauth.success, {}));
  const ssh = await link.now(link.connected);
  return ssh.info.authMethods;
}

const strange = (type: string): Uint8Array => new Writer().string(type).string('anything').finish();
const SK = strange('sk-ssh-ed25519@openssh.com');
const CERT = strange('ssh-rsa-cert-v01@openssh.com');
const UNKNOWN = strange('ssh-unheard-of@example.org');

scenario('keys of every type are asked about in order, and the one that the server takes signs', async (chunking) => {
  const keys = agentOf(memoCrypto, [ed25519]);
  const listed = [SK, CERT, UNKNOWN, ed25519.publicKey.blob].map((blob) => ({ blob, comment: 'x' }));
  const agent: Agent = { identities: () => listed, sign: (blob, data, flags) => keys.sign(blob, data, flags) };
  const link = await at(chunking, [agentOver(chunking, agent)]);
  const expected = [
    ['sk-ssh-ed25519@openssh.com', SK],
    ['rsa-sha2-512-cert-v01@openssh.com', CERT],
    ['ssh-unheard-of@example.org', UNKNOWN],
  ] as const;
  for (const [algorithm, blob] of expected) {
    const shown = query(link);
    assert.deepEqual([shown.algorithm, hex(shown.publicKey)], [algorithm, hex(blob)]);
    await refuse(link, 'publickey');
  }
  const shown = query(link);
  assert.equal(hex(shown.publicKey), hex(ed25519.publicKey.blob));
  await approve(link, shown);
  assert.deepEqual(await accept(link), ['publickey']);
});

scenario(
  'an RSA key of an agent signs as server-sig-algs says, and is left out where it could not',
  async (chunking) => {
    const cases = [
      ['rsa-sha2-256', 'rsa-sha2-256', 'ssh-rsa'],
      ['rsa-sha2-512,rsa-sha2-256', 'rsa-sha2-512', 'ssh-rsa'],
      [undefined, 'rsa-sha2-512', 'ssh-rsa'],
      ['ssh-ed25519', 'ssh-ed25519', 'ssh-ed25519'],
      ['ssh-rsa,ssh-ed25519', 'ssh-ed25519', 'ssh-ed25519'],
    ] as const;
    for (const [sigAlgs, algorithm, type] of cases) {
      const link = await at(chunking, [agentOver(chunking, agentOf(memoCrypto, [rsa, ed25519]))], sigAlgs);
      const shown = query(link);
      assert.equal(shown.algorithm, algorithm);
      assert.equal(parsePublicKey(shown.publicKey).type, type);
      await approve(link, shown);
      await accept(link);
    }
  },
);

scenario('a key that the agent does not sign with gives way to the next', async (chunking) => {
  const keys = agentOf(memoCrypto, [rsa, ed25519]);
  const agent: Agent = {
    identities: () => keys.identities(),
    sign: (blob, data, flags) => (hex(blob) === hex(rsa.publicKey.blob) ? undefined : keys.sign(blob, data, flags)),
  };
  const link = await at(chunking, [agentOver(chunking, agent)], 'rsa-sha2-512,ssh-ed25519');
  link.peer.send(encode(publicKeyAuth.ok, query(link)));
  await link.quiet();
  const shown = query(link);
  assert.equal(shown.algorithm, 'ssh-ed25519');
  await refuse(link, 'publickey');
  const { message } = await rejectsWith(link.now(link.connected), 'auth-failed');
  assert.match(message, /tried publickey ssh-rsa SHA256:\S+ of the agent \(the agent refused to sign\), publickey/);
});

scenario('the agent is not asked for a signature before the server has said yes', async (chunking) => {
  const keys = agentOf(memoCrypto, [ed25519]);
  let signatures = 0;
  const agent: Agent = {
    identities: () => keys.identities(),
    sign(blob, data, flags) {
      signatures++;
      return keys.sign(blob, data, flags);
    },
  };
  const link = await at(chunking, [agentOver(chunking, agent)]);
  query(link);
  await refuse(link, 'publickey');
  await rejectsWith(link.now(link.connected), 'auth-failed');
  assert.equal(signatures, 0);
});

scenario('the agent is told of the connection before it signs, and let go when the login is over', async (chunking) => {
  const keys = agentOf(memoCrypto, [ed25519]);
  const told: Reader[] = [];
  const agent: Agent = {
    identities: () => keys.identities(),
    sign: (blob, data, flags) => (told.length === 1 ? keys.sign(blob, data, flags) : undefined),
    other(type, body) {
      assert.equal(type, 27);
      told.push(new Reader(body));
      return undefined;
    },
  };
  for (const succeeds of [true, false]) {
    told.length = 0;
    const served: Promise<void>[] = [];
    const link = await at(chunking, [agentOver(chunking, agent, served)]);
    const shown = query(link);
    if (succeeds) {
      await approve(link, shown);
      const [body] = told;
      assert.equal(body?.name(), 'session-bind@openssh.com');
      const [hostKey, sessionId, signature] = [body.string(), body.string(), body.string()];
      assert.deepEqual([sessionId, body.bool(), body.remaining], [link.peer.sessionId, false, 0]);
      const { type } = parsePublicKey(hostKey);
      assert.equal(await verifySignature(memoCrypto, type, parsePublicKey(hostKey), sessionId, signature), true);
      await accept(link);
    } else {
      await refuse(link, 'password');
      await rejectsWith(link.now(link.connected), 'auth-failed');
      assert.equal(told.length, 0);
    }
    assert.equal(served.length, 1, 'one connection');
    await link.now(Promise.all(served));
  }
});

scenario('no more keys are asked about than the budget allows', async (chunking) => {
  const blobs = Array.from({ length: 10 }, (_, i) => new Writer().string('ssh-x').u8(i).finish());
  const agent: Agent = {
    identities: () => blobs.map((blob) => ({ blob, comment: '' })),
    sign: () => undefined,
  };
  const link = await at(chunking, [agentOver(chunking, agent)], undefined, { maxAuthFailures: 4 });
  for (let i = 0; i < 4; i++) {
    assert.equal(hex(query(link).publicKey), hex(blobs[i] as Uint8Array));
    await refuse(link, 'publickey,password');
  }
  const { message } = await rejectsWith(link.now(link.connected), 'auth-failed');
  assert.match(message, /stopped after 4 refused attempts \(maxAuthFailures\)$/);
});

scenario('a server that lets in whoever comes is left where a signature is required', async (chunking) => {
  for (const requireSignature of [true, false]) {
    const link = await at(chunking, [], undefined, { requireSignature });
    assert.equal(link.peer.take(userauth.request).method, 'none');
    link.peer.send(encode(userauth.success, {}));
    if (requireSignature) {
      const { message } = await rejectsWith(link.now(link.connected), 'auth-failed');
      assert.match(message, /^The server let "ada" in by none, without a signature/);
    } else {
      assert.deepEqual((await link.now(link.connected)).info.authMethods, ['none']);
    }
  }
});

scenario('a FAILURE behind SUCCESS costs nothing', async (chunking) => {
  const link = await at(chunking, [agentOver(chunking, agentOf(memoCrypto, [ed25519]))]);
  await approve(link, query(link));
  link.peer.send(encode(userauth.success, {}));
  await refuse(link, 'publickey');
  const ssh = await link.now(link.connected);
  const command = ssh.run('true');
  const channel = await link.channel();
  channel.takeRequest();
  channel.success();
  channel.exitStatus(0);
  channel.close();
  assert.equal((await link.now(command)).code, 0);
});
