/** Downloads of whole directories from servers that mean harm, or never heard of attributes. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../../../src/bytes/text.ts';
import { SftpClient } from '../../../src/sftp/client.ts';
import type { TreeOptions, TreeResult } from '../../../src/sftp/tree/options.ts';
import { kinds, type Listings, listingServer } from '../../support/listing_server.ts';
import { MemoryFiles } from '../../support/memory_files.ts';
import { localTree } from '../../support/tree_pair.ts';

const { file, directory, symlink, device } = kinds;

/** Downloads `/t` to `out` and looks that nothing was done elsewhere. */
async function download(
  listings: Listings,
  files: Readonly<Record<string, string>>,
  options: TreeOptions = {},
  local: MemoryFiles = new MemoryFiles(),
): Promise<{ readonly result: TreeResult; readonly tree: Record<string, string>; readonly log: readonly string[] }> {
  const server = listingServer(listings);
  for (const [path, content] of Object.entries(files)) server.add(path, utf8(content));
  const sftp = await SftpClient.open(server, { localFiles: local });
  const result = await sftp.getTree('/t', 'out', options);
  await sftp.stat('/ok'); // the session is usable, and what was closed has been
  assert.equal(server.openHandles.size, 0);
  await sftp.close();
  assert.equal(local.opened, 0);
  for (const line of local.log) {
    const path = line.split(' ')[1] as string;
    assert.ok(path === 'out' || path.startsWith('out/'), line);
    assert.ok(!path.split('/').includes('..'), line);
  }
  return { result, tree: localTree(local, 'out'), log: local.log };
}

const OK = { '/t/ok': 'fine', '/ok': '' };

