/** Iterators and Web Streams of a session. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { SshError } from '../../src/errors.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { chunkings } from '../support/feed.ts';
import { orders, patterned, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';

const BYTES = patterned(700_001);

async function setUp(script: Script = {}): Promise<{ readonly server: ScriptedSftp; readonly client: SftpClient }> {
  const server = new ScriptedSftp(script).add('/f', BYTES);
  return { server, client: await SftpClient.open(server) };
}

async function assertClean(server: ScriptedSftp, client: SftpClient): Promise<void> {
  await client.stat('/f');
  assert.equal(server.openHandles.size, 0, 'remote handles');
  assert.equal(server.unconsumed, 0, 'bytes not given back');
  assert.equal(server.overruns, 0);
  await client.close();
}

async function all(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts = new ChunkQueue();
  for await (const chunk of chunks) parts.push(chunk);
  return parts.takeAll();
}

describe('chunks', () => {
  for (const chunking of chunkings) {
    it(`yields the file in order, whatever the order of the answers: ${chunking}`, async () => {
      const { server, client } = await setUp({ chunking, order: orders.dribble });
      const end = chunking === 'bytes' ? 100_000 : undefined; // so many single bytes take their time
      assert.ok(equalBytes(await all(client.chunks('/f', { end })), BYTES.subarray(0, end)));
      await assertClean(server, client);
    });
  }

  it('yields a range', async () => {
    const { server, client } = await setUp({ order: orders.random });
    assert.ok(
      equalBytes(await all(client.chunks('/f', { start: 100_000, end: 300_000 })), BYTES.subarray(100_000, 300_000)),
    );
    assert.ok(equalBytes(await all(client.chunks('/f', { start: 700_000 })), BYTES.subarray(700_000)));
    assert.equal((await all(client.chunks('/f', { start: 800_000 }))).length, 0);
    assert.equal((await all(client.chunks('/f', { start: 5, end: 5 }))).length, 0);
    assert.ok(!server.log.some((line) => line.startsWith('READ 3000')));
    await assert.rejects(all(client.chunks('/f', { start: 5, end: 4 })), { code: 'bad-argument' });
    await assertClean(server, client);
  });

  it('yields what is sure before it throws', async () => {
    const { server, client } = await setUp({
      order: orders.random,
      read: ({ offset }) => (offset === 98304 ? 4 : 'honest'),
    });
    const parts: Uint8Array[] = [];
    await assert.rejects(
      (async () => {
        for await (const chunk of client.chunks('/f')) parts.push(chunk);
      })(),
      { code: 'sftp-status', transferred: 98304 },
    );
    assert.ok(equalBytes(concat(...parts), BYTES.subarray(0, 98304)));
    await assertClean(server, client);
  });

  it('a loop that is left ends the transfer and closes the file', async () => {
    const { server, client } = await setUp({ order: orders.dribble });
    for await (const chunk of client.chunks('/f')) if (chunk.length > 0) break;
    await assertClean(server, client);
  });

  it('an unread iterator holds the server back, and nobody else', async () => {
    const window = 128 * 1024;
    const { server, client } = await setUp({ window });
    const held = client.chunks('/f');
    const first = await held.next();
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.ok(server.unconsumed > window / 4 && server.unconsumed <= window);
    assert.equal((await client.stat('/f')).size, BYTES.length);
    assert.ok(equalBytes(await client.readFile('/f'), BYTES));
    assert.ok(equalBytes(concat(first.value as Uint8Array, await all(held)), BYTES));
    await assertClean(server, client);
  });

  it('many files read in step, in a small window, do not wait for each other', { timeout: 30_000 }, async () => {
    const { server, client } = await setUp({ window: 128 * 1024, order: orders.random });
    const readers = Array.from({ length: 12 }, () => client.chunks('/f'));
    const parts: Uint8Array[][] = readers.map(() => []);
    for (let open = readers.length; open > 0; ) {
      open = 0;
      for (const [i, reader] of readers.entries()) {
        const next = await reader.next();
        if (next.done) continue;
        open++;
        parts[i]?.push(next.value);
      }
    }
    for (const pieces of parts) assert.ok(equalBytes(concat(...pieces), BYTES));
    await assertClean(server, client);
  });
});

describe('readable', () => {
  it('is the file, and closes it at the end', async () => {
    const { server, client } = await setUp({ order: orders.random });
    assert.ok(equalBytes(new Uint8Array(await new Response(client.readable('/f')).arrayBuffer()), BYTES));
    await assertClean(server, client);
  });

  it('fails as a read does', async () => {
    const { server, client } = await setUp({ read: ({ offset }) => (offset >= 98304 ? 4 : 'honest') });
    await assert.rejects(new Response(client.readable('/f')).arrayBuffer(), {
      code: 'sftp-status',
      transferred: 98304,
    });
    await assert.rejects(client.readable('/none').getReader().read(), { code: 'sftp-status', status: 2 });
    await assertClean(server, client);
  });

  it('cancel ends the transfer and closes the file, at any time', async () => {
    const { server, client } = await setUp();
    await client.readable('/f').cancel();
    const reader = client.readable('/f').getReader();
    await reader.read();
    await reader.cancel();
    await client.stat('/f'); // the first OPEN is answered by now, and its CLOSE on the way
    await assertClean(server, client);
  });

  it('asks for nothing more while nobody reads', async () => {
    const { server, client } = await setUp({ window: 64 * 1024 });
    const reader = client.readable('/f').getReader();
    await reader.read();
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.ok(server.unconsumed <= 64 * 1024);
    const asked = server.log.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(server.log.length, asked);
    await reader.cancel();
    await assertClean(server, client);
  });
});

describe('writable', () => {
  async function write(client: SftpClient, size: number, options = {}): Promise<void> {
    const writer = client.writable('/w', options).getWriter();
    writer.closed.catch(() => undefined);
    for (let at = 0; at < BYTES.length; at += size) {
      await writer.ready;
      await writer.write(BYTES.slice(at, at + size));
    }
    await writer.close();
  }

  for (const size of [999, 40_000, 700_001]) {
    it(`writes chunks of ${size}, and closes when all is acknowledged`, async () => {
      const { server, client } = await setUp({ order: orders.dribble });
      await write(client, size);
      assert.ok(equalBytes(server.files.get('/w')?.bytes as Uint8Array, BYTES));
      assert.equal(server.openHandles.size, 0);
      await assertClean(server, client);
    });
  }

  it('has copied a chunk when the write has resolved', async () => {
    for (const buffer of [new Uint8Array(1000), Buffer.alloc(1000)]) {
      const { server, client } = await setUp();
      const writer = client.writable('/w').getWriter();
      for (let at = 0; at < BYTES.length; at += buffer.length) {
        const piece = buffer.subarray(0, BYTES.length - at);
        piece.set(BYTES.subarray(at, at + buffer.length));
        await writer.write(piece);
      }
      await writer.close();
      assert.ok(equalBytes(server.files.get('/w')?.bytes as Uint8Array, BYTES), buffer.constructor.name);
      await assertClean(server, client);
    }
  });

  it('writes from a position on, into what is there', async () => {
    const { server, client } = await setUp();
    server.add('/w', new Uint8Array(10).fill(1));
    const writer = client.writable('/w', { start: 8, flags: 'r+' }).getWriter();
    await writer.write(new Uint8Array([2, 2, 2, 2]));
    await writer.close();
    assert.deepEqual(server.files.get('/w')?.bytes, new Uint8Array([1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2]));
    await assertClean(server, client);
  });

  it('fails when a WRITE, OPEN or CLOSE is refused', async () => {
    const refusing = await setUp({ write: ({ index }) => (index === 2 ? 4 : 'honest') });
    await assert.rejects(write(refusing.client, 40_000), { code: 'sftp-status', operation: 'write' });
    await assertClean(refusing.server, refusing.client);
    const closed = await setUp({ request: (name) => (name === 'CLOSE' ? 4 : 'honest') });
    await assert.rejects(write(closed.client, 40_000), { code: 'sftp-status', operation: 'close' });
    await closed.client.close();
    const { server, client } = await setUp();
    await assert.rejects(write(client, 40_000, { flags: 'r' as const }), { code: 'sftp-status', operation: 'open' });
    await assertClean(server, client);
  });

  it('abort ends it and closes the file', async () => {
    const { server, client } = await setUp();
    const writer = client.writable('/w').getWriter();
    await writer.write(new Uint8Array(100_000));
    await writer.abort(new Error('enough'));
    await assert.rejects(writer.closed);
    await assertClean(server, client);
  });

  it('refuses chunks that are not bytes', async () => {
    const { server, client } = await setUp();
    const writer = client.writable('/w').getWriter();
    writer.closed.catch(() => undefined);
    await assert.rejects(
      writer.write('text' as unknown as Uint8Array),
      (error) => error instanceof SshError && error.code === 'bad-argument',
    );
    await client.stat('/f');
    await client.close();
    void server;
  });

  it('holds the writer back while the server does not acknowledge', async () => {
    const { client } = await setUp({ write: () => 'silence' });
    const writer = client.writable('/w').getWriter();
    writer.closed.catch(() => undefined);
    let accepted = 0;
    const writing = (async () => {
      for (;;) {
        await writer.write(new Uint8Array(100_000));
        accepted += 100_000;
      }
    })().catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(accepted > 4 * 1024 * 1024 && accepted < 6 * 1024 * 1024, `${accepted}`);
    await client.close();
    await writing;
  });
});
