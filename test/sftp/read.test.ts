/** The read scheduler against a server in memory that answers as it likes. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import type { ReadFileOptions } from '../../src/sftp/client.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { chunkings, drawBelow } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';
import { orders, patterned, reply, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const KIB = 1024;

async function read(
  script: Script,
  bytes: Uint8Array,
  options: ReadFileOptions = {},
): Promise<{ readonly server: ScriptedSftp; readonly result: Uint8Array | SshError }> {
  const server = new ScriptedSftp(script).add('/f', bytes);
  const client = await SftpClient.open(server);
  const result = await client.readFile('/f', options).catch((error: SshError) => error);
  if (client.cause === undefined) await client.stat('/f'); // everything before is answered by then
  assert.equal(server.openHandles.size, client.cause === undefined ? 0 : 1, 'open handles');
  if (client.cause === undefined) assert.equal(server.unconsumed, 0, 'every byte was given back');
  await client.close();
  return { server, result };
}

function assertWhole(result: Uint8Array | SshError, bytes: Uint8Array): void {
  if (!(result instanceof Uint8Array)) throw result;
  assert.equal(result.length, bytes.length);
  assert.ok(equalBytes(result, bytes));
}

const reads = (server: ScriptedSftp): string[] => server.log.filter((line) => line.startsWith('READ '));

describe('readFile with short answers (T01)', () => {
  const bytes = patterned(1024 * KIB + 7);
  for (const chunking of chunkings) {
    for (const requests of chunking === 'bytes' ? [8] : [1, 8, 128]) {
      it(`is whole when each READ of n gets 1 to n bytes: ${requests} requests, ${chunking}`, async () => {
        const random = seededRandom(`short ${requests}`);
        const { result, server } = await read(
          {
            chunking,
            read: (_, honest) =>
              typeof honest === 'number' ? honest : honest.slice(0, 1 + drawBelow(random, honest.length)),
          },
          bytes,
          { requests },
        );
        assertWhole(result, bytes);
        assert.ok(server.maxReads <= requests);
      });
    }
  }

  it('asks again for exactly what is missing, and only there', async () => {
    const { result, server } = await read(
      { read: (ask, honest) => (ask.index === 1 && honest instanceof Uint8Array ? honest.slice(0, 100) : 'honest') },
      patterned(96 * KIB),
    );
    assertWhole(result, patterned(96 * KIB));
    assert.deepEqual(reads(server).sort(), [
      'READ 0+32768',
      'READ 32768+32768',
      'READ 32868+32668',
      'READ 65536+32768',
      'READ 98304+32768',
    ]);
  });

  it('shrinks its requests for a server that clamps, and does not collapse for one tiny answer', async () => {
    const clamped = await read(
      { read: (_, honest) => (honest instanceof Uint8Array ? honest.slice(0, 10_000) : honest) },
      bytes,
      { requests: 4 },
    );
    assertWhole(clamped.result, bytes);
    assert.ok(reads(clamped.server).filter((line) => line.endsWith('+10000')).length > 60);
    const once = await read(
      { read: (ask, honest) => (ask.index === 3 && honest instanceof Uint8Array ? honest.slice(0, 1) : 'honest') },
      bytes,
    );
    assertWhole(once.result, bytes);
    assert.ok(reads(once.server).length <= 35);
  });

  it('reads on where limits@openssh.com promises more than the server gives', async () => {
    const { result, server } = await read(
      {
        limits: [262144, 261120, 261120, 100],
        read: (_, honest) => (honest instanceof Uint8Array ? honest.slice(0, 65_536) : honest),
      },
      bytes,
      { requests: 4 },
    );
    assertWhole(result, bytes);
    assert.ok(reads(server).some((line) => line.endsWith('+261120')));
  });
});

describe('readFile with answers out of order (T03)', () => {
  for (const chunking of chunkings) {
    it(`is whole when 8 READs are answered in reverse, the last one short: ${chunking}`, async () => {
      const bytes = patterned(8 * 32 * KIB);
      const last = 7 * 32 * KIB;
      const { result, server } = await read(
        {
          chunking,
          gather: 8,
          order: orders.reverse,
          read: ({ offset, length }, honest) =>
            offset === last && length === 32 * KIB && honest instanceof Uint8Array ? honest.slice(0, 5000) : 'honest',
        },
        bytes,
        { requests: 8 },
      );
      assertWhole(result, bytes);
      assert.equal(server.maxReads, 8);
      const again = reads(server).filter((line) => !/^READ \d+\+32768$/.test(line));
      assert.deepEqual(again, [`READ ${last + 5000}+${32 * KIB - 5000}`]);
    });

    it(`is whole in any order, dribbling: ${chunking}`, async () => {
      const bytes = patterned((chunking === 'bytes' ? 300 : 1024) * KIB + 1);
      const { result } = await read({ chunking, order: orders.dribble, seed: chunking }, bytes);
      assertWhole(result, bytes);
    });
  }
});

describe('readFile and the receive window (T05)', () => {
  for (const [window, size] of [
    [16 * KIB, 1024 * KIB],
    [64 * KIB, 1024 * KIB],
    [2048 * KIB, 64 * 1024 * KIB],
  ] as const) {
    for (const chunking of ['whole', 'random', 'bytes'] as const) {
      it(`never has more on the way than a window of ${window} takes: ${chunking}`, async () => {
        const bytes = patterned(
          chunking === 'whole' ? size : chunking === 'random' ? size / 8 : Math.min(4 * window, 600 * KIB),
        );
        const { result, server } = await read({ window, chunking, order: orders.dribble }, bytes);
        assertWhole(result, bytes);
        assert.equal(server.overruns, 0);
        assert.ok(server.maxReadBytes < window);
        assert.ok(server.maxReadBytes > window / 4, `${server.maxReadBytes} of ${window} used`);
      });
    }
  }

  it('uses a window that grows', async () => {
    const server: ScriptedSftp = new ScriptedSftp({
      read: ({ offset }) => {
        if (offset === 512 * KIB) Object.assign(server, { receiveWindow: 4096 * KIB });
        if (offset < 512 * KIB) assert.ok(server.maxReadBytes <= 128 * KIB);
        return 'honest';
      },
    }).add('/f', patterned(8 * 1024 * KIB));
    Object.assign(server, { receiveWindow: 128 * KIB });
    const client = await SftpClient.open(server);
    assertWhole(await client.readFile('/f'), patterned(8 * 1024 * KIB));
    assert.ok(server.maxReadBytes > 3000 * KIB, `${server.maxReadBytes}`);
    await client.close();
  });

  it('holds to it with large requests and many transfers', async () => {
    const window = 2048 * KIB;
    const server = new ScriptedSftp({ window, limits: [262144, 261120, 261120, 100], order: orders.random });
    const files = Array.from({ length: 9 }, (_, i) => patterned(700_000 + i, `${i}`));
    for (const [i, bytes] of files.entries()) server.add(`/${i}`, bytes);
    const client = await SftpClient.open(server);
    const results = await Promise.all(files.map((_, i) => client.readFile(`/${i}`)));
    for (const [i, bytes] of files.entries()) assertWhole(results[i] as Uint8Array, bytes);
    assert.equal(server.overruns, 0);
    assert.equal(server.unconsumed, 0);
    await client.close();
  });
});

describe('readFile and other transfers', () => {
  it('shares the window fairly: the second of two files is not left waiting', async () => {
    const count = new Map<string, number>();
    const script: Script = {
      window: 128 * KIB,
      read: ({ path, length }) => {
        count.set(path, (count.get(path) ?? 0) + length);
        return 'honest';
      },
    };
    const bytes = patterned(2048 * KIB);
    const server = new ScriptedSftp(script).add('/a', bytes).add('/b', bytes);
    const client = await SftpClient.open(server);
    const first = client.readFile('/a').then(() => count.get('/b') as number);
    const second = client.readFile('/b');
    assert.ok((await first) > 1024 * KIB, `${await first} bytes of the second file when the first was done`);
    await second;
    await client.close();
  });
});

describe('readFile and the end of the file', () => {
  it('takes an empty file for one READ', async () => {
    const { result, server } = await read({}, new Uint8Array(0));
    assertWhole(result, new Uint8Array(0));
    assert.deepEqual(server.log.slice(1, 5), ['OPEN /f 1', 'FSTAT', 'READ 0+32768', 'CLOSE']);
  });

  it('feels for the end with one READ beyond the stated size', async () => {
    const small = await read({}, patterned(3));
    assert.deepEqual(reads(small.server), ['READ 0+32768', 'READ 3+32765']);
    const large = await read({}, patterned(100_000));
    const beyond = reads(large.server).filter((line) => Number.parseInt(line.slice(5), 10) >= 100_000);
    assert.deepEqual(beyond, ['READ 100000+32768']);
  });

  /** A server that states `size` whatever the file holds; `undefined`: it states none. */
  const stating = (size: number | undefined): Script => ({
    request: (name, id) =>
      name === 'FSTAT' ? [reply.attrs(id, size === undefined ? {} : { size, permissions: 0o100644 })] : 'honest',
  });

  for (const [name, size] of [
    ['stated as 0', 0],
    ['stated too small', 1000],
    ['of no stated size', undefined],
  ] as const) {
    it(`reads all of a file ${name}`, async () => {
      const bytes = patterned(200_001);
      const { result, server } = await read(stating(size), bytes);
      assertWhole(result, bytes);
      if (size === 0) assert.equal(server.maxReads, 1);
    });
  }

  it('reads all where FSTAT is refused', async () => {
    const { result } = await read({ request: (name) => (name === 'FSTAT' ? 8 : 'honest') }, patterned(200_001));
    assertWhole(result, patterned(200_001));
  });

  it('reads what a growing file has grown to', async () => {
    const script: Script = {
      read: ({ index }) => {
        if (index === 0) server.add('/f', patterned(150_000));
        return 'honest';
      },
    };
    const server = new ScriptedSftp(script).add('/f', patterned(150_000).slice(0, 65536));
    const client = await SftpClient.open(server);
    assertWhole(await client.readFile('/f'), patterned(150_000));
    await client.close();
  });

  it('calls a file incomplete that ends before its stated size, and says how much there is', async () => {
    const { result } = await read(stating(300_000), patterned(200_001));
    assert.ok(result instanceof SshError);
    assert.equal(result.code, 'incomplete');
    assert.equal(result.transferred, 200_001);
    assert.match(result.message, /200001.*300000/);
  });

  it('takes such an end for good with trustEof', async () => {
    const { result } = await read(stating(300_000), patterned(200_001), { trustEof: true });
    assertWhole(result, patterned(200_001));
  });

  it('reads a device one request at a time, in order', async () => {
    const server = new ScriptedSftp({ order: orders.random }).add('/f', patterned(100_000), 0o020666);
    const client = await SftpClient.open(server);
    assertWhole(await client.readFile('/f'), patterned(100_000));
    assert.equal(server.maxReads, 1);
    await client.close();
  });
});

