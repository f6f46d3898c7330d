/**
 * The transcripts in `vectors/transcripts`: played again they are the same bit for bit, in every runtime; each side alone, hearing
 * what was recorded of the other, says what was recorded of it; and another implementation finds in them what they say.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { defaultCiphers } from '../../src/core/algorithms/cipher_order.ts';
import { sides } from '../support/pair.ts';
import { recorded } from '../support/recorded.ts';
import { root } from '../support/root.ts';
import { formatTranscript, type Step, type Transcript } from '../support/transcript.ts';

const folder = new URL('vectors/transcripts/', root);
const textOf = (name: string): string => readFileSync(new URL(`${name}.json`, folder), 'utf8');
const transcriptOf = (name: string): Transcript => JSON.parse(textOf(name)) as Transcript;

/** One bit of a step is another. */
function altered({ steps }: Transcript, index: number): Step[] {
  return steps.map((step, i) => {
    if (i !== index || !('bytes' in step)) return step;
    const last = Number.parseInt(step.bytes.slice(-1), 16) ^ 1;
    return { ...step, bytes: step.bytes.slice(0, -1) + last.toString(16) };
  });
}

describe('transcripts', () => {
  it('are as many as there are recorded sessions, each below 100 KB', () => {
    const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
    assert.deepEqual(files.sort(), recorded.map(({ name }) => `${name}.json`).sort());
    for (const { name } of recorded) assert.ok(textOf(name).length < 100_000, name);
  });

  it('hold every cipher, every method of logging in, and the messages of an ordinary life', () => {
    const all = recorded.map(({ name }) => transcriptOf(name));
    const used = new Set(all.map(({ algorithms }) => algorithms.toServer.cipher));
    assert.deepEqual(used, new Set(defaultCiphers(false)));
    const messages = new Set(all.flatMap(({ packets }) => packets.map(({ message }) => message)));
    for (const name of [
      ...['DISCONNECT', 'SERVICE_REQUEST', 'SERVICE_ACCEPT', 'EXT_INFO', 'KEXINIT', 'NEWKEYS'],
      ...['KEX_ECDH_INIT', 'KEX_ECDH_REPLY', 'USERAUTH_REQUEST', 'USERAUTH_FAILURE', 'USERAUTH_SUCCESS'],
      ...['USERAUTH_BANNER', 'USERAUTH_PASSWD_CHANGEREQ', 'USERAUTH_INFO_REQUEST', 'USERAUTH_INFO_RESPONSE'],
      ...['GLOBAL_REQUEST', 'REQUEST_SUCCESS', 'REQUEST_FAILURE', 'CHANNEL_OPEN', 'CHANNEL_OPEN_CONFIRMATION'],
      ...['CHANNEL_OPEN_FAILURE', 'CHANNEL_WINDOW_ADJUST', 'CHANNEL_DATA', 'CHANNEL_EXTENDED_DATA', 'CHANNEL_EOF'],
      ...['CHANNEL_CLOSE', 'CHANNEL_REQUEST', 'CHANNEL_SUCCESS'],
    ]) {
      assert.ok(messages.has(`SSH_MSG_${name}`), name);
    }
  });

  for (const { name, chunkings, record, replay } of recorded) {
    it(`${name}: played again it is the same bit for bit, twice`, async () => {
      const text = textOf(name);
      // the first difference says more than two long texts
      const compare = (other: string): void => {
        const lines = other.split('\n');
        for (const [i, line] of text.split('\n').entries()) assert.equal(lines[i], line, `line ${i + 1}`);
        assert.equal(other, text);
      };
      compare(formatTranscript(await record()));
      compare(formatTranscript(await elsewhere(record)));
    });

    for (const side of sides) {
      it(`${name}: the ${side} alone says the same to what the other one said`, async () => {
        const transcript = transcriptOf(name);
        for (const chunking of chunkings) await replay(transcript, side, chunking);
      });

      it(`${name}: the ${side} alone shows when a bit of the other one is changed, or of its own`, async () => {
        const transcript = transcriptOf(name);
        // in the last step of each, where the more of what is before has been taken as it is
        for (const from of sides) {
          const index = transcript.steps.findLastIndex(
            (step, i) => step.from === from && i < transcript.steps.length - 1,
          );
          const steps = altered(transcript, index);
          await assert.rejects(replay({ ...transcript, steps }, side, 'whole'), /what the|no more to say/);
        }
      });
    }
  }
});

