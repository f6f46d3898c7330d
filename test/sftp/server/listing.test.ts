/** READDIR: draft-ietf-secsh-filexfer-02 §6.7 and the lines of §7. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeLenient, utf8 } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import type { NameEntry } from '../../../src/sftp/proto/names.ts';
import { Status } from '../../../src/sftp/proto/status.ts';
import type { BackendEntry, SftpBackend } from '../../../src/sftp/server/backend.ts';
import { dateString, longname } from '../../../src/sftp/server/longname.ts';
import { memoryFiles } from '../../../src/sftp/server/memory_fs.ts';
import { ask, RawSftp } from '../../support/sftp_raw.ts';

const NOW = Date.UTC(2026, 10, 30, 12, 0, 0);

/** Reads a directory to its end; gives each reply's names. */
async function readAll(raw: RawSftp, path = '/'): Promise<NameEntry[][]> {
  const handle = (await raw.request(ask.path('opendir', 1000, path))).handle;
  const batches: NameEntry[][] = [];
  for (let id = 1001; ; id++) {
    const reply = await raw.request(ask.handle('readdir', id, handle));
    if (reply.type === 101) {
      assert.equal(reply.code, Status.eof);
      break;
    }
    batches.push(reply.names);
  }
  assert.equal((await raw.request(ask.handle('readdir', 9000, handle))).code, Status.eof, 'the end stays the end');
  assert.equal((await raw.request(ask.handle('close', 9001, handle))).code, Status.ok);
  return batches;
}

const namesOf = (batches: NameEntry[][]): string[] => batches.flat().map(({ name }) => decodeLenient(name));

describe('serveSftp: READDIR', () => {
  it('begins with . and .., then gives every entry once, with attributes and a line', async () => {
    const files = memoryFiles({ files: { '/dir/b': 'bb', '/dir/a': 'a' }, now: () => NOW });
    files.mkdir('/dir/sub', {});
    const raw = await RawSftp.connect(files, { now: () => NOW });
    const batches = await readAll(raw, '/dir');
    assert.deepEqual(namesOf(batches), ['.', '..', 'b', 'a', 'sub']);
    assert.deepEqual(
      batches[0]?.map(({ longname }) => decodeLenient(longname)),
      [
        'drwxr-xr-x   1 root     root         4096 Nov 30 12:00 .',
        'drwxr-xr-x   1 root     root         4096 Nov 30 12:00 ..',
        '-rw-r--r--   1 root     root            2 Nov 30 12:00 b',
        '-rw-r--r--   1 root     root            1 Nov 30 12:00 a',
        'drwxr-xr-x   2 root     root         4096 Nov 30 12:00 sub',
      ],
    );
    assert.deepEqual(batches[0]?.[2]?.attrs, files.stat('/dir/b'));
    await raw.end();
  });

  it('gives an empty directory its two names, then the end', async () => {
    const raw = await RawSftp.connect(memoryFiles());
    assert.deepEqual(namesOf(await readAll(raw)), ['.', '..']);
    await raw.end();
  });

  it('gives 5000 entries in NAMEs of at most 100 names and 34000 bytes', async () => {
    const files = memoryFiles();
    for (let i = 0; i < 5000; i++) files.put(`/${`${i}`.padStart(1 + (i % 250), 'x')}`, '');
    const raw = await RawSftp.connect(files);
    const batches = await readAll(raw);
    assert.equal(new Set(namesOf(batches)).size, 5002);
    for (const batch of batches) assert.ok(batch.length <= 100);
    assert.ok(batches.length < 160, `${batches.length} batches`);
    for (const { packet } of raw.replies) assert.ok(packet.length <= 34000 - 4, `${packet.length} bytes`);
    await raw.end();
  });

  it('several READDIRs at once are answered in order', async () => {
    const files = memoryFiles();
    for (let i = 0; i < 250; i++) files.put(`/${i}`, '');
    const raw = await RawSftp.connect(files);
    const handle = (await raw.request(ask.path('opendir', 1, '/'))).handle;
    raw.send(...[2, 3, 4, 5, 6].map((id) => ask.handle('readdir', id, handle)));
    await raw.reply(6);
    assert.deepEqual(raw.order, [1, 2, 3, 4, 5, 6]);
    assert.deepEqual(
      raw.replies.slice(1, 4).map(({ names }) => names.length),
      [100, 100, 52],
    );
    assert.deepEqual([raw.replies[4]?.code, raw.replies[5]?.code], [Status.eof, Status.eof]);
    await raw.end();
  });

  it('OPENDIR of a file and of nothing fails, though a generator looks at its path only when it begins', async () => {
    const raw = await RawSftp.connect(memoryFiles({ files: { '/a': '' } }));
    assert.equal((await raw.request(ask.path('opendir', 1, '/a'))).code, Status.noSuchFile);
    assert.equal((await raw.request(ask.path('opendir', 2, '/none'))).code, Status.noSuchFile);
    await raw.end();
  });

  it('takes entries that come one by one, and tells a listing that is left', async () => {
    let left = 0;
    let asked = 0;
    async function* entries(): AsyncGenerator<BackendEntry> {
      try {
        for (;;) {
          await new Promise((resolve) => setTimeout(resolve, 0));
          yield { name: `n${asked++}`, attrs: {} };
        }
      } finally {
        left++;
      }
    }
    const raw = await RawSftp.connect({ list: entries });
    const handle = (await raw.request(ask.path('opendir', 1, '/'))).handle;
    assert.equal((await raw.request(ask.handle('readdir', 2, handle))).names.length, 100);
    assert.equal(left, 0);
    assert.equal((await raw.request(ask.handle('close', 3, handle))).code, Status.ok);
    assert.equal(left, 1);
    const other = (await raw.request(ask.path('opendir', 4, '/'))).handle;
    await raw.request(ask.handle('readdir', 5, other));
    await raw.end();
    assert.equal(left, 2, 'the end of the session leaves it too');
  });

  it('a listing that ends is not left, and one that throws neither', async () => {
    const told: string[] = [];
    const listing = (last: 'end' | 'throw'): AsyncIterable<BackendEntry> => ({
      [Symbol.asyncIterator]: () => {
        let count = 0;
        return {
          async next() {
            if (++count <= 3) return { done: false, value: { name: `${count}`, attrs: {} } };
            if (last === 'throw') throw Object.assign(new Error('x'), { code: 'EACCES' });
            return { done: true, value: undefined };
          },
          async return() {
            told.push(last);
            return { done: true, value: undefined };
          },
        };
      },
    });
    const raw = await RawSftp.connect({ list: (path) => listing(path === '/end' ? 'end' : 'throw') });
    assert.deepEqual(namesOf(await readAll(raw, '/end')), ['.', '..', '1', '2', '3']);
    const handle = (await raw.request(ask.path('opendir', 1, '/throw'))).handle;
    assert.equal((await raw.request(ask.handle('readdir', 2, handle))).names.length, 5, 'what came before the error');
    assert.equal((await raw.request(ask.handle('readdir', 3, handle))).code, Status.permissionDenied);
    assert.equal((await raw.request(ask.handle('readdir', 4, handle))).code, Status.permissionDenied);
    await raw.request(ask.handle('close', 5, handle));
    await raw.end();
    assert.deepEqual(told, []);
  });

  it('tells a listing whose entry makes no sense', async () => {
    let left = 0;
    function* entries(): Generator<BackendEntry> {
      try {
        yield { name: 'good', attrs: {} };
        yield { name: 'bad', attrs: { size: -1 } };
      } finally {
        left++;
      }
    }
    const errors: unknown[] = [];
    const raw = await RawSftp.connect({ list: entries }, { onError: (error) => errors.push(error) });
    const handle = (await raw.request(ask.path('opendir', 1, '/'))).handle;
    assert.equal((await raw.request(ask.handle('readdir', 2, handle))).names.length, 3);
    assert.equal((await raw.request(ask.handle('readdir', 3, handle))).code, Status.failure);
    assert.ok(errors[0] instanceof SshError);
    await raw.request(ask.handle('close', 4, handle));
    assert.equal(left, 1);
    await raw.end();
  });

  it('shows . and .. with numbers where names cannot be found', async () => {
    const ownerNames = (): never => {
      throw new Error('the directory of users is down');
    };
    const attrs = { permissions: 0o40755, uid: 7, gid: 8, size: 0, mtime: 0, atime: 0 };
    const raw = await RawSftp.connect({ list: () => [], stat: () => attrs, ownerNames });
    const [first] = (await readAll(raw)).flat();
    assert.deepEqual(first?.attrs, attrs);
    assert.equal(
      decodeLenient(first?.longname ?? utf8('')),
      'drwxr-xr-x   1 7        8               0 Jan  1  1970 .',
    );
    await raw.end();
  });

  it('leaves out names that are none, and has . and .. without attributes where there are none', async () => {
    const names = ['.', '..', '', 'a/b', 'a\0b', '/etc/passwd', 'fine'];
    const backend: SftpBackend = { list: () => names.map((name) => ({ name, attrs: {} })) };
    const raw = await RawSftp.connect(backend);
    const batches = await readAll(raw);
    assert.deepEqual(namesOf(batches), ['.', '..', 'fine']);
    assert.deepEqual(batches[0]?.[0]?.attrs, {});
    assert.equal(
      decodeLenient(batches[0]?.[0]?.longname ?? utf8('')),
      '----------   1 -        -               0 Jan  1  1970 .',
    );
    await raw.end();
  });
});

