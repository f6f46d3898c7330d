import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeLenient, utf8 } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import type { OpenRequest } from '../../../src/sftp/server/backend.ts';
import type { MemoryFile } from '../../../src/sftp/server/memory_file.ts';
import { type MemoryFiles, memoryFiles } from '../../../src/sftp/server/memory_fs.ts';
import { drawBelow } from '../../support/feed.ts';
import { seededRandom } from '../../support/random.ts';

const OPEN = { read: true, write: true, append: false, create: false, truncate: false, exclusive: false, attrs: {} };

/** Opens what is there or, with `create`, what is not. */
function open(files: MemoryFiles, path: string, more: Partial<OpenRequest> = {}): MemoryFile {
  return files.open(path, { ...OPEN, ...more });
}

function throws(code: string, run: () => unknown): void {
  assert.throws(run, (error) => (error as { code?: unknown }).code === code, code);
}

const names = (files: MemoryFiles, path: string): string[] => [...files.list(path)].map(({ name }) => name);
const text = (files: MemoryFiles, path: string): string | undefined => {
  const bytes = files.get(path);
  return bytes === undefined ? undefined : decodeLenient(bytes);
};

describe('memoryFiles', () => {
  it('has what it is given, with the directories that it takes', () => {
    const files = memoryFiles({ files: { '/a/b/c.txt': 'text', 'd.bin': Uint8Array.of(1) }, home: '/home/x' });
    assert.equal(text(files, '/a/b/c.txt'), 'text');
    assert.deepEqual(names(files, '/'), ['home', 'a', 'd.bin']);
    assert.equal(files.home(''), '/home/x');
    files.put('/a/b/c.txt', 'x');
    assert.equal(text(files, '/a/b/c.txt'), 'x');
    assert.equal(files.get('/a'), undefined);
    assert.equal(files.get('/none/x'), undefined);
    throws('ENOTDIR', () => files.put('/a/b/c.txt/d', ''));
  });

  it('checks its options', () => {
    for (const options of [{ maxBytes: -1 }, { maxFiles: 1.5 }, { maxBytes: Number.NaN }]) {
      assert.throws(
        () => memoryFiles(options),
        (error) => error instanceof SshError && error.code === 'bad-argument',
      );
    }
  });

  it('follows links: relative, absolute, through others, upwards, and not for ever', () => {
    const files = memoryFiles({ files: { '/a/b/c': 'c' } });
    files.symlink('b/c', '/a/relative');
    files.symlink('/a/b', '/absolute');
    files.symlink('../absolute/./c', '/a/through');
    files.symlink('../../../../a/', '/a/b/up');
    files.symlink('self', '/self');
    files.symlink('nowhere/x', '/dangling');
    for (const path of ['/a/relative', '/absolute/c', '/a/through', '/a/b/up/b/c', '/absolute/up/relative']) {
      assert.equal(text(files, path), 'c', path);
      assert.equal(files.realpath(path), '/a/b/c', path);
    }
    assert.equal(files.realpath('/a/b/up'), '/a');
    throws('ELOOP', () => files.stat('/self'));
    throws('ELOOP', () => files.stat('/self/x'));
    throws('ENOENT', () => files.stat('/dangling'));
    throws('ENOTDIR', () => files.stat('/a/b/c/d'));
    throws('ENOENT', () => files.stat('/none/d'));
    assert.equal(files.lstat('/self').permissions, 0o120777);
    assert.equal(files.lstat('/self').size, 4);
    for (let i = 0; i < 41; i++) files.symlink(i === 0 ? '/a/b/c' : `l${i - 1}`, `/l${i}`);
    assert.equal(text(files, '/l39'), 'c', '40 links');
    throws('ELOOP', () => files.stat('/l40'));
  });

  it('makes a file where a dangling link leads, but not exclusively', () => {
    const files = memoryFiles();
    files.symlink('/target', '/link');
    throws('EEXIST', () => open(files, '/link', { create: true, exclusive: true }));
    open(files, '/link', { create: true }).close();
    assert.deepEqual(names(files, '/'), ['link', 'target']);
    files.mkdir('/dir', {});
    throws('EISDIR', () => open(files, '/dir'));
    throws('EISDIR', () => open(files, '/'));
  });

  it('an open file lives on without a name, and its memory is free once it is closed', () => {
    const files = memoryFiles({ maxBytes: 1 << 20, maxFiles: 3 });
    const file = open(files, '/a', { create: true });
    file.write(0, [utf8('abc'), utf8('def')]);
    files.remove('/a');
    const again = open(files, '/a', { create: true });
    file.write(6, [utf8('g')]);
    assert.equal(decodeLenient(file.read(0, 100)), 'abcdefg');
    assert.equal(again.stat().size, 0);
    assert.equal(files.statvfs().freeFiles, 1);
    file.close();
    again.close();
    assert.equal(files.statvfs().freeFiles, 2);
    files.remove('/a');
    assert.deepEqual([files.statvfs().freeFiles, files.statvfs().freeBlocks], [3, 256]);
  });

  it('gives up on links that make a way too long', () => {
    const files = memoryFiles({ files: { '/d/f': 'x' } });
    const long = 'd/../'.repeat(800);
    files.symlink(`${long}d`, '/1');
    files.symlink(`${long}1`, '/2');
    files.symlink(`${long}2`, '/3');
    assert.equal(text(files, '/2/f'), 'x');
    throws('ELOOP', () => files.stat('/3/f'));
    files.symlink(`${'./'.repeat(2000)}2`, '/4');
    throws('ELOOP', () => files.stat('/4'));
  });

  it('hard links count as files do, since each takes memory', () => {
    const files = memoryFiles({ maxFiles: 3 });
    const file = open(files, '/a', { create: true });
    files.hardlink('/a', '/b');
    files.hardlink('/b', '/c');
    assert.equal(files.statvfs().freeFiles, 0);
    throws('ENOSPC', () => files.hardlink('/a', '/d'));
    throws('ENOSPC', () => files.mkdir('/d', {}));
    files.posixRename('/a', '/moved');
    assert.equal(files.statvfs().freeFiles, 0);
    files.remove('/moved');
    assert.equal(files.statvfs().freeFiles, 1);
    files.posixRename('/b', '/c'); // two names of one file stay
    assert.equal(files.statvfs().freeFiles, 1);
    files.remove('/b');
    files.remove('/c');
    assert.equal(files.statvfs().freeFiles, 2, 'it is still open');
    file.close();
    assert.equal(files.statvfs().freeFiles, 3);
  });

  it('hard links are names of one file', () => {
    const files = memoryFiles({ files: { '/a': 'x' } });
    files.hardlink('/a', '/b');
    files.setstat('/b', { permissions: 0o600 });
    assert.equal(files.stat('/a').permissions, 0o100600);
    const links = (): (number | undefined)[] => [...files.list('/')].map(({ links: count }) => count);
    assert.deepEqual(links(), [2, 2]);
    files.remove('/a');
    assert.equal(text(files, '/b'), 'x');
    assert.deepEqual(links(), [1]);
    files.mkdir('/dir', {});
    throws('EPERM', () => files.hardlink('/dir', '/c'));
    throws('EEXIST', () => files.hardlink('/b', '/dir'));
    throws('ENOENT', () => files.hardlink('/none', '/c'));
    files.symlink('/b', '/link');
    files.hardlink('/link', '/link2');
    assert.equal(files.readlink('/link2'), '/b');
  });

  it('rename never replaces, posixRename as rename(2)', () => {
    const files = memoryFiles({ files: { '/a': 'a', '/b': 'b', '/full/x': 'x' } });
    files.mkdir('/empty', {});
    throws('EEXIST', () => files.rename('/a', '/b'));
    throws('EEXIST', () => files.rename('/a', '/empty'));
    throws('ENOENT', () => files.rename('/none', '/b'));
    files.posixRename('/a', '/b');
    assert.equal(text(files, '/b'), 'a');
    throws('ENOENT', () => files.posixRename('/a', '/b'));
    throws('EISDIR', () => files.posixRename('/b', '/empty'));
    throws('ENOTDIR', () => files.posixRename('/empty', '/b'));
    throws('ENOTEMPTY', () => files.posixRename('/empty', '/full'));
    throws('EINVAL', () => files.posixRename('/full', '/full/y'));
    files.mkdir('/full/deeper', {});
    throws('EINVAL', () => files.posixRename('/full', '/full/deeper/y'));
    files.rmdir('/full/deeper');
    throws('EBUSY', () => files.posixRename('/', '/z'));
    throws('EBUSY', () => files.posixRename('/b', '/'));
    files.posixRename('/full', '/empty');
    assert.equal(text(files, '/empty/x'), 'x');
    assert.deepEqual(names(files, '/').sort(), ['b', 'empty']);
    files.hardlink('/b', '/c');
    files.posixRename('/b', '/c');
    assert.deepEqual(names(files, '/').sort(), ['b', 'c', 'empty'], 'two names of one file stay');
    files.posixRename('/b', '/b');
    assert.equal(text(files, '/b'), 'a');
  });

  it('rmdir and remove keep apart', () => {
    const files = memoryFiles({ files: { '/d/a': '' } });
    throws('ENOTEMPTY', () => files.rmdir('/d'));
    throws('EISDIR', () => files.remove('/d'));
    throws('ENOTDIR', () => files.rmdir('/d/a'));
    throws('EBUSY', () => files.rmdir('/'));
    throws('EEXIST', () => files.mkdir('/', {}));
    throws('EEXIST', () => files.mkdir('/d/a', {}));
    files.symlink('d', '/link');
    throws('ENOTDIR', () => files.rmdir('/link'));
    files.remove('/link');
    files.remove('/d/a');
    files.rmdir('/d');
    assert.deepEqual(names(files, '/'), []);
  });

  it('keeps modes, owners and times, and what is made has those of its making', () => {
    let now = 5000;
    const owner = { uid: 5, gid: 6, user: 'u', group: 'g' };
    const files = memoryFiles({ files: { '/a': 'abc' }, owner, umask: 0o077, now: () => now });
    assert.deepEqual(files.stat('/a'), { size: 3, uid: 5, gid: 6, permissions: 0o100600, atime: 5, mtime: 5 });
    now = 9999;
    files.mkdir('/dir', { permissions: 0o777 });
    assert.deepEqual([files.stat('/dir').permissions, files.stat('/').mtime], [0o40700, 9]);
    files.setstat('/a', { permissions: 0o107777, uid: 1, gid: 2, atime: 3, mtime: 4 });
    assert.deepEqual(files.stat('/a'), { size: 3, uid: 1, gid: 2, permissions: 0o107777, atime: 3, mtime: 4 });
    files.setstat('/a', { size: 1 });
    assert.deepEqual([files.stat('/a').size, files.stat('/a').mtime], [1, 9]);
    throws('EISDIR', () => files.setstat('/dir', { size: 0 }));
    assert.deepEqual(
      [...files.list('/')].map(({ owner: user, group }) => [user, group]),
      [
        [undefined, undefined],
        ['u', 'g'],
      ],
    );
    assert.deepEqual(files.ownerNames([5, 7], [6]), { users: ['u', ''], groups: ['g'] });
    assert.equal(files.home('u'), '/');
    throws('ENOENT', () => files.home('v'));
  });

  it('ends at its limits, and goes on when there is room again', () => {
    const files = memoryFiles({ maxBytes: 1000, maxFiles: 3 });
    files.put('/a', new Uint8Array(900));
    const file = open(files, '/b', { create: true });
    throws('ENOSPC', () => file.write(0, [new Uint8Array(60), new Uint8Array(60)]));
    assert.equal(files.stat('/b').size, 60, 'what had room is there, as on a disk');
    file.close();
    throws('ENOSPC', () => files.symlink('x'.repeat(100), '/l'));
    files.mkdir('/d', {});
    throws('ENOSPC', () => files.mkdir('/e', {}));
    throws('ENOSPC', () => open(files, '/e', { create: true }));
    throws('ENOSPC', () => files.symlink('x', '/l'));
    files.remove('/a');
    files.symlink('x'.repeat(100), '/l');
    assert.equal(files.statvfs().freeFiles, 0);
    files.remove('/l');
    files.put('/a', new Uint8Array(900));
    throws('ENAMETOOLONG', () => files.mkdir(`/${'x'.repeat(256)}`, {}));
    throws('ENAMETOOLONG', () => files.posixRename('/a', `/${'ä'.repeat(128)}`));
    files.posixRename('/a', `/${'x'.repeat(255)}`);
  });

  it('a listing goes on while its directory changes', () => {
    const files = memoryFiles({ files: { '/a': '', '/b': '', '/c': '' } });
    const seen: string[] = [];
    for (const { name } of files.list('/')) {
      seen.push(name);
      if (name === 'a') files.remove('/b');
      if (name === 'c' && seen.length < 5) files.put('/d', '');
    }
    assert.deepEqual(seen, ['a', 'c', 'd']);
    throws('ENOTDIR', () => names(files, '/a'));
    throws('ENOENT', () => names(files, '/z'));
  });
});

