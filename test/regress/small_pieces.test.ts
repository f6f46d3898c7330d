/**
 * Peers that send byte by byte, as a program that flushes every character makes them: neither the number of pieces nor
 * the order of time in it may matter.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { join } from '../../src/bytes/bytes.ts';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { knownHostsIn } from '../../src/client/known_hosts_policy.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { ByteSource } from '../../src/io/byte_source.ts';
import type { LocalFile } from '../../src/io/local_files.ts';
import { FileSink } from '../../src/sftp/file_sink.ts';
import { ApiLink } from '../support/api_link.ts';

/** More than a call can take arguments in any runtime. */
const MANY = 150_000;

/** A byte that tells its place. */
const at = (index: number): number => (index * 7 + (index >> 8)) & 0xff;

function assertPlaces(bytes: Uint8Array, length: number): void {
  assert.equal(bytes.length, length);
  assert.equal(
    bytes.findIndex((byte, index) => byte !== at(index)),
    -1,
    'the first byte that is wrong',
  );
}

describe('join', () => {
  it('takes more parts than a call can take arguments', () => {
    assertPlaces(join(Array.from({ length: MANY }, (_, index) => Uint8Array.of(at(index)))), MANY);
  });
});

describe('ChunkQueue', () => {
  it('keeps single bytes in few arrays, and in order', () => {
    const queue = new ChunkQueue();
    for (let index = 0; index < MANY; index++) queue.push(Uint8Array.of(at(index)));
    const taken: Uint8Array[] = [];
    for (let some = queue.takeSome(MANY); some !== undefined; some = queue.takeSome(MANY)) taken.push(some);
    assertPlaces(join(taken), MANY);
    assert.ok(taken.length < 100, `${taken.length} arrays`);
  });

  it('never changes what it gave out, and keeps the order among chunks of all sizes', () => {
    const queue = new ChunkQueue();
    const sizes = [1, 3, 1500, 900, 40, 17_000, 2];
    const taken: { readonly bytes: Uint8Array; readonly copy: Uint8Array }[] = [];
    let pushed = 0;
    for (let step = 0; step < 3000; step++) {
      const chunk = Uint8Array.from({ length: sizes[(step * step) % sizes.length] as number }, () => at(pushed++));
      queue.push(chunk);
      if (step % 3 !== 0 || queue.length < 30_000) continue;
      const bytes = queue.take(1 + ((step * 31) % 20_000)) as Uint8Array;
      taken.push({ bytes, copy: bytes.slice() });
    }
    const rest = queue.takeAll();
    for (const { bytes, copy } of taken) assert.deepEqual(bytes, copy);
    assertPlaces(join([...taken.map(({ bytes }) => bytes), rest]), pushed);
  });
});

describe('ByteSource', () => {
  it('gives many small pieces that waited in few large ones, and all credit', async () => {
    let credit = 0;
    const source = new ByteSource((count) => {
      credit += count;
    });
    for (let index = 0; index < MANY; index++) source.push(Uint8Array.of(at(index)));
    source.end();
    const parts: Uint8Array[] = [];
    const reader = source.stream.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
    assertPlaces(join(parts), MANY);
    assert.ok(parts.length < 100, `${parts.length} reads`);
    assert.equal(credit, MANY);
  });
});

describe('FileSink', () => {
  it('gives a slow disk few large writes, and keeps what waits in few arrays', async () => {
    const content = new Uint8Array(MANY);
    const pieces: number[] = [];
    const file = {
      async write(parts: readonly Uint8Array[], position: number): Promise<void> {
        content.set(join(parts), position);
        pieces.push(parts.length);
        await new Promise<void>((resolve) => setTimeout(resolve, 1));
      },
    };
    const sink = new FileSink(file as LocalFile, { origin: 0 });
    let taken = 0;
    const finished = new Promise<void>((resolve, reject) => {
      sink.start({
        taken: (count) => {
          taken += count;
        },
        broken: reject,
        finished: resolve,
      });
    });
    for (let index = 0; index < MANY; index++) sink.data(index, Uint8Array.of(at(index)));
    sink.finish();
    await finished;
    assertPlaces(content, MANY);
    assert.equal(taken, MANY);
    assert.equal(sink.contiguous, MANY);
    // the first byte at once, then all that came meanwhile
    assert.ok(pieces.length < 10, `${pieces.length} writes`);
    assert.ok(pieces.every((count) => count === 1));
  });
});

describe('run', () => {
  it('keeps output that comes byte by byte', { timeout: 120_000 }, async () => {
    const link = new ApiLink('whole');
    const ssh = await link.login();
    const result = ssh.run('true');
    const channel = await link.channel();
    channel.takeRequest();
    channel.success();
    for (let index = 0; index < MANY; index++) {
      channel.push(Uint8Array.of(at(index)));
      if (index % 20_000 === 0) await link.quiet();
    }
    channel.exitStatus(0);
    channel.close();
    const { stdout, stderr, code } = await link.now(result);
    assert.equal(code, 0);
    assertPlaces(stdout, MANY);
    assert.equal(stderr.length, 0);
  });
});

describe('knownHostsIn', () => {
  it('takes a file of more lines than a call can take arguments', async () => {
    const digits = 'AAAAC3NzaC1lZDI1NTE5AAAAIK7XLVsEn8CCzgwELJBmn8XCK+/GeO16UCUWzdW0vYPO';
    const text = `host ssh-ed25519 ${digits}\n`.repeat(MANY);
    const file = { name: 'known_hosts', read: async () => text, append: async () => {} };
    assert.deepEqual(await knownHostsIn([file]).preferredKeyTypes?.('host', 22, pureProvider), ['ssh-ed25519']);
  });
});
