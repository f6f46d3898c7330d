/** What can be asked of an upload: where in the file, times, checks, sources. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { LocalSource, PutOptions, PutResult } from '../../src/sftp/put_options.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned, reply, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';

const BYTES = patterned(300_000);
const CHECK_FILE: Script = { extensions: ['posix-rename@openssh.com', 'check-file-handle'] };

interface World {
  readonly server: ScriptedSftp;
  readonly files: MemoryFiles;
  readonly client: SftpClient;
}

async function setUp(script: Script = {}): Promise<World> {
  const server = new ScriptedSftp(script);
  const files = new MemoryFiles().add('src', BYTES, 0o4640);
  return { server, files, client: await SftpClient.open(server, { localFiles: files }) };
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 7001) yield bytes.slice(at, at + 7001);
}

/** Nothing is open, the session works, and these are all the files of the server. */
async function assertLeft({ server, files, client }: World, ...names: string[]): Promise<void> {
  await client.lstat('/').catch(() => undefined);
  assert.equal(server.openHandles.size, 0, 'remote handles');
  assert.equal(files.opened, 0, 'local files');
  assert.deepEqual([...server.files.keys()], names);
  await client.close();
}

const put = (world: World, options: PutOptions, source: LocalSource = 'src'): Promise<PutResult> =>
  world.client.put(source, '/f', options);

const content = ({ server }: World): Uint8Array => server.files.get('/f')?.bytes ?? new Uint8Array(0);
const lines = ({ server }: World, start: string): string[] => server.log.filter((line) => line.startsWith(start));

describe('put of an open file', () => {
  it('sends all of it from its start, and leaves it open', async () => {
    const world = await setUp();
    const file = await world.files.open('src', { access: 'read' });
    const { bytes } = await put(world, {}, file);
    assert.equal(bytes, BYTES.length);
    assert.equal(world.files.opened, 1);
    await file.close();
    assert.ok(equalBytes(content(world), BYTES));
    assert.match(lines(world, 'OPEN')[0] as string, / 640$/);
    await assertLeft(world, '/f');
  });
});

describe('put of a file that is shorter than it was said to be', () => {
  const SIZE = 2_000_000;

  for (const options of [{}, { resume: true }, { sparse: true }]) {
    it(`tells that it was cut while it was read, and leaves nothing: ${JSON.stringify(options)}`, async () => {
      const world = await setUp();
      world.files.add('src', patterned(SIZE));
      const node = world.files.nodes.get('src');
      const onProgress = (): void => {
        if (node !== undefined && node.bytes.length === SIZE) node.bytes = node.bytes.slice(0, 900_000);
      };
      const error = await rejectsWith(put(world, { ...options, requests: 1, onProgress }), 'incomplete');
      assert.match(error.message, /^put \/f: the local file was cut from 2000000 to 900000 bytes while it was read/);
      assert.equal(error.fault, 'local');
      await assertLeft(world);
    });
  }

  it('takes its end for the end where the system still says so', async () => {
    const world = await setUp();
    const { open } = world.files;
    world.files.open = async (path, how) => {
      const file = await open.call(world.files, path, how);
      return { ...file, read: async (target, at) => file.read(target.subarray(0, Math.max(0, 5 - at)), at) };
    };
    assert.equal((await put(world, {})).bytes, 5);
    assert.ok(equalBytes(content(world), BYTES.slice(0, 5)));
    await assertLeft(world, '/f');
  });
});

describe('put with append', () => {
  it('writes behind the end with offsets of its own, in place', async () => {
    for (const source of ['src', BYTES, piecesOf(BYTES)]) {
      const world = await setUp();
      world.server.add('/f', new Uint8Array([1, 2, 3]));
      const { bytes } = await put(world, { append: true }, source);
      assert.equal(bytes, BYTES.length);
      assert.ok(equalBytes(content(world), concat(new Uint8Array([1, 2, 3]), BYTES)));
      assert.match(lines(world, 'OPEN')[0] as string, /^OPEN \/f 10( |$)/); // WRITE and CREAT, and no APPEND
      assert.ok((lines(world, 'WRITE')[0] as string).startsWith('WRITE 3+'));
      await assertLeft(world, '/f');
    }
  });

  it('makes a file that is not there', async () => {
    const world = await setUp();
    await put(world, { append: true });
    assert.ok(equalBytes(content(world), BYTES));
    await assertLeft(world, '/f');
  });

  it('tells when another writes too', async () => {
    let stats = 0;
    const world = await setUp({
      request: (name, id) =>
        name === 'FSTAT' && stats++ === 1 ? [reply.attrs(id, { size: 400_000, permissions: 0o100644 })] : 'honest',
    });
    const error = await rejectsWith(put(world, { append: true }), 'incomplete');
    assert.match(error.message, /400000 bytes of the 300000/);
    await assertLeft(world, '/f');
  });

  it('wants a file whose size is told', async () => {
    for (const attrs of [{}, { size: 0, permissions: 0o020666 }]) {
      const world = await setUp({ request: (name, id) => (name === 'FSTAT' ? [reply.attrs(id, attrs)] : 'honest') });
      world.server.add('/f', new Uint8Array(0));
      await rejectsWith(put(world, { append: true }), 'not-supported');
      await assertLeft(world, '/f');
    }
  });

  it('is what writeFile takes too', async () => {
    const world = await setUp();
    await world.client.writeFile('/f', 'one ');
    await world.client.writeFile('/f', 'two', { append: true });
    assert.equal(new TextDecoder().decode(content(world)), 'one two');
    await assertLeft(world, '/f');
  });
});

