/** That nothing outside a served directory can be reached through it. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { directoryFiles } from '../../../src/sftp/server/directory.ts';
import type { HostFiles } from '../../../src/sftp/server/host_files.ts';
import {
  content,
  directory,
  entries,
  failsWith,
  hostFiles,
  how,
  SECRET,
  type Served,
  served,
  using,
} from '../../support/host_directory.ts';
import { seededRandom } from '../../support/random.ts';

type Files = Served['files'];

/** Everything that could be done with a path, for paths that must lead nowhere. */
async function leadsNowhere(files: Files, path: string, code = 'ENOENT'): Promise<void> {
  await failsWith(code, () => files.open(path, how('r')));
  await failsWith(code, () => files.open(path, how('w')));
  await failsWith(code, () => files.list(path));
  await failsWith(code, () => files.stat(path));
  await failsWith(code, () => files.setstat(path, { permissions: 0o777 }));
  await failsWith(code, () => files.statvfs(path));
  await failsWith(code, () => files.hardlink(path, '/stolen'));
}

describe('a served directory', () => {
  it('takes links of any kind as paths inside itself', async () => {
    const { at, files, outside } = served();
    const links = {
      absolute: join(outside, 'secret'),
      relative: '../secret',
      high: `../../../../../../../../../../../../../../..${join(outside, 'secret')}`,
      sibling: '../root2/secret',
      prefix: `${at()}2/secret`,
      prefixed: '../rootless',
      system: '/etc/passwd',
      around: './/.././/../secret',
    };
    for (const [name, target] of Object.entries(links)) {
      symlinkSync(target, at(name));
      await leadsNowhere(files, `/${name}`);
      assert.equal(await files.readlink(`/${name}`), target);
      assert.equal((await files.lstat(`/${name}`)).permissions! >>> 12, 0o12);
    }
    // What the same texts mean inside
    writeFileSync(at('secret'), 'inner');
    mkdirSync(at('etc'));
    writeFileSync(at('etc', 'passwd'), 'inner passwd');
    for (const name of ['relative', 'around']) assert.equal(await content(files, `/${name}`), 'inner');
    assert.equal(await content(files, '/etc/passwd'), 'inner passwd');
    assert.equal(await content(files, '/high').catch(() => 'nothing'), 'nothing');
    mkdirSync(at(outside), { recursive: true });
    writeFileSync(at(outside, 'secret'), 'inner path');
    for (const name of ['absolute', 'high']) assert.equal(await content(files, `/${name}`), 'inner path');
  });

  it('does not follow a link to a directory outside on the way to a file', async () => {
    const { at, files, outside } = served();
    symlinkSync(outside, at('up'));
    symlinkSync('..', at('dots'));
    symlinkSync('/', at('top'));
    await leadsNowhere(files, '/up/secret');
    await leadsNowhere(files, '/dots/secret');
    await leadsNowhere(files, `/top${outside}/secret`);
    await leadsNowhere(files, '/dots/root2/secret');
    await failsWith('ENOENT', () => files.mkdir('/up/made', {}));
    await failsWith('ENOENT', () => files.remove('/up/secret'));
    await failsWith('ENOENT', () => files.open('/up/made', how('wc')));
    await failsWith('ENOENT', () => files.rename('/up/secret', '/secret'));
    await failsWith('ENOENT', () => files.symlink('x', '/up/made'));
    await files.mkdir('/dots/made', {});
    assert.ok(existsSync(at('made')));
    assert.equal(await files.realpath('/dots/made'), '/made');
    assert.deepEqual(
      (await entries(files, '/top/dots')).map(({ name }) => name),
      ['dots', 'made', 'top', 'up'],
    );
  });

  it('takes `..` from where a link has led, not from where it stands', async () => {
    const { at, files } = served();
    mkdirSync(at('a/b/c'), { recursive: true });
    writeFileSync(at('a/b/file'), 'of b');
    writeFileSync(at('file'), 'of the root');
    symlinkSync('a/b/c', at('deep'));
    symlinkSync('deep/../file', at('up'));
    symlinkSync('/deep/../../../../../file', at('far'));
    assert.equal(await content(files, '/up'), 'of b');
    assert.equal(await content(files, '/far'), 'of the root');
  });

  it('gives links 40 steps, and no more', async () => {
    const { at, files } = served();
    writeFileSync(at('end'), 'reached');
    symlinkSync('end', at('link-1'));
    for (let i = 2; i <= 41; i++) symlinkSync(`link-${i - 1}`, at(`link-${i}`));
    assert.equal(await content(files, '/link-40'), 'reached');
    await leadsNowhere(files, '/link-41', 'ELOOP');
    symlinkSync('circle', at('circle'));
    symlinkSync('pong', at('ping'));
    symlinkSync('/ping', at('pong'));
    for (const path of ['/circle', '/ping', '/pong/x']) await leadsNowhere(files, path, 'ELOOP');
    await failsWith('ELOOP', () => files.realpath('/circle'));
    assert.equal(await files.readlink('/circle'), 'circle');
    await files.remove('/circle');
  });

  it('gives up a way that links make endless', async () => {
    const { at, files } = served();
    mkdirSync(at('d'));
    const detour = 'd/../'.repeat(700);
    for (let i = 0; i < 30; i++) symlinkSync(`${detour}l${i + 1}`, at(`l${i}`));
    writeFileSync(at('l30'), 'too far');
    await failsWith('ELOOP', () => files.stat('/l0'));
    assert.equal(await content(files, '/l26'), 'too far');
  });

  it('makes what a dangling link names inside, and nothing where it points outside', async () => {
    const { at, files, outside } = served();
    symlinkSync('/made', at('inside'));
    symlinkSync('../../made', at('relative'));
    symlinkSync(join(outside, 'made'), at('outside'));
    await using(files, '/inside', how('wc'), (file) => file.write(0, [new Uint8Array([65])]));
    assert.equal(readFileSync(at('made'), 'latin1'), 'A');
    await using(files, '/relative', how('wca'), (file) => file.write(0, [new Uint8Array([66])]));
    assert.equal(readFileSync(at('made'), 'latin1'), 'AB');
    await failsWith('ENOENT', () => files.open('/outside', how('wc')));
    assert.ok(!existsSync(join(outside, 'made')));
    for (const name of ['inside', 'outside']) {
      await failsWith('EEXIST', () => files.open(`/${name}`, how('wcx')));
      await failsWith('EEXIST', () => files.mkdir(`/${name}`, {}));
      await failsWith('EEXIST', () => files.symlink('x', `/${name}`));
      await failsWith('EEXIST', () => files.rename('/made', `/${name}`));
      await failsWith('EEXIST', () => files.hardlink('/made', `/${name}`));
    }
  });

  it('sees no `.` and `..` in paths as more than they are inside', async () => {
    const { at, files } = served();
    mkdirSync(at('sub'));
    writeFileSync(at('sub/file'), 'inner');
    for (const path of ['/../secret', '/sub/../../secret', '/./../root2/secret']) await leadsNowhere(files, path);
    assert.equal(await content(files, '/../../sub/./file'), 'inner');
    assert.equal(await files.realpath('/../..'), '/');
    await leadsNowhere(files, '/sub/fi\0le');
    await failsWith('ENOENT', () => files.open('/sub/new\0', how('wc')));
  });

  it('links no file of the outside into itself', async () => {
    const { at, files, outside } = served();
    symlinkSync(join(outside, 'secret'), at('link'));
    symlinkSync('file', at('inner'));
    writeFileSync(at('file'), 'inner');
    await failsWith('ENOENT', () => files.hardlink('/link', '/stolen'));
    await failsWith('ENOENT', () => files.hardlink('/../secret', '/stolen'));
    await files.hardlink('/inner', '/second');
    assert.equal(statSync(at('second')).ino, statSync(at('file')).ino);
    assert.equal(statSync(join(outside, 'secret')).nlink, 1);
  });

  it('moves and removes links, and never what they lead to', async () => {
    const { at, files, outside } = served();
    const target = join(outside, 'secret');
    symlinkSync(target, at('link'));
    symlinkSync(outside, at('dir'));
    await files.rename('/link', '/moved');
    assert.equal(readlinkSync(at('moved')), target);
    await files.posixRename('/moved', '/again');
    await failsWith('ENOTDIR', () => files.rmdir('/dir'));
    writeFileSync(at('file'), 'inner');
    await files.posixRename('/file', '/dir');
    assert.equal(readFileSync(at('dir'), 'latin1'), 'inner');
    await files.remove('/again');
    assert.equal(readFileSync(target, 'latin1'), SECRET);
  });

  it('changes attributes of links alone when told to, and never outside', async () => {
    const { at, files, outside } = served();
    const target = join(outside, 'secret');
    const before = statSync(target);
    symlinkSync(target, at('link'));
    await files.lsetstat('/link', { atime: 1, mtime: 2 });
    assert.equal((await files.lstat('/link')).mtime, 2);
    await failsWith('ENOTSUP', () => files.lsetstat('/link', { permissions: 0o777 }));
    await failsWith('EINVAL', () => files.lsetstat('/link', { size: 0 }));
    await failsWith('ENOENT', () => files.setstat('/link', { size: 0, permissions: 0o777 }));
    const { mode, size, mtimeMs } = statSync(target);
    assert.deepEqual([mode, size, mtimeMs], [before.mode, before.size, before.mtimeMs]);
  });

  it('stays what it is: its root is not moved, removed or replaced', async () => {
    const { files } = served();
    await files.mkdir('/d', {});
    await failsWith('EBUSY', () => files.rmdir('/'));
    await failsWith('EBUSY', () => files.remove('/'));
    await failsWith('EBUSY', () => files.rename('/', '/x'));
    await failsWith('EBUSY', () => files.posixRename('/', '/d/x'));
    await failsWith('EBUSY', () => files.posixRename('/d', '/'));
    await failsWith('EEXIST', () => files.rename('/d', '/'));
    await failsWith('EEXIST', () => files.mkdir('/', {}));
    await failsWith('EEXIST', () => files.symlink('x', '/'));
    await failsWith('EISDIR', () => files.open('/', how('r')));
    await failsWith('EEXIST', () => files.open('/', how('wcx')));
  });

  it('is gone when a backend around it puts a link in the way to it', async () => {
    const { at, files, outside } = served();
    await files.mkdir('/sub', {});
    const inner = directory(at('sub')) as Files;
    writeFileSync(at('sub/secret'), 'inner');
    assert.equal(await content(inner, '/secret'), 'inner');
    await files.rename('/sub', '/elsewhere');
    symlinkSync(outside, at('sub')); // as `files.symlink` would
    await leadsNowhere(inner, '/secret');
    await failsWith('ENOENT', () => inner.open('/new', how('wc')));
    await failsWith('ENOENT', () => inner.realpath('/secret'));
    assert.ok(!existsSync(join(outside, 'new')));
  });

  it('may be the root of the host, or be reached by a link', async () => {
    const { at, outside } = served();
    writeFileSync(at('file'), 'inner');
    symlinkSync(at(), join(outside, 'way'));
    assert.equal(await content(directory(join(outside, 'way')), '/file'), 'inner');
    const all = directory('/');
    assert.equal(await content(all, at('file')), 'inner');
    assert.equal(await content(all, join(outside, 'way/file')), 'inner');
    assert.equal(await all.realpath?.(join(outside, 'way/file')), at('file'));
  });
});

