/** What `--json` prints, and directory listings. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entryReport, longLines, shownName, sorted } from '../../src/cli/listing.ts';
import { algorithmReport, transferReport } from '../../src/cli/report.ts';
import { Summary } from '../../src/cli/summary.ts';
import { tell } from '../../src/cli/transfer.ts';
import { SshError } from '../../src/errors.ts';
import type { DirectoryEntry } from '../../src/sftp/list.ts';
import type { Attributes } from '../../src/sftp/proto/attrs.ts';

const negotiated = {
  kex: 'curve25519-sha256',
  hostKey: 'ssh-ed25519',
  toServer: { cipher: 'aes256-ctr', mac: 'hmac-sha2-256', compression: 'none' },
  toClient: { cipher: 'aes128-gcm@openssh.com', compression: 'none' },
};

describe('algorithmReport', () => {
  it('tells the direction in which the content goes', () => {
    assert.deepEqual(algorithmReport(negotiated, 'toServer'), {
      kex: 'curve25519-sha256',
      hostKey: 'ssh-ed25519',
      cipher: 'aes256-ctr',
      mac: 'hmac-sha2-256',
      compression: 'none',
    });
  });
  it('has null for the MAC of a cipher that authenticates by itself', () => {
    const report = algorithmReport(negotiated, 'toClient');
    assert.equal(report.cipher, 'aes128-gcm@openssh.com');
    assert.equal(report.mac, null);
  });
});

describe('transferReport', () => {
  const algorithms = algorithmReport(negotiated, 'toClient');
  const options = { window: 2097152, maxWindow: 67108864 };
  const stats = {
    bytes: 1073741824,
    requests: 32769,
    maxRequestsInFlight: 128,
    maxBytesInFlight: 4194304,
    shortReads: 1,
    lanes: 1,
    roundTrip: 20.1234,
    window: 8388608,
    adjustments: 99,
  };

  it('has exactly the members that are documented', () => {
    const summary = new Summary();
    summary.file({ ...stats, resumedFrom: 5 });
    assert.deepEqual(transferReport(summary, { ...options, milliseconds: 4765.4321 }, algorithms), {
      bytes: 1073741824,
      seconds: 4.765432,
      megabytesPerSecond: 225.319,
      requests: 32769,
      maxRequestsInFlight: 128,
      maxBytesInFlight: 4194304,
      shortReads: 1,
      lanes: 1,
      roundTrip: 20.123,
      window: 8388608,
      maxWindow: 67108864,
      adjustments: 99,
      resumedFrom: 5,
      files: 1,
      directories: 0,
      links: 0,
      skipped: [],
      failed: [],
      algorithms,
    });
  });
  it('stays a number when no time has passed, and tells the window that was asked for', () => {
    const report = transferReport(new Summary(), { ...options, milliseconds: 0 }, algorithms);
    assert.deepEqual([report.megabytesPerSecond, report.window, report.roundTrip], [0, 2097152, null]);
  });
  it('sums files and trees, and says what failed as it is said on standard error', () => {
    const summary = new Summary();
    summary.file(stats);
    summary.file({ ...stats, bytes: 10, lanes: 4, roundTrip: 30 });
    const error = new SshError('sftp-status', 'open x: no such file');
    summary.tree('top', {
      files: 3,
      directories: 2,
      links: 1,
      bytes: 5,
      requests: 7,
      maxRequestsInFlight: 1,
      maxBytesInFlight: 1,
      shortReads: 0,
      lanes: 1,
      seconds: 1,
      rate: 5,
      skipped: [{ path: 'l', why: 'is a link' }],
      skippedTotal: 20,
      failed: [{ path: 'x', error }],
      failedTotal: 1,
      warnings: [],
    });
    const report = transferReport(summary, { ...options, milliseconds: 1 }, algorithms);
    assert.deepEqual(
      [report.bytes, report.files, report.directories, report.links, report.requests, report.lanes, report.roundTrip],
      [1073741839, 5, 2, 1, 65545, 4, 20.123],
    );
    assert.deepEqual(report.skipped, [{ path: 'top/l', why: 'is a link' }]);
    assert.deepEqual(report.failed, [{ path: 'top/x', code: 'sftp-status', message: 'open x: no such file' }]);
    const lines: string[] = [];
    tell(summary, (line) => lines.push(line));
    assert.deepEqual(lines, [
      'puressh: top/l is a link: left out',
      'puressh: 19 more left out',
      'puressh: open x: no such file (sftp-status)',
    ]);
  });
  it('takes for a failed file only what is wrong with a file', () => {
    const summary = new Summary();
    summary.fail('a', new SshError('bad-local-file', 'a is gone'));
    assert.equal(summary.failedTotal, 1);
    for (const error of [new SshError('connection-lost', 'gone'), new SshError('aborted', 'x'), new Error('x')]) {
      assert.throws(() => summary.fail('b', error), error);
    }
  });
});

function entry(name: string | Uint8Array, attrs: Attributes = {}): DirectoryEntry {
  const nameBytes = typeof name === 'string' ? new TextEncoder().encode(name) : name;
  return { name: new TextDecoder().decode(nameBytes), nameBytes, longname: 'not used', attrs };
}

describe('listing', () => {
  const big = entry('big.log', {
    size: 1073741824,
    permissions: 0o100644,
    uid: 1000,
    gid: 100,
    atime: 0,
    mtime: 1700000000,
  });
  const bare = entry('bare');

  it('sorts by bytes', () => {
    const names = ['b', 'a', 'Z', 'é', 'a.b', ''].map((name) => entry(name));
    assert.deepEqual(
      sorted(names).map(({ name }) => name),
      ['', 'Z', 'a', 'a.b', 'b', 'é'],
    );
  });
  it('writes columns, and dashes where nothing is known', () => {
    assert.deepEqual(longLines([big, bare]), [
      '-rw-r--r--  1000  100  1073741824  2023-11-14 22:13  big.log',
      '?---------     -    -           -                 -  bare',
    ]);
  });
  it('writes sizes and owners as it is asked to', () => {
    const format = { size: () => '1.0G', users: new Map([[1000, 'ada']]), groups: new Map([[100, 'us\u001bers']]) };
    assert.deepEqual(longLines([big], format), ['-rw-r--r--  ada  us\\x1bers  1.0G  2023-11-14 22:13  big.log']);
  });
  it('lets no control character through, nor does it cut', () => {
    assert.equal(shownName(entry('a\u001b[31m\nb')), 'a\\x1b[31m\\x0ab');
    assert.equal(shownName(entry('x'.repeat(1000))).length, 1000);
  });
  it('shows bytes that are not UTF-8', () => {
    assert.equal(shownName(entry(Uint8Array.of(0x61, 0xff, 0x62))), 'a\ufffdb');
  });
  it('reports an entry as JSON', () => {
    assert.deepEqual(entryReport(big), {
      name: 'big.log',
      type: 'file',
      size: 1073741824,
      permissions: '0644',
      uid: 1000,
      gid: 100,
      modified: '2023-11-14T22:13:20Z',
    });
    assert.deepEqual(entryReport(bare), { name: 'bare', type: 'unknown' });
  });
});
