/** What a served directory does with files: the system's own calls are the measure. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { SshError } from '../../../src/errors.ts';
import { directoryFiles } from '../../../src/sftp/server/directory.ts';
import type { HostFiles } from '../../../src/sftp/server/host_files.ts';
import {
  content,
  directory,
  entries,
  failsWith,
  hostFiles,
  how,
  runtime,
  type Served,
  served,
  using,
} from '../../support/host_directory.ts';
import { pattern } from '../../support/pipe_end.ts';

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const umask = process.umask();
const notRoot = process.getuid?.() === 0 ? false : 'only root may give files away';

/** What open(2) does, asked for by another program: the runtimes have their own ideas of what may be asked. */
const OPENS = `
import errno, json, os, shutil, sys
flags = {'a': os.O_APPEND, 'c': os.O_CREAT, 'x': os.O_EXCL, 't': os.O_TRUNC}
tree = sys.argv[1]
def state(path):
    found = os.lstat(path)
    text = open(path, encoding='latin1').read() if os.path.isfile(path) and not os.path.islink(path) else ''
    return '%s %o %s' % (os.path.relpath(path, tree), found.st_mode, text)
answers = []
for name, letters in json.load(sys.stdin):
    shutil.rmtree(tree, True)
    os.makedirs(tree + '/sub')
    for file in ['/file', '/sub/file']:
        with open(tree + file, 'w') as made: made.write('content')
    for target, link in [('file', '/link'), ('sub/new', '/dangling'), ('sub', '/through')]:
        os.symlink(target, tree + link)
    mode = os.O_RDWR if letters.startswith('rw') else os.O_WRONLY if 'w' in letters else os.O_RDONLY
    for letter in letters: mode |= flags.get(letter, 0)
    outcome = 'done'
    try:
        fd = os.open(tree + '/' + name, mode, 0o640)
        if 'w' in letters: os.write(fd, b'NEW') if 'a' in letters else os.pwrite(fd, b'NEW', 2)
        os.close(fd)
    except OSError as error:
        outcome = errno.errorcode[error.errno]
    places = [os.path.join(at, name) for at, dirs, files in os.walk(tree) for name in dirs + files]
    answers.append([outcome] + sorted(map(state, places)))
json.dump(answers, sys.stdout)
`;

/** The same of our tree. */
function stateOf(path: string): string[] {
  const found: string[] = [];
  const add = (name: string): void => {
    const stat = lstatSync(join(path, name));
    found.push(`${name} ${stat.mode.toString(8)} ${stat.isFile() ? readFileSync(join(path, name), 'latin1') : ''}`);
    if (stat.isDirectory()) for (const below of readdirSync(join(path, name))) add(`${name}/${below}`);
  };
  for (const name of readdirSync(path)) add(name);
  return found.sort();
}

