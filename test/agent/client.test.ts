import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AgentClient } from '../../src/agent/client.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { SshError } from '../../src/errors.ts';
import type { PipeSink } from '../../src/io/pipe.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { chunkings } from '../support/feed.ts';
import { HandPipe } from '../support/hand_pipe.ts';
import { rejectsWith } from '../support/rejects.ts';
import { AgentScript, FAILURE, frame, identities, SUCCESS, string, uint32 } from './scripted_agent.ts';

const blob = (type: string): Uint8Array => new Writer().string(type).string('rest').finish();

const SK = 'sk-ssh-ed25519@openssh.com';
const RSA_CERT = 'ssh-rsa-cert-v01@openssh.com';
const UNKNOWN = 'ssh-dilithium@example.org';
const LIST = identities(
  [blob(SK), 'touch me'],
  [blob(RSA_CERT), 'a certificate'],
  [blob(UNKNOWN), 'who knows'],
  [blob('ssh-ed25519'), ''],
);

const DATA = utf8('data');

/** The signers of an agent that lists `list`, and the script. */
async function signersOf(list: string): Promise<{ script: AgentScript; signers: readonly Signer[] }> {
  const script = new AgentScript();
  const signers = script.client.signers();
  const end = await script.end();
  await end.take();
  end.say(list);
  return { script, signers: await signers };
}

describe('AgentClient, listing,', () => {
  for (const chunking of chunkings) {
    it(`gives every key, of whatever type, in order (${chunking})`, async () => {
      const script = new AgentScript(chunking);
      const listed = script.client.identities();
      const end = await script.end();
      assert.equal(await end.take(), '0b');
      end.say(LIST);
      assert.deepEqual(
        (await listed).map(({ blob, comment }) => [hex(blob.subarray(4, 11)), comment]),
        [
          [hex(utf8('sk-ssh-')), 'touch me'],
          [hex(utf8('ssh-rsa')), 'a certificate'],
          [hex(utf8('ssh-dil')), 'who knows'],
          [hex(utf8('ssh-ed2')), ''],
        ],
      );
    });
  }

  it('gives nothing where the agent has nothing', async () => {
    const script = new AgentScript();
    const listed = script.client.identities();
    (await script.end()).say('0c00000000');
    assert.deepEqual(await listed, []);
  });

  it('refuses what is no list, and asks over another connection then', async () => {
    const wrong: readonly (readonly [said: string, why: RegExp])[] = [
      [SUCCESS, /answered message 6 to the request for its keys/],
      [FAILURE, /answered FAILURE to the request for its keys/],
      ['0e00000000', /answered message 14/],
      ['0c', /malformed: Truncated/],
      ['0c00000001', /malformed: Truncated/],
      ['0cffffffff', /lists 4294967295 keys; 2048 are allowed/],
      [`0c${uint32(2049)}`, /lists 2049 keys; 2048 are allowed/],
      [`0c0000000100000004`, /malformed: Truncated/],
      [`${LIST}00`, /malformed: 1 bytes too many/],
      [`0c00000001ffffffff${'00'.repeat(40)}`, /malformed: Truncated/],
    ];
    for (const [said, why] of wrong) {
      const script = new AgentScript();
      const listed = script.client.identities();
      const end = await script.end();
      end.say(said);
      assert.match((await rejectsWith(listed, 'agent-failed')).message, why);
      const again = script.client.identities();
      assert.notEqual(await script.end(), end, said);
      (await script.end()).say('0c00000000');
      assert.deepEqual(await again, []);
    }
  });

  it('bears a length that nobody can mean without making room for it', async () => {
    for (const length of ['ffffffff', '00000000', uint32(256 * 1024 + 1)]) {
      const script = new AgentScript();
      const listed = script.client.identities();
      const end = await script.end();
      end.raw(`${length}0c0000`);
      const { message } = await rejectsWith(listed, 'agent-failed');
      assert.match(message, /^No answer of the agent: A message of the agent protocol has 1 to 262144 bytes, not \d+$/);
      await script.end();
      assert.equal(end.closed, true);
    }
  });

  it('bears any byte of the answer changed: a list, or an error of its own', async () => {
    const whole = fromHex(frame(LIST));
    const outcomes = new Set<string>();
    for (let at = 0; at < whole.length; at++) {
      for (const change of [0x04, 0xff]) {
        const script = new AgentScript();
        const listed = script.client.signers().then(
          () => 'signers',
          (error) => (error instanceof SshError ? error.code : String(error)),
        );
        const end = await script.end();
        const damaged = whole.slice();
        damaged[at] = (damaged[at] as number) ^ change;
        end.raw(hex(damaged));
        end.close(); // what says that it is longer than it is waits for more
        outcomes.add(await listed);
      }
    }
    assert.deepEqual([...outcomes].sort(), ['agent-failed', 'signers']);
  });

  it('takes the longest message that there may be', async () => {
    const script = new AgentScript();
    const listed = script.client.identities();
    const rest = 256 * 1024 - 1 - 4 - 4 - 4;
    const key = new Uint8Array(rest).fill(7);
    const end = await script.end();
    end.say(identities([key, '']));
    assert.equal((await listed)[0]?.blob.length, rest);
  });

  it('gives the agent thirty seconds', async () => {
    const script = new AgentScript();
    const listed = script.client.identities();
    listed.catch(() => {});
    await script.clock.pass(29_999);
    assert.equal(script.clock.timers, 1);
    await script.clock.pass(1);
    assert.match((await rejectsWith(listed, 'agent-failed')).message, /did not answer within 30000 ms$/);
    assert.equal(script.clock.timers, 0);
  });
});

