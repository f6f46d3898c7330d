/** Downloads of whole directories, from our server to files in memory. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers';
import { utf8 } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import type { SftpBackend } from '../../../src/sftp/server/backend.ts';
import type { MemoryFiles } from '../../../src/sftp/server/memory_fs.ts';
import type { TreeEntry, TreeProgress } from '../../../src/sftp/tree/options.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { isThorough } from '../../support/thorough.ts';
import { localTree, withTrees } from '../../support/tree_pair.ts';

const FILES = { '/t/a': 'A', '/t/b/c': 'CC', '/t/b/d/e': 'EEE', '/t/b/d/f': '', '/t/é/ü x': 'umlaut' };
const TREE = { a: 'A', 'b/c': 'CC', 'b/d/e': 'EEE', 'b/d/f': '', 'é/ü x': 'umlaut' };

describe('getTree', () => {
  it('downloads everything and counts it', async () => {
    await withTrees({ remote: FILES }, async ({ sftp, local, remote }) => {
      remote.mkdir('/t/empty', {});
      const result = await sftp.getTree('/t', 'out');
      assert.deepEqual(localTree(local, 'out'), TREE);
      assert.equal(local.nodes.get('out/empty')?.kind, 'directory');
      const { files, directories, links, bytes, failed, failedTotal, skipped, warnings } = result;
      assert.deepEqual(
        { files, directories, links, bytes, failed, failedTotal, skipped, warnings },
        { files: 5, directories: 4, links: 0, bytes: 12, failed: [], failedTotal: 0, skipped: [], warnings: [] },
      );
    });
  });

  it('makes each directory before what is in it, and sets no attributes', async () => {
    await withTrees({ remote: FILES }, async ({ sftp, local }) => {
      await sftp.getTree('/t', 'out');
      const made = local.log.map((line) => /^makeDirectory (.*)/.exec(line)?.[1]);
      const seen = new Set<string>();
      for (const [i, line] of local.log.entries()) {
        if (made[i] !== undefined) seen.add(made[i]);
        const opened = /^open (.*)\/[^/]* /.exec(line)?.[1];
        if (opened !== undefined) assert.ok(seen.has(opened), line);
      }
      assert.ok(!local.log.some((line) => line.startsWith('setAttributes')));
    });
  });

  it('overlaps small files: many take few round trips', async () => {
    const files = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`/t/${i}`, 'x'.repeat(4096)]));
    await withTrees({ remote: files }, async ({ sftp, line }) => {
      const before = line.trips;
      const result = await sftp.getTree('/t', 'out');
      assert.equal(result.files, 400);
      // 7 times 64 files of two each, and the listing
      const took = line.trips - before;
      assert.ok(took <= 7 * 2 + 8, `${took} round trips`);
    });
  });

  it('lists many directories at once', async () => {
    const files = Object.fromEntries(Array.from({ length: 160 }, (_, i) => [`/t/${i}/f`, 'x']));
    await withTrees({ remote: files }, async ({ sftp, line }) => {
      const before = line.trips;
      assert.equal((await sftp.getTree('/t', 'out')).files, 160);
      const took = line.trips - before;
      assert.ok(took <= 60, `${took} round trips for 160 directories`);
    });
  });

  it('concurrency: 1 moves one file after the other', async () => {
    await withTrees({ remote: FILES }, async ({ sftp, local }) => {
      let most = 0;
      local.fail = () => {
        most = Math.max(most, local.opened);
        return false;
      };
      await sftp.getTree('/t', 'out', { concurrency: 1 });
      assert.equal(most, 1);
      assert.deepEqual(localTree(local, 'out'), TREE);
    });
  });

  it('filter: sees each entry with its kind and attributes, and leaves out what is below', async () => {
    await withTrees({ remote: FILES }, async ({ sftp, local }) => {
      const seen: TreeEntry[] = [];
      const result = await sftp.getTree('/t', 'out', {
        filter: async (entry) => {
          seen.push(entry);
          await Promise.resolve();
          return entry.path !== 'b/d' && entry.name !== 'a';
        },
      });
      const told = seen.map(({ path, name, kind, attrs }) => [
        path,
        name,
        kind,
        kind === 'file' ? attrs.size : undefined,
      ]);
      assert.deepEqual(told.sort(), [
        ['a', 'a', 'file', 1],
        ['b', 'b', 'directory', undefined],
        ['b/c', 'c', 'file', 2],
        ['b/d', 'd', 'directory', undefined],
        ['é', 'é', 'directory', undefined],
        ['é/ü x', 'ü x', 'file', 6],
      ]);
      assert.deepEqual(localTree(local, 'out'), { 'b/c': 'CC', 'é/ü x': 'umlaut' });
      assert.deepEqual([result.files, result.skippedTotal, result.failedTotal], [2, 0, 0]);
    });
  });

  it('a filter or onProgress that throws ends everything with its error', async () => {
    await withTrees({ remote: FILES }, async ({ sftp }) => {
      const fail = (): never => {
        throw new Error('told to');
      };
      const error = await rejectsWith(sftp.getTree('/t', 'out', { filter: fail }), 'bad-argument');
      assert.equal(error.operation, 'filter');
      assert.equal(
        (await rejectsWith(sftp.getTree('/t', 'out', { onProgress: fail }), 'bad-argument')).operation,
        'onProgress',
      );
      await sftp.stat('/t');
    });
  });

  it('progress: ends with all there is, and never goes back', async () => {
    await withTrees({ remote: FILES }, async ({ sftp }) => {
      const told: TreeProgress[] = [];
      await sftp.getTree('/t', 'out', { onProgress: (progress) => told.push(progress) });
      for (const [i, { bytes, files }] of told.entries()) {
        assert.ok(bytes >= (told[i - 1]?.bytes ?? 0) && files >= (told[i - 1]?.files ?? 0));
      }
      const { bytes, total, files, filesTotal, listed } = told.at(-1) as TreeProgress;
      assert.deepEqual(
        { bytes, total, files, filesTotal, listed },
        { bytes: 12, total: 12, files: 5, filesTotal: 5, listed: true },
      );
      assert.deepEqual([...new Set(told.map(({ path }) => path))].sort(), Object.keys(TREE).sort());
    });
  });

  it('a file that fails is told, and the rest goes on; stopOnError ends at it', async () => {
    await withTrees({ remote: FILES }, async ({ sftp, local }) => {
      local.fail = ({ operation, path }) => operation === 'open' && path.includes('.c.');
      const result = await sftp.getTree('/t', 'out');
      const { 'b/c': _, ...others } = TREE;
      assert.deepEqual(localTree(local, 'out'), others);
      assert.deepEqual([result.files, result.failedTotal], [4, 1]);
      assert.equal(result.failed[0]?.path, 'b/c');
      assert.equal(result.failed[0]?.error.code, 'bad-local-file');
      await rejectsWith(sftp.getTree('/t', 'out', { stopOnError: true }), 'bad-local-file');
      await sftp.stat('/t');
    });
  });

  it('progress and result count what is whole, not what failed on the way', async () => {
    const files = { '/t/bad': 'x'.repeat(600_000), '/t/good': 'ok' };
    await withTrees({ remote: files }, async ({ sftp, local }) => {
      let writes = 0;
      local.fail = ({ operation, path }) => operation === 'write' && path.includes('bad') && ++writes === 2;
      const told: TreeProgress[] = [];
      const result = await sftp.getTree('/t', 'out', {
        concurrency: 1,
        overwrite: 'never',
        onProgress: (progress) => told.push(progress),
      });
      assert.deepEqual([result.files, result.bytes, result.failedTotal], [1, 2, 1]);
      assert.ok(told.some(({ path, bytes }) => path === 'bad' && bytes > 0));
      const { bytes, total, files, filesTotal } = told.at(-1) as TreeProgress;
      assert.deepEqual([bytes, total, files, filesTotal], [2, 2, 1, 1]);
      assert.equal((await sftp.getTree('/t', 'out', { overwrite: 'never' })).skippedTotal, 1);
    });
  });

  it('a directory that cannot be read is told and not made', async () => {
    const backend = {
      remote: FILES,
      backend: (remote: MemoryFiles): SftpBackend => ({
        ...forwarded(remote),
        list: (path: string) => {
          if (path === '/t/b/d') throw Object.assign(new Error('no'), { code: 'EACCES' });
          return remote.list(path);
        },
      }),
    };
    await withTrees(backend, async ({ sftp, local }) => {
      const result = await sftp.getTree('/t', 'out');
      assert.deepEqual(localTree(local, 'out'), { a: 'A', 'b/c': 'CC', 'é/ü x': 'umlaut' });
      assert.equal(local.nodes.has('out/b/d'), false);
      assert.deepEqual(
        result.failed.map(({ path, error }) => [path, error.code, error.status]),
        [['b/d', 'sftp-status', 3]],
      );
    });
  });

  it('rejects where the root cannot be listed, or not be made', async () => {
    await withTrees({ remote: FILES, local: { file: 'x' } }, async ({ sftp, local }) => {
      await rejectsWith(sftp.getTree('/none', 'out'), 'sftp-status');
      await rejectsWith(sftp.getTree('/t/a', 'out'), 'sftp-status');
      assert.equal(local.nodes.has('out'), false);
      await rejectsWith(sftp.getTree('/t', 'file'), 'bad-local-file');
      await rejectsWith(sftp.getTree('/t', 'out', { concurrency: 0 }), 'bad-argument');
      await rejectsWith(sftp.getTree('/t', 'out', { symlinks: 'all' as 'copy' }), 'bad-argument');
      await rejectsWith(sftp.getTree('/t', 'out', { overwrite: 'yes' as 'always' }), 'bad-argument');
    });
  });

  it('preserve: permissions and times of files and directories, a root that was there excepted', async () => {
    await withTrees({ remote: FILES }, async ({ sftp, local, remote }) => {
      remote.setstat('/t/b/c', { permissions: 0o640, atime: 1000, mtime: 2000 });
      remote.setstat('/t/b/d', { permissions: 0o555, atime: 3000, mtime: 4000 });
      remote.setstat('/t', { permissions: 0o750, atime: 5000, mtime: 6000 });
      const during: unknown[] = [];
      local.fail = ({ operation, path }) => {
        if (operation === 'open' && path.startsWith('out/b/d/')) during.push(local.nodes.get('out/b/d')?.permissions);
        return false;
      };
      await sftp.getTree('/t', 'out', { preserve: true });
      assert.deepEqual(during, [0o755, 0o755], 'until all is in it');
      const kept = (path: string): unknown => {
        const { permissions, accessed, modified } = local.nodes.get(path) ?? assert.fail(path);
        return [permissions.toString(8), accessed, modified];
      };
      assert.deepEqual(kept('out/b/c'), ['640', 1000, 2000]);
      assert.deepEqual(kept('out/b/d'), ['555', 3000, 4000]);
      assert.deepEqual(kept('out'), ['750', 5000, 6000]);
      // after all that is in it, and deepest first
      const last = (pattern: RegExp): number => local.log.findLastIndex((line) => pattern.test(line));
      const set = (path: string): number => last(new RegExp(`^setAttributes ${path} `));
      assert.ok(last(/^rename .* out\/b\/d\//) < set('out/b/d'));
      assert.ok(set('out/b/d') < set('out/b') && set('out/b') < set('out'));
      // what is read-only is made writable for as long as it takes
      local.log.length = 0;
      await sftp.getTree('/t', 'out', { preserve: { permissions: true } });
      assert.ok(local.log.includes('setAttributes out/b/d {"permissions":493}'), local.log.join('\n'));
      assert.deepEqual(kept('out/b/d'), ['555', 3000, 4000]);
      assert.ok(!local.log.some((line) => line.startsWith('setAttributes out {')), 'the root was there');
    });
  });

  it('overwrite: never, newer, different', async () => {
    const local = { 'out/a': 'old', 'out/b/c': 'xx' };
    await withTrees({ remote: FILES, local }, async ({ sftp, local, remote }) => {
      remote.setstat('/t/a', { atime: 1, mtime: 1_700_000_001 });
      remote.setstat('/t/b/c', { atime: 1, mtime: 1_700_000_000 });
      const never = await sftp.getTree('/t', 'out', { overwrite: 'never' });
      assert.deepEqual(localTree(local, 'out'), { ...TREE, a: 'old', 'b/c': 'xx' });
      assert.deepEqual(never.skipped.map(({ path }) => path).sort(), ['a', 'b/c']);
      assert.equal(never.files, 3);
      const newer = await sftp.getTree('/t', 'out', { overwrite: 'newer' });
      assert.deepEqual(localTree(local, 'out'), { ...TREE, 'b/c': 'xx' });
      assert.equal(newer.files, 1);
      const different = await sftp.getTree('/t', 'out', { overwrite: 'different', preserve: true });
      assert.ok(
        different.skipped.some(({ path }) => path === 'b/c'),
        'the same size and time',
      );
      const again = await sftp.getTree('/t', 'out', { overwrite: 'different' });
      assert.deepEqual([again.files, again.skippedTotal], [0, 5]);
      await sftp.getTree('/t', 'out', { overwrite: 'always' });
      assert.deepEqual(localTree(local, 'out'), TREE);
    });
  });

  it('an abort ends everything at once; the session stays usable and nothing stays behind', async () => {
    const files = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`/t/${i % 10}/${i}`, 'x'.repeat(50_000)]));
    await withTrees({ remote: files }, async ({ sftp, local }) => {
      const controller = new AbortController();
      const reason = new Error('enough');
      const onProgress = ({ files: whole }: TreeProgress): void => {
        if (whole === 30) controller.abort(reason);
      };
      const error = await rejectsWith(sftp.getTree('/t', 'out', { signal: controller.signal, onProgress }), 'aborted');
      assert.equal(error.cause, reason);
      assert.equal(local.opened, 0);
      assert.equal((await sftp.stat('/t/1/1')).size, 50_000);
      const whole = Object.values(localTree(local, 'out'));
      assert.ok(whole.length >= 30 && whole.every((text) => text.length === 50_000));
      const early = await rejectsWith(sftp.getTree('/t', 'none', { signal: controller.signal }), 'aborted');
      assert.equal(early.cause, reason);
      assert.equal(local.nodes.has('none'), false);
    });
  });

  it('an abort waits for nobody: neither a server nor a listing that hangs', async () => {
    for (const hanging of ['read', 'list'] as const) {
      let release: () => void = () => undefined;
      const hung = new Promise<void>((resolve) => {
        release = resolve;
      });
      const hangs = (remote: MemoryFiles): SftpBackend => ({
        ...forwarded(remote),
        open: (path, request) => {
          const file = remote.open(path, request);
          const read = async (offset: number, length: number): Promise<Uint8Array> => {
            if (hanging === 'read') await hung;
            return file.read(offset, length);
          };
          return { stat: () => file.stat(), close: () => file.close(), read };
        },
        list: async (path) => {
          if (hanging === 'list' && path === '/t/b') await hung;
          return remote.list(path);
        },
      });
      await withTrees({ remote: FILES, backend: hangs }, async ({ sftp }) => {
        const controller = new AbortController();
        const running = rejectsWith(sftp.getTree('/t', 'out', { signal: controller.signal }), 'aborted');
        for (let turns = 0; turns < 500; turns++) await new Promise((resolve) => setImmediate(resolve));
        controller.abort();
        await running;
        release();
      });
    }
  });

  it('the end of the session rejects with its cause', async () => {
    const files = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`/t/${i}`, 'x'.repeat(5000)]));
    await withTrees({ remote: files }, async ({ sftp, local, line }) => {
      const cause = new SshError('connection-lost', 'gone', { fault: 'network' });
      const onProgress = ({ files: whole }: TreeProgress): void => {
        if (whole === 10) line.close(cause);
      };
      const error = await rejectsWith(sftp.getTree('/t', 'out', { onProgress }), 'connection-lost');
      assert.equal(error, sftp.cause);
      assert.equal(local.opened, 0);
    });
  });

  it('a deep tree takes few handles of the server, whatever it says of them', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `/t/${Array.from({ length: 25 }, (_, d) => `${i % 10}-${d}`).join('/')}/${i}`,
        'x',
      ]),
    );
    for (const openHandles of [8, 256]) {
      await withTrees({ remote: files, limits: { openHandles } }, async ({ sftp }) => {
        const result = await sftp.getTree('/t', 'out');
        assert.deepEqual([result.files, result.directories, result.failed], [30, 250, []]);
      });
    }
  });

  it('a tree of 10,000 entries: whole, with a bounded number of files that wait', { timeout: 60_000 }, async () => {
    const directories = isThorough ? 100 : 45;
    const backend = wide(directories, 100);
    await withTrees({ backend: () => backend }, async ({ sftp, local }) => {
      // that of the class looks for what is below in all there is
      local.stat = async (path) => {
        const node = local.nodes.get(path);
        return node && { kind: node.kind, size: node.bytes.length };
      };
      let known = 0;
      const result = await sftp.getTree('/t', 'out', {
        onProgress: ({ files, filesTotal }) => {
          known = Math.max(known, filesTotal - files);
        },
      });
      assert.deepEqual([result.files, result.directories, result.failedTotal], [100 * directories, directories, 0]);
      assert.ok(known <= 4096 + 64 + 16, `${known} files were known and not whole`);
      assert.equal(localTree(local, 'out')['44/99'], 'x');
    });
  });

  it('a file that became shorter since it was listed is fetched as it is now', async () => {
    const listed = {
      remote: FILES,
      backend: (remote: MemoryFiles): SftpBackend => ({
        ...forwarded(remote),
        *list(path: string) {
          for (const entry of remote.list(path)) {
            yield entry.name === 'a' ? { name: 'a', attrs: { ...entry.attrs, size: 70_000 } } : entry;
          }
        },
      }),
    };
    await withTrees(listed, async ({ sftp, local }) => {
      const result = await sftp.getTree('/t', 'out');
      assert.deepEqual([result.files, result.failedTotal], [5, 0]);
      assert.deepEqual(localTree(local, 'out'), TREE);
    });
  });

  it('passes resume on: what an earlier tree left unfinished is continued', async () => {
    const big = 'x'.repeat(300_000);
    await withTrees({ remote: { '/t/big': big } }, async ({ sftp, local }) => {
      let writes = 0;
      local.fail = ({ operation }) => operation === 'write' && ++writes === 2;
      assert.equal((await sftp.getTree('/t', 'out', { resume: true })).failedTotal, 1);
      local.fail = () => false;
      const result = await sftp.getTree('/t', 'out', { resume: true });
      assert.deepEqual([result.files, result.failedTotal], [1, 0]);
      assert.ok(result.bytes < 300_000, `${result.bytes} bytes were moved`);
      assert.deepEqual(localTree(local, 'out'), { big });
    });
  });
});

/** The functions of a backend that are methods of a class, as a plain object. */
function forwarded(remote: MemoryFiles): SftpBackend {
  return {
    open: (path, request) => remote.open(path, request),
    stat: (path) => remote.stat(path),
    lstat: (path) => remote.lstat(path),
    realpath: (path) => remote.realpath(path),
    readlink: (path) => remote.readlink(path),
    home: () => '/',
  };
}

/** So many directories of so many files of one byte, which nobody keeps. */
function wide(directories: number, files: number): SftpBackend {
  const file = { permissions: 0o100644, size: 1 };
  const directory = { permissions: 0o40755 };
  return {
    home: () => '/',
    stat: () => file,
    *list(path: string) {
      const isRoot = path === '/t';
      for (let i = 0; i < (isRoot ? directories : files); i++) {
        yield { name: String(i), attrs: isRoot ? directory : file };
      }
    },
    open: () => ({
      read: (offset: number) => utf8('x').subarray(offset),
      stat: () => file,
      close() {},
    }),
  };
}