describe('files of a served directory', () => {
  it('are read at any offset, into memory of exactly that size', async () => {
    const { at, files } = served();
    const bytes = pattern(100_000);
    writeFileSync(at('file'), bytes);
    await using(files, '/file', how('r'), async (file) => {
      for (const [offset, length, expected] of [
        [0, 32768, 32768],
        [50_001, 10, 10],
        [99_990, 32768, 10],
        [0, 100_000, 100_000],
      ] as const) {
        const read = await file.read(offset, length);
        assert.deepEqual(read, bytes.subarray(offset, offset + expected));
        assert.equal(Object.getPrototypeOf(read), Uint8Array.prototype);
        assert.equal(read.buffer.byteLength, expected);
      }
      for (const offset of [100_000, 100_001, 2 ** 40, Number.MAX_SAFE_INTEGER - 2 ** 18]) {
        assert.equal((await file.read(offset, 1000)).length, 0, String(offset));
      }
    });
  });

  it('are written in pieces, from any offset, as many as there are', async () => {
    const { at, files } = served();
    const bytes = pattern(30_000);
    const pieces = Array.from({ length: 3000 }, (_, i) => bytes.subarray(i * 10, i * 10 + 10));
    await using(files, '/file', how('rwc'), async (file) => {
      await file.write(5, pieces);
      await file.write(2, [text('ab'), new Uint8Array(0), text('c')]);
      await file.write(0, [text('x')]);
      await file.write(0, []);
      await file.sync();
      assert.deepEqual(await file.read(2, 3), text('abc'));
    });
    const found = readFileSync(at('file'));
    assert.deepEqual([...found.subarray(0, 5)], [...text('x\0abc')]);
    assert.deepEqual(new Uint8Array(found.subarray(5)), bytes);
  });

  it('may be longer than numbers of 32 bits, with holes', async () => {
    const { files } = served();
    const far = 2 ** 40 + 7;
    await using(files, '/file', how('rwc'), async (file) => {
      await file.write(far, [text('far')]);
      await file.write(far + 3, [text(' '), text('away')]);
      assert.deepEqual(await file.read(far, 100), text('far away'));
      assert.deepEqual(await file.read(far - 2, 4), text('\0\0fa'));
      assert.equal((await file.stat()).size, far + 8);
      await file.setstat({ size: 2 ** 41 });
    });
    assert.equal((await files.stat('/file')).size, 2 ** 41);
    await files.setstat('/file', { size: 3 });
    assert.equal((await files.stat('/file')).size, 3);
  });

  it('are written at the end, and only there, when opened to append', async () => {
    const { at, files } = served();
    writeFileSync(at('file'), 'start');
    await using(files, '/file', how('wa'), async (file) => {
      await file.write(0, [text(' one')]);
      writeFileSync(at('file'), 'start one by another', { flag: 'r+' });
      await file.write(1, [text(' two'), text(' three')]);
    });
    assert.equal(readFileSync(at('file'), 'latin1'), 'start one by another two three');
  });

  it('open as open(2) opens them', async () => {
    const { at, outside, files } = served();
    const extra = ['', 'c', 'cx'].flatMap((create) => ['', 'a', 't', 'at'].map((rest) => create + rest));
    const letters = ['r', 'w', 'rw'].flatMap((access) => extra.map((rest) => access + rest));
    const names = ['file', 'missing', 'link', 'dangling', 'through/file', 'file/below', 'no/where'];
    const cases = names.flatMap((name) => letters.map((each) => [name, each] as const));
    const input = JSON.stringify(cases);
    const answers = execFileSync('python3', ['-c', OPENS, join(outside, 'twin')], { input, encoding: 'utf8' });
    const expected = JSON.parse(answers) as readonly (readonly string[])[];
    assert.equal(expected.length, 252);
    for (const [index, [name, each]] of cases.entries()) {
      rmSync(at('tree'), { recursive: true, force: true });
      mkdirSync(at('tree/sub'), { recursive: true });
      for (const file of ['file', 'sub/file']) writeFileSync(at('tree', file), 'content');
      for (const [target, link] of [
        ['file', 'link'],
        ['sub/new', 'dangling'],
        ['sub', 'through'],
      ] as const) {
        symlinkSync(target, at('tree', link));
      }
      let outcome = 'done';
      try {
        await using(files, `/tree/${name}`, how(each, { permissions: 0o640 }), (file) =>
          each.includes('w') ? file.write(2, [text('NEW')]) : undefined,
        );
      } catch (error) {
        outcome = (error as { code: string }).code;
      }
      assert.deepEqual([outcome, ...stateOf(at('tree'))], expected[index], `${name} ${each}`);
    }
  });

  it('that are pipes or devices do not open, and nothing waits for them', async () => {
    const { at, files } = served();
    execFileSync('mkfifo', [at('pipe')]);
    for (const letters of ['r', 'w', 'rw', 'rwc', 'wt'])
      await failsWith('EACCES', () => files.open('/pipe', how(letters)));
    await failsWith('EEXIST', () => files.open('/pipe', how('wcx')));
    const all = directory('/');
    for (const path of ['/dev/null', '/dev/zero', '/dev/tty']) {
      for (const letters of ['r', 'w']) await failsWith('EACCES', () => all.open?.(path, how(letters)));
    }
    assert.equal(((await files.stat('/pipe')).permissions as number) >>> 12, 0o1);
    await files.setstat('/pipe', { permissions: 0o600, atime: 3, mtime: 4 });
    const { mode, mtimeMs } = lstatSync(at('pipe'));
    assert.deepEqual([mode & 0o7777, mtimeMs], [0o600, 4000]);
    await failsWith('EINVAL', () => files.setstat('/pipe', { size: 0 }));
    await files.rename('/pipe', '/moved');
    await files.remove('/moved');
  });

  it('and directories are made with the permissions asked for, less the umask', async () => {
    const { at, files } = served();
    for (const permissions of [0o777, 0o600, 0o000, undefined]) {
      const attrs = permissions === undefined ? {} : { permissions };
      const name = String(permissions);
      await using(files, `/${name}`, how('wc', attrs), () => {});
      await files.mkdir(`/${name}.d`, attrs);
      assert.equal(statSync(at(name)).mode & 0o7777, (permissions ?? 0o666) & ~umask);
      assert.equal(statSync(at(`${name}.d`)).mode & 0o7777, (permissions ?? 0o777) & ~umask);
      chmodSync(at(`${name}.d`), 0o700); // so that it can be cleared away
    }
    // Those of a file that is there stay.
    chmodSync(at('0'), 0o640);
    await using(files, '/0', how('wct', { permissions: 0o777 }), () => {});
    assert.equal(statSync(at('0')).mode & 0o7777, 0o640);
  });

  const dropsBits = runtime === 'deno' ? 'Deno makes files with no more than 0o777' : false;
  it('are made with setuid, setgid and sticky bits where asked for', { skip: dropsBits }, async () => {
    const { at, files } = served();
    await using(files, '/file', how('wc', { permissions: 0o6755 }), () => {});
    await files.mkdir('/dir', { permissions: 0o1777 });
    assert.equal(statSync(at('file')).mode & 0o7777, 0o6755 & ~umask);
    assert.equal(statSync(at('dir')).mode & 0o7777, 0o1777 & ~umask);
  });

  it('stay open when their name is gone', async () => {
    const { at, files } = served();
    writeFileSync(at('file'), 'content');
    await using(files, '/file', how('rw'), async (file) => {
      await files.remove('/file');
      await file.write(7, [text(' and more')]);
      assert.deepEqual(await file.read(0, 100), text('content and more'));
      assert.equal((await file.stat()).size, 16);
      await failsWith('ENOENT', () => file.statvfs());
      writeFileSync(at('file'), 'another');
      await failsWith('ENOENT', () => file.statvfs());
      assert.equal(readFileSync(at('file'), 'latin1'), 'another');
    });
  });

  it('fail reads and writes that they were not opened for', async () => {
    const { at, files } = served();
    writeFileSync(at('file'), 'content');
    await using(files, '/file', how('r'), (file) => failsWith('EBADF', () => file.write(0, [text('x')])));
    await using(files, '/file', how('w'), (file) => failsWith('EBADF', () => file.read(0, 1)));
    assert.equal(readFileSync(at('file'), 'latin1'), 'content');
  });

  it('close once, and not under a call', async () => {
    const { at, files } = served();
    const bytes = pattern(1_000_000);
    writeFileSync(at('file'), bytes);
    writeFileSync(at('other'), 'other');
    const file = await files.open('/file', how('r'));
    const reading = file.read?.(0, bytes.length);
    await file.close();
    const other = await files.open('/other', how('r'));
    assert.deepEqual(await reading, bytes);
    await file.close();
    await failsWith('EBADF', () => file.read?.(0, 1));
    assert.deepEqual(await other.read?.(0, 10), text('other'));
    await other.close();
  });
});

