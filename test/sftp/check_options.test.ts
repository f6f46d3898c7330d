/** Options and attributes that are misspelt or of another type: each is told at once, by name, and nothing is sent. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SftpClient } from '../../src/sftp/client.ts';
import type { GetOptions } from '../../src/sftp/get_options.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned, ScriptedSftp } from '../support/scripted_sftp.ts';
import { collect } from '../support/sftp_memory.ts';

type Loose = Record<string, (...args: readonly unknown[]) => unknown>;

/** What comes of a method, be it a promise, an iterator or a stream. */
async function outcome(run: () => unknown): Promise<unknown> {
  const result = run();
  if (result instanceof ReadableStream) return result.getReader().closed;
  if (result instanceof WritableStream) return result.getWriter().closed;
  const isIterable = typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
  return isIterable ? collect(result as AsyncIterable<unknown>) : result;
}

async function setUp(): Promise<{ readonly server: ScriptedSftp; readonly files: MemoryFiles; readonly sftp: Loose }> {
  const server = new ScriptedSftp();
  server.add('/f', patterned(1000));
  const files = new MemoryFiles();
  files.add('l', patterned(10));
  const sftp = (await SftpClient.open(server, { localFiles: files })) as unknown as Loose;
  return { server, files, sftp };
}

/** Arguments before the options. */
const methods: Readonly<Record<string, readonly unknown[]>> = {
  get: ['/f', 'out'],
  put: ['l', '/g'],
  readFile: ['/f'],
  writeFile: ['/g', 'text'],
  copy: ['/f', '/g'],
  getTree: ['/', 'out'],
  putTree: ['l', '/g'],
  walk: ['/'],
  glob: ['/*'],
  list: ['/'],
  remove: ['/f'],
  mkdir: ['/g'],
  rename: ['/f', '/g'],
  chunks: ['/f'],
  readable: ['/f'],
  writable: ['/g'],
};

