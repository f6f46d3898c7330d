import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Agent } from '../../src/agent/agent.ts';
import { AgentClient } from '../../src/agent/client.ts';
import { agentOf } from '../../src/agent/keys.ts';
import { serveAgent } from '../../src/agent/server.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { SshError } from '../../src/errors.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { streamsFromPipe } from '../../src/io/streams.ts';
import { certified, signCertificate } from '../../src/keys/certificate.ts';
import { signerOf } from '../../src/keys/private_key.ts';
import { plainAlgorithm, verifySignature } from '../../src/keys/signature.ts';
import { chunkings, cut } from '../support/feed.ts';
import { HandPipe } from '../support/hand_pipe.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { seededRandom } from '../support/random.ts';
import { testKey } from '../support/test_keys.ts';
import { FAILURE, frame, identities, string, turns, uint32 } from './scripted_agent.ts';

const DATA = utf8('data');
const KEY = utf8('KEY');

const ed25519 = testKey('ssh-ed25519', 'user');
const rsa = testKey('ssh-rsa', 'user');
const ecdsa = testKey('ecdsa-sha2-nistp384', 'user');

/** An agent with one key, which signs with what it was asked for. */
const plain: Agent = {
  identities: () => [{ blob: KEY, comment: 'comment' }],
  sign: (blob, data, flags) => (hex(blob) === hex(KEY) ? utf8(`${hex(data)} ${flags}`) : undefined),
};

/** Says `messages` to an agent; what it answered, message by message. */
async function answers(agent: Agent, ...messages: readonly string[]): Promise<string[]> {
  const pipe = new HandPipe();
  serveAgent(pipe, agent);
  pipe.deliver(fromHex(messages.map(frame).join('')));
  await turns();
  assert.equal(pipe.givenBack, pipe.delivered);
  return pipe.written.map((bytes) => hex(bytes.subarray(4)));
}

const sign = (blob: Uint8Array, flags: number): string => `0d${string(blob)}${string(DATA)}${uint32(flags)}`;
const signed = (text: string): string => `0e${string(text)}`;

describe('serveAgent', () => {
  it('answers RFC 9987 §3.5 and §3.6, in order', async () => {
    assert.deepEqual(await answers(plain, '0b', sign(KEY, 4), sign(utf8('ANOTHER'), 0), '0b'), [
      identities([KEY, 'comment']),
      signed(`${hex(DATA)} 4`),
      FAILURE,
      identities([KEY, 'comment']),
    ]);
  });

  it('refuses what it does not know, and what is malformed, and goes on', async () => {
    const refused = ['00', 'ff', '11', '1b', '1300', '0d', '0d000000', sign(KEY, 0).slice(0, -2), `${sign(KEY, 0)}00`];
    const said = await answers(plain, ...refused, '0b');
    assert.deepEqual(said, [...refused.map(() => FAILURE), identities([KEY, 'comment'])]);
  });

  it('takes a request to sign without flags', async () => {
    assert.deepEqual(await answers(plain, sign(KEY, 0).slice(0, -8)), [signed(`${hex(DATA)} 0`)]);
  });

  it('asks the agent about other requests, and answers with what it gives', async () => {
    const agent: Agent = { ...plain, other: (type, body) => (type === 0x13 ? Uint8Array.of(6, ...body) : undefined) };
    assert.deepEqual(await answers(agent, '13abcd', '12'), ['06abcd', FAILURE]);
  });

  it('answers FAILURE for an agent that throws, and tells what', async () => {
    const told: SshError[] = [];
    const agent: Agent = {
      identities: () => Promise.reject(new Error('no list')),
      sign: () => {
        throw new SshError('agent-failed', 'no touch');
      },
    };
    const pipe = new HandPipe();
    const onError = (error: SshError): void => {
      told.push(error);
      throw error;
    };
    serveAgent(pipe, agent, { onError });
    pipe.deliver(fromHex(frame('0b') + frame(sign(KEY, 0))));
    await turns();
    assert.deepEqual(
      pipe.written.map(hex),
      [FAILURE, FAILURE].map((message) => frame(message)),
    );
    assert.deepEqual(
      told.map(({ code, message }) => [code, message]),
      [
        ['agent-failed', 'no list'],
        ['agent-failed', 'no touch'],
      ],
    );
  });

  it('answers FAILURE where the answer would be longer than a message may be', async () => {
    const long = new Uint8Array(256 * 1024);
    const agent: Agent = { identities: () => [{ blob: long, comment: '' }], sign: () => long };
    assert.deepEqual(await answers(agent, '0b', sign(KEY, 0)), [FAILURE, FAILURE]);
  });

  it('closes a pipe whose peer announces a message that cannot be', async () => {
    for (const length of ['00000000', 'ffffffff', uint32(256 * 1024 + 1)]) {
      const pipe = new HandPipe();
      serveAgent(pipe, plain);
      pipe.deliver(fromHex(`${length}0b`));
      await turns();
      assert.equal((pipe.closedWith as SshError).code, 'limit', length);
      assert.deepEqual(pipe.written, []);
    }
  });

  it('answers one message after the other, and holds back who says more', async () => {
    const waiting: ((signature: Uint8Array) => void)[] = [];
    const agent: Agent = { ...plain, sign: () => new Promise((resolve) => waiting.push(resolve)) };
    const pipe = new HandPipe();
    serveAgent(pipe, agent);
    const large = fromHex(frame(`ff${'00'.repeat(200_000)}`));
    pipe.deliver(fromHex(frame(sign(KEY, 0))), fromHex(frame(sign(KEY, 0))));
    for (let i = 0; i < 10; i++) pipe.deliver(large);
    await turns();
    assert.equal(waiting.length, 1);
    assert.ok(pipe.delivered - pipe.givenBack > 1_500_000, 'it is not given back while it waits');
    waiting[0]?.(utf8('first'));
    await turns();
    assert.deepEqual([pipe.written.length, waiting.length], [1, 2]);
    assert.ok(pipe.delivered - pipe.givenBack > 1_500_000, 'nor while the next one does');
    waiting[1]?.(utf8('second'));
    await turns();
    assert.deepEqual([pipe.written.length, pipe.givenBack], [12, pipe.delivered]);
  });

  it('waits for room before it answers the next', async () => {
    const pipe = new HandPipe();
    pipe.room = false;
    serveAgent(pipe, plain);
    pipe.deliver(fromHex(frame('0b')), fromHex(frame('0b')));
    await turns();
    assert.equal(pipe.written.length, 1);
    pipe.drain();
    await turns();
    assert.equal(pipe.written.length, 2);
  });

  it('answers what came before the end, ends, and resolves when the pipe is closed', async () => {
    const pipe = new HandPipe();
    let done = false;
    serveAgent(pipe, plain).then(() => {
      done = true;
    });
    pipe.deliver(fromHex(frame('0b') + frame('0b')));
    pipe.sink?.end();
    await turns();
    assert.deepEqual([pipe.written.length, pipe.ends, done], [2, 1, false]);
    pipe.sink?.closed(undefined);
    await turns();
    assert.equal(done, true);
  });
});