describe('put with position', () => {
  it('writes into what is there, and cuts nothing', async () => {
    const world = await setUp();
    const old = patterned(400_000, 'old');
    world.server.add('/f', old.slice());
    await put(world, { position: 50_000 });
    assert.ok(equalBytes(content(world), concat(old.subarray(0, 50_000), BYTES, old.subarray(350_000))));
    assert.match(lines(world, 'OPEN')[0] as string, /^OPEN \/f 2$/);
    await assertLeft(world, '/f');
  });

  it('wants a file that is there', async () => {
    const world = await setUp();
    const error = await rejectsWith(put(world, { position: 0 }), 'sftp-status');
    assert.deepEqual([error.status, error.operation], [2, 'open']);
    await assertLeft(world);
  });

  it('tells when the server has less than it acknowledged', async () => {
    const world = await setUp({
      request: (name, id) => (name === 'FSTAT' ? [reply.attrs(id, { size: 299_999 })] : 'honest'),
    });
    world.server.add('/f', new Uint8Array(0));
    await rejectsWith(put(world, { position: 0 }), 'incomplete');
    await assertLeft(world, '/f');
  });
});

describe('put with preserve', () => {
  it('sets permissions and times at once, before CLOSE', async () => {
    for (const isOpen of [false, true]) {
      const world = await setUp();
      const file = isOpen ? await world.files.open('src', { access: 'read' }) : undefined;
      await put(world, { preserve: true }, file ?? 'src');
      await file?.close();
      // the permissions are right since OPEN, so only the times are missing
      const set = 'FSETSTAT {"atime":1700000000,"mtime":1700000000}';
      assert.deepEqual(lines(world, 'FSETSTAT'), [set]);
      assert.ok(world.server.log.indexOf(set) < world.server.log.indexOf('CLOSE'));
      assert.match(lines(world, 'OPEN')[0] as string, / 640$/);
      await assertLeft(world, '/f');
    }
  });

  it('sets the permissions of a file that replaces another', async () => {
    const world = await setUp();
    world.server.add('/f', new Uint8Array(1), 0o100600);
    await put(world, { preserve: { permissions: true } });
    assert.deepEqual(lines(world, 'FSETSTAT'), ['FSETSTAT {"permissions":416}']);
    await assertLeft(world, '/f');
  });

  it('warns where it is refused (T41)', async () => {
    const world = await setUp({ request: (name) => (/SETSTAT/.test(name) ? 8 : 'honest') });
    const { warnings } = await put(world, { preserve: true });
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] as string, /^The times were not set: fsetstat/);
    assert.ok(equalBytes(content(world), BYTES));
    await assertLeft(world, '/f');
  });

  it('leaves a device as it is', async () => {
    const world = await setUp();
    world.server.add('/f', new Uint8Array(0), 0o020666);
    await put(world, { preserve: true });
    assert.deepEqual(lines(world, 'FSETSTAT'), []);
    await assertLeft(world, '/f');
  });

  it('sets the nearest time that there is', async () => {
    const world = await setUp();
    world.files.now = -5.5;
    world.files.add('src', BYTES);
    await put(world, { preserve: { times: true } });
    assert.deepEqual(lines(world, 'FSETSTAT'), ['FSETSTAT {"atime":0,"mtime":0}']);
    await assertLeft(world, '/f');
  });

  it('wants a local file', async () => {
    const world = await setUp();
    await rejectsWith(put(world, { preserve: true }, BYTES), 'bad-argument');
    await assertLeft(world);
  });
});