describe('options of the SFTP client', () => {
  for (const [method, args] of Object.entries(methods)) {
    it(`${method}: no misspelt name, no value of another type, undefined as absent`, async () => {
      const { server, sftp } = await setUp();
      const called = (options: unknown): Promise<Error> =>
        rejectsWith(
          outcome(() => sftp[method]?.(...args, options)),
          'bad-argument',
        );
      assert.match(
        (await called({ sginal: 1 })).message,
        new RegExp(`^${method}: there is no option sginal; .*signal`),
      );
      assert.equal((await called({ signal: 5 })).message, `${method}: signal must be an AbortSignal, not 5`);
      assert.match((await called({ stallTimeout: '1' })).message, /stallTimeout must be .* milliseconds .*, not '1'/);
      assert.match((await called(7)).message, /the options must be an object, not 7/);
      assert.deepEqual(server.log, ['INIT']);
      await rejectsWith(
        outcome(() => sftp[method]?.(...args, { sginal: undefined, signal: AbortSignal.abort() })),
        'aborted',
      );
    });
  }

  it('overwrite is a boolean: what is said to stay stays', async () => {
    const { files, sftp } = await setUp();
    files.add('out', patterned(3));
    for (const [method, args] of Object.entries({ get: ['/f', 'out'], put: ['l', '/f'], copy: ['/f', '/g'] })) {
      const run = outcome(() => sftp[method]?.(...args, { overwrite: 'never' }));
      assert.equal(
        (await rejectsWith(run, 'bad-argument')).message,
        `${method}: overwrite must be true or false, not 'never'`,
      );
    }
    assert.equal(files.content('out').length, 3);
  });

  it('every other option names the value and what is expected', async () => {
    const { server, sftp } = await setUp();
    const wrong: readonly [string, Readonly<Record<string, unknown>>, RegExp][] = [
      ['put', { permissions: 0o10000 }, /permissions must be permission bits .*0o644, not 4096/],
      ['put', { permissions: '644' }, /not '644'/],
      ['put', { onProgress: {} }, /onProgress must be a function, not an object/],
      ['put', { lanes: 0 }, /lanes must be a whole number of at least 1, not 0/],
      ['get', { preserve: { time: true } }, /preserve must be true, false, or an object with permissions and times/],
      ['get', { resume: 'source' }, /resume must be true, false or target, not 'source'/],
      ['getTree', { overwrite: true }, /overwrite must be always, never, newer or different, not true/],
      ['walk', { filter: '*.log' }, /walk: filter must be a function, not '\*.log'/],
      ['glob', { hidden: 1 }, /hidden must be true or false, not 1/],
      ['readFile', { maxBytes: new Date(0) }, /maxBytes must be a number of bytes, not a Date/],
      ['writeFile', { atomic: true }, /no option atomic/],
    ];
    for (const [method, options, message] of wrong) {
      const run = outcome(() => sftp[method]?.(...(methods[method] ?? []), options));
      assert.match((await rejectsWith(run, 'bad-argument')).message, message);
    }
    assert.deepEqual(server.log, ['INIT']);
  });

  it('paths, flags and lists that are missing or others are told', async () => {
    const { server, sftp } = await setUp();
    const wrong: readonly [string, readonly unknown[], RegExp][] = [
      ['walk', [], /^walk: the remote path must be text or bytes, not undefined$/],
      ['open', ['/f', null], /^open flags: the options must be an object, not null$/],
      ['open', ['/f', { wirte: true }], /^open flags: there is no option wirte; there are read, write/],
      ['open', ['/f', { write: 1 }], /^open flags: write must be true or false, not 1$/],
      ['writable', ['/f', { flags: 5 }], /^open flags/],
      ['ownerNames', [], /^ownerNames: the options must be an object, not undefined$/],
      ['ownerNames', [{ users: 5 }], /^ownerNames: users must be a list of ids, not 5$/],
      ['checkFile', ['/f', { algorithms: 5 }], /^checkFile: algorithms must be a list of names, not 5$/],
    ];
    for (const [method, args, message] of wrong) {
      const run = outcome(() => sftp[method]?.(...args));
      assert.match((await rejectsWith(run, 'bad-argument')).message, message);
    }
    assert.deepEqual(server.log, ['INIT']);
  });

  it('what single requests are told to wait for is a signal', async () => {
    const { sftp } = await setUp();
    const error = await rejectsWith(
      outcome(() => sftp.stat?.('/f', { signal: 5 })),
      'bad-argument',
    );
    assert.equal(error.message, 'stat: signal must be an AbortSignal, not 5');
  });

  it('trees want both paths, and resume where it can be', async () => {
    const { server, sftp } = await setUp();
    const message = async (...args: readonly unknown[]): Promise<string> =>
      (
        await rejectsWith(
          outcome(() => sftp.putTree?.(...args)),
          'bad-argument',
        )
      ).message;
    assert.match(await message(), /^putTree: the local path must be a text .*, not undefined/);
    assert.match(await message('l'), /^putTree: the remote path must be text or bytes, not undefined/);
    assert.match(await message('l', '/g', { atomic: false, resume: true }), /does not go with atomic: false/);
    assert.deepEqual(server.log, ['INIT']);
  });

  it('copyTo wants an SFTP client', async () => {
    const { sftp } = await setUp();
    const run = outcome(() => sftp.copyTo?.('/f', new Map(), '/g'));
    assert.match((await rejectsWith(run, 'bad-argument')).message, /another SftpClient.*, not a Map/);
  });

  it('open takes what it knows', async () => {
    const open = (options: object): Promise<SftpClient> => SftpClient.open(new ScriptedSftp(), options);
    assert.match((await rejectsWith(open({ ealry: true }), 'bad-argument')).message, /no option ealry/);
    assert.match((await rejectsWith(open({ early: 'yes' }), 'bad-argument')).message, /early must be .*, not 'yes'/);
    await rejectsWith(open({ limits: { maxHandles: 1 } }), 'bad-argument');
  });

  it('legal ones pass', async () => {
    const { sftp } = await setUp();
    const options: GetOptions = {
      signal: new AbortController().signal,
      stallTimeout: 0,
      preserve: { times: true, permissions: undefined },
      resume: false,
      overwrite: true,
      end: undefined,
    };
    await sftp.get?.('/f', 'out', options);
  });
});

describe('attributes', () => {
  it('unknown names and numbers that do not fit are told', async () => {
    const { server, sftp } = await setUp();
    const message = async (method: string, ...args: readonly unknown[]): Promise<string> =>
      (
        await rejectsWith(
          outcome(() => sftp[method]?.(...args)),
          'bad-argument',
        )
      ).message;
    const there = 'size, uid, gid, permissions, atime, mtime, extended';
    assert.equal(await message('setstat', '/f', { mode: 0o644 }), `setstat: mode is no attribute; there are ${there}`);
    assert.match(await message('setstat', '/f', { permissions: '0644' }), /permissions must be .*, not '0644'/);
    assert.match(await message('setstat', '/f', { uid: -1, gid: 0 }), /uid must be .*, not -1/);
    await message('mkdir', '/g', { attrs: { mode: 1 } });
    await message('open', '/g', 'w', { attrs: { mode: 1 } });
    await message('writable', '/g', { attrs: { mode: 1 } });
    assert.deepEqual(server.log, ['INIT']);
    await sftp.setstat?.('/f', { permissions: 0o100644, size: undefined });
  });
});
