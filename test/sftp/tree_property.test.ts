/** Random trees: what walking, matching and removing make of them, compared with what a few plain lines say. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RandomSource } from '../../src/crypto/provider.ts';
import type { MaybePromise } from '../../src/sftp/server/maybe_promise.ts';
import { type MemoryFiles, memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { drawBelow } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';
import { bent, collect, withMemory } from '../support/sftp_memory.ts';

const NAMES = ['a', 'b', 'ab', '.a', '.b', 'aab', 'b.a'];
const PARTS = ['*', '**', '?', 'a', 'b', 'a*', '*a', '[ab]', '[!a]?', '?*', '.*', '*.a', '**', 'ab'];
const SEEDS = 50;

const NEW = { read: false, write: true, append: false, create: true, truncate: false, exclusive: true, attrs: {} };

function pick<T>(random: RandomSource, list: readonly T[]): T {
  return list[drawBelow(random, list.length)] as T;
}

/** A tree with files, directories and links, and the paths in it by kind. */
function randomTree(random: RandomSource): {
  files: MemoryFiles;
  kinds: Map<string, 'directory' | 'file' | 'symlink'>;
} {
  const files = memoryFiles();
  const kinds = new Map<string, 'directory' | 'file' | 'symlink'>();
  const directories = ['/t'];
  files.mkdir('/t', {});
  for (let i = drawBelow(random, 60); i > 0; i--) {
    const path = `${pick(random, directories)}/${pick(random, NAMES)}`;
    if (kinds.has(path)) continue;
    const kind = pick(random, ['directory', 'directory', 'file', 'symlink'] as const);
    kinds.set(path, kind);
    if (kind === 'directory') {
      files.mkdir(path, {});
      directories.push(path);
    } else if (kind === 'file') files.open(path, NEW).close();
    else files.symlink('/t', path);
  }
  return { files, kinds };
}

/** Whether a name matches a pattern without `**` and braces: the definition, word for word. */
function nameMatches(pattern: string, name: string): boolean {
  if (pattern === '') return name === '';
  if (pattern.startsWith('*')) {
    return nameMatches(pattern.slice(1), name) || (name !== '' && nameMatches(pattern, name.slice(1)));
  }
  const set = /^\[(!?)([^\]]*)\](.*)$/s.exec(pattern);
  if (set !== null) {
    const [, not, members = '', rest = ''] = set;
    return name !== '' && members.includes(name[0] as string) !== (not === '!') && nameMatches(rest, name.slice(1));
  }
  if (name === '') return false;
  return (pattern[0] === '?' || pattern[0] === name[0]) && nameMatches(pattern.slice(1), name.slice(1));
}

function partMatches(part: string, name: string): boolean {
  return (!name.startsWith('.') || part.startsWith('.')) && nameMatches(part, name);
}

/** Whether the parts of a path match those of a pattern; `**` last means what is below. */
function pathMatches(parts: readonly string[], names: readonly string[]): boolean {
  const [part, ...rest] = parts;
  const [name, ...others] = names;
  if (part === undefined) return name === undefined;
  if (part === '**') {
    const here = rest.length === 0 ? ['*'] : rest;
    const deeper = name !== undefined && !name.startsWith('.') && others.length > 0 && pathMatches(parts, others);
    return deeper || pathMatches(here, names);
  }
  return name !== undefined && partMatches(part, name) && pathMatches(rest, others);
}

describe('random trees', () => {
  it('walk, glob and remove agree with the plain words', { timeout: 60_000 }, async () => {
    for (let seed = 0; seed < SEEDS; seed++) {
      const random = seededRandom(`tree ${seed}`);
      const { files, kinds } = randomTree(random);
      // Answers take turns of their own.
      const later = async <T>(run: () => MaybePromise<T>): Promise<T> => {
        for (let i = drawBelow(random, 4); i > 0; i--) await Promise.resolve();
        return run();
      };
      const backend = bent(files, {
        list: (path) => later(() => files.list(path)),
        lstat: (path) => later(() => files.lstat(path)),
        remove: (path) => later(() => files.remove(path)),
      });
      await withMemory(backend, async ({ sftp }) => {
        const walked = await collect(sftp.walk('/t'));
        const found = new Map(walked.map(({ path, kind }) => [path, kind]));
        assert.equal(found.size, walked.length, `seed ${seed}`);
        assert.deepEqual(found, new Map([...found.keys()].map((path) => [path, kinds.get(path as string)])));
        assert.equal(found.size, kinds.size, `seed ${seed}`);
        for (let i = 0; i < 6; i++) {
          const parts = Array.from({ length: 1 + drawBelow(random, 3) }, () => pick(random, PARTS));
          const entries = (await collect(sftp.glob(`/t/${parts.join('/')}`))).map(({ path }) => String(path));
          // Links lead to /t again by a plain part: what comes through them is tried elsewhere.
          const direct = entries.filter((path) => kinds.has(path)).sort();
          const expected = [...kinds.keys()].filter((path) => pathMatches(parts, path.split('/').slice(2))).sort();
          assert.deepEqual(direct, expected, `seed ${seed}: ${parts.join('/')}`);
          assert.equal(new Set(entries).size, entries.length, `seed ${seed}: ${parts.join('/')}`);
        }
        await sftp.remove('/t', { recursive: true });
        assert.equal(await sftp.exists('/t'), false);
      });
    }
  });
});