/** A program that asks Linux where paths lead with a directory as root: openat2(2) with RESOLVE_IN_ROOT, number 437. */
const KERNEL = `
import ctypes, errno, json, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
root = os.open(sys.argv[1], os.O_PATH | os.O_DIRECTORY)
top = os.readlink('/proc/self/fd/%d' % root)
how = ctypes.create_string_buffer(struct.pack('QQQ', os.O_PATH, 0, 0x10))
answers = []
for path in json.load(sys.stdin):
    fd = libc.syscall(437, root, path.encode(), how, 24)
    if fd < 0:
        answers.append(errno.errorcode[ctypes.get_errno()])
    else:
        answers.append(os.readlink('/proc/self/fd/%d' % fd)[len(top):] or '/')
        os.close(fd)
json.dump(answers, sys.stdout)
`;

function kernelSays(root: string, paths: readonly string[]): readonly string[] | undefined {
  const { status, stdout } = spawnSync('python3', ['-c', KERNEL, root], {
    input: JSON.stringify(paths),
    encoding: 'utf8',
    timeout: 60_000,
  });
  return status === 0 ? (JSON.parse(stdout) as string[]) : undefined;
}

const kernel = kernelSays('/', ['/'])?.[0] === '/' ? false : 'needs Linux with openat2, and python3';

