/** Downloads that go on with what is there. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import { systemClock } from '../../src/io/clock.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { get } from '../../src/sftp/get.ts';
import type { GetOptions, GetResult } from '../../src/sftp/get_options.ts';
import { greet } from '../../src/sftp/greet.ts';
import { Link } from '../../src/sftp/link.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned, reply, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';

const BYTES = patterned(700_000);
const CHANGED = 1_600_000_000;
const TORN = '.out.700000-1600000000.part';
const KEPT = '.out.700000-1600000000.kept.part';
const CHECK_FILE: Script = { extensions: ['check-file-handle'] };
const FAIL_AT = 500_000;
const failing: Script = { read: ({ offset }) => (offset >= FAIL_AT ? 4 : 'honest') };

interface World {
  readonly server: ScriptedSftp;
  readonly files: MemoryFiles;
  readonly client: SftpClient;
}

async function setUp(script: Script = {}, files = new MemoryFiles()): Promise<World> {
  const server = new ScriptedSftp(script);
  server.files.set('/f', { bytes: BYTES, permissions: 0o100644, modified: CHANGED });
  return { server, files, client: await SftpClient.open(server, { localFiles: files }) };
}

const got = async (world: World, options: GetOptions = {}): Promise<GetResult> =>
  world.client.get('/f', 'out', { resume: true, requestSize: 10_000, ...options });

/** Nothing is open, and these local files are all there is. */
async function assertLeft({ server, files, client }: World, ...names: string[]): Promise<void> {
  await client.lstat('/f');
  assert.equal(server.openHandles.size, 0, 'remote handles');
  assert.equal(files.opened, 0, 'local files');
  assert.deepEqual([...files.nodes.keys()], names);
  await client.close();
}

const reads = (server: ScriptedSftp): string[] => server.log.filter((line) => line.startsWith('READ'));