describe('AgentClient, signing,', () => {
  it('asks as RFC 9987 §3.6 says, without a limit of time', async () => {
    const script = new AgentScript();
    const signed = script.client.sign(blob('ssh-rsa'), DATA, 4);
    const end = await script.end();
    assert.equal(await end.take(), `0d${string(blob('ssh-rsa'))}${string(DATA)}00000004`);
    await script.clock.pass(3_600_000);
    end.say(`0e${string('SIG')}`);
    assert.equal(hex((await signed) ?? new Uint8Array(0)), hex(utf8('SIG')));
  });

  it('asks nothing that is longer than an agent takes', async () => {
    const script = new AgentScript();
    const room = 256 * 1024 - 1 - 4 - 1 - 4 - 4;
    await rejectsWith(script.client.sign(utf8('K'), new Uint8Array(room + 1), 0), 'bad-argument');
    const signed = script.client.sign(utf8('K'), new Uint8Array(room), 0);
    (await script.end()).say(FAILURE);
    assert.equal(await signed, undefined);
    assert.equal(script.ends.length, 1);
  });

  it('gives nothing where the agent does not sign', async () => {
    const script = new AgentScript();
    const signed = script.client.sign(blob('ssh-rsa'), DATA, 0);
    (await script.end()).say(FAILURE);
    assert.equal(await signed, undefined);
  });

  it('refuses what is no signature', async () => {
    for (const said of [SUCCESS, '0c00000000', '0e', '0e00000009aa', `0e${string('SIG')}00`]) {
      const script = new AgentScript();
      const signed = script.client.sign(blob('ssh-rsa'), DATA, 0);
      (await script.end()).say(said);
      await rejectsWith(signed, 'agent-failed');
    }
  });

  it('asks one thing after the other, over one connection', async () => {
    const script = new AgentScript();
    const first = script.client.sign(blob('a'), DATA, 0);
    const second = script.client.sign(blob('b'), DATA, 0);
    const end = await script.end();
    assert.equal(await end.take(), `0d${string(blob('a'))}${string(DATA)}00000000`);
    assert.equal(await end.quiet(), true);
    end.say(FAILURE);
    assert.equal(await first, undefined);
    assert.equal(await end.take(), `0d${string(blob('b'))}${string(DATA)}00000000`);
    end.say(`0e${string('B')}`);
    assert.equal(hex((await second) ?? new Uint8Array(0)), hex(utf8('B')));
    assert.equal(script.ends.length, 1);
  });

  it('fails what waits for an agent that goes, and connects anew for the next', async () => {
    const script = new AgentScript();
    const first = script.client.identities();
    const next = script.client.identities();
    const end = await script.end();
    end.raw(frame(LIST).slice(0, 40));
    end.close();
    assert.match((await rejectsWith(first, 'agent-failed')).message, /^No answer of the agent: it closed the conn/);
    (await script.end()).say(LIST);
    assert.equal((await next).length, 4);
    assert.equal(script.ends.length, 2);
  });

  it('fails at once where the connection is at its end already when it is there, or before it is used', async () => {
    const gone: Record<string, (sink: PipeSink) => void> = {
      'closed in open': (sink) => sink.closed(undefined),
      'ended in open': (sink) => sink.end(),
      'ended just after': (sink) => void Promise.resolve().then(() => sink.end()),
    };
    for (const [what, go] of Object.entries(gone)) {
      const pipe = new (class extends HandPipe {
        override open(sink: PipeSink): void {
          super.open(sink);
          go(sink);
        }
      })();
      const client = new AgentClient(async () => pipe);
      const error = await rejectsWith(client.sign(blob(SK), DATA, 0), 'agent-failed');
      assert.match(error.message, /it closed the connection/, what);
    }
  });

  it('drops an agent that speaks unasked, or twice', async () => {
    const script = new AgentScript();
    const listed = script.client.identities();
    const end = await script.end();
    end.raw(frame(LIST) + frame(FAILURE));
    assert.equal((await listed).length, 4);
    await script.end();
    assert.equal(end.closed, true);
  });

  it('says when the agent cannot be reached, and once this side has closed', async () => {
    const reason = new SshError('connect-failed', 'Cannot connect to /nowhere: nothing is there');
    const client = new AgentClient(() => Promise.reject(reason));
    const error = await rejectsWith(client.identities(), 'agent-failed');
    assert.equal(error.message, 'Cannot reach the agent: Cannot connect to /nowhere: nothing is there');
    const script = new AgentScript();
    const pending = script.client.sign(blob('a'), DATA, 0);
    const queued = script.client.identities();
    const end = await script.end();
    script.client.close();
    for (const each of [pending, queued, script.client.identities()]) await rejectsWith(each, 'agent-failed');
    await script.end();
    assert.deepEqual([end.closed, script.ends.length], [true, 1]);
  });
});