/** A file tree as a list of paths: slow, and too simple to be wrong. No links. */
class Model {
  readonly nodes = new Map<string, string | 'directory'>([['', 'directory']]);
  readonly contents = new Map<string, string>();

  kind(path: string): 'file' | 'directory' | undefined {
    const node = this.nodes.get(path);
    return node === undefined ? undefined : node === 'directory' ? 'directory' : 'file';
  }

  /** The error for what stands between the root and the last part. */
  above(path: string): string | undefined {
    for (let at = path.indexOf('/', 1); at > 0; at = path.indexOf('/', at + 1)) {
      const kind = this.kind(path.slice(0, at));
      if (kind === undefined) return 'ENOENT';
      if (kind === 'file') return 'ENOTDIR';
    }
    return undefined;
  }

  children(path: string): string[] {
    return [...this.nodes.keys()].filter((each) => each.startsWith(`${path}/`));
  }

  run(operation: string, a: string, b: string): string {
    const above = this.above(a);
    if (above !== undefined) return above;
    const kind = this.kind(a);
    switch (operation) {
      case 'mkdir':
        if (kind !== undefined) return 'EEXIST';
        this.nodes.set(a, 'directory');
        return '';
      case 'put':
        if (kind === 'directory') return 'EISDIR';
        this.nodes.set(a, b);
        return '';
      case 'rmdir':
        if (kind === undefined) return 'ENOENT';
        if (kind === 'file') return 'ENOTDIR';
        if (this.children(a).length > 0) return 'ENOTEMPTY';
        this.nodes.delete(a);
        return '';
      case 'remove':
        if (kind === undefined) return 'ENOENT';
        if (kind === 'directory') return 'EISDIR';
        this.nodes.delete(a);
        return '';
      default:
        return this.rename(a, b, operation === 'posixRename');
    }
  }