describe('get with resume', () => {
  it('keeps what is sure of a failed transfer, says so, and goes on from there', async () => {
    const first = await setUp(failing);
    const error = await rejectsWith(got(first), 'sftp-status');
    assert.equal(error.transferred, FAIL_AT);
    assert.ok(error.message.includes(KEPT), error.message);
    assert.ok(equalBytes(first.files.content(KEPT), BYTES.subarray(0, FAIL_AT)));
    await assertLeft(first, KEPT);

    const second = await setUp({}, first.files);
    const progress: [number, number | undefined][] = [];
    const result = await got(second, { onProgress: ({ bytes, total }) => progress.push([bytes, total]) });
    assert.deepEqual([result.resumedFrom, result.bytes], [FAIL_AT, 200_000]);
    assert.deepEqual(result.warnings, []);
    assert.ok((progress[0]?.[0] as number) > FAIL_AT);
    assert.deepEqual(progress.at(-1), [700_000, 700_000]);
    assert.ok(equalBytes(second.files.content('out'), BYTES));
    // what is compared, and what is missing
    const offsets = reads(second.server).map((line) => Number(/\d+/.exec(line)?.[0]));
    assert.ok(offsets.every((offset) => offset >= FAIL_AT - 256 * 1024));
    await assertLeft(second, 'out');
  });

  it('tells of a second failure how much is there in all', async () => {
    const first = await setUp({ read: ({ offset }) => (offset >= 300_000 ? 4 : 'honest') });
    await rejectsWith(got(first), 'sftp-status');
    const second = await setUp(failing, first.files);
    const error = await rejectsWith(got(second), 'sftp-status');
    assert.equal(error.transferred, FAIL_AT);
    assert.equal(second.files.content(KEPT).length, FAIL_AT);
    await assertLeft(second, KEPT);
  });

  it('keeps what is there at an abort', async () => {
    const world = await setUp({ read: ({ offset }) => (offset >= FAIL_AT ? 'silence' : 'honest') });
    const controller = new AbortController();
    const onProgress = ({ bytes }: { readonly bytes: number }): void => {
      if (bytes === FAIL_AT) controller.abort();
    };
    await rejectsWith(got(world, { signal: controller.signal, onProgress }), 'aborted');
    assert.ok(equalBytes(world.files.content(KEPT), BYTES.subarray(0, FAIL_AT)));
    await assertLeft(world, KEPT);
  });

  it('removes what has not a byte that is sure', async () => {
    const world = await setUp({ read: () => 4 });
    await rejectsWith(got(world), 'sftp-status');
    await assertLeft(world);
  });

  it('starts anew where the remote file changed', async () => {
    const files = new MemoryFiles().add(KEPT, patterned(100_000, 'other'));
    const world = await setUp({}, files);
    world.server.files.set('/f', { bytes: BYTES, permissions: 0o100644, modified: CHANGED + 1 });
    const result = await got(world);
    assert.equal(result.resumedFrom, undefined);
    await assertLeft(world, KEPT, 'out');
  });

  for (const [name, script] of [
    ['the last bytes', {}],
    ['digests', CHECK_FILE],
  ] as const) {
    it(`starts anew, with a warning, where the part is of another file: by ${name}`, async () => {
      const part = BYTES.slice(0, 600_000);
      part[script === CHECK_FILE ? 5 : 599_000] = 0xaa;
      const world = await setUp(script, new MemoryFiles().add(KEPT, part));
      const { resumedFrom, warnings, bytes } = await got(world);
      assert.deepEqual([resumedFrom, bytes], [undefined, 700_000]);
      assert.equal(warnings.length, 1);
      assert.match(warnings[0] as string, /600000 bytes .*\.kept\.part are not those/);
      assert.ok(equalBytes(world.files.content('out'), BYTES));
      await assertLeft(world, 'out');
    });
  }

  it('does not go on with a part that is longer than the file', async () => {
    const world = await setUp({}, new MemoryFiles().add(KEPT, patterned(800_000)));
    assert.equal((await got(world)).resumedFrom, undefined);
    assert.ok(equalBytes(world.files.content('out'), BYTES));
    await assertLeft(world, 'out');
  });

  it('takes a part that may have holes from far before its end: here from the start', async () => {
    const torn = BYTES.slice(0, 600_000).fill(0, 100_000, 200_000);
    const world = await setUp({}, new MemoryFiles().add(TORN, torn));
    assert.equal((await got(world)).resumedFrom, undefined);
    assert.ok(equalBytes(world.files.content('out'), BYTES));
    await assertLeft(world, 'out');
  });

  it('takes a part that may have holes from 2 MiB before its end', async () => {
    const MIB = 1024 * 1024;
    const large = patterned(4 * MIB);
    const part = large.slice(0, 3 * MIB).fill(0, 1.5 * MIB, 2 * MIB);
    const files = new MemoryFiles().add(`.out.${4 * MIB}-${CHANGED}.part`, part);
    const world = await setUp({}, files);
    world.server.files.set('/f', { bytes: large, permissions: 0o100644, modified: CHANGED });
    assert.equal((await got(world)).resumedFrom, MIB);
    assert.ok(equalBytes(files.content('out'), large));
    await assertLeft(world, 'out');
  });

  it('takes it from the first hole, where digests show it', async () => {
    const torn = BYTES.slice(0, 600_000).fill(0, 400_000, 410_000);
    const world = await setUp(CHECK_FILE, new MemoryFiles().add(TORN, torn));
    const { resumedFrom, warnings } = await got(world);
    assert.deepEqual([resumedFrom, warnings], [256 * 1024, []]);
    assert.ok(equalBytes(world.files.content('out'), BYTES));
    await assertLeft(world, 'out');
  });

  it('verifies what was there already too', async () => {
    const part = BYTES.slice(0, 600_000);
    part[5] = 0xaa; // far from the end
    const world = await setUp({}, new MemoryFiles().add(KEPT, part));
    await rejectsWith(got(world, { verify: 'content' }), 'content-differs');
    await assertLeft(world);
  });

  it('keeps a whole part whose name could not be given, and needs no byte again', async () => {
    const world = await setUp();
    world.files.fail = ({ operation, path }) =>
      operation === 'rename' && path === TORN && !world.files.nodes.has('gone');
    const { rename } = world.files;
    world.files.rename = async (from, to) => {
      if (to === KEPT) world.files.fail = () => false;
      return rename.call(world.files, from, to);
    };
    await rejectsWith(got(world), 'bad-local-file');
    world.files.rename = rename;
    assert.ok(equalBytes(world.files.content(KEPT), BYTES));
    const { resumedFrom, bytes } = await got(world);
    assert.deepEqual([resumedFrom, bytes], [700_000, 0]);
    await assertLeft(world, 'out');
  });

  it('trusts no part that another transfer took away meanwhile', async () => {
    const world = await setUp(failing);
    const onProgress = (): void => {
      const node = world.files.nodes.get(TORN);
      if (node === undefined) return;
      world.files.nodes.delete(TORN);
      world.files.nodes.set(KEPT, node);
    };
    await rejectsWith(got(world, { onProgress }), 'sftp-status');
    await assertLeft(world);
  });

  for (const [what, operation, script, options] of [
    ['the disk refuses to be flushed', 'sync', {}, { sync: true }],
    ['closing it fails', 'close', {}, {}],
    ['closing it fails once it was cut', 'close', failing, {}],
  ] as const) {
    it(`keeps nothing where what was written may be lost: ${what}`, async () => {
      const world = await setUp(script);
      world.files.fail = (call) => call.operation === operation && call.path === TORN;
      await rejectsWith(got(world, options), script === failing ? 'sftp-status' : 'bad-local-file');
      await assertLeft(world);
    });
  }

  it('refuses a link in place of a part', async () => {
    const world = await setUp();
    await world.files.makeLink('/etc/passwd', TORN);
    const error = await rejectsWith(got(world), 'bad-local-file');
    assert.match(error.message, /is no file/);
    await assertLeft(world, TORN);
  });

  it('does not go on with what a listing takes for the same file, and is another by now', async () => {
    const old = BYTES.slice(0, FAIL_AT);
    old[0] = (old[0] as number) ^ 1;
    const files = new MemoryFiles().add(KEPT, old);
    const server = new ScriptedSftp();
    server.files.set('/f', { bytes: BYTES, permissions: 0o100644, modified: CHANGED + 1 });
    const link = new Link(server, { clock: systemClock, stallTimeout: 0 });
    await greet(link, 0, undefined);
    const attrs = { size: BYTES.length, permissions: 0o100644, mtime: CHANGED, atime: CHANGED };
    const { resumedFrom, warnings } = await get(link, '/f', 'out', files, { resume: true }, { attrs });
    assert.equal(resumedFrom, undefined);
    assert.match(warnings[0] as string, /moved from the start/);
    assert.ok(equalBytes(files.content('out'), BYTES));
    assert.deepEqual([...files.nodes.keys()], ['out']);
    link.fail(new SshError('connection-closed', 'test'));
  });

  it('leaves out zeros behind what is there only', async () => {
    const world = await setUp({}, new MemoryFiles().add(TORN, new Uint8Array(600_000).fill(9)));
    const bytes = BYTES.slice().fill(0, 300_000, 690_000);
    world.server.files.set('/f', { bytes, permissions: 0o100644, modified: CHANGED });
    await got(world, { sparse: true });
    assert.ok(equalBytes(world.files.content('out'), bytes));
    await assertLeft(world, 'out');
  });

  it('warns where size or time are not told', async () => {
    const world = await setUp({
      request: (name, id) => (name === 'FSTAT' ? [reply.attrs(id, { size: 700_000 })] : 'honest'),
    });
    const { warnings } = await got(world);
    assert.match(warnings[0] as string, /no size or no time/);
    await assertLeft(world, 'out');
  });
});

