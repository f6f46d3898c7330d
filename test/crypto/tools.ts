/** What the tests of cryptography share. */

import assert from 'node:assert/strict';
import { hex } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { SshError, type SshErrorCode } from '../../src/errors.ts';

/** Both providers; every vector is tried on each. */
export const providers: readonly CryptoProvider[] = [pureProvider, nodeProvider()];

/** Every length up to a few blocks of every primitive, then packets and more. */
export const lengths: readonly number[] = [...Array(201).keys(), 255, 256, 257, 1000, 4096, 32768, 35000, 65553];

/** Asserts that `holds` is true of every row, and names those of which it is not. */
export async function assertEach<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string | number,
  holds: (row: Row) => boolean | Promise<boolean>,
): Promise<void> {
  assert.ok(rows.length > 0, 'no rows');
  const wrong: (string | number)[] = [];
  for (const row of rows) if (!(await holds(row))) wrong.push(idOf(row));
  assert.deepEqual(wrong, []);
}

/** Whether `action` fails as it does for a value of the peer that must not be used. */
export async function isRefused(action: () => unknown): Promise<boolean> {
  try {
    await action();
    return false;
  } catch (error) {
    return error instanceof SshError && error.code === 'crypto' && error.fault === 'peer';
  }
}

/** For `assert.throws` and `assert.rejects`: an `SshError` of this code and fault. */
export function sshError(code: SshErrorCode, fault: 'peer' | 'local'): (error: unknown) => boolean {
  return (error) => error instanceof SshError && error.code === code && error.fault === fault;
}

/** `bytes` as a view that starts `offset` bytes into its buffer. */
export function shifted(bytes: Uint8Array, offset: number): Uint8Array {
  const room = new Uint8Array(bytes.length + offset + 3).fill(0xa5);
  room.set(bytes, offset);
  return room.subarray(offset, offset + bytes.length);
}

/** Whether `bytes` read as `expected` in hex. */
export function reads(bytes: Uint8Array | undefined, expected: string): boolean {
  return bytes !== undefined && hex(bytes) === expected;
}
