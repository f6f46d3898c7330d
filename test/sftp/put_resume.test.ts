/** Uploads that go on with what is there. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import { systemClock } from '../../src/io/clock.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { greet } from '../../src/sftp/greet.ts';
import { Link } from '../../src/sftp/link.ts';
import { openFile } from '../../src/sftp/operations.ts';
import type { LocalSource, PutOptions, PutResult } from '../../src/sftp/put_options.ts';
import { keepPart } from '../../src/sftp/put_resume.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { rejectsWith } from '../support/rejects.ts';
import { type Node, patterned, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';

const BYTES = patterned(700_000);
const TORN = '/.f.700000-1700000000.part';
const KEPT = '/.f.700000-1700000000.kept.part';
const CHECK_FILE: Script = { extensions: ['posix-rename@openssh.com', 'check-file-handle'] };
const FAIL_AT = 500_000;
const failing: Script = { write: ({ offset }) => (offset >= FAIL_AT ? 4 : 'honest') };

interface World {
  readonly server: ScriptedSftp;
  readonly files: MemoryFiles;
  readonly client: SftpClient;
}

async function setUp(script: Script = {}, there: ReadonlyMap<string, Node> = new Map()): Promise<World> {
  const server = new ScriptedSftp(script);
  for (const [path, node] of there) server.files.set(path, node);
  const files = new MemoryFiles().add('src', BYTES);
  return { server, files, client: await SftpClient.open(server, { localFiles: files }) };
}

const part = (path: string, bytes: Uint8Array): Map<string, Node> =>
  new Map([[path, { bytes, permissions: 0o100644 }]]);

const put = (world: World, options: PutOptions = {}, source: LocalSource = 'src'): Promise<PutResult> =>
  world.client.put(source, '/f', { resume: true, requestSize: 10_000, ...options });

const content = ({ server }: World, path = '/f'): Uint8Array => server.files.get(path)?.bytes ?? new Uint8Array(0);
const lines = ({ server }: World, start: string): string[] => server.log.filter((line) => line.startsWith(start));

/** Nothing is open, the session works, and these are all the files of the server. */
async function assertLeft({ server, files, client }: World, ...names: string[]): Promise<void> {
  await client.lstat('/').catch(() => undefined);
  assert.equal(server.openHandles.size, 0, 'remote handles');
  assert.equal(files.opened, 0, 'local files');
  assert.deepEqual([...server.files.keys()], names);
  await client.close();
}