describe('put with verify', () => {
  for (const verify of ['content', 'hash'] as const) {
    for (const [name, source] of [
      ['a path', () => 'src'],
      ['bytes', () => BYTES],
      ['an iterable', () => piecesOf(BYTES)],
    ] as const) {
      it(`${verify}: compares ${name} with what the server has before it gets its name`, async () => {
        const world = await setUp(CHECK_FILE);
        await put(world, { verify }, source());
        assert.ok(equalBytes(content(world), BYTES));
        const { log } = world.server;
        const asked = log.findLastIndex((line) => (verify === 'hash' ? /check-file/ : /^READ/).test(line));
        assert.ok(asked > 0 && asked < log.indexOf('EXTENDED posix-rename@openssh.com'));
        await assertLeft(world, '/f');
      });

      it(`${verify}: removes what differs from ${name}`, async () => {
        const world = await setUp(CHECK_FILE);
        let writes = 0;
        // a byte is lost on the server's disk
        const onProgress = (): void => {
          const temporary = [...world.server.files.keys()].find((path) => path.endsWith('.part')) as string;
          const { bytes } = world.server.files.get(temporary) as { readonly bytes: Uint8Array };
          if (writes++ === 8) bytes[100] = (bytes[100] as number) ^ 1;
        };
        const error = await rejectsWith(put(world, { verify, onProgress }, source()), 'content-differs');
        assert.match(error.message, /^put \/f: .* from byte 0 on/);
        await assertLeft(world);
      });
    }

    it(`${verify}: compares what was appended only`, async () => {
      const world = await setUp(CHECK_FILE);
      world.server.add('/f', patterned(1000));
      await put(world, { verify, append: true });
      await assertLeft(world, '/f');
    });
  }

  it('tells when the source changed while it was sent', async () => {
    const world = await setUp();
    const changed = BYTES.slice();
    changed[299_999] = (changed[299_999] as number) ^ 1;
    const onProgress = ({ bytes }: { readonly bytes: number }): void => {
      if (bytes === BYTES.length) world.files.content('src').set(changed);
    };
    world.files.add('src', BYTES.slice());
    await rejectsWith(put(world, { verify: 'content', onProgress }), 'content-differs');
    await assertLeft(world);
  });

  it('hash: says so where the server takes no digests', async () => {
    const world = await setUp();
    await rejectsWith(put(world, { verify: 'hash' }), 'not-supported');
    assert.deepEqual(world.server.log, ['INIT']);
    await assertLeft(world);
  });
});

describe('put with sparse', () => {
  const holes = concat(
    new Uint8Array(20_000),
    BYTES.subarray(0, 50_000),
    new Uint8Array(2_000_000),
    BYTES.subarray(0, 10),
  );
  const sent = (world: World): number =>
    lines(world, 'WRITE').reduce((sum, line) => sum + Number(line.split('+')[1] ?? 0), 0);

  for (const [name, bytes] of [
    ['in the middle', holes],
    ['at the end', concat(holes, new Uint8Array(1_500_001))],
    ['everywhere', new Uint8Array(3_000_000)],
    ['nowhere', BYTES],
    ['in an empty file', new Uint8Array(0)],
  ] as const) {
    it(`does not send zeros, and gives the file its length: ${name}`, async () => {
      for (const source of ['src', bytes, piecesOf(bytes)]) {
        const world = await setUp();
        world.files.add('src', bytes);
        const progress: number[] = [];
        const verify = source === bytes ? 'size' : 'content';
        const result = await put(world, { sparse: true, verify, onProgress: (p) => progress.push(p.bytes) }, source);
        assert.ok(equalBytes(content(world), bytes));
        assert.equal(result.bytes, bytes.length);
        assert.equal(progress.at(-1) ?? 0, bytes.length);
        if (bytes !== BYTES) assert.ok(sent(world) < 110_000, `${sent(world)} bytes were sent`);
        await assertLeft(world, '/f');
      }
    });
  }

  it('sends everything where the file is written in place', async () => {
    const world = await setUp();
    world.server.add('/f', patterned(holes.length, 'old'));
    await put(world, { sparse: true, position: 0 }, holes);
    assert.ok(equalBytes(content(world), holes));
    await put(world, { sparse: true, atomic: false }, holes);
    assert.ok(equalBytes(content(world), holes));
    await assertLeft(world, '/f');
  });
});

describe('put', () => {
  it('takes no options that do not go together', async () => {
    const world = await setUp();
    const wrong: readonly PutOptions[] = [
      { append: true, position: 1 },
      { append: true, resume: true },
      { append: true, atomic: true },
      { position: 0, overwrite: false },
      { resume: true, atomic: false },
      { position: -1 },
      { verify: 'sha256' as 'hash' },
    ];
    for (const options of wrong) await rejectsWith(put(world, options), 'bad-argument');
    await rejectsWith(put(world, { resume: true }, piecesOf(BYTES)), 'bad-argument');
    await rejectsWith(put(world, {}, {} as string), 'bad-argument');
    assert.deepEqual(world.server.log, ['INIT']);
    world.server.add('/r', BYTES);
    await using remote = await world.client.open('/r');
    await rejectsWith(put(world, {}, remote as unknown as string), 'bad-argument');
    await remote.close();
    await assertLeft(world, '/r');
  });
});