describe('getTree from a hostile server (T57)', () => {
  const names: readonly (string | Uint8Array)[] = [
    '../x',
    'a/b',
    '/etc/x',
    '..\\x',
    'a\\b',
    '',
    'C:x',
    'c:',
    '\u001b[2Jx',
    'a\u0000b',
    'a\nb',
    'a\u009bb',
    new Uint8Array([0x61, 0xff]),
  ];
  for (const kind of ['file', 'directory', 'symlink'] as const) {
    it(`refuses names that are none, of a ${kind}, and downloads the rest`, async () => {
      const attrs = kind === 'file' ? file(4) : kinds[kind];
      const entries = [...names.map((name) => ({ name, attrs })), { name: 'ok', attrs: file(4) }];
      const { result, tree } = await download({ directories: { '/t': entries } }, OK, { symlinks: 'copy' });
      assert.deepEqual(tree, { ok: 'fine' });
      assert.deepEqual([result.files, result.directories, result.links], [1, 0, 0]);
      assert.equal(result.failedTotal, names.length);
      for (const { path, error } of result.failed) {
        assert.equal(error.code, 'protocol');
        assert.equal(error.fault, 'peer');
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
        assert.doesNotMatch(path + error.message, /[\u0000-\u001f\u007f-\u009f]/);
      }
    });
  }

  it('takes no notice of . and .., which every server lists', async () => {
    const dots = ['.', '..'].map((name) => ({ name, attrs: directory }));
    const { result, tree } = await download({ directories: { '/t': [...dots, { name: 'ok', attrs: file(4) }] } }, OK);
    assert.deepEqual(tree, { ok: 'fine' });
    assert.equal(result.failedTotal, 0);
  });

  it('names that the platform does not have are refused too', async () => {
    const local = Object.assign(new MemoryFiles(), { isName: (name: string) => name !== 'nul' });
    const entries = ['nul', 'ok'].map((name) => ({ name, attrs: file(4) }));
    const { result, tree } = await download({ directories: { '/t': entries } }, { ...OK, '/t/nul': 'x' }, {}, local);
    assert.deepEqual(tree, { ok: 'fine' });
    assert.match(result.failed[0]?.error.message ?? '', /"nul" .* none on this system/);
  });

  it('a link is skipped by default, and of links that are copied only those that stay in the tree are made', async () => {
    const targets: Readonly<Record<string, string>> = {
      in: 'ok',
      up: '../x',
      root: '/etc',
      back: 'd/..',
      'd/up': '..',
      'd/out': '../..',
      'd/drive': 'C:x',
    };
    const entry = (name: string): { name: string; attrs: object } => ({ name, attrs: symlink });
    const directories = {
      '/t': [
        { name: 'ok', attrs: file(4) },
        { name: 'd', attrs: directory },
        ...['in', 'up', 'root', 'back'].map(entry),
      ],
      '/t/d': ['up', 'out', 'drive'].map(entry),
    };
    const links = Object.fromEntries(Object.entries(targets).map(([name, target]) => [`/t/${name}`, target]));
    const skipped = await download({ directories, links }, OK);
    assert.deepEqual(skipped.tree, { ok: 'fine' });
    assert.equal(skipped.result.skippedTotal, 7);
    const { result, tree } = await download({ directories, links }, OK, { symlinks: 'copy' });
    assert.deepEqual(tree, { ok: 'fine', in: '-> ok', 'd/up': '-> ..' });
    assert.equal(result.links, 2);
    assert.deepEqual(result.skipped.map(({ path }) => path).sort(), ['back', 'd/drive', 'd/out', 'root', 'up']);
    assert.ok(result.skipped.every(({ why }) => why.startsWith('is a symbolic link that ')));
  });

  it('a directory under the name of a link that was there, or came, is not entered', async () => {
    const local = new MemoryFiles();
    local.add('/secret/x', utf8('secret'));
    await local.makeDirectory('out');
    await local.makeLink('/secret', 'out/d');
    local.log.length = 0;
    const directories = {
      '/t': [
        { name: 'd', attrs: directory },
        { name: 'ok', attrs: file(4) },
      ],
      '/t/d': [{ name: 'x', attrs: file(3) }],
    };
    const { result, tree } = await download({ directories }, { ...OK, '/t/d/x': 'bad' }, { preserve: true }, local);
    assert.deepEqual(tree, { ok: 'fine', d: '-> /secret' });
    assert.equal(new TextDecoder().decode(local.content('/secret/x')), 'secret');
    assert.deepEqual(
      result.failed.map(({ path, error }) => [path, error.code]),
      [['d', 'bad-local-file']],
    );
  });

  it('one name as a link and as a file, or a directory: nothing is written behind the link', async () => {
    for (const order of [
      ['link', 'file', 'directory'],
      ['file', 'link', 'directory'],
      ['directory', 'link', 'file'],
      ['link', 'directory', 'file'],
    ] as const) {
      for (const concurrency of [1, 64]) {
        const local = new MemoryFiles();
        local.add('out/real/x', utf8('kept'));
        const all = { link: symlink, file: file(3), directory };
        const directories = {
          '/t': order.map((kind) => ({ name: 'n', attrs: all[kind] })),
          '/t/n': [{ name: 'x', attrs: file(3) }],
        };
        const { tree } = await download(
          { directories, links: { '/t/n': 'real' } },
          { '/t/n': 'bad', '/t/n/x': 'bad', '/ok': '' },
          { symlinks: 'copy', concurrency },
          local,
        );
        assert.equal(tree['real/x'], 'kept', `${order} ${concurrency}`);
      }
    }
  });

  it('a file replaces a link that stands in its place, and leaves alone what that leads to', async () => {
    const local = new MemoryFiles();
    local.add('/secret', utf8('secret'));
    await local.makeDirectory('out');
    await local.makeLink('/secret', 'out/ok');
    local.log.length = 0;
    const entries = [{ name: 'ok', attrs: file(4) }];
    for (const options of [{}, { preserve: true }, { resume: true }, { sync: true }]) {
      const { tree } = await download({ directories: { '/t': entries } }, OK, options, local);
      assert.deepEqual(tree, { ok: 'fine' });
      assert.equal(new TextDecoder().decode(local.content('/secret')), 'secret');
      assert.equal(local.nodes.get('/secret')?.modified, local.now);
    }
  });

  it('a link does not replace a directory, nor anything that the policy keeps', async () => {
    const local = new MemoryFiles().add('out/dir', new Uint8Array(0), 0o755, 'directory');
    local.add('out/old', utf8('old'));
    await local.makeLink('elsewhere', 'out/link');
    local.log.length = 0;
    const entries = ['dir', 'old', 'link'].map((name) => ({ name, attrs: symlink }));
    const listings = {
      directories: { '/t': entries },
      links: Object.fromEntries(entries.map(({ name }) => [`/t/${name}`, 'ok'])),
    };
    const kept = await download(listings, OK, { symlinks: 'copy', overwrite: 'never' }, local);
    assert.deepEqual(kept.tree, { old: 'old', link: '-> elsewhere' });
    assert.deepEqual(kept.result.skipped.map(({ path }) => path).sort(), ['link', 'old']);
    const { result, tree } = await download(listings, OK, { symlinks: 'copy' }, local);
    assert.deepEqual(tree, { old: '-> ok', link: '-> ok' });
    for (const { failed } of [kept.result, result]) {
      assert.deepEqual(
        failed.map(({ path, error }) => [path, error.code]),
        [['dir', 'bad-local-file']],
      );
    }
    assert.equal(local.nodes.get('out/dir')?.kind, 'directory');
    const again = await download(listings, OK, { symlinks: 'copy', overwrite: 'never' }, local);
    assert.equal(again.result.links, 2, 'the same links are there');
  });

  it('a device that stands in the place of a file is not written to', async () => {
    const local = new MemoryFiles().add('out/ok', new Uint8Array(0), 0o600, 'other');
    const { result } = await download({ directories: { '/t': [{ name: 'ok', attrs: file(4) }] } }, OK, {}, local);
    assert.equal(local.content('out/ok').length, 0);
    assert.deepEqual(
      result.failed.map(({ error }) => error.code),
      ['bad-local-file'],
    );
  });

  it('what is neither file nor directory nor link is skipped with a reason, and not opened', async () => {
    const entries = [
      { name: 'null', attrs: device },
      { name: 'ok', attrs: file(4) },
    ];
    const { result } = await download({ directories: { '/t': entries } }, OK);
    assert.deepEqual(result.skipped, [
      { path: 'null', why: 'is neither file, directory nor link but a character-device' },
    ]);
  });

  it('follow: loops are left out, links that lead nowhere are told', async () => {
    const directories = {
      '/t': [
        { name: 'd', attrs: directory },
        { name: 'ok', attrs: file(4) },
      ],
      '/t/d': ['back', 'self', 'side', 'file', 'none'].map((name) => ({ name, attrs: symlink })),
      '/t/d/side': [
        { name: 'again', attrs: symlink },
        { name: 'ok', attrs: file(4) },
      ],
    };
    const leads: Readonly<Record<string, string>> = { back: '/t', self: '/t/d', side: '/side', again: '/side' };
    const last = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
    const attrs: Listings['attrs'] = (_, path) => {
      if (last(path) === 'none') return undefined;
      return last(path) in leads || path === '/t/d' ? directory : last(path) === 'file' ? file(4) : undefined;
    };
    const realpath = (path: string): string => leads[last(path)] ?? path;
    const files = { ...OK, '/t/d/file': 'link', '/t/d/side/ok': 'side' };
    const { result, tree } = await download({ directories, attrs, realpath }, files, { symlinks: 'follow' });
    assert.deepEqual(tree, { ok: 'fine', 'd/file': 'link', 'd/side/ok': 'side' });
    assert.deepEqual(result.skipped.map(({ path }) => path).sort(), ['d/back', 'd/self', 'd/side/again']);
    assert.deepEqual(
      result.failed.map(({ path, error }) => [path, error.status]),
      [['d/none', 2]],
    );
  });

  it('a tree without end is cut at its depth', async () => {
    const endless = { get: (_: object, path: string) => (path.endsWith('d') || path === '/t' ? [entry] : undefined) };
    const entry = { name: 'd', attrs: directory };
    const directories = new Proxy({}, endless) as Listings['directories'];
    const { result } = await download({ directories }, OK);
    assert.equal(result.directories, 64);
    assert.deepEqual(
      result.failed.map(({ path, error }) => [path.split('/').length, error.code]),
      [[65, 'limit']],
    );
  });

  it('a listing without attributes: the server is asked, and where it knows none it is tried', async () => {
    const directories = {
      '/t': ['d', 'ok', 'l'].map((name) => ({ name, attrs: {} })),
      '/t/d': [{ name: 'x', attrs: {} }],
    };
    const files = { ...OK, '/t/d/x': 'deep' };
    for (const known of [true, false]) {
      const attrs: Listings['attrs'] = (_, path) => {
        if (path === '/t/l') return symlink;
        return known ? (path === '/t/d' ? directory : undefined) : {};
      };
      const { result, tree } = await download({ directories, attrs }, files);
      assert.deepEqual(tree, { ok: 'fine', 'd/x': 'deep' });
      assert.deepEqual([result.files, result.directories, result.skippedTotal], [2, 1, 1]);
    }
  });
});