describe('attributes in a served directory', () => {
  it('are those of stat(2), and of lstat(2) for a link', async () => {
    const { at, files } = served();
    writeFileSync(at('file'), '12345');
    symlinkSync('file', at('link'));
    chmodSync(at('file'), 0o4751);
    utimesSync(at('file'), 1_000_000_000.75, 1_100_000_000.25);
    const { uid, gid } = statSync(at('file'));
    const attrs = { size: 5, uid, gid, permissions: 0o104751, atime: 1_000_000_000, mtime: 1_100_000_000 };
    assert.deepEqual(await files.stat('/file'), attrs);
    assert.deepEqual(await files.lstat('/file'), attrs);
    assert.deepEqual(await files.stat('/link'), attrs);
    assert.deepEqual(await using(files, '/link', how('r'), (file) => file.stat()), attrs);
    assert.equal((await files.lstat('/link')).permissions, lstatSync(at('link')).mode);
    assert.equal((await files.lstat('/link')).size, 4);
    assert.equal(((await files.stat('/')).permissions as number) >>> 12, 0o4);
  });

  it('have times from 1970 to 2106, the nearest where the file has others', async () => {
    const { at, files } = served();
    writeFileSync(at('old'), '');
    execFileSync('touch', ['-d', '1960-01-01T00:00:00.5Z', at('old')]);
    assert.equal((await files.stat('/old')).mtime, 0);
    writeFileSync(at('late'), '');
    execFileSync('touch', ['-d', '2200-01-01T00:00:00Z', at('late')]);
    const kept = Math.floor(statSync(at('late')).mtimeMs / 1000); // not every file system goes so far
    assert.equal((await files.stat('/late')).mtime, Math.min(kept, 0xffffffff));
    await files.setstat('/old', { atime: 1, mtime: 2_000_000_000 });
    const { atime, mtime } = await files.stat('/old');
    assert.deepEqual([atime, mtime], [1, 2_000_000_000]);
    await files.setstat('/old', { atime: 0, mtime: 0xffffffff });
    assert.equal(
      (await files.stat('/old')).mtime,
      Math.min(Math.floor(statSync(at('old')).mtimeMs / 1000), 0xffffffff),
    );
  });

  const subjects: Record<string, (files: Served['files'], attrs: object) => unknown> = {
    'a path': (files, attrs) => files.setstat('/file', attrs),
    'a link': (files, attrs) => files.setstat('/link', attrs),
    'a path itself': (files, attrs) => files.lsetstat('/file', attrs),
    'an open file': (files, attrs) => using(files, '/file', how('rw'), (file) => file.setstat(attrs)),
  };
  for (const [subject, set] of Object.entries(subjects)) {
    it(`are set one by one, of ${subject}`, async () => {
      const { at, files } = served();
      writeFileSync(at('file'), '12345');
      symlinkSync('file', at('link'));
      chmodSync(at('file'), 0o644);
      utimesSync(at('file'), 1000, 2000);
      const state = (): number[] => {
        const { size, mode, atimeMs, mtimeMs } = statSync(at('file'));
        return [size, mode & 0o7777, atimeMs / 1000, mtimeMs / 1000];
      };
      await set(files, {});
      assert.deepEqual(state(), [5, 0o644, 1000, 2000]);
      await set(files, { permissions: 0o104711 });
      assert.deepEqual(state(), [5, 0o4711, 1000, 2000]);
      await set(files, { atime: 3000, mtime: 4000 });
      assert.deepEqual(state(), [5, 0o4711, 3000, 4000]);
      await set(files, { size: 2 });
      assert.deepEqual(state().slice(0, 1), [2]);
      await set(files, { size: 7, permissions: 0o600, atime: 5000, mtime: 6000, extended: [] });
      assert.deepEqual(state(), [7, 0o600, 5000, 6000]);
      assert.equal(readFileSync(at('file'), 'latin1'), '12\0\0\0\0\0');
    });
  }

  it('are set without opening what may neither be read nor written, and what is special', async () => {
    const { at } = served();
    const opened: string[] = [];
    const closed: HostFiles = {
      ...hostFiles,
      async open(path, request) {
        if (path === at()) return hostFiles.open(path, request); // to see whether the system tells where files are
        opened.push(request.write ? 'write' : 'read');
        throw Object.assign(new Error('denied'), { code: 'EACCES' });
      },
    };
    const files = directoryFiles(closed, at());
    writeFileSync(at('file'), '12345');
    mkdirSync(at('dir'));
    execFileSync('mkfifo', [at('pipe')]);
    for (const [name, tries] of Object.entries({ file: ['read', 'write'], dir: ['read'], pipe: [] })) {
      opened.length = 0;
      await files.setstat?.(`/${name}`, { permissions: 0o700, atime: 1000, mtime: 2000 });
      const { mode, mtimeMs } = statSync(at(name));
      assert.deepEqual([mode & 0o7777, mtimeMs, opened], [0o700, 2000_000, tries]);
    }
    await failsWith('EACCES', () => files.setstat?.('/file', { size: 0, permissions: 0o600 }));
    assert.deepEqual([statSync(at('file')).size, statSync(at('file')).mode & 0o7777], [5, 0o700]);
  });

  it('give files to others, and setuid with it', { skip: notRoot }, async () => {
    const { at, files } = served();
    writeFileSync(at('file'), '');
    symlinkSync('file', at('link'));
    await files.setstat('/file', { uid: 12345, gid: 4_000_000_000, permissions: 0o4755, atime: 1, mtime: 2 });
    const { uid, gid, mode, mtimeMs } = statSync(at('file'));
    assert.deepEqual([uid, gid, mode & 0o7777, mtimeMs], [12345, 4_000_000_000, 0o4755, 2000]);
    await files.lsetstat('/link', { uid: 1, gid: 2 });
    assert.deepEqual([lstatSync(at('link')).uid, lstatSync(at('link')).gid, statSync(at('file')).uid], [1, 2, 12345]);
  });

  it('are set of directories, all but a size', async () => {
    const { at, files } = served();
    await files.mkdir('/dir', {});
    await files.setstat('/dir', { permissions: 0o1700, atime: 1000, mtime: 2000 });
    const { mode, mtimeMs } = statSync(at('dir'));
    assert.deepEqual([mode & 0o7777, mtimeMs], [0o1700, 2000_000]);
    await failsWith('EISDIR', () => files.setstat('/dir', { size: 0 }));
    await failsWith('ENOENT', () => files.setstat('/nothing', {}));
    await failsWith('ENOENT', () => files.setstat('/nothing', { permissions: 0o600 }));
  });
});