describe('agentOf', () => {
  const keys = agentOf(memoCrypto, [ed25519, signerOf(memoCrypto, rsa), ecdsa]);

  for (const chunking of chunkings) {
    it(`signs with every key for our client (${chunking})`, async () => {
      const random = seededRandom(chunking);
      const [near, far] = memoryPipes({ chunk: (bytes) => cut(bytes, chunking, random) });
      const served = serveAgent(streamsFromPipe(far), keys);
      const client = new AgentClient(() => Promise.resolve(near));
      const signers = await client.signers();
      assert.deepEqual(
        signers.map(({ publicKey }) => hex(publicKey)),
        [ed25519, rsa, ecdsa].map(({ publicKey }) => hex(publicKey.blob)),
      );
      for (const [index, { publicKey }] of [ed25519, rsa, ecdsa].entries()) {
        for (const algorithm of signers[index]?.algorithms ?? []) {
          if (algorithm === 'ssh-rsa') continue;
          const signature = (await signers[index]?.sign(DATA, algorithm)) ?? assert.fail();
          assert.equal(await verifySignature(memoCrypto, algorithm, publicKey, DATA, signature), true, algorithm);
        }
      }
      client.close();
      await served;
    });
  }

  it('signs with RSA by SHA-2 only, and refuses flags that it does not know', () => {
    const name = (flags: number): string | undefined => {
      const signature = keys.sign(rsa.publicKey.blob, DATA, flags) as Uint8Array | undefined;
      return signature && new TextDecoder().decode(signature.subarray(4, 16));
    };
    assert.deepEqual([0, 2, 4, 6, 1, 5, 0x80000004].map(name), [
      undefined,
      'rsa-sha2-256',
      'rsa-sha2-512',
      'rsa-sha2-512',
      undefined,
      undefined,
      undefined,
    ]);
    assert.equal(keys.sign(utf8('stranger'), DATA, 0), undefined);
    assert.equal(keys.sign(ed25519.publicKey.blob, DATA, 1), undefined);
  });

  it('shows a certificate in place of its key, and signs with that', async () => {
    const signer = signerOf(memoCrypto, rsa);
    const request = { key: rsa.publicKey, kind: 'user', keyId: 'ada', principals: ['ada'] } as const;
    const certificate = await signCertificate(
      memoCrypto,
      signerOf(memoCrypto, ed25519),
      request,
      seededRandom('certificate'),
    );
    const agent = agentOf(memoCrypto, [certified(signer, certificate)]);
    assert.deepEqual(await agent.identities(), [{ blob: certificate.blob, comment: rsa.comment }]);
    const signature = (await agent.sign(certificate.blob, DATA, 2)) ?? assert.fail();
    assert.equal(await verifySignature(memoCrypto, 'rsa-sha2-256', rsa.publicKey, DATA, signature), true);
    assert.equal(plainAlgorithm('rsa-sha2-256-cert-v01@openssh.com'), 'rsa-sha2-256');
    assert.equal(await agent.sign(rsa.publicKey.blob, DATA, 2), undefined, 'the key alone is not listed');
  });
});
