/** What can be asked of a download: ranges, times, holes, checks. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { GetOptions, GetResult } from '../../src/sftp/get_options.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned, reply, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';

const BYTES = patterned(300_000);
const CHANGED = 1_600_000_000;
const CHECK_FILE: Script = { extensions: ['check-file-handle'] };

interface World {
  readonly server: ScriptedSftp;
  readonly files: MemoryFiles;
  readonly client: SftpClient;
}

async function setUp(script: Script = {}, bytes: Uint8Array = BYTES): Promise<World> {
  const server = new ScriptedSftp(script);
  server.files.set('/f', { bytes, permissions: 0o104750, modified: CHANGED });
  const files = new MemoryFiles();
  return { server, files, client: await SftpClient.open(server, { localFiles: files }) };
}

/** Whether nothing is left open or unfinished, and the session works. */
async function assertClean({ server, files, client }: World): Promise<void> {
  await client.stat('/f');
  assert.equal(server.openHandles.size, 0, 'remote handles');
  assert.equal(files.opened, 0, 'local files');
  assert.deepEqual(
    [...files.nodes.keys()].filter((name) => name.endsWith('.part')),
    [],
  );
  await client.close();
}

/** One get to `out`. */
async function got(world: World, options: GetOptions): Promise<GetResult> {
  return world.client.get('/f', 'out', options);
}

describe('get of a range', () => {
  it('puts it at the start of a local file, an open file or a stream', async () => {
    const world = await setUp();
    const { client, files } = world;
    const progress: [number, number | undefined][] = [];
    const range = { start: 1000, end: 201_000 };
    const stats = await got(world, { ...range, onProgress: ({ bytes, total }) => progress.push([bytes, total]) });
    assert.ok(equalBytes(files.content('out'), BYTES.subarray(1000, 201_000)));
    assert.equal(stats.bytes, 200_000);
    assert.deepEqual(progress.at(-1), [200_000, 200_000]);
    const file = await files.open('mine', { access: 'write' });
    await client.get('/f', file, range);
    await file.close();
    assert.ok(equalBytes(files.content('mine'), BYTES.subarray(1000, 201_000)));
    const parts: Uint8Array[] = [];
    await client.get('/f', new WritableStream({ write: (part) => void parts.push(part) }), { start: 299_000 });
    assert.ok(equalBytes(concat(...parts), BYTES.subarray(299_000)));
    await assertClean(world);
  });

  it('is what readFile gives too', async () => {
    const world = await setUp();
    const { client } = world;
    assert.ok(equalBytes(await client.readFile('/f', { start: 1000, end: 201_000 }), BYTES.subarray(1000, 201_000)));
    assert.ok(equalBytes(await client.readFile('/f', { start: 299_990, maxBytes: 10 }), BYTES.subarray(299_990)));
    await rejectsWith(client.readFile('/f', { start: 299_989, maxBytes: 10 }), 'limit');
    await assertClean(world);
  });

  it('is empty behind the end', async () => {
    const world = await setUp();
    assert.equal((await got(world, { start: 400_000 })).bytes, 0);
    assert.equal(world.files.content('out').length, 0);
    await assertClean(world);
  });

  it('is cut behind the last byte that is sure, where it fails in place', async () => {
    const world = await setUp({ read: ({ offset }) => (offset >= 66_536 ? 4 : 'honest') });
    await assert.rejects(got(world, { start: 1000, atomic: false }), { status: 4, transferred: 65_536 });
    assert.ok(equalBytes(world.files.content('out'), BYTES.subarray(1000, 66_536)));
    await assertClean(world);
  });
});