describe("get with resume: 'target'", () => {
  it('replaces what is longer than the file, and says so', async () => {
    const world = await setUp({}, new MemoryFiles().add('out', patterned(700_001)));
    const { resumedFrom, warnings } = await got(world, { resume: 'target' });
    assert.equal(resumedFrom, undefined);
    assert.deepEqual(warnings, ['out has 700001 bytes, more than the 700000 of the file: it was moved from the start']);
    assert.ok(equalBytes(world.files.content('out'), BYTES));
    await assertLeft(world, 'out');
  });

  for (const script of [{}, CHECK_FILE]) {
    const how = script === CHECK_FILE ? 'digests' : 'content';
    it(`goes on with a file of others, compared as a whole: ${how}`, async () => {
      const world = await setUp(script, new MemoryFiles().add('out', BYTES.slice(0, 650_000)));
      const { resumedFrom, bytes, warnings } = await got(world, { resume: 'target' });
      assert.deepEqual([resumedFrom, bytes, warnings], [650_000, 50_000, []]);
      assert.ok(equalBytes(world.files.content('out'), BYTES));
      const read = reads(world.server).length;
      if (script === CHECK_FILE) assert.ok(read < 10, `${read} READs`);
      await assertLeft(world, 'out');
    });

    it(`replaces what is not the beginning, once all is there: ${how}`, async () => {
      const other = BYTES.slice(0, 650_000);
      other[0] = (other[0] as number) ^ 1;
      const files = new MemoryFiles().add('out', other);
      const failsLater: Script = { read: ({ offset }) => (files.nodes.has(TORN) && offset >= FAIL_AT ? 4 : 'honest') };
      const world = await setUp({ ...script, ...failsLater }, files);
      await rejectsWith(got(world, { resume: 'target' }), 'sftp-status');
      assert.ok(equalBytes(world.files.content('out'), other));
      const next = await setUp(script, world.files);
      const { resumedFrom } = await got(next, { resume: 'target' });
      assert.equal(resumedFrom, FAIL_AT);
      assert.ok(equalBytes(next.files.content('out'), BYTES));
      await assertLeft(next, 'out');
    });
  }

  it('keeps what a file of others begins with when it fails', async () => {
    const world = await setUp({ read: ({ offset }) => (offset >= 680_000 ? 4 : 'honest') }, new MemoryFiles());
    world.files.add('out', BYTES.slice(0, 650_000));
    const error = await rejectsWith(got(world, { resume: 'target' }), 'sftp-status');
    assert.equal(error.transferred, 680_000);
    await assertLeft(world, KEPT);
  });

  it('needs nothing of a file that is whole', async () => {
    const world = await setUp(CHECK_FILE, new MemoryFiles().add('out', BYTES.slice()));
    const { resumedFrom, bytes } = await got(world, { resume: 'target' });
    assert.deepEqual([resumedFrom, bytes], [700_000, 0]);
    await assertLeft(world, 'out');
  });

  it('leaves the file where it was, if it cannot be opened', async () => {
    const world = await setUp({}, new MemoryFiles().add('out', BYTES.slice(0, 650_000)));
    world.files.fail = ({ operation, path }) => operation === 'open' && path === TORN;
    await rejectsWith(got(world, { resume: 'target' }), 'bad-local-file');
    assert.equal(world.files.content('out').length, 650_000);
    await assertLeft(world, 'out');
  });
});