describe('put with resume', () => {
  for (const [name, source] of [
    ['a local file', 'src'],
    ['bytes', BYTES],
  ] as const) {
    it(`keeps what was acknowledged of ${name}, cut where it is sure, and goes on from there`, async () => {
      const first = await setUp(failing);
      const error = await rejectsWith(put(first, {}, source), 'sftp-status');
      assert.equal(error.transferred, FAIL_AT);
      const [kept] = [...first.server.files.keys()];
      if (source === 'src') assert.equal(kept, KEPT);
      assert.ok(error.message.includes(kept as string), error.message);
      assert.ok(equalBytes(content(first, kept), BYTES.subarray(0, FAIL_AT)));
      assert.deepEqual(lines(first, 'FSETSTAT'), [`FSETSTAT {"size":${FAIL_AT}}`]);
      await assertLeft(first, kept as string);

      const second = await setUp({}, first.server.files);
      const progress: [number, number | undefined][] = [];
      const onProgress: PutOptions['onProgress'] = ({ bytes, total }) => progress.push([bytes, total]);
      const { resumedFrom, bytes, warnings } = await put(second, { onProgress }, source);
      assert.deepEqual([resumedFrom, bytes, warnings], [FAIL_AT, 200_000, []]);
      assert.ok((progress[0]?.[0] as number) > FAIL_AT);
      assert.deepEqual(progress.at(-1), [700_000, 700_000]);
      assert.ok(equalBytes(content(second), BYTES));
      assert.ok(lines(second, 'WRITE').every((line) => Number(/\d+/.exec(line)?.[0]) >= FAIL_AT));
      assert.deepEqual(lines(second, 'FSETSTAT'), []);
      await assertLeft(second, '/f');
    });
  }

  it('keeps the old file until all is there, and its permissions', async () => {
    const old = { bytes: new Uint8Array([7]), permissions: 0o100600 };
    const first = await setUp(failing, new Map([['/f', old]]));
    await rejectsWith(put(first), 'sftp-status');
    assert.deepEqual(content(first), old.bytes);
    const second = await setUp({}, first.server.files);
    await put(second);
    assert.ok(equalBytes(content(second), BYTES));
    assert.equal(second.server.files.get('/f')?.permissions, 0o100600);
    await assertLeft(second, '/f');
  });

  it('cuts at an abort, so that the next one goes on at once', async () => {
    const world = await setUp();
    const controller = new AbortController();
    const onProgress = ({ bytes }: { readonly bytes: number }): void => {
      if (bytes >= 300_000) controller.abort();
    };
    const error = await rejectsWith(put(world, { signal: controller.signal, onProgress, requests: 4 }), 'aborted');
    const sure = error.transferred as number;
    assert.ok(sure >= 300_000 && sure < 700_000);
    assert.deepEqual([...world.server.files.keys()], [KEPT]);
    assert.equal(content(world, KEPT).length, sure);
    assert.equal((await put(world)).resumedFrom, sure);
    assert.ok(equalBytes(content(world), BYTES));
    await assertLeft(world, '/f');
  });

  it('keeps nothing of an abort before the first byte', async () => {
    const world = await setUp({ write: () => 'silence' });
    const controller = new AbortController();
    const putting = put(world, { signal: controller.signal });
    putting.catch(() => undefined);
    while (lines(world, 'WRITE').length === 0) await world.client.lstat('/').catch(() => undefined);
    controller.abort();
    await rejectsWith(putting, 'aborted');
    await assertLeft(world);
  });

  it('leaves nothing of an upload that never began', async () => {
    const world = await setUp();
    await rejectsWith(put(world, { requests: 0 }), 'bad-argument');
    await assertLeft(world);
    const again = await setUp({}, part(KEPT, BYTES.slice(0, 600_000)));
    await rejectsWith(put(again, { requests: 0 }), 'bad-argument');
    assert.equal((await put(again)).resumedFrom, 600_000);
    await assertLeft(again, '/f');
  });

  it('leaves nothing of an abort before the part was open', async () => {
    const controller = new AbortController();
    const world = await setUp({
      request: (name) => {
        if (name === 'OPEN') controller.abort();
        return 'honest';
      },
    });
    await rejectsWith(put(world, { signal: controller.signal }), 'aborted');
    await assertLeft(world);
  });

  it('leaves the name that says that there may be holes, where the cut is refused', async () => {
    const world = await setUp({ ...failing, request: (name) => (name === 'FSETSTAT' ? 3 : 'honest') });
    const error = await rejectsWith(put(world), 'sftp-status');
    assert.ok(error.message.includes(TORN), error.message);
    const next = await setUp({}, world.server.files);
    assert.equal((await put(next)).resumedFrom, undefined); // holes may be up to its start
    assert.ok(equalBytes(content(next), BYTES));
    await assertLeft(next, '/f');
  });

  it('leaves that name, uncut, where another channel may be writing yet', async () => {
    const server = new ScriptedSftp().add(TORN, BYTES);
    const link = new Link(server, { clock: systemClock, stallTimeout: 0 });
    await greet(link, 0, undefined);
    const file = await openFile(link, TORN, 'r+', {}, {});
    const paths = { torn: TORN, kept: KEPT };
    const plan = { path: TORN, inPlace: false, permissions: undefined };
    const target = { plan, file, paths, start: 0, skip: 0, span: 1, length: 0 };
    const error = new SshError('aborted', 'test');
    const failed = { error, sure: 600_000, reached: 700_000, isOpen: true };
    assert.equal(await keepPart(target, { ...failed, isOrdered: false }), TORN);
    assert.deepEqual(server.log, ['INIT', `OPEN ${TORN} 3`, 'CLOSE']);
    const again = { ...target, file: await openFile(link, TORN, 'r+', {}, {}) };
    assert.equal(await keepPart(again, { ...failed, isOrdered: true }), KEPT);
  });

  it('removes what CLOSE calls into question once it was cut', async () => {
    const world = await setUp({ ...failing, request: (name) => (name === 'CLOSE' ? 4 : 'honest') });
    const error = await rejectsWith(put(world), 'sftp-status');
    assert.doesNotMatch(error.message, /stays as/);
    world.server.openHandles.clear(); // refused as it was, the handle is gone
    await assertLeft(world);
  });

  it('removes what CLOSE or FSYNC call into question', async () => {
    for (const [step, options] of [
      ['CLOSE', {}],
      ['EXTENDED', { sync: true }],
    ] as const) {
      let isFailing = true;
      const world = await setUp({
        request: (name) => {
          if (name !== step || !isFailing) return 'honest';
          isFailing = false;
          return 4;
        },
      });
      await rejectsWith(put(world, options), 'sftp-status');
      if (step === 'CLOSE') world.server.openHandles.clear(); // refused as it was, the handle is gone
      await assertLeft(world);
    }
  });

  it('keeps a whole part that could not get its name', async () => {
    const world = await setUp({ extensions: [] });
    let isThere = false;
    const onProgress = (): void => {
      if (!isThere) world.server.add('/f', new Uint8Array([7]));
      isThere = true;
    };
    const error = await rejectsWith(put(world, { onProgress }), 'target-exists');
    assert.ok(error.message.includes(KEPT), error.message);
    assert.deepEqual(content(world), new Uint8Array([7]));
    world.server.files.delete('/f');
    const { resumedFrom, bytes } = await put(world);
    assert.deepEqual([resumedFrom, bytes], [700_000, 0]);
    await assertLeft(world, '/f');
  });

  it('starts anew where the source changed', async () => {
    const world = await setUp({}, part(KEPT, BYTES.slice(0, 600_000)));
    world.files.now += 0.25;
    world.files.add('src', BYTES);
    const { resumedFrom } = await put(world);
    assert.equal(resumedFrom, undefined);
    await assertLeft(world, KEPT, '/f');
  });

  for (const script of [{}, CHECK_FILE]) {
    const how = script === CHECK_FILE ? 'digests' : 'the last bytes';
    it(`starts anew, with a warning, where the part is of another file: by ${how}`, async () => {
      const other = BYTES.slice(0, 600_000);
      other[script === CHECK_FILE ? 5 : 599_000] = 0xaa;
      const world = await setUp(script, part(KEPT, other));
      const { resumedFrom, warnings } = await put(world);
      assert.equal(resumedFrom, undefined);
      assert.match(warnings[0] as string, /600000 bytes .*\.kept\.part are not those/);
      assert.ok(equalBytes(content(world), BYTES));
      await assertLeft(world, '/f');
    });
  }

  it('goes on behind the end of a part without holes, where digests show that there are none', async () => {
    const world = await setUp(CHECK_FILE, part(TORN, BYTES.slice(0, 600_000)));
    assert.equal((await put(world)).resumedFrom, 600_000);
    assert.ok(equalBytes(content(world), BYTES));
    await assertLeft(world, '/f');
  });

  it('starts anew where the part cannot be read', async () => {
    const world = await setUp({ read: () => 3 }, part(KEPT, BYTES.slice(0, 600_000)));
    assert.equal((await put(world)).warnings.length, 1);
    assert.ok(equalBytes(content(world), BYTES));
    await assertLeft(world, '/f');
  });

  it('prefers what is whole to what may have holes', async () => {
    for (const extensions of [undefined, []]) {
      const there = part(KEPT, BYTES.slice(0, 600_000));
      there.set(TORN, { bytes: new Uint8Array(650_000), permissions: 0o100644 });
      const world = await setUp(extensions === undefined ? {} : { extensions }, there);
      assert.equal((await put(world)).resumedFrom, 600_000);
      assert.ok(equalBytes(content(world), BYTES));
      await assertLeft(world, '/f');
    }
  });

  it('refuses a link in place of a part', async () => {
    const there = new Map([[TORN, { bytes: new Uint8Array(0), permissions: 0o120777 }]]);
    const world = await setUp({}, there);
    await rejectsWith(put(world), 'target-exists');
    await assertLeft(world, TORN);
  });

  it('writes a link or device in place, and says that nothing can be resumed', async () => {
    const there = new Map([['/f', { bytes: new Uint8Array(0), permissions: 0o120777 }]]);
    const world = await setUp({}, there);
    const { warnings } = await put(world);
    assert.match(warnings[0] as string, /written in place/);
    assert.ok(equalBytes(content(world), BYTES));
    await assertLeft(world, '/f');
  });

  it('skips zeros only where nothing is yet', async () => {
    const bytes = BYTES.slice().fill(0, 100_000, 690_000);
    const other = bytes.slice(0, 600_000).fill(9, 300_000, 320_000); // not seen: only the last bytes are compared
    const world = await setUp({}, part(KEPT, other.slice(0, 600_000)));
    world.files.add('src', bytes);
    assert.equal((await put(world, { sparse: true })).resumedFrom, 600_000);
    assert.ok(lines(world, 'WRITE').every((line) => Number(/\d+/.exec(line)?.[0]) >= 680_000));
    await assertLeft(world, '/f');
    const torn = await setUp({}, part(TORN, new Uint8Array(650_000).fill(9)));
    torn.files.add('src', bytes);
    await put(torn, { sparse: true });
    assert.ok(equalBytes(content(torn), bytes));
    await assertLeft(torn, '/f');
  });

  it('verifies what was there already too', async () => {
    const other = BYTES.slice(0, 600_000);
    other[5] = 0xaa; // far from the end
    const world = await setUp({}, part(KEPT, other));
    await rejectsWith(put(world, { verify: 'content' }), 'content-differs');
    await assertLeft(world);
  });
});

