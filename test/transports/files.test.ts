/** Local files of each runtime, as the transfers see them. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { LocalAttributes, LocalFile } from '../../src/io/local_files.ts';
import { api } from '../support/connect.ts';
import { pattern } from '../support/pipe_end.ts';
import { rejectsWith } from '../support/rejects.ts';

const files = api.localFiles;
const folder = mkdtempSync(join(tmpdir(), 'puressh-files-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
/** A path that is not taken, or a file with this content. */
function fresh(content?: Uint8Array | string): string {
  const path = join(folder, `file-${++made}`);
  if (content !== undefined) writeFileSync(path, content);
  return path;
}

/** Opens, works and closes. */
async function using<T>(opening: Promise<LocalFile>, work: (file: LocalFile) => Promise<T>): Promise<T> {
  const file = await opening;
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

describe('local files', () => {
  it('are read at any position, and end with 0', async () => {
    const bytes = pattern(100_000);
    const path = fresh(bytes);
    await using(files.open(path, { access: 'read' }), async (file) => {
      assert.equal(await file.size(), 100_000);
      const target = new Uint8Array(1000);
      assert.equal(await file.read(target, 50_000), 1000);
      assert.deepEqual(target, bytes.subarray(50_000, 51_000));
      assert.equal(await file.read(target, 99_990), 10);
      assert.deepEqual(target.subarray(0, 10), bytes.subarray(99_990));
      assert.equal(await file.read(target, 100_000), 0);
    });
  });

  it('are read at several positions at once', async () => {
    const bytes = pattern(1_000_000);
    await using(files.open(fresh(bytes), { access: 'read' }), async (file) => {
      const reads = Array.from({ length: 20 }, async (_, i) => {
        const target = new Uint8Array(10_000);
        assert.equal(await file.read(target, i * 50_000), 10_000);
        assert.deepEqual(target, bytes.subarray(i * 50_000, i * 50_000 + 10_000));
      });
      await Promise.all(reads);
    });
  });

  it('take many pieces, in several writes at once and in any order', async () => {
    const path = fresh();
    const bytes = pattern(3_000_000);
    await using(files.open(path, { access: 'write' }), async (file) => {
      const writes: Promise<void>[] = [];
      for (let part = 5; part >= 0; part--) {
        const pieces: Uint8Array[] = [];
        for (let i = 0; i < 500; i++) {
          const at = part * 500_000 + i * 1000;
          pieces.push(bytes.subarray(at, at + 1000), new Uint8Array(0));
        }
        writes.push(file.write(pieces, part * 500_000));
      }
      await Promise.all(writes);
      await file.write([], 7);
      await file.sync();
      assert.equal(await file.size(), 3_000_000);
    });
    assert.deepEqual(readFileSync(path), Buffer.from(bytes));
  });

  it('take pieces that are written one behind the other', async () => {
    const path = fresh();
    const bytes = pattern(700_000);
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += 1000) pieces.push(bytes.subarray(at, at + 1000));
    await using(files.open(path, { access: 'write' }), (file) => file.write(pieces, 11));
    assert.deepEqual(readFileSync(path).subarray(11), Buffer.from(bytes));
  });

  it('are cut and lengthened', async () => {
    const path = fresh('abcdef');
    await using(files.open(path, { access: 'write', create: 'keep' }), async (file) => {
      await file.truncate(3);
      await file.truncate(5);
    });
    assert.deepEqual([...readFileSync(path)], [97, 98, 99, 0, 0]);
  });

  it('are created anew, replaced or kept as told', async () => {
    const path = fresh('old content');
    const error = await rejectsWith(files.open(path, { access: 'write', create: 'new' }), 'bad-local-file');
    assert.equal(error.path, path);
    assert.equal(error.operation, 'create');
    assert.equal(error.fault, 'local');
    assert.match(error.message, /it exists already$/);
    await using(files.open(path, { access: 'write', create: 'keep' }), (file) => file.write([pattern(1)], 1));
    assert.equal(readFileSync(path).length, 11);
    await using(files.open(path, { access: 'write', create: 'never' }), (file) => file.write([pattern(1)], 11));
    assert.equal(readFileSync(path).length, 12);
    await rejectsWith(files.open(join(folder, 'nothing'), { access: 'write', create: 'never' }), 'bad-local-file');
    await using(files.open(path, { access: 'write' }), (file) => file.write([pattern(2)], 0));
    assert.equal(readFileSync(path).length, 2);
    const created = fresh();
    const mode = { access: 'write', create: 'new', permissions: 0o600 } as const;
    await using(files.open(created, mode), async () => {});
    assert.equal(statSync(created).mode & 0o777, 0o600);
  });

  it('that are missing are an error with path and operation', async () => {
    const path = join(folder, 'no', 'where');
    for (const access of ['read', 'write'] as const) {
      const error = await rejectsWith(files.open(path, { access }), 'bad-local-file');
      assert.equal(error.path, path);
      assert.match(error.message, /: no such file or directory$/);
    }
    const directory = await rejectsWith(files.open(folder, { access: 'write' }), 'bad-local-file');
    assert.match(directory.message, /: it is a directory$/);
  });

  it('have exactly the permissions that a new one is to have, whatever the umask says', async () => {
    for (const permissions of [0o666, 0o777, 0o600, 0o444]) {
      const path = fresh();
      const opening = files.open(path, { access: 'write', create: 'new', permissions });
      await using(opening, (file) => file.write([pattern(3)], 0));
      assert.equal(statSync(path).mode & 0o7777, permissions);
    }
  });

  it('are known by kind, size and permissions, links not followed', async () => {
    const path = fresh('12345');
    chmodSync(path, 0o640);
    utimesSync(path, 1_000_000_000.5, 1_100_000_000.25);
    const known = { kind: 'file', size: 5, permissions: 0o640, accessed: 1_000_000_000.5, modified: 1_100_000_000.25 };
    const { id, ...found } = (await files.stat(path)) ?? assert.fail('nothing is there');
    assert.deepEqual(found, known);
    assert.deepEqual(await using(files.open(path, { access: 'read' }), (file) => file.stat()), { ...known, id });
    assert.notEqual(id, undefined);
    assert.notEqual((await files.stat(fresh('12345')))?.id, id);
    assert.equal((await files.stat(folder))?.kind, 'directory');
    const link = fresh();
    symlinkSync(path, link);
    assert.equal((await files.stat(link))?.kind, 'symlink');
    assert.equal((await files.stat('/dev/null'))?.kind, 'other');
    assert.equal(await files.stat(join(folder, 'nothing')), undefined);
    assert.equal(await files.stat(join(path, 'below a file')), undefined);
  });

  it('are found behind links', async () => {
    const path = fresh('x');
    const link = fresh();
    symlinkSync(path, link);
    const real = await files.resolve(path);
    assert.equal(await files.resolve(link), real);
    assert.equal(await files.resolve(join(folder, 'nothing')), undefined);
  });

  it('are renamed over others, and removed without complaint', async () => {
    const [from, to] = [fresh('new'), fresh('old')];
    await files.rename(from, to);
    assert.equal(readFileSync(to, 'utf8'), 'new');
    await files.remove(to);
    await files.remove(to);
    assert.equal(await files.stat(to), undefined);
    const error = await rejectsWith(files.rename(join(folder, 'nothing'), to), 'bad-local-file');
    assert.equal(error.path, to);
  });

  it('get permissions and times, open or by path, and keep what is not given', async () => {
    for (const byPath of [false, true]) {
      const path = fresh('x');
      utimesSync(path, 1_000_000_000, 1_100_000_000);
      const set = (attributes: LocalAttributes): Promise<void> =>
        byPath
          ? files.setAttributes(path, attributes)
          : using(files.open(path, { access: 'write', create: 'keep' }), (file) => file.setAttributes(attributes));
      await set({ permissions: 0o604 });
      await set({ modified: 1_200_000_000.5 });
      assert.equal(statSync(path).mode & 0o7777, 0o604);
      assert.equal(statSync(path).atimeMs, 1_000_000_000_000);
      assert.equal(statSync(path).mtimeMs, 1_200_000_000_500);
      await set({ accessed: 1_300_000_000.5 });
      await set({});
      assert.equal(statSync(path).atimeMs, 1_300_000_000_500);
      assert.equal(statSync(path).mtimeMs, 1_200_000_000_500);
    }
    const missing = await rejectsWith(files.setAttributes(join(folder, 'nothing'), { modified: 1 }), 'bad-local-file');
    assert.match(missing.message, /no such file/);
  });

  it('stand in directories that are made and listed', async () => {
    const directory = fresh();
    assert.equal(await files.makeDirectory(directory, 0o777), true);
    assert.equal(statSync(directory).mode & 0o7777, 0o777);
    assert.equal(await files.makeDirectory(directory), false);
    writeFileSync(join(directory, 'file'), 'x');
    mkdirSync(join(directory, 'below'));
    await files.makeLink('below', join(directory, 'link'));
    assert.equal(readlinkSync(join(directory, 'link')), 'below');
    assert.equal(await files.readLink(join(directory, 'link')), 'below');
    assert.equal(await files.makeDirectory(join(directory, 'link')), false);
    const kinds = Object.fromEntries((await files.list(directory)).map(({ name, kind }) => [name, kind]));
    assert.deepEqual(kinds, { file: 'file', below: 'directory', link: 'symlink' });
    const taken = await rejectsWith(files.makeDirectory(join(directory, 'file')), 'bad-local-file');
    assert.match(taken.message, /it exists already$/);
    await rejectsWith(files.makeDirectory(join(directory, 'no', 'where')), 'bad-local-file');
    await rejectsWith(files.makeLink('x', join(directory, 'file')), 'bad-local-file');
    await rejectsWith(files.readLink(join(directory, 'file')), 'bad-local-file');
    await rejectsWith(files.list(join(directory, 'nothing')), 'bad-local-file');
  });

  it('have a name and neighbours', () => {
    assert.equal(files.join('/a/../b', 'c'), '/a/../b/c');
    assert.equal(files.join('a/', 'c'), 'a/c');
    assert.equal(files.join('/', 'c'), '/c');
    assert.equal(files.join('', 'c'), 'c');
    assert.equal(files.beside('a/../b/c', 'd'), 'a/../b/d');
    assert.equal(files.name('/a/b/c.txt'), 'c.txt');
    assert.equal(files.name('c.txt'), 'c.txt');
    assert.equal(files.beside('/a/b/c.txt', '.c.part'), '/a/b/.c.part');
    assert.equal(files.beside('c.txt', '.c.part'), '.c.part');
    assert.equal(files.beside('/c.txt', 'd'), '/d');
  });

  it('that cannot seek are read and written in order', async () => {
    const fifo = fresh();
    execFileSync('mkfifo', [fifo]);
    const writing = using(files.open(fifo, { access: 'write' }), async (file) => {
      await file.write([pattern(10)], 0);
      await file.write([pattern(10, 10), pattern(5, 20)], 10);
    });
    const read = await using(files.open(fifo, { access: 'read' }), async (file) => {
      const target = new Uint8Array(25);
      let at = 0;
      while (at < 25) at += await file.read(target.subarray(at), at);
      assert.equal(await file.read(new Uint8Array(1), 25), 0);
      return target;
    });
    await writing;
    assert.deepEqual(read, pattern(25));
  });
});
