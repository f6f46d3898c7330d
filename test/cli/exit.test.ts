/** Exit statuses and the line on standard error. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorLine, exitStatusOf, signalStatus } from '../../src/cli/exit.ts';
import { SshError, type SshErrorCode } from '../../src/errors.ts';

describe('exitStatusOf', () => {
  const cases: [number, SshErrorCode[]][] = [
    [
      1,
      [
        'bad-local-file',
        'content-differs',
        'incomplete',
        'sftp-status',
        'sftp-unavailable',
        'target-exists',
        'key-corrupt',
      ],
    ],
    [2, ['bad-argument']],
    [
      255,
      [
        'connect-failed',
        'listen-failed',
        'connection-lost',
        'disconnected',
        'auth-failed',
        'host-key-changed',
        'timeout',
      ],
    ],
    [255, ['no-common-algorithm', 'integrity', 'protocol', 'identification', 'keepalive-timeout']],
  ];
  for (const [status, codes] of cases) {
    for (const code of codes) {
      it(`is ${status} for ${code}`, () => assert.equal(exitStatusOf(new SshError(code, 'x')), status));
    }
  }
  it('is 1 for a wait about one operation', () => {
    assert.equal(exitStatusOf(new SshError('timeout', 'x', { operation: 'read' })), 1);
  });
});

describe('errorLine', () => {
  it('ends with the code', () => {
    assert.equal(
      errorLine(new SshError('sftp-status', 'open /x: no such file')),
      'puressh: open /x: no such file (sftp-status)',
    );
  });
  it('is one line whatever the message holds', () => {
    const line = errorLine(new SshError('host-key-changed', 'one\n  two\u001b[31m\n'));
    assert.equal(line, 'puressh: one; two\\x1b[31m (host-key-changed)');
  });
  it('shows where a defect is', () => {
    assert.match(errorLine(new TypeError('oops')), /^puressh: TypeError: oops; at .*exit\.test/);
  });
});

describe('signalStatus', () => {
  for (const [name, status] of [
    ['INT', 130],
    ['KILL', 137],
    ['TERM', 143],
    ['HUP', 129],
  ] as const) {
    it(`is ${status} for ${name}`, () => assert.equal(signalStatus(name), status));
  }
  it('is 255 for a name that it does not know', () => {
    assert.equal(signalStatus('sig@example.org'), 255);
    assert.equal(signalStatus('toString'), 255);
  });
});
