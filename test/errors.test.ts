import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { protocolError, SshError, toSshError } from '../src/errors.ts';

describe('SshError', () => {
  it('carries what is known, is an Error, and is local unless said otherwise', () => {
    const cause = new Error('why');
    const error = new SshError('timeout', 'No answer', {
      phase: 'open',
      path: '/a',
      operation: 'read',
      status: 4,
      cause,
    });
    assert.ok(error instanceof Error);
    assert.equal(error.name, 'SshError');
    assert.equal(error.message, 'No answer');
    assert.deepEqual(
      [error.code, error.fault, error.phase, error.path, error.operation, error.status, error.disconnect, error.cause],
      ['timeout', 'local', 'open', '/a', 'read', 4, undefined, cause],
    );
  });

  it('has no cause where none was given', () => {
    assert.equal('cause' in new SshError('timeout', 'No answer'), false);
  });
});

describe('toSshError', () => {
  it('leaves an SshError as it is', () => {
    const error = new SshError('limit', 'Too many');
    assert.equal(toSshError(error, 'timeout'), error);
  });

  it('wraps anything else and keeps it as the cause', () => {
    const cause = new TypeError('bad thing');
    const error = toSshError(cause, 'connection-lost', { fault: 'network' });
    assert.deepEqual(
      [error.code, error.fault, error.message, error.cause],
      ['connection-lost', 'network', 'bad thing', cause],
    );
    assert.equal(toSshError('text', 'aborted').message, 'text');
  });
});

describe('protocolError', () => {
  it("is the peer's fault and disconnects with reason 2", () => {
    const error = protocolError('Wrong', { phase: 'kex' });
    assert.deepEqual([error.code, error.fault, error.disconnect, error.phase], ['protocol', 'peer', 2, 'kex']);
  });
});
