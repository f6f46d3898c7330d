/** How primitives say no: the one place where their errors are made. Knows no primitive. */

import { type Fault, SshError } from '../errors.ts';

/** The error for a value that a primitive does not take. It came from the peer unless `fault` says otherwise. */
export function refused(message: string, fault: Fault = 'peer', cause?: unknown): SshError {
  return new SshError('crypto', message, cause === undefined ? { fault } : { fault, cause });
}

/** Throws `bad-argument` unless `bytes` has `length` bytes: a caller's mistake, never the peer's. */
export function expectLength(bytes: Uint8Array, length: number, what: string): void {
  if (bytes.length !== length) {
    throw new SshError('bad-argument', `${what} of ${bytes.length} bytes: it must have ${length}`);
  }
}

/** Throws `bad-argument` unless `bytes` fill blocks of `blockSize` bytes. */
export function expectBlocks(bytes: Uint8Array, blockSize: number): void {
  if (bytes.length % blockSize !== 0) {
    throw new SshError('bad-argument', `${bytes.length} bytes do not fill blocks of ${blockSize} bytes`);
  }
}

/** Throws `crypto`, fault peer, unless `bytes` has `length` bytes. */
export function expectPeerLength(bytes: Uint8Array, length: number, what: string): void {
  if (bytes.length !== length) throw refused(`${what} of ${bytes.length} bytes: it must have ${length}`);
}