describe('get with preserve', () => {
  it('sets permissions and times before the file has its name, and no bit of another user', async () => {
    const world = await setUp();
    await got(world, { preserve: true });
    const { log, nodes } = world.files;
    const node = nodes.get('out');
    assert.deepEqual([node?.permissions, node?.modified, node?.accessed], [0o750, CHANGED, CHANGED]);
    assert.ok(
      log.findIndex((line) => line.startsWith('setAttributes')) < log.findIndex((line) => /^rename/.test(line)),
    );
    await assertClean(world);
  });

  it('sets what is named, and by default nothing', async () => {
    for (const [preserve, permissions, modified] of [
      [{ times: true }, 0o644, CHANGED],
      [{ permissions: true }, 0o750, 1_700_000_000],
      [false, 0o644, 1_700_000_000],
      [undefined, 0o644, 1_700_000_000],
    ] as const) {
      const world = await setUp();
      await got(world, { preserve });
      const node = world.files.nodes.get('out');
      assert.deepEqual([node?.permissions, node?.modified], [permissions, modified]);
      await assertClean(world);
    }
  });

  it('leaves a device as it is', async () => {
    const world = await setUp();
    world.files.add('out', new Uint8Array(0), 0o666, 'other');
    await got(world, { preserve: true });
    assert.equal(world.files.nodes.get('out')?.permissions, 0o666);
    await assertClean(world);
  });

  it('warns where it cannot', async () => {
    const world = await setUp();
    world.files.fail = ({ operation }) => operation === 'setAttributes';
    const { warnings } = await got(world, { preserve: true });
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] as string, /not set: .*told to fail/);
    assert.ok(equalBytes(world.files.content('out'), BYTES));
    await assertClean(world);
  });
});

describe('get with overwrite: false', () => {
  it('leaves what is there, and reads nothing', async () => {
    for (const atomic of [true, false]) {
      const world = await setUp();
      world.files.add('out', new Uint8Array([7]));
      await rejectsWith(got(world, { overwrite: false, atomic }), 'target-exists');
      assert.deepEqual(world.files.content('out'), new Uint8Array([7]));
      assert.ok(!world.server.log.some((line) => line.startsWith('READ')));
      await assertClean(world);
    }
  });

  it('leaves what came into being meanwhile', async () => {
    const world = await setUp();
    const onProgress = (): void => void world.files.add('out', new Uint8Array([7]));
    await rejectsWith(got(world, { overwrite: false, onProgress }), 'target-exists');
    assert.deepEqual(world.files.content('out'), new Uint8Array([7]));
    await assertClean(world);
  });

  it('makes what is not there', async () => {
    for (const atomic of [true, false]) {
      const world = await setUp();
      await got(world, { overwrite: false, atomic });
      assert.ok(equalBytes(world.files.content('out'), BYTES));
      await assertClean(world);
    }
  });
});

describe('get with sparse', () => {
  const holes = concat(
    BYTES.subarray(0, 50_000),
    new Uint8Array(200_000),
    BYTES.subarray(0, 10),
    new Uint8Array(90_000),
  );
  const written = (files: MemoryFiles): number => {
    const lengths = files.log.map((line) => Number(/^write .*\+(\d+)$/.exec(line)?.[1] ?? 0));
    return lengths.reduce((sum, length) => sum + length, 0);
  };

  it('does not write blocks of zeros, and makes the file as long as it is', async () => {
    const world = await setUp({}, holes);
    await got(world, { sparse: true });
    assert.ok(equalBytes(world.files.content('out'), holes));
    assert.ok(written(world.files) < 160_000, `${written(world.files)} bytes were written`);
    await assertClean(world);
  });

  it('writes them over what an open file holds', async () => {
    const world = await setUp({}, holes);
    world.files.add('mine', patterned(100_000));
    const file = await world.files.open('mine', { access: 'write', create: 'keep' });
    await world.client.get('/f', file, { sparse: true });
    await file.close();
    assert.ok(equalBytes(world.files.content('mine'), holes));
    await assertClean(world);
  });

  it('writes them to a device', async () => {
    const world = await setUp({}, holes);
    world.files.add('out', new Uint8Array(0), 0o600, 'other');
    await got(world, { sparse: true });
    assert.ok(equalBytes(world.files.content('out'), holes));
    await assertClean(world);
  });
});