describe('readFile and broken servers', () => {
  it('ends with protocol when more comes than was asked for, and the session with it', async () => {
    const { result } = await read(
      { read: (_, honest) => (honest instanceof Uint8Array ? new Uint8Array(honest.length + 1) : honest) },
      patterned(100_000),
    );
    assert.ok(result instanceof SshError);
    assert.equal(result.code, 'protocol');
    assert.match(result.message, /answer a READ of/);
  });

  it('ends with protocol when READ is answered with nothing over and over, the session lives', async () => {
    const { result, server } = await read({ read: () => new Uint8Array(0) }, patterned(1000));
    assert.ok(result instanceof SshError);
    assert.equal(result.code, 'protocol');
    assert.ok(reads(server).length <= 4);
  });

  it('forgives one answer of no bytes', async () => {
    const { result } = await read(
      { read: ({ index }) => (index === 2 ? new Uint8Array(0) : 'honest') },
      patterned(500_000),
    );
    assertWhole(result, patterned(500_000));
  });

  for (const chunking of chunkings) {
    it(`says how far a file was readable when a READ is refused: ${chunking}`, async () => {
      const bad = 5 * 32 * KIB;
      const { result } = await read(
        { chunking, order: orders.random, read: ({ offset }) => (offset >= bad ? 4 : 'honest') },
        patterned(40 * 32 * KIB),
      );
      assert.ok(result instanceof SshError);
      assert.equal(result.code, 'sftp-status');
      const { status, operation, path, transferred } = result;
      assert.deepEqual(
        { status, operation, path, transferred },
        { status: 4, operation: 'read', path: '/f', transferred: bad },
      );
      assert.match(result.message, /scripted/);
    });
  }

  it('reports a stall by default and completes with one request, where more than two READs silence it (T04)', async () => {
    const script: Script = { read: ({ pending }) => (pending > 2 ? 'silence' : 'honest') };
    const clock = new VirtualClock();
    const server = new ScriptedSftp(script).add('/f', patterned(300_000));
    const client = await SftpClient.open(server, { clock });
    const failed = client.readFile('/f').catch((error: SshError) => error);
    for (let i = 0; i < 20; i++) await clock.pass(10_000);
    const error = await failed;
    assert.ok(error instanceof SshError);
    assert.equal(error.code, 'timeout');
    assert.match(error.message, /read \/f: no answer for 120 s, \d+ READs pending, .*requests: 1/);
    assertWhole(await client.readFile('/f', { requests: 1 }), patterned(300_000));
    await client.close();
  });
});

