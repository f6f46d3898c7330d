/** Patterns for paths on this side. */

import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, it } from 'node:test';
import { filterOf, localGlob } from '../../src/cli/path_pattern.ts';
import type { TreeEntry } from '../../src/sftp/tree/options.ts';
import { rejectsWith } from '../support/rejects.ts';
import { scratch } from './spawn_cli.ts';

describe('filterOf', () => {
  const cases: [string, string, boolean][] = [
    ['*.o', 'a.o', false],
    ['*.o', 'd/e/a.o', false],
    ['*.o', 'a.c', true],
    ['*.o', '.a.o', false],
    ['*', 'anything', false],
    ['node_modules', 'x/node_modules', false],
    ['node_modules', 'x/node_modules2', true],
    ['/a.o', 'a.o', false],
    ['/a.o', 'd/a.o', true],
    ['d/*.o', 'd/a.o', false],
    ['d/*.o', 'x/d/a.o', true],
    ['d/*.o', 'd/e/a.o', true],
    ['**/d/*.o', 'x/y/d/a.o', false],
    ['**/d/*.o', 'd/a.o', false],
    ['d/**', 'd/e/f', false],
    ['d/**/z', 'd/z', false],
    ['d/**/z', 'd/e/f/z', false],
    ['d/**/z', 'd/e/f/y', true],
    ['{a,b}.o', 'b.o', false],
    ['[!a]', 'b', false],
    ['tmp/', 'tmp', true],
  ];
  const entry = (path: string, kind: TreeEntry['kind'] = 'file') => ({ path, name: '', kind, attrs: {} });
  for (const [pattern, path, wanted] of cases) {
    it(`${pattern} ${wanted ? 'keeps' : 'leaves out'} ${path}`, () => {
      assert.equal(filterOf([pattern])?.(entry(path)), wanted);
    });
  }
  it('takes a slash at the end for directories only', () => {
    assert.equal(filterOf(['tmp/'])?.(entry('x/tmp', 'directory')), false);
    assert.equal(filterOf(['x/tmp/'])?.(entry('x/tmp', 'directory')), false);
  });
  it('is none for no patterns, and all of several', () => {
    assert.equal(filterOf([]), undefined);
    const filter = filterOf(['*.o', 'x']);
    assert.deepEqual(
      ['a.o', 'd/x', 'y'].map((path) => filter?.(entry(path))),
      [false, false, true],
    );
  });
});

describe('localGlob', () => {
  it('finds what matches, hidden names only where the pattern has the dot', async () => {
    const top = scratch();
    for (const path of ['a/b/c', 'a/d', '.h/x']) mkdirSync(join(top, path), { recursive: true });
    for (const path of ['1.c', '2.c', '.3.c', 'a/4.c', 'a/b/5.c', 'a/b/c/6.c', '.h/7.c'])
      writeFileSync(join(top, path), '');
    symlinkSync('.', join(top, 'a', 'loop'));
    const found = async (pattern: string) => (await localGlob(pattern, top)).map((path) => relative(top, path));
    assert.deepEqual(await found('*.c'), ['1.c', '2.c']);
    assert.deepEqual(await found('.*.c'), ['.3.c']);
    assert.deepEqual(await found('a/*/*.c'), ['a/b/5.c', 'a/loop/4.c']);
    assert.deepEqual(await found('a/**/*.c'), ['a/4.c', 'a/b/5.c', 'a/b/c/6.c']);
    assert.deepEqual(await found('{2,1,9}.c'), ['1.c', '2.c']);
    assert.deepEqual(await found('a/*/'), ['a/b', 'a/d', 'a/loop']);
    assert.deepEqual(await found('none*'), []);
    assert.deepEqual(await localGlob(`${top}/?.c`, '/'), [join(top, '1.c'), join(top, '2.c')]);
    await rejectsWith(localGlob('*\0', top), 'bad-argument');
  });
});