describe('the way of a path', () => {
  it('is the one that Linux takes with a directory as root', { skip: kernel }, async () => {
    const random = seededRandom('ways');
    const pick = <T>(of: readonly T[]): T => of[(random(1)[0] as number) % of.length] as T;
    const names = ['a', 'b', 'c', 'd'];
    const text = (most: number): string =>
      Array.from({ length: 1 + ((random(1)[0] as number) % most) }, () =>
        pick([...names, ...names, '..', '.', '']),
      ).join('/');
    for (let tree = 0; tree < 5; tree++) {
      const { at, files } = served();
      for (const first of names) {
        for (const second of names) {
          if (!existsSync(at(first))) mkdirSync(at(first));
          const place = at(first, second);
          const kind = pick(['directory', 'file', 'link', 'link', 'link', 'nothing']);
          if (kind === 'directory') mkdirSync(join(place, 'a'), { recursive: true });
          if (kind === 'file') writeFileSync(place, '');
          if (kind === 'link') symlinkSync((pick([true, false]) ? '/' : '') + (text(5) || '.'), place);
        }
      }
      const paths = Array.from(
        { length: 100 },
        () =>
          `/${names
            .map(() => pick(names))
            .slice(0, 1 + (random(1)[0]! % 4))
            .join('/')}`,
      );
      const expected = kernelSays(at(), paths);
      const found = await Promise.all(
        paths.map(async (path) => {
          try {
            await files.stat(path);
            return await files.realpath(path);
          } catch (error) {
            return (error as { code: string }).code;
          }
        }),
      );
      assert.deepEqual(found, expected);
    }
  });
});