describe('names in a served directory', () => {
  it('are changed by rename where nothing stands, and only there', async () => {
    const { at, files } = served();
    writeFileSync(at('file'), 'file');
    writeFileSync(at('other'), 'other');
    mkdirSync(at('dir'));
    mkdirSync(at('empty'));
    writeFileSync(at('dir/inner'), 'inner');
    symlinkSync('nowhere', at('link'));
    for (const from of ['/file', '/dir', '/link']) {
      for (const to of ['/other', '/empty', '/link', from]) await failsWith('EEXIST', () => files.rename(from, to));
      await failsWith('ENOENT', () => files.rename(from, '/no/where'));
      await failsWith('ENOTDIR', () => files.rename(from, '/other/below'));
    }
    await failsWith('ENOENT', () => files.rename('/nothing', '/new'));
    await failsWith('EINVAL', () => files.rename('/dir', '/dir/below'));
    await files.rename('/file', '/dir/moved');
    await files.rename('/dir', '/tree');
    await files.rename('/link', '/tree/link');
    assert.deepEqual(readdirSync(at('tree')).sort(), ['inner', 'link', 'moved']);
    assert.equal(readFileSync(at('tree/moved'), 'latin1'), 'file');
    assert.equal(statSync(at('tree/moved')).nlink, 1);
    assert.deepEqual(readdirSync(at()).sort(), ['empty', 'other', 'tree']);
  });

  it('are changed by rename where the host has no hard links, or the old name cannot go', async () => {
    const { at } = served();
    const denied = (code: string) => async (): Promise<void> => {
      throw Object.assign(new Error(code), { code });
    };
    for (const code of ['EPERM', 'ENOTSUP', 'EMLINK']) {
      writeFileSync(at('file'), 'content');
      const files = directoryFiles({ ...hostFiles, link: denied(code) }, at());
      await files.rename?.('/file', '/moved');
      assert.equal(readFileSync(at('moved'), 'latin1'), 'content');
      writeFileSync(at('file'), 'second');
      await failsWith('EEXIST', () => files.rename?.('/file', '/moved'));
      rmSync(at('moved'));
    }
    const stuck: HostFiles = {
      ...hostFiles,
      unlink: (path) => (path === at('file') ? denied('EACCES')() : hostFiles.unlink(path)),
    };
    await failsWith('EACCES', () => directoryFiles(stuck, at()).rename?.('/file', '/new'));
    assert.deepEqual(readdirSync(at()), ['file']);
    // Somebody else was faster than the look at it.
    const late: HostFiles = {
      ...hostFiles,
      async link(from, to) {
        writeFileSync(to, 'of another');
        await hostFiles.link(from, to);
      },
    };
    await failsWith('EEXIST', () => directoryFiles(late, at()).rename?.('/file', '/taken'));
    assert.equal(readFileSync(at('taken'), 'latin1'), 'of another');
  });

  it('are changed by posixRename as rename(2) does', async () => {
    const { at, files } = served();
    writeFileSync(at('file'), 'file');
    writeFileSync(at('other'), 'other');
    for (const name of ['dir', 'full', 'empty']) mkdirSync(at(name));
    writeFileSync(at('full/inner'), '');
    await files.posixRename('/file', '/other');
    assert.equal(readFileSync(at('other'), 'latin1'), 'file');
    await failsWith('ENOTEMPTY', () => files.posixRename('/dir', '/full'));
    await failsWith('EISDIR', () => files.posixRename('/other', '/dir'));
    await failsWith('ENOTDIR', () => files.posixRename('/dir', '/other'));
    await failsWith('EINVAL', () => files.posixRename('/full', '/full/below'));
    await failsWith('ENOENT', () => files.posixRename('/nothing', '/other'));
    await files.posixRename('/full', '/empty');
    await files.posixRename('/other', '/other');
    assert.deepEqual(readdirSync(at()).sort(), ['dir', 'empty', 'other']);
  });

  it('come and go', async () => {
    const { at, files } = served();
    await files.mkdir('/dir', {});
    await using(files, '/dir/file', how('wc'), () => {});
    await failsWith('EEXIST', () => files.mkdir('/dir', {}));
    await failsWith('EEXIST', () => files.mkdir('/dir/file', {}));
    await failsWith('ENOENT', () => files.mkdir('/no/where', {}));
    await failsWith('ENOTDIR', () => files.mkdir('/dir/file/below', {}));
    await failsWith('ENOTEMPTY', () => files.rmdir('/dir'));
    await failsWith('ENOTDIR', () => files.rmdir('/dir/file'));
    await failsWith('EISDIR', () => files.remove('/dir'));
    await failsWith('ENOENT', () => files.remove('/nothing'));
    await failsWith('ENOENT', () => files.rmdir('/nothing'));
    await failsWith('ENOTDIR', () => files.remove('/dir/file/below'));
    await failsWith('ENAMETOOLONG', () => files.mkdir(`/${'x'.repeat(256)}`, {}));
    await files.mkdir(`/${'x'.repeat(255)}`, {});
    await files.remove('/dir/file');
    await files.mkdir('/dir/sub', {});
    await failsWith('EISDIR', () => files.remove('/dir/sub')); // an empty one too
    assert.ok(existsSync(at('dir/sub')));
    await files.rmdir('/dir/sub');
    await files.rmdir('/dir');
    assert.deepEqual(readdirSync(at()), ['x'.repeat(255)]);
  });

  it('may be several of one file', async () => {
    const { at, files } = served();
    writeFileSync(at('file'), 'content');
    mkdirSync(at('dir'));
    await files.hardlink('/file', '/dir/second');
    assert.equal(statSync(at('file')).ino, statSync(at('dir/second')).ino);
    await failsWith('EEXIST', () => files.hardlink('/file', '/dir/second'));
    await failsWith('EPERM', () => files.hardlink('/dir', '/other'));
    await failsWith('ENOENT', () => files.hardlink('/nothing', '/other'));
    await failsWith('ENOENT', () => files.hardlink('/file', '/no/where'));
    await failsWith('EEXIST', () => files.rename('/file', '/dir/second'));
  });

  it('may be links with any text, which comes back as it was', async () => {
    const { at, files } = served();
    for (const [name, target] of Object.entries({
      a: 'x',
      b: '/abs//olute/',
      c: '../../..',
      d: 'ü \u{1f600}',
      e: 'a\nb',
    })) {
      await files.symlink(target, `/${name}`);
      assert.equal(await files.readlink(`/${name}`), target);
      assert.equal(lstatSync(at(name)).isSymbolicLink(), true);
      await failsWith('EEXIST', () => files.symlink('other', `/${name}`));
    }
    writeFileSync(at('file'), '');
    await failsWith('EINVAL', () => files.readlink('/file'));
    await failsWith('EINVAL', () => files.readlink('/'));
    await failsWith('ENOENT', () => files.readlink('/nothing'));
  });

  it('have one way without links, as far as they are there', async () => {
    const { at, files } = served();
    mkdirSync(at('a/b'), { recursive: true });
    writeFileSync(at('a/file'), '');
    symlinkSync('/a/b', at('link'));
    symlinkSync('missing/x', at('dangling'));
    symlinkSync('missing/../a', at('back'));
    for (const [path, real] of Object.entries({
      '/': '/',
      '/a/b': '/a/b',
      '/link': '/a/b',
      '/link/new/file': '/a/b/new/file',
      '/nothing/at/all': '/nothing/at/all',
      '/dangling/y': '/missing/x/y',
    })) {
      assert.equal(await files.realpath(path), real);
    }
    await failsWith('ENOENT', () => files.realpath('/back'));
    await failsWith('ENOTDIR', () => files.realpath('/a/file/x'));
  });

  const lossy = runtime === 'deno' ? 'Deno has no paths that are not UTF-8' : false;
  it('may be bytes that are no UTF-8', { skip: lossy }, async () => {
    const { at, files } = served();
    const bytes = (...values: number[]): Buffer => Buffer.concat([Buffer.from(at('/')), Buffer.from(values)]);
    const name = 'a\udcff\udcfe';
    writeFileSync(bytes(0x61, 0xff, 0xfe), 'bytes');
    writeFileSync(at('é'), 'text');
    assert.deepEqual(
      (await entries(files, '/')).map((entry) => [entry.name, entry.attrs.size]),
      [
        [name, 5],
        ['é', 4],
      ],
    );
    assert.equal(await content(files, `/${name}`), 'bytes');
    await files.mkdir('/\udc80', {});
    await files.rename(`/${name}`, '/\udc80/\udc81');
    await files.symlink('\udc80/\udc81', '/link\udc82');
    assert.equal(await files.readlink('/link\udc82'), '\udc80/\udc81');
    assert.equal(await content(files, '/link\udc82'), 'bytes');
    assert.equal(await files.realpath('/link\udc82'), '/\udc80/\udc81');
    await files.setstat('/\udc80/\udc81', { permissions: 0o600, atime: 1, mtime: 2 });
    await files.lsetstat('/link\udc82', { atime: 1, mtime: 2 });
    await files.hardlink('/\udc80/\udc81', '/\udc83');
    assert.ok((await files.statvfs('/\udc80')).blocks > 0);
    assert.deepEqual(
      (await entries(files, '/\udc80')).map((entry) => entry.name),
      ['\udc81'],
    );
    assert.equal(readFileSync(bytes(0x80, 0x2f, 0x81), 'latin1'), 'bytes');
    await files.posixRename('/\udc83', '/\udc80/\udc81');
    await files.remove('/\udc83');
    await files.remove('/\udc80/\udc81');
    await files.rmdir('/\udc80');
    await failsWith('ENOENT', () => files.open(`/${name}`, how('r')));
  });

  const exact = runtime === 'deno' ? false : 'only Deno cannot say them';
  it('that cannot be said are listed, and lead nowhere', { skip: exact }, async () => {
    const { at, files } = served();
    execFileSync('python3', ['-c', 'import sys; open(sys.argv[1].encode() + b"/a\\xff", "w").close()', at()]);
    assert.deepEqual(await entries(files, '/'), [{ name: 'a\ufffd', attrs: {} }]);
    await failsWith('ENOENT', () => files.open('/a\ufffd', how('r')));
    await failsWith('ENOENT', () => files.open('/a\udcff', how('r')));
    await failsWith('ENOENT', () => files.open('/b\udcff', how('wc')));
    await failsWith('EINVAL', () => files.symlink('b\udcff', '/link'));
  });
});