  rename(a: string, b: string, replace: boolean): string {
    if (this.kind(a) === undefined) return 'ENOENT';
    const above = this.above(b);
    if (above !== undefined) return above;
    const target = this.kind(b);
    if (target !== undefined && !replace) return 'EEXIST';
    if (a === b) return '';
    if (b.startsWith(`${a}/`)) return 'EINVAL';
    if (target === 'directory') {
      if (this.kind(a) === 'file') return 'EISDIR';
      if (this.children(b).length > 0) return 'ENOTEMPTY';
    } else if (target === 'file' && this.kind(a) === 'directory') return 'ENOTDIR';
    for (const each of [a, ...this.children(a)]) {
      const node = this.nodes.get(each) as string;
      this.nodes.delete(each);
      this.nodes.set(b + each.slice(a.length), node);
    }
    return '';
  }
}

describe('memoryFiles and a model', () => {
  const operations = ['mkdir', 'mkdir', 'put', 'put', 'rmdir', 'remove', 'rename', 'posixRename'] as const;
  for (const seed of ['a', 'b', 'c']) {
    it(`do the same, seed ${seed}`, () => {
      const random = seededRandom(`memory ${seed}`);
      const files = memoryFiles();
      const model = new Model();
      const path = (): string => {
        let result = '';
        for (let depth = 1 + drawBelow(random, 3); depth > 0; depth--) result += `/${'abc'[drawBelow(random, 3)]}`;
        return result;
      };
      const run = (operation: (typeof operations)[number], a: string, b: string): string => {
        try {
          if (operation === 'put') {
            const file = open(files, a, { create: true, truncate: true });
            file.write(0, [utf8(b)]);
            file.close();
          } else if (operation === 'mkdir') files.mkdir(a, {});
          else if (operation === 'rmdir' || operation === 'remove') files[operation](a);
          else files[operation](a, b);
          return '';
        } catch (error) {
          return (error as { code: string }).code;
        }
      };
      for (let i = 0; i < 2000; i++) {
        const operation = operations[drawBelow(random, operations.length)] ?? 'put';
        const [a, b] = [path(), path()];
        assert.equal(run(operation, a, b), model.run(operation, a, b), `${i}: ${operation} ${a} ${b}`);
      }
      const found = new Map<string, string>([['', 'directory']]);
      const walk = (directory: string): void => {
        for (const { name } of files.list(directory === '' ? '/' : directory)) {
          const content = text(files, `${directory}/${name}`);
          found.set(`${directory}/${name}`, content ?? 'directory');
          if (content === undefined) walk(`${directory}/${name}`);
        }
      };
      walk('');
      assert.deepEqual(new Map([...found].sort()), new Map([...model.nodes].sort()));
      assert.equal(files.statvfs().files - files.statvfs().freeFiles, found.size - 1);
    });
  }
});
