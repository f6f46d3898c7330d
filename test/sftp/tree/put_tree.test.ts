/** Uploads of whole directories, from files in memory to our server. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import type { SftpBackend } from '../../../src/sftp/server/backend.ts';
import type { MemoryFiles } from '../../../src/sftp/server/memory_fs.ts';
import { PosixError } from '../../../src/sftp/server/posix_error.ts';
import type { TreeEntry, TreeProgress } from '../../../src/sftp/tree/options.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { remoteTree, withTrees } from '../../support/tree_pair.ts';

const FILES = { 't/a': 'A', 't/b/c': 'CC', 't/b/d/e': 'EEE', 't/b/d/f': '', 't/é/ü x': 'umlaut' };
const TREE = { a: 'A', 'b/c': 'CC', 'b/d/e': 'EEE', 'b/d/f': '', 'é/ü x': 'umlaut' };

/** A backend that writes down its calls. */
function logged(remote: MemoryFiles, log: string[]): SftpBackend {
  return new Proxy(remote, {
    get(target, key) {
      const value = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        log.push([String(key), ...args.filter((arg) => typeof arg === 'string')].join(' '));
        return Reflect.apply(value, target, args);
      };
    },
  });
}

describe('putTree', () => {
  it('uploads everything and counts it', async () => {
    await withTrees({ local: FILES }, async ({ sftp, local, remote }) => {
      await local.makeDirectory('t/empty');
      const result = await sftp.putTree('t', '/out');
      assert.deepEqual(remoteTree(remote, '/out'), TREE);
      assert.equal((remote.lstat('/out/empty').permissions ?? 0) >>> 12, 4);
      const { files, directories, links, bytes, failed, failedTotal, skipped, warnings } = result;
      assert.deepEqual(
        { files, directories, links, bytes, failed, failedTotal, skipped, warnings },
        { files: 5, directories: 4, links: 0, bytes: 12, failed: [], failedTotal: 0, skipped: [], warnings: [] },
      );
    });
  });

  it('asks nothing about what cannot be there, and sets no attributes', async () => {
    const log: string[] = [];
    await withTrees({ local: FILES, backend: (remote) => logged(remote, log) }, async ({ sftp }) => {
      await sftp.putTree('t', '/out');
      assert.deepEqual(
        log.filter((line) => /^(lstat|stat|setstat|realpath|list)/.test(line)),
        [],
      );
      assert.equal(log.filter((line) => line.startsWith('mkdir')).length, 4);
      for (const path of ['/out/b/d', '/out/b', '/out']) {
        const made = log.indexOf(`mkdir ${path}`);
        assert.ok(made >= 0 && made < log.findIndex((line) => line.startsWith(`open ${path}/`)), path);
      }
    });
  });

  it('overlaps small files: many take few round trips', async () => {
    const files = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`t/${i}`, 'x'.repeat(4096)]));
    await withTrees({ local: files }, async ({ sftp, line }) => {
      const before = line.trips;
      assert.equal((await sftp.putTree('t', '/out')).files, 400);
      const took = line.trips - before;
      // 7 times 64 files: OPEN, WRITE with CLOSE behind it, RENAME
      assert.ok(took <= 7 * 4 + 4, `${took} round trips`);
    });
  });

  it('makes many directories at once', async () => {
    const files = Object.fromEntries(Array.from({ length: 160 }, (_, i) => [`t/${i}/f`, 'x']));
    await withTrees({ local: files }, async ({ sftp, line }) => {
      const before = line.trips;
      assert.equal((await sftp.putTree('t', '/out')).files, 160);
      const took = line.trips - before;
      assert.ok(took <= 40, `${took} round trips for 160 directories`);
    });
  });

  it('filter: sees each entry with its kind and attributes, and leaves out what is below', async () => {
    await withTrees({ local: FILES }, async ({ sftp, remote }) => {
      const seen: TreeEntry[] = [];
      const result = await sftp.putTree('t', '/out', {
        filter: (entry) => {
          seen.push(entry);
          return entry.path !== 'b/d' && entry.name !== 'a';
        },
      });
      const told = seen.map(({ path, kind, attrs }) => [path, kind, kind === 'file' ? attrs.size : undefined]);
      assert.deepEqual(told.sort(), [
        ['a', 'file', 1],
        ['b', 'directory', undefined],
        ['b/c', 'file', 2],
        ['b/d', 'directory', undefined],
        ['é', 'directory', undefined],
        ['é/ü x', 'file', 6],
      ]);
      assert.deepEqual(remoteTree(remote, '/out'), { 'b/c': 'CC', 'é/ü x': 'umlaut' });
      assert.deepEqual([result.files, result.skippedTotal, result.failedTotal], [2, 0, 0]);
    });
  });

  it('progress: ends with all there is, and never goes back', async () => {
    await withTrees({ local: FILES }, async ({ sftp }) => {
      const told: TreeProgress[] = [];
      await sftp.putTree('t', '/out', { onProgress: (progress) => told.push(progress) });
      for (const [i, { bytes, files }] of told.entries()) {
        assert.ok(bytes >= (told[i - 1]?.bytes ?? 0) && files >= (told[i - 1]?.files ?? 0));
      }
      const { bytes, total, files, filesTotal, listed } = told.at(-1) as TreeProgress;
      assert.deepEqual(
        { bytes, total, files, filesTotal, listed },
        { bytes: 12, total: 12, files: 5, filesTotal: 5, listed: true },
      );
    });
  });

  it('a file or directory that fails is told, and the rest goes on; stopOnError ends at it', async () => {
    await withTrees({ local: FILES, remote: { '/out/b/d': 'a file in the way' } }, async ({ sftp, local, remote }) => {
      local.fail = ({ operation, path }) => operation === 'open' && path === 't/b/c';
      const result = await sftp.putTree('t', '/out');
      assert.deepEqual(remoteTree(remote, '/out'), { a: 'A', 'b/d': 'a file in the way', 'é/ü x': 'umlaut' });
      assert.deepEqual([result.files, result.failedTotal], [2, 2]);
      const failed = result.failed.map(({ path, error }) => [path, error.code]).sort();
      assert.deepEqual(failed, [
        ['b/c', 'bad-local-file'],
        ['b/d', 'target-exists'],
      ]);
      local.fail = ({ operation, path }) => operation === 'list' && path === 't/b';
      await rejectsWith(sftp.putTree('t', '/out', { stopOnError: true }), 'bad-local-file');
      const { failed: unread } = await sftp.putTree('t', '/other');
      assert.deepEqual(
        unread.map(({ path, error }) => [path, error.code]),
        [['b', 'bad-local-file']],
      );
      assert.deepEqual(remoteTree(remote, '/other'), { a: 'A', 'é/ü x': 'umlaut' });
    });
  });

  it('rejects where the root cannot be listed, or not be made', async () => {
    await withTrees({ local: FILES, remote: { '/file': 'x' } }, async ({ sftp, remote }) => {
      await rejectsWith(sftp.putTree('none', '/out'), 'bad-local-file');
      await rejectsWith(sftp.putTree('t/a', '/out'), 'bad-local-file');
      assert.throws(() => remote.lstat('/out'));
      await rejectsWith(sftp.putTree('t', '/file'), 'target-exists');
      await rejectsWith(sftp.putTree('t', '/no/such/out'), 'sftp-status');
      await rejectsWith(sftp.putTree('t', '/out', { concurrency: 1.5 }), 'bad-argument');
    });
  });

  it('preserve: permissions and times of files and directories, deepest last, a root that was there excepted', async () => {
    const log: string[] = [];
    await withTrees({ local: FILES, backend: (remote) => logged(remote, log) }, async ({ sftp, local, remote }) => {
      await local.setAttributes('t/b/c', { permissions: 0o640, accessed: 1000.5, modified: 2000.5 });
      await local.setAttributes('t/b/d', { permissions: 0o555, accessed: 3000, modified: 4000 });
      await local.setAttributes('t', { permissions: 0o750, accessed: 5000, modified: 6000 });
      const result = await sftp.putTree('t', '/out', { preserve: true });
      assert.deepEqual(result.warnings, []);
      const kept = (path: string): unknown => {
        const { permissions = 0, atime, mtime } = remote.lstat(path);
        return [(permissions & 0o7777).toString(8), atime, mtime];
      };
      assert.deepEqual(kept('/out/b/c'), ['640', 1000, 2000]);
      assert.deepEqual(kept('/out/b/d'), ['555', 3000, 4000]);
      assert.deepEqual(kept('/out'), ['750', 5000, 6000]);
      const set = (path: string): number => log.lastIndexOf(`setstat ${path}`);
      assert.ok(log.findLastIndex((line) => /^(posixRename|rename) .*\/out\/b\/d\//.test(line)) < set('/out/b/d'));
      assert.ok(set('/out/b/d') < set('/out/b') && set('/out/b') < set('/out'));
      // what is read-only is made writable for as long as it takes
      log.length = 0;
      await sftp.putTree('t', '/out', { preserve: { permissions: true } });
      assert.equal(log.filter((line) => line === 'setstat /out/b/d').length, 2);
      assert.deepEqual((kept('/out/b/d') as string[])[0], '555');
      assert.ok(!log.includes('setstat /out'), 'the root was there');
    });
  });

  it('a directory that will be read-only can be written to until all is in it', async () => {
    const made: Record<string, number | undefined> = {};
    const backend = (remote: MemoryFiles): SftpBackend =>
      new Proxy(remote, {
        get(target, key) {
          const value = Reflect.get(target, key, target);
          if (key !== 'mkdir') return typeof value === 'function' ? value.bind(target) : value;
          return (path: string, attrs: { readonly permissions?: number }) => {
            made[path] = attrs.permissions;
            target.mkdir(path, attrs);
          };
        },
      });
    await withTrees({ local: { 't/b/c': 'x' }, backend }, async ({ sftp, local, remote }) => {
      await local.setAttributes('t/b', { permissions: 0o2555 });
      await sftp.putTree('t', '/out', { preserve: { permissions: true } });
      assert.deepEqual(made, { '/out': 0o755, '/out/b': 0o755 });
      assert.equal((remote.lstat('/out/b').permissions ?? 0) & 0o7777, 0o555);
    });
  });

  it('a server that refuses SETSTAT costs a warning', async () => {
    const refuse = (): never => {
      throw new PosixError('EPERM', 'told to');
    };
    const backend = (remote: MemoryFiles): SftpBackend =>
      new Proxy(remote, {
        get(target, key) {
          const value = Reflect.get(target, key, target);
          if (key === 'setstat') return refuse;
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    await withTrees({ local: { 't/b/c': 'x' }, backend }, async ({ sftp, local }) => {
      await local.setAttributes('t/b', { permissions: 0o755, accessed: 1, modified: 1 });
      const result = await sftp.putTree('t', '/out', { preserve: true });
      assert.deepEqual([result.files, result.failedTotal], [1, 0]);
      assert.match(result.warnings.join('\n'), /setstat \/out\/b/);
    });
  });

  it('overwrite: never, newer, different', async () => {
    await withTrees(
      { local: FILES, remote: { '/out/a': 'old', '/out/b/c': 'xx' } },
      async ({ sftp, local, remote }) => {
        await local.setAttributes('t/a', { modified: 1_600_000_001 });
        await local.setAttributes('t/b/c', { modified: 1_600_000_000.9 });
        const never = await sftp.putTree('t', '/out', { overwrite: 'never' });
        assert.deepEqual(remoteTree(remote, '/out'), { ...TREE, a: 'old', 'b/c': 'xx' });
        assert.deepEqual(never.skipped.map(({ path }) => path).sort(), ['a', 'b/c']);
        assert.equal(never.files, 3);
        for (const path of ['t/b/d/e', 't/b/d/f', 't/é/ü x'])
          await local.setAttributes(path, { modified: 1_500_000_000 });
        const newer = await sftp.putTree('t', '/out', { overwrite: 'newer' });
        assert.deepEqual(remoteTree(remote, '/out'), { ...TREE, 'b/c': 'xx' });
        assert.equal(newer.files, 1);
        const different = await sftp.putTree('t', '/out', { overwrite: 'different', preserve: true });
        assert.ok(
          different.skipped.some(({ path }) => path === 'b/c'),
          'the same size and time',
        );
        const again = await sftp.putTree('t', '/out', { overwrite: 'different' });
        assert.deepEqual([again.files, again.skippedTotal], [0, 5]);
        await sftp.putTree('t', '/out', { overwrite: 'always' });
        assert.deepEqual(remoteTree(remote, '/out'), TREE);
      },
    );
  });

  it('links: skipped by default, made as they are, or followed without going round', async () => {
    await withTrees({ local: { ...FILES, 'elsewhere/x': 'X' } }, async ({ sftp, local, remote }) => {
      await local.makeLink('a', 't/file');
      await local.makeLink('/nowhere', 't/none');
      await local.makeLink('/elsewhere', 't/b/dir');
      local.add('/elsewhere/x', utf8('X'));
      local.add('/abs/f', utf8('F'));
      await local.makeLink('/abs', '/abs/loop');
      await local.makeLink('/abs', 't/abs');
      const skipped = await sftp.putTree('t', '/skip');
      assert.deepEqual(remoteTree(remote, '/skip'), TREE);
      assert.deepEqual(skipped.skipped.map(({ path }) => path).sort(), ['abs', 'b/dir', 'file', 'none']);
      const links = { file: '-> a', none: '-> /nowhere', 'b/dir': '-> /elsewhere', abs: '-> /abs' };
      for (const again of [false, true]) {
        const copied = await sftp.putTree('t', '/copy', { symlinks: 'copy' });
        assert.deepEqual([copied.links, copied.failedTotal], [4, 0], `again: ${again}`);
        assert.deepEqual(remoteTree(remote, '/copy'), { ...TREE, ...links });
      }
      const followed = await sftp.putTree('t', '/follow', { symlinks: 'follow' });
      const reached = { ...TREE, file: 'A', 'b/dir/x': 'X', 'abs/f': 'F' };
      assert.deepEqual(remoteTree(remote, '/follow'), reached);
      assert.deepEqual(
        followed.skipped.map(({ path }) => path),
        ['abs/loop'],
      );
      assert.deepEqual(
        followed.failed.map(({ path, error }) => [path, error.code]),
        [['none', 'bad-local-file']],
      );
    });
  });

  it('links and files in the target are replaced by links, with the policy; a directory is not', async () => {
    await withTrees({ local: { 't/x': 'x' }, remote: { '/out/file': 'f', '/out/dir/f': 'f' } }, async (pair) => {
      const { sftp, local, remote } = pair;
      for (const name of ['file', 'dir', 'link']) await local.makeLink('x', `t/${name}`);
      remote.symlink('other', '/out/link');
      const never = await sftp.putTree('t', '/out', { symlinks: 'copy', overwrite: 'never' });
      assert.deepEqual(never.skipped.map(({ path }) => path).sort(), ['file', 'link']);
      const result = await sftp.putTree('t', '/out', { symlinks: 'copy' });
      assert.deepEqual(remoteTree(remote, '/out'), { x: 'x', file: '-> x', link: '-> x', 'dir/f': 'f' });
      assert.deepEqual(
        result.failed.map(({ path, error }) => [path, error.code]),
        [['dir', 'target-exists']],
      );
    });
  });

  it('no link of the target is followed below its root', async () => {
    await withTrees({ local: FILES, remote: { '/real/keep': 'k', '/secret/a': 's' } }, async ({ sftp, remote }) => {
      remote.symlink('/real', '/out');
      remote.symlink('/secret', '/real/b');
      remote.symlink('/secret/a', '/real/a');
      const result = await sftp.putTree('t', '/out');
      assert.deepEqual(remoteTree(remote, '/secret'), { a: 's' });
      assert.deepEqual(remoteTree(remote, '/real'), { a: 'A', b: '-> /secret', 'é/ü x': 'umlaut', keep: 'k' });
      assert.deepEqual(
        result.failed.map(({ path, error }) => [path, error.code]),
        [['b', 'target-exists']],
      );
    });
  });

  it('atomic: false writes files in place, and through nothing but files', async () => {
    const log: string[] = [];
    const remote = { '/out/a': 'old and longer', '/secret': 's' };
    await withTrees({ local: FILES, remote, backend: (served) => logged(served, log) }, async ({ sftp, remote }) => {
      remote.symlink('/secret', '/out/link');
      remote.mkdir('/out/b', {});
      remote.symlink('/secret', '/out/b/c');
      const result = await sftp.putTree('t', '/out', { atomic: false });
      assert.deepEqual(remoteTree(remote, '/out'), { ...TREE, 'b/c': '-> /secret', link: '-> /secret' });
      assert.equal(new TextDecoder().decode(remote.get('/secret')), 's');
      assert.ok(!log.some((line) => /rename/i.test(line)), 'nothing is renamed');
      assert.deepEqual(
        result.failed.map(({ path, error }) => [path, error.code]),
        [['b/c', 'target-exists']],
      );
    });
  });

  it('names that are not text are told, never sent as others', async () => {
    await withTrees(
      { local: { 't/ok': 'x', 't/lone\ud800': 'y', 't/real\ufffd': 'z' } },
      async ({ sftp, local, remote }) => {
        const { list } = local;
        local.list = async (path) => [...(await list.call(local, path)), { name: 'bytes\ufffd', kind: 'file' }];
        const result = await sftp.putTree('t', '/out');
        assert.deepEqual(remoteTree(remote, '/out'), { ok: 'x', 'real\ufffd': 'z' });
        assert.equal(result.failedTotal, 2);
        for (const { error } of result.failed) assert.match(error.message, /not UTF-8/);
      },
    );
  });

  it('special files are skipped with a reason', async () => {
    await withTrees({ local: FILES }, async ({ sftp, local, remote }) => {
      local.add('t/pipe', new Uint8Array(0), 0o600, 'other');
      const { skipped, failedTotal } = await sftp.putTree('t', '/out');
      assert.deepEqual([skipped, failedTotal], [[{ path: 'pipe', why: 'is neither file, directory nor link' }], 0]);
      assert.deepEqual(remoteTree(remote, '/out'), TREE);
    });
  });

  it('an abort ends everything at once; the session stays usable and nothing stays behind', async () => {
    const files = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`t/${i % 10}/${i}`, 'x'.repeat(50_000)]));
    await withTrees({ local: files }, async ({ sftp, local, remote }) => {
      const controller = new AbortController();
      const reason = new Error('enough');
      const onProgress = ({ files: whole }: TreeProgress): void => {
        if (whole === 30) controller.abort(reason);
      };
      const error = await rejectsWith(sftp.putTree('t', '/out', { signal: controller.signal, onProgress }), 'aborted');
      assert.equal(error.cause, reason);
      assert.equal(local.opened, 0);
      await sftp.stat('/out'); // and what removes temporary files was answered
      await sftp.stat('/out');
      const whole = Object.entries(remoteTree(remote, '/out'));
      assert.ok(whole.length >= 30 && whole.every(([path, text]) => !path.endsWith('.part') && text.length === 50_000));
    });
  });

  it('the end of the session rejects with its cause', async () => {
    const files = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`t/${i}`, 'x'.repeat(5000)]));
    await withTrees({ local: files }, async ({ sftp, local, line }) => {
      const cause = new SshError('connection-lost', 'gone', { fault: 'network' });
      const onProgress = ({ files: whole }: TreeProgress): void => {
        if (whole === 10) line.close(cause);
      };
      const error = await rejectsWith(sftp.putTree('t', '/out', { onProgress }), 'connection-lost');
      assert.equal(error, sftp.cause);
      assert.equal(local.opened, 0);
    });
  });
});