describe('signers of an agent', () => {
  it('are there for every key, known or not', async () => {
    const { signers } = await signersOf(LIST);
    assert.deepEqual(
      signers.map(({ keyType, algorithms, queryFirst }) => [keyType, algorithms[0], queryFirst]),
      [
        [SK, SK, true],
        [RSA_CERT, 'rsa-sha2-512-cert-v01@openssh.com', true],
        [UNKNOWN, UNKNOWN, true],
        ['ssh-ed25519', 'ssh-ed25519', true],
      ],
    );
    assert.deepEqual(signers[2]?.algorithms, [UNKNOWN]);
    assert.equal(signers[1]?.algorithms.at(-1), 'ssh-rsa-cert-v01@openssh.com', 'SHA-1 comes last');
  });

  it('leave out what is no key at all', async () => {
    const { signers } = await signersOf(identities([fromHex('ffffffff'), 'bad'], [blob('ssh-ed25519'), 'good']));
    assert.deepEqual(
      signers.map(({ comment }) => comment),
      ['good'],
    );
  });

  it('ask for RSA signatures with SHA-2 by flags, and for others with none', async () => {
    const list = identities(
      [blob('ssh-rsa'), ''],
      [blob(RSA_CERT), ''],
      [blob('ssh-ed25519'), ''],
      [blob(UNKNOWN), ''],
    );
    const cases: readonly (readonly [number, string, string, string])[] = [
      [0, 'rsa-sha2-512', '00000004', 'rsa-sha2-512'],
      [0, 'rsa-sha2-256', '00000002', 'rsa-sha2-256'],
      [0, 'ssh-rsa', '00000000', 'ssh-rsa'],
      [1, 'rsa-sha2-512-cert-v01@openssh.com', '00000004', 'rsa-sha2-512'],
      [1, 'rsa-sha2-256-cert-v01@openssh.com', '00000002', 'rsa-sha2-256'],
      [2, 'ssh-ed25519', '00000000', 'ssh-ed25519'],
      [3, UNKNOWN, '00000000', 'whatever@example.org'],
    ];
    for (const [index, algorithm, flags, made] of cases) {
      const { script, signers } = await signersOf(list);
      const signer = signers[index] as Signer;
      const signed = signer.sign(DATA, algorithm);
      const end = await script.end();
      assert.equal(await end.take(), `0d${string(signer.publicKey)}${string(DATA)}${flags}`);
      const signature = new Writer().string(made).string('S').finish();
      end.say(`0e${string(signature)}`);
      assert.equal(hex(await signed), hex(signature));
    }
  });

  it('give out no signature by another algorithm than was asked for, such as the SHA-1 of an old agent', async () => {
    const wrong: readonly (readonly [string, RegExp])[] = [
      [
        string(new Writer().string('ssh-rsa').string('S').finish()),
        /asked for a signature by rsa-sha2-512 and gave ssh-rsa$/,
      ],
      [string('\x00\x00'), /gave something malformed$/],
    ];
    for (const [signature, why] of wrong) {
      const { script, signers } = await signersOf(identities([blob('ssh-rsa'), '']));
      const signed = Promise.resolve((signers[0] as Signer).sign(DATA, 'rsa-sha2-512'));
      (await script.end()).say(`0e${signature}`);
      assert.match((await rejectsWith(signed, 'agent-failed')).message, why);
    }
  });

  it('say that the agent refused', async () => {
    const { script, signers } = await signersOf(LIST);
    const signed = Promise.resolve((signers[3] as Signer).sign(DATA, 'ssh-ed25519'));
    (await script.end()).say(FAILURE);
    assert.equal((await rejectsWith(signed, 'agent-failed')).message, 'the agent refused to sign');
  });
});
