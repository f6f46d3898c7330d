/** That `package.json` fits what is there: entries, version, files, dependencies. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { SOFTWARE } from '../src/core/options.ts';
import { root } from './support/root.ts';

interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const manifest = JSON.parse(read('package.json')) as Manifest;
const exists = (path: string): boolean => existsSync(new URL(path, root));

/** The source that the build makes `target` of. */
const sourceOf = (target: string): string => target.replace(/^\.\/dist\//, 'src/').replace(/\.(?:d\.ts|js)$/, '.ts');

describe('package.json', () => {
  it('names entries that the build makes: for every runtime, and the command', () => {
    const { './package.json': own, ...entries } = manifest.exports;
    assert.equal(own, './package.json');
    assert.deepEqual(Object.keys(entries), ['.', './node', './deno', './bun']);
    for (const [name, entry] of Object.entries(entries)) {
      assert.ok(typeof entry === 'object', name);
      for (const target of [entry.types, entry.default]) assert.ok(exists(sourceOf(target)), target);
      assert.equal(sourceOf(entry.types), sourceOf(entry.default));
    }
    const command = sourceOf(manifest.bin.puressh ?? '');
    assert.match(read(command), /^#!\/usr\/bin\/env node\n/);
  });

  it('has the version that puressh tells peers, and a section of the change log', () => {
    assert.equal(SOFTWARE, `puressh_${manifest.version}`);
    assert.ok(read('CHANGELOG.md').includes(`\n## ${manifest.version}`));
  });

  it('packs what is there, and no tests', () => {
    for (const path of manifest.files) assert.ok(path === 'dist' || exists(path), path);
    assert.ok(!manifest.files.some((path) => /test|bench|vectors/.test(path)));
  });

  it('depends on the noble packages alone', () => {
    for (const name of Object.keys(manifest.dependencies)) assert.match(name, /^@noble\//);
  });
});