describe("put with resume: 'target'", () => {
  it('replaces what is longer than the source, and says so', async () => {
    const world = await setUp({}, part('/f', patterned(700_001)));
    const { resumedFrom, warnings } = await put(world, { resume: 'target' });
    assert.equal(resumedFrom, undefined);
    assert.deepEqual(warnings, ['/f has 700001 bytes, more than the 700000 of the file: it was moved from the start']);
    assert.ok(equalBytes(content(world), BYTES));
    await assertLeft(world, '/f');
  });

  for (const script of [{}, CHECK_FILE]) {
    const how = script === CHECK_FILE ? 'digests' : 'content';
    it(`goes on with a file of others, compared as a whole: ${how}`, async () => {
      const world = await setUp(script, part('/f', BYTES.slice(0, 650_000)));
      const { resumedFrom, bytes, warnings } = await put(world, { resume: 'target' });
      assert.deepEqual([resumedFrom, bytes, warnings], [650_000, 50_000, []]);
      assert.ok(equalBytes(content(world), BYTES));
      await assertLeft(world, '/f');
    });

    it(`replaces what is not the beginning: ${how}`, async () => {
      const other = BYTES.slice(0, 650_000);
      other[0] = (other[0] as number) ^ 1;
      const world = await setUp(script, part('/f', other));
      const { resumedFrom, warnings } = await put(world, { resume: 'target' });
      assert.equal(resumedFrom, undefined);
      assert.equal(warnings.length, 1);
      assert.ok(equalBytes(content(world), BYTES));
      await assertLeft(world, '/f');
    });
  }

  it('leaves the file where it was, if it cannot be opened', async () => {
    const world = await setUp(
      { request: (name, _, packet) => (name === 'OPEN' && (packet.at(-5) as number) !== 1 ? 3 : 'honest') },
      part('/f', BYTES.slice(0, 650_000)),
    );
    await rejectsWith(put(world, { resume: 'target' }), 'sftp-status');
    assert.equal(content(world).length, 650_000);
    await assertLeft(world, '/f');
  });
});
