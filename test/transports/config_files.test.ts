import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../../src/bytes/text.ts';
import type { ConfigFile } from '../../src/config/parse.ts';
import { type ConfigSystem, configFiles } from '../../src/transports/config_files.ts';

/** Files in memory; those whose names begin with `loose` others can write, too. */
function systemOf(files: Readonly<Record<string, string>>): ConfigSystem {
  const missing = (): never => {
    throw Object.assign(new Error('missing'), { code: 'ENOENT' });
  };
  return {
    home: '/h',
    folder: '/etc/ssh',
    read: async (path) => utf8(files[path] ?? missing()),
    async list(folder) {
      const under = folder === '/' ? '/' : `${folder}/`;
      const names = Object.keys(files).filter((path) => path.startsWith(under));
      return [...new Set(names.map((path) => path.slice(under.length).replace(/\/.*$/, '')))];
    },
    exists: async (path) => path in files,
    isSafe: async (path) => !path.split('/').at(-1)?.startsWith('loose'),
  };
}

function sources(files: readonly ConfigFile[]): unknown[] {
  return files.map(({ source, lines }) => [source, ...lines.flatMap(({ included = [] }) => sources(included))]);
}

describe('configFiles', () => {
  it('has the user’s file before the one for everybody', async () => {
    const system = systemOf({ '/h/.ssh/config': 'Port 1', '/etc/ssh/ssh_config': 'Port 2' });
    assert.deepEqual(sources(await configFiles(system)), [['/h/.ssh/config'], ['/etc/ssh/ssh_config']]);
    assert.deepEqual(sources(await configFiles(systemOf({}))), []);
  });

  it('has one file that is named in place of both, or none', async () => {
    const system = systemOf({ '/h/.ssh/config': '', '/other': '' });
    assert.deepEqual(sources(await configFiles(system, '/other')), [['/other']]);
    assert.deepEqual(await configFiles(system, 'none'), []);
    await assert.rejects(configFiles(system, '/gone'), { code: 'bad-local-file', message: /\/gone/ });
  });

  it('has the files that Include names, sorted, from the folder of the file’s kind', async () => {
    const system = systemOf({
      '/h/.ssh/config': 'Include conf.d/*.conf ~/x /abs gone\nInclude conf.d/{a}.conf',
      '/h/.ssh/conf.d/b.conf': 'Include deep',
      '/h/.ssh/conf.d/a.conf': '',
      '/h/.ssh/conf.d/.c.conf': '',
      '/h/.ssh/conf.d/d.txt': '',
      '/h/.ssh/deep': '',
      '/h/x': '',
      '/abs': '',
      '/etc/ssh/ssh_config': 'Include ssh_config.d/*.conf',
      '/etc/ssh/ssh_config.d/z.conf': '',
    });
    assert.deepEqual(sources(await configFiles(system)), [
      ['/h/.ssh/config', ['/h/.ssh/conf.d/a.conf'], ['/h/.ssh/conf.d/b.conf', ['/h/.ssh/deep']], ['/h/x'], ['/abs']],
      ['/etc/ssh/ssh_config', ['/etc/ssh/ssh_config.d/z.conf']],
    ]);
  });

  it('refuses files that others can write, but for the one for everybody and one that is named', async () => {
    const rule = { code: 'bad-config', message: /others than its owner can write it/ };
    const loose = { ...systemOf({ '/h/.ssh/config': '' }), isSafe: async () => false };
    await assert.rejects(configFiles(loose), rule);
    await configFiles(loose, '/h/.ssh/config');
    await assert.rejects(configFiles(systemOf({ '/c': 'Include /loose', '/loose': '' }), '/c'), rule);
  });

  it('bounds how many files there are, and how deep', async () => {
    const loop = systemOf({ '/c': 'Include /c' });
    await assert.rejects(configFiles(loop, '/c'), { code: 'bad-config', message: /deeper than 16/ });
    const many = systemOf({ '/c': `Include ${'/d '.repeat(300)}`, '/d': '' });
    await assert.rejects(configFiles(many, '/c'), { code: 'bad-config', message: /more than 256 files/ });
    const large = systemOf({ '/c': 'x'.repeat(1024 * 1024 + 1) });
    await assert.rejects(configFiles(large, '/c'), { code: 'bad-config', message: /larger than 1048576/ });
  });

  it('lets a file for everybody include none of a home', async () => {
    const system = systemOf({ '/etc/ssh/ssh_config': 'Include ~/x' });
    await assert.rejects(configFiles(system), { code: 'bad-config', message: /^\/etc\/ssh\/ssh_config:1: ~\/x/ });
    const other = systemOf({ '/c': 'Include ~eve/x' });
    await assert.rejects(configFiles(other, '/c'), { code: 'bad-config', message: /homes of other users/ });
  });
});