/** Runs it at another time, with other randomness of the runtime: neither may matter. */
async function elsewhere<T>(run: () => Promise<T>): Promise<T> {
  const { now: date } = Date;
  const { now: monotonic } = performance;
  const { random } = Math;
  const { getRandomValues } = crypto;
  Date.now = () => date() + 12_345_678_901;
  performance.now = () => monotonic.call(performance) * 3 + 1e6;
  Math.random = () => 0.25;
  crypto.getRandomValues = (array) => {
    if (array instanceof Uint8Array) array.fill(7);
    return array;
  };
  try {
    return await run();
  } finally {
    Date.now = date;
    performance.now = monotonic;
    Math.random = random;
    crypto.getRandomValues = getRandomValues;
  }
}

// An independent reader: Python with OpenSSL.

const script = fileURLToPath(new URL('check.py', folder));

function python(...args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync('python3', args, { timeout: 120_000, encoding: 'utf8' });
  return { status, output: error === undefined ? `${stdout}${stderr}` : String(error) };
}

const hasPython = python('-c', 'import cryptography').status === 0;
// in CI the packages of the peers bring it
const skip = hasPython || process.env.CI ? false : 'python3 with the package cryptography is not installed';

describe('check.py', () => {
  it('gets the same secrets, hashes, keys and payloads, and verifies what is signed', { skip }, () => {
    const { status, output } = python(script);
    assert.equal(status, 0, output);
    for (const { name } of recorded)
      assert.match(output, new RegExp(`^${name}.json: right, \\d exchanges, \\d+ packets$`, 'm'));
  });

  it('notices any change', { skip }, () => {
    const scratch = mkdtempSync(join(tmpdir(), 'puressh-transcripts-'));
    try {
      const transcript = transcriptOf('curve25519_chacha20_publickey');
      const [exchange] = transcript.exchanges;
      const [first, ...others] = transcript.packets;
      const signed = transcript.packets.findIndex(({ payload }) => payload.includes(hexOf('publickey')));
      assert.ok(exchange !== undefined && first !== undefined && signed > 0);
      const step = transcript.steps.length - 1;
      const changes: Record<string, object> = {
        'a bit on the line': { steps: altered(transcript, step) },
        'a packet less': { packets: [first, ...others.slice(0, -1)] },
        'another payload': { packets: [...transcript.packets.slice(0, -1), { ...others.at(-1), payload: '01' }] },
        'another number': { packets: [{ ...first, sequence: 1 }, ...others] },
        'another hash': { exchanges: [{ ...exchange, exchangeHash: transcript.sessionId.replace(/^./, 'x') }] },
        'another key': { exchanges: [{ ...exchange, keys: { ...exchange.keys, C: exchange.keys.D } }] },
        'another seed': { client: { ...transcript.client, random: { ...transcript.client.random, seed: 'x' } } },
      };
      const files = Object.entries({ whole: {}, ...changes }).map(([what, change]) => {
        const file = join(scratch, `${what}.json`);
        writeFileSync(file, JSON.stringify({ ...transcript, ...change }));
        return file;
      });
      const { status, output } = python(script, ...files);
      assert.equal(status, 1, output);
      assert.match(output, /^whole.json: right/m);
      for (const what of Object.keys(changes)) assert.match(output, new RegExp(`^${what}.json: WRONG`, 'm'));
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
});

const hexOf = (text: string): string => Array.from(text, (char) => char.charCodeAt(0).toString(16)).join('');
