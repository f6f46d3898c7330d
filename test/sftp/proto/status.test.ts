import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex } from '../../../src/bytes/text.ts';
import { encodeStatusText, readStatusText, statusError } from '../../../src/sftp/proto/status.ts';

describe('readStatusText (T40)', () => {
  const message = '000000024e6f'; // "No"
  const cases: [string, string, string][] = [
    ['nothing behind the code', '', ''],
    ['a message without a language', message, 'No'],
    ['both', `${message}00000002656e`, 'No'],
    ['a language that is longer than the packet', `${message}000000ff656e`, ''],
    ['a message that is longer than the packet', '000000ff4e6f', ''],
    ['a length cut short', '0000', ''],
    ['bytes behind the language', `${message}0000000000`, 'No'],
  ];
  for (const [name, bytes, expected] of cases) {
    it(`takes ${name}`, () => assert.equal(readStatusText(fromHex(bytes)), expected));
  }

  it('reads what encodeStatusText wrote', () => {
    assert.equal(hex(encodeStatusText('No')), '000000024e6f00000002656e');
  });
});

describe('statusError', () => {
  it('names the operation, the path and the meaning, and carries the code', () => {
    const error = statusError(2, 'No such file', 'open', '/a');
    assert.equal(error.message, 'open /a: no such file');
    const { code, fault, status, operation, path } = error;
    assert.deepEqual(
      { code, fault, status, operation, path },
      { code: 'sftp-status', fault: 'peer', status: 2, operation: 'open', path: '/a' },
    );
  });

  it('quotes what the server says beyond that', () => {
    assert.equal(
      statusError(4, 'disk on fire', 'write', 'f').message,
      'write f: failure (the server says: disk on fire)',
    );
    assert.equal(statusError(99, '', 'write', undefined).message, 'write: status 99');
  });

  it('lets no control characters through, of the message nor of the path', () => {
    const error = statusError(4, 'a\u001b[2Jb', 'stat', new Uint8Array([0x66, 0x0a, 0xff]));
    assert.equal(error.message, 'stat f\\x0a\ufffd: failure (the server says: a\\x1b[2Jb)');
    assert.equal(error.path, 'f\\x0a\ufffd');
  });
});