describe('lists of a served directory', () => {
  it('give names, attributes, links and owners, links not followed', async () => {
    const { at, files } = served();
    writeFileSync(at('file'), '12345');
    writeFileSync(at('.hidden'), '');
    mkdirSync(at('dir/sub'), { recursive: true });
    symlinkSync('/nowhere', at('link'));
    if (notRoot === false) chownSync(at('.hidden'), 0, 54321);
    const list = await entries(files, '/');
    assert.deepEqual(
      list.map(({ name, links }) => [name, links]),
      ['.hidden', 'dir', 'file', 'link'].map((name) => [name, lstatSync(at(name)).nlink]),
    );
    for (const { name, attrs } of list) assert.deepEqual(attrs, await files.lstat(`/${name}`));
    const [user, group] = ['-un', '-gn'].map((option) => execFileSync('id', [option], { encoding: 'utf8' }).trim());
    assert.deepEqual([list[2]?.owner, list[2]?.group], [user, group]);
    if (notRoot === false) assert.equal(list[0]?.group, undefined);
    assert.deepEqual(
      (await entries(files, '/dir')).map(({ name }) => name),
      ['sub'],
    );
    assert.deepEqual(await entries(files, '/dir/sub'), []);
    await failsWith('ENOTDIR', () => files.list('/file'));
    await failsWith('ENOENT', () => files.list('/nothing'));
    await failsWith('ENOENT', () => files.list('/link'));
  });

  it('may have 10,000 entries, and be left early', async () => {
    const { at, files } = served();
    for (let i = 0; i < 10_000; i++) closeSync(openSync(at(`file-${i}`), 'w'));
    const before = readdirSync('/proc/self/fd').length;
    const list = await entries(files, '/');
    assert.equal(new Set(list.map(({ name }) => name)).size, 10_000);
    assert.ok(list.every(({ attrs }) => attrs.size === 0 && (attrs.permissions as number) >>> 12 === 0o10));
    let seen = 0;
    for await (const _ of await files.list('/')) if (++seen === 100) break;
    assert.equal(readdirSync('/proc/self/fd').length, before);
  });

  it('give names alone where a directory may be read but not entered', async () => {
    const { at } = served();
    for (const name of ['a', 'b']) writeFileSync(at(name), '');
    const host: HostFiles = {
      ...hostFiles,
      async lstat(path) {
        if (path === at('b')) throw Object.assign(new Error('denied'), { code: 'EACCES' });
        return hostFiles.lstat(path);
      },
    };
    const [first, second] = await entries(directoryFiles(host, at()), '/');
    assert.equal(first?.attrs.size, 0);
    assert.deepEqual(second, { name: 'b', attrs: {} });
  });

  it('leave out what has gone meanwhile', async () => {
    const { at, files } = served();
    const host: HostFiles = {
      ...hostFiles,
      lstat(path) {
        if (/gone-\d$/.test(path)) rmSync(path, { force: true });
        return hostFiles.lstat(path);
      },
    };
    for (let i = 0; i < 6; i++) writeFileSync(at(i % 2 ? `gone-${i}` : `stays-${i}`), '');
    assert.deepEqual(
      (await entries(directoryFiles(host, at()), '/')).map(({ name }) => name),
      ['stays-0', 'stays-2', 'stays-4'],
    );
    assert.equal((await entries(files, '/')).length, 3);
  });

  it('end when another directory stands at their path', async () => {
    const { at, files } = served();
    mkdirSync(at('real'));
    symlinkSync('real', at('link'));
    for (let i = 0; i < 1000; i++) closeSync(openSync(at(`real/file-${i}`), 'w'));
    const iterator = ((await files.list('/link')) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    await iterator.next();
    await files.remove('/link');
    await files.symlink('/', '/link');
    await failsWith('ENOENT', async () => {
      while (!(await iterator.next()).done);
    });
    assert.equal((await iterator.next()).done, true);
  });
});

describe('figures of a served directory', () => {
  it('are those of its file system', async () => {
    const { at, files } = served();
    writeFileSync(at('file'), '');
    const stats = await files.statvfs('/file');
    const expected = statfsSync(at());
    const [blockSize, fragmentSize, blocks, total, maxName] = execFileSync('stat', ['-f', '-c', '%s %S %b %c %l', at()])
      .toString()
      .split(' ')
      .map(Number);
    assert.deepEqual(
      [stats.blockSize, stats.fragmentSize, stats.blocks, stats.files, stats.maxName],
      [blockSize, fragmentSize, blocks, total, maxName],
    );
    assert.deepEqual([stats.blocks, stats.files], [expected.blocks, expected.files]);
    assert.ok(stats.availableBlocks <= stats.freeBlocks && stats.freeBlocks <= stats.blocks);
    assert.ok(stats.freeFiles <= stats.files && stats.availableFiles === stats.freeFiles);
    assert.equal(stats.id, statSync(at()).dev);
    assert.equal(stats.readOnly, false);
    const open = await using(files, '/file', how('r'), (file) => file.statvfs());
    assert.equal(open.blocks, stats.blocks);
    await failsWith('ENOENT', () => files.statvfs('/nothing'));
  });

  it('have names of owners, and a home', async () => {
    const { files } = served();
    assert.deepEqual(await files.ownerNames([0, 4_000_000_000], [0, 4_000_000_001, 0]), {
      users: ['root', ''],
      groups: ['root', '', 'root'],
    });
    assert.equal(await files.home(''), '/');
    await failsWith('ENOENT', () => files.home('ada'));
  });
});

describe('a directory served to be read', () => {
  it('has nothing that could change it', async () => {
    const { at, files } = served({ readOnly: true });
    writeFileSync(at('file'), 'content');
    const writable = Object.keys(served().files);
    const changes = ['setstat', 'lsetstat', 'mkdir', 'rmdir', 'remove', 'rename', 'posixRename', 'symlink', 'hardlink'];
    assert.deepEqual(Object.keys(files).sort(), writable.filter((name) => !changes.includes(name)).sort());
    for (const name of changes) assert.equal(name in files, false);
    for (const letters of ['w', 'rw', 'ra', 'rc', 'rt', 'wcx']) {
      await failsWith('EROFS', () => files.open('/file', how(letters)));
      await failsWith('EROFS', () => files.open('/new', how(letters)));
    }
    await using(files, '/file', how('r'), async (file) => {
      for (const name of ['write', 'setstat', 'sync']) assert.equal(name in file, false);
      assert.deepEqual(await file.read(0, 100), text('content'));
      assert.equal((await file.stat()).size, 7);
      assert.equal((await file.statvfs()).readOnly, true);
    });
    assert.deepEqual(files.files, { sync: false, statvfs: true });
    assert.equal((await files.statvfs('/')).readOnly, true);
    assert.equal((await entries(files, '/')).length, 1);
    assert.deepEqual(readdirSync(at()), ['file']);
  });
});

describe('a directory to serve', () => {
  it('must be one', () => {
    const { at, outside } = served();
    const codeOf = (root: string): string => {
      try {
        directory(root);
        return 'served';
      } catch (error) {
        assert.ok(error instanceof SshError);
        return `${error.code}: ${error.message}`;
      }
    };
    assert.match(codeOf(at('nothing')), /^bad-local-file: Cannot serve .*nothing: no such file or directory$/);
    assert.match(
      codeOf(join(outside, 'secret')),
      /^bad-local-file: Cannot serve .*secret: the path, or a part of it, is not/,
    );
    assert.match(codeOf(''), /^bad-argument/);
    assert.match(codeOf(undefined as unknown as string), /^bad-argument/);
    assert.equal(codeOf(at()), 'served');
  });
});
