/** What follows from the size of a file that is to be resumed, and from the names of its parts. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SshError } from '../../src/errors.ts';
import {
  lengths,
  resumableError,
  sourceMark,
  spanOf,
  unfinishedPaths,
  withProgressFrom,
} from '../../src/sftp/resume.ts';

const MIB = 1024 * 1024;

describe('what may lie behind a hole', () => {
  it('is an eighth of the file, at least 2 MiB and at most 16', () => {
    for (const [size, span] of [
      [0, 2],
      [16, 2],
      [32, 4],
      [128, 16],
      [1e9, 16],
    ] as const) {
      assert.equal(spanOf(size * MIB), span * MIB);
    }
  });

  it('is not trusted, and nothing is of a part that is longer than its source', () => {
    assert.deepEqual(lengths('torn', 10, 20, 3), { length: 10, whole: 7 });
    assert.deepEqual(lengths('torn', 2, 20, 3), { length: 2, whole: 0 });
    assert.deepEqual(lengths('kept', 10, 20, 3), { length: 10, whole: 10 });
    const longer = { length: 21, sourceSize: 20 };
    assert.deepEqual(lengths('kept', 21, 20, 3), { length: 0, whole: 0, longer });
  });
});

describe('the names of parts', () => {
  it('tell sources apart by size and time, to the millisecond', () => {
    const names = (size: number, time: number): unknown => unfinishedPaths('/d/f', sourceMark(size, time));
    assert.deepEqual(names(5, 1.5), { torn: '/d/.f.5-1.5.part', kept: '/d/.f.5-1.5.kept.part' });
    assert.deepEqual(names(5, 1700000000.123456), {
      torn: '/d/.f.5-1700000000.123.part',
      kept: '/d/.f.5-1700000000.123.kept.part',
    });
  });

  it('stay short enough, and bytes where they are bytes', () => {
    const { kept } = unfinishedPaths('n'.repeat(255), sourceMark(2 ** 53 - 1, 99_999_999_999.999));
    assert.ok(kept.length <= 255, `${kept.length}`);
    const { torn } = unfinishedPaths(new Uint8Array([0xff]), 'x');
    assert.deepEqual([...(torn as Uint8Array)], [0x2e, 0xff, ...new TextEncoder().encode('.x.part')]);
  });
});

describe('a resumed transfer', () => {
  it('counts what was there in its progress', () => {
    const heard: unknown[] = [];
    const onProgress = (progress: unknown): void => void heard.push(progress);
    const { onProgress: told } = withProgressFrom({ onProgress }, 10);
    told?.({ bytes: 1, total: 5, rate: 3 });
    told?.({ bytes: 2, rate: 3 });
    assert.deepEqual(heard, [
      { bytes: 11, total: 15, rate: 3 },
      { bytes: 12, rate: 3 },
    ]);
  });

  it('tells in its error what is there in all, and where', () => {
    const cause = new SshError('sftp-status', 'write /f: failure', {
      fault: 'peer',
      status: 4,
      transferred: 5,
      path: '/f',
    });
    assert.equal(resumableError(cause, 0, undefined), cause);
    const { code, fault, status, path, transferred, message } = resumableError(cause, 10, '/.f.part');
    assert.deepEqual([code, fault, status, path, transferred], ['sftp-status', 'peer', 4, '/f', 15]);
    assert.equal(message, 'write /f: failure; what is there stays as /.f.part for resume: true');
    assert.equal(resumableError(cause, 10, '/.f.part', 17).transferred, 17);
  });
});