describe('get with verify', () => {
  for (const verify of ['content', 'hash'] as const) {
    it(`${verify}: compares what is on the disk with what the server has`, async () => {
      const world = await setUp(CHECK_FILE);
      await got(world, { verify, start: 10, end: 299_000 });
      assert.ok(equalBytes(world.files.content('out'), BYTES.subarray(10, 299_000)));
      await world.client.get('/f', new WritableStream(), { verify });
      const asked = world.server.log.filter((line) => line.includes('check-file')).length;
      assert.equal(asked, verify === 'hash' ? 2 : 0);
      await assertClean(world);
    });

    it(`${verify}: leaves nothing where they differ`, async () => {
      const world = await setUp(CHECK_FILE);
      // the disk keeps another byte than it was given
      const { open } = world.files;
      world.files.open = async (path, options) => {
        if (options.access === 'read') {
          const bytes = world.files.content(path).slice();
          bytes[290_000] = (bytes[290_000] as number) ^ 1;
          world.files.add(path, bytes);
        }
        return open.call(world.files, path, options);
      };
      const error = await rejectsWith(got(world, { verify }), 'content-differs');
      assert.match(error.message, /from byte 262144 on/);
      assert.equal(world.files.nodes.has('out'), false);
      await assertClean(world);
    });

    it(`${verify}: aborts a stream where they differ`, async () => {
      let reads = 0;
      const bent: Script = {
        ...CHECK_FILE,
        read: (_, honest) => (reads++ === 2 && typeof honest !== 'number' ? honest.fill(0) : 'honest'),
      };
      const world = await setUp(bent);
      let isAborted = false;
      const stream = new WritableStream<Uint8Array>({
        abort: () => {
          isAborted = true;
        },
      });
      await rejectsWith(world.client.get('/f', stream, { verify }), 'content-differs');
      assert.ok(isAborted);
      await assertClean(world);
    });
  }

  it('hash: says so where the server takes no digests', async () => {
    const world = await setUp();
    await rejectsWith(got(world, { verify: 'hash' }), 'not-supported');
    assert.deepEqual(world.server.log, ['INIT']);
    assert.equal(world.files.nodes.has('out'), false);
    await assertClean(world);
  });

  it('is aborted as everything is', async () => {
    const world = await setUp({ ...CHECK_FILE, request: (name) => (name === 'EXTENDED' ? 'silence' : 'honest') });
    const controller = new AbortController();
    const getting = got(world, { verify: 'hash', signal: controller.signal });
    while (!world.server.log.some((line) => line.startsWith('EXTENDED'))) await world.client.stat('/f');
    controller.abort();
    await rejectsWith(getting, 'aborted');
    assert.equal(world.files.nodes.has('out'), false);
    await assertClean(world);
  });
});

describe('get', () => {
  it('takes no options that do not go together', async () => {
    const world = await setUp();
    const { client } = world;
    await rejectsWith(got(world, { resume: true, start: 1 }), 'bad-argument');
    await rejectsWith(got(world, { resume: true, atomic: false }), 'bad-argument');
    await rejectsWith(client.get('/f', new WritableStream(), { resume: true }), 'bad-argument');
    await rejectsWith(got(world, { verify: 'md5' as 'hash' }), 'bad-argument');
    assert.deepEqual(world.server.log, ['INIT']);
    for (const target of [{}, null, 7, new Uint8Array(9)]) {
      await rejectsWith(client.get('/f', target as string), 'bad-argument');
    }
    await assertClean(world);
  });

  it('closes everything at an abort, whenever it comes', async () => {
    const steps: readonly (readonly [string, GetOptions])[] = [
      ['OPEN', {}],
      ['FSTAT', { preserve: true, resume: true }],
      ['READ', { verify: 'content' }],
    ];
    for (const [step, options] of steps) {
      const silent = { request: (name: string) => (name === step ? ('silence' as const) : ('honest' as const)) };
      const world = await setUp(step === 'READ' ? { read: () => 'silence' } : silent);
      const controller = new AbortController();
      const getting = got(world, { ...options, signal: controller.signal });
      getting.catch(() => undefined);
      while (!world.server.log.some((line) => line.startsWith(step))) await world.client.lstat('/f');
      controller.abort();
      await rejectsWith(getting, 'aborted');
      await assertClean(world);
    }
  });

  it('keeps no permissions that STAT or FSTAT do not tell', async () => {
    const world = await setUp({
      request: (name, id) => (/STAT/.test(name) ? [reply.attrs(id, { size: BYTES.length })] : 'honest'),
    });
    const { warnings } = await got(world, { preserve: true });
    assert.deepEqual(warnings, []);
    assert.equal(world.files.nodes.get('out')?.modified, 1_700_000_000);
    await assertClean(world);
  });
});