/** Tries over and over until the others are done; an error is no answer, and no answer is no secret. */
async function hammer(until: () => boolean, attempt: () => Promise<unknown>): Promise<void> {
  while (!until()) await attempt().catch(() => {});
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What a client does with things in `/dir`, and, for most, what comes of it. */
const uses: Readonly<Record<string, (files: Files) => unknown>> = {
  async open(files) {
    assert.equal(await content(files, '/dir/secret'), 'inner');
  },
  async create(files) {
    await using(files, '/dir/made', how('wc'), (file) => file.write(0, [new Uint8Array(1)]));
  },
  async truncate(files) {
    await using(files, '/dir/secret', how('wt'), () => {});
  },
  async list(files) {
    assert.deepEqual(await entries(files, '/dir/sub'), []);
  },
  async stat(files) {
    assert.equal((await files.stat('/dir/secret')).size, 5);
  },
  async readlink(files) {
    assert.equal(await files.readlink('/dir/link'), 'inner link');
  },
  setstat: (files) => files.setstat('/dir/secret', { permissions: 0o600, atime: 1, mtime: 1 }),
  lsetstat: (files) => files.lsetstat('/dir/link', { atime: 1, mtime: 1 }),
  mkdir: (files) => files.mkdir('/dir/made', {}),
  rmdir: (files) => files.rmdir('/dir/sub'),
  remove: (files) => files.remove('/dir/secret'),
  'rename from': (files) => files.rename('/dir/secret', '/stolen'),
  'rename to': (files) => files.rename('/other', '/dir/made'),
  'posixRename from': (files) => files.posixRename('/dir/secret', '/stolen'),
  'posixRename to': (files) => files.posixRename('/other', '/dir/secret'),
  symlink: (files) => files.symlink('x', '/dir/made'),
  hardlink: (files) => files.hardlink('/dir/secret', '/stolen'),
};

describe('requests at the same time', () => {
  for (const [name, use] of Object.entries(uses)) {
    it(`cannot swap a directory for a link while it is used: ${name}`, async () => {
      const { at, outside } = served();
      let attack: Promise<void> | undefined;
      // A host that is slow after the look at `dir`, just when somebody moves it.
      const slow: HostFiles = {
        ...hostFiles,
        async lstat(path) {
          const stat = await hostFiles.lstat(path);
          if (path === at('dir') && attack === undefined) {
            attack = swap();
            await Promise.race([attack, wait(50)]);
          }
          return stat;
        },
      };
      const [files, other] = [directoryFiles(slow, at()) as Files, directoryFiles(slow, at()) as Files];
      const swap = async (): Promise<void> => {
        await other.posixRename('/dir', '/away');
        await other.posixRename('/trap', '/dir');
      };
      mkdirSync(at('dir'));
      mkdirSync(at('dir/sub'));
      writeFileSync(at('dir/secret'), 'inner');
      symlinkSync('inner link', at('dir/link'));
      writeFileSync(at('other'), 'other');
      mkdirSync(join(outside, 'sub/below'), { recursive: true });
      symlinkSync('outer link', join(outside, 'link'));
      symlinkSync(outside, at('trap'));
      const [before, names] = [statSync(join(outside, 'secret')), readdirSync(outside).sort()];
      await use(files);
      await attack;
      assert.equal(readlinkSync(at('dir')), outside, 'the swap came after it');
      const { size, mode, mtimeMs, nlink, ino } = statSync(join(outside, 'secret'));
      assert.deepEqual(
        [size, mode, mtimeMs, nlink, ino],
        [before.size, before.mode, before.mtimeMs, before.nlink, before.ino],
      );
      assert.deepEqual(readdirSync(outside).sort(), names);
      assert.notEqual(lstatSync(join(outside, 'link')).mtimeMs, 1000);
    });
  }

  it('see the inside only, however they come', async () => {
    const { at, outside, files } = served();
    const other = directory(at()) as Files;
    // A long way below the directory that moves, so that much happens while a request is on it.
    const depth = Array.from({ length: 12 }, () => 'd').join('/');
    for (const top of [at('dir'), outside]) mkdirSync(join(top, depth), { recursive: true });
    writeFileSync(at('dir', depth, 'secret'), 'inner');
    writeFileSync(join(outside, depth, 'secret'), SECRET);
    symlinkSync(outside, at('trap'));
    const seen = new Set<string>();
    let rounds = 0;
    const done = (): boolean => rounds >= 100;
    const swaps = (async () => {
      for (; rounds < 100; rounds++) {
        await other.posixRename('/dir', '/away');
        await other.posixRename('/trap', '/dir');
        await other.posixRename('/dir', '/trap');
        await other.posixRename('/away', '/dir');
      }
    })();
    const path = `/dir/${depth}/secret`;
    const readers = Array.from({ length: 4 }, () => hammer(done, async () => seen.add(await content(files, path))));
    await Promise.all([swaps, ...readers]);
    assert.deepEqual([...seen], ['inner']);
  });

  it('of which one makes and removes links see only the inside', async () => {
    const { at, outside, files } = served();
    const other = directory(outside) as Files; // around the same files
    mkdirSync(at('real'));
    writeFileSync(at('real/secret'), 'inner');
    const seen = new Set<string>();
    let rounds = 0;
    const done = (): boolean => rounds >= 100;
    const swaps = (async () => {
      for (; rounds < 100; rounds++) {
        await other.symlink(outside, '/root/way');
        await other.remove('/root/way');
        await other.symlink('real', '/root/way');
        await other.remove('/root/way');
        await other.rename('/root/real', '/root/way');
        await other.rename('/root/way', '/root/real');
      }
    })();
    const readers = Array.from({ length: 4 }, () =>
      hammer(done, async () => seen.add(await content(files, '/way/secret'))),
    );
    await Promise.all([swaps, ...readers]);
    assert.deepEqual([...seen], ['inner']);
  });
});

describe('another program that swaps links', () => {
  it('gets no byte of the outside read, where the system tells what was opened', { skip: kernel }, async () => {
    const { at, outside, files } = served();
    mkdirSync(at('dir'));
    writeFileSync(at('dir/secret'), 'inner');
    symlinkSync(outside, at('trap'));
    // RENAME_EXCHANGE in a loop: half of the time `dir` is the link
    const swapper = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
end = time.time() + 1
while time.time() < end:
    libc.renameat2(-100, b'dir', -100, b'trap', 2)
`;
    const child = spawn('python3', ['-c', swapper, at()], { stdio: 'ignore' });
    let ended = false;
    const gone = new Promise<void>((resolve) => {
      for (const event of ['exit', 'error']) child.once(event, () => resolve());
    }).then(() => {
      ended = true;
    });
    const seen = new Set<string>();
    const readers = Array.from({ length: 4 }, () =>
      hammer(
        () => ended,
        async () => seen.add(await content(files, '/dir/secret')),
      ),
    );
    await Promise.all([gone, ...readers]);
    assert.deepEqual([...seen], ['inner']);
  });
});