describe('longname', () => {
  it('is the line that the draft shows (§7)', () => {
    const attrs = { permissions: 0o100755, size: 348911, mtime: Date.UTC(2001, 2, 25, 14, 29) / 1000 };
    const now = Date.UTC(2001, 5, 1) / 1000;
    const line = longname(utf8('t-filexfer'), attrs, { links: 1, owner: 'mjos', group: 'staff' }, now);
    assert.equal(decodeLenient(line), '-rwxr-xr-x   1 mjos     staff      348911 Mar 25 14:29 t-filexfer');
  });

  it('shows ids where it knows no names, and takes wide columns', () => {
    const attrs = { permissions: 0o40000, uid: 1000, gid: 4294967294, size: 2 ** 40, mtime: 0 };
    const line = longname(utf8('x'), attrs, { links: 12345 }, NOW / 1000);
    assert.equal(decodeLenient(line), 'd--------- 12345 1000     4294967294 1099511627776 Jan  1  1970 x');
  });

  /** As `TZ=UTC ls -l` shows them on 30 November 2026 at noon. */
  const dates: readonly [number, string][] = [
    [NOW, 'Nov 30 12:00'],
    [NOW - 1000, 'Nov 30 11:59'],
    [Date.UTC(2026, 10, 1, 0, 5), 'Nov  1 00:05'],
    [Date.UTC(2026, 5, 2), 'Jun  2 00:00'],
    [Date.UTC(2026, 4, 20), 'May 20  2026'],
    [NOW + 1000, 'Nov 30  2026'],
    [0, 'Jan  1  1970'],
    [-1000, 'Jan  1  1970'],
    [0xffffffff * 1000, 'Feb  7  2106'],
    [9e15, 'Feb  7  2106'],
  ];
  for (const [time, text] of dates) {
    it(`shows ${time / 1000} as ${text}`, () => assert.equal(dateString(time / 1000, NOW / 1000), text));
  }
});
