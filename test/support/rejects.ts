/** Errors of puressh in tests. */

import assert from 'node:assert/strict';
import { SshError, type SshErrorCode } from '../../src/errors.ts';

/** The `SshError` that `promise` rejects with, which must have this code. */
export async function rejectsWith(promise: Promise<unknown>, code: SshErrorCode): Promise<SshError> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    assert.ok(error instanceof SshError, `not an SshError: ${String(error)}`);
    assert.equal(error.code, code, error.message);
    return error;
  }
  throw new assert.AssertionError({ message: `resolved with ${String(value)} instead of ${code}` });
}