describe('readFile and its options', () => {
  it('ramps up: 16 READs at first, then more, never more than asked for', async () => {
    const { server, result } = await read({ gather: 128 }, patterned(8 * 1024 * KIB), { requests: 100 });
    assertWhole(result, patterned(8 * 1024 * KIB));
    assert.equal(server.maxReads, 100);
  });

  it('one request is really one', async () => {
    const { server } = await read({ gather: 128 }, patterned(300_000), { requests: 1 });
    assert.equal(server.maxReads, 1);
  });

  it('refuses numbers that make no sense', async () => {
    for (const options of [{ requests: 0 }, { requests: 1.5 }, { requestSize: 0 }, { requests: Number.NaN }]) {
      const { result } = await read({}, patterned(1), options);
      assert.equal((result as SshError).code, 'bad-argument');
    }
  });

  it('requestSize is what is asked for, within the limits of the server', async () => {
    const small = await read({}, patterned(10_000), { requestSize: 1000 });
    assert.equal(reads(small.server)[1], 'READ 1000+1000');
    const large = await read({ limits: [262144, 100_000, 0, 0] }, patterned(10_000), { requestSize: 1_000_000 });
    assert.equal(reads(large.server)[0], 'READ 0+61440');
  });

  it('an abort ends it at once and leaves the session usable', async () => {
    const server = new ScriptedSftp({ order: orders.dribble }).add('/f', patterned(4096 * KIB));
    const client = await SftpClient.open(server);
    const controller = new AbortController();
    const reason = new Error('enough');
    const failed = client.readFile('/f', {
      signal: controller.signal,
      onProgress: ({ bytes }) => {
        if (bytes > 100_000) controller.abort(reason);
      },
    });
    const error = (await failed.catch((value: unknown) => value)) as SshError;
    assert.equal(error.code, 'aborted');
    assert.equal((error.cause as SshError).cause, reason);
    assert.ok((error.transferred as number) < 4096 * KIB);
    assertWhole(await client.readFile('/f'), patterned(4096 * KIB));
    assert.equal(server.openHandles.size, 0);
    assert.equal(server.unconsumed, 0);
    await client.close();
  });

  it('a signal that fired before sends nothing', async () => {
    const server = new ScriptedSftp().add('/f', patterned(10));
    const client = await SftpClient.open(server);
    await assert.rejects(client.readFile('/f', { signal: AbortSignal.abort() }), { code: 'aborted' });
    assert.deepEqual(server.log, ['INIT']);
    await client.close();
  });

  it('an onProgress that throws ends the transfer, not the session', async () => {
    const server = new ScriptedSftp().add('/f', patterned(100_000));
    const client = await SftpClient.open(server);
    const onProgress = (): void => {
      throw new Error('mine');
    };
    await assert.rejects(client.readFile('/f', { onProgress }), { code: 'bad-argument', message: /mine/ });
    assertWhole(await client.readFile('/f'), patterned(100_000));
    await client.close();
  });
});
