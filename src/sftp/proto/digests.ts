/** The answer to check-file: draft-ietf-secsh-filexfer-extensions-00 §3. */

import { DecodeError, Reader } from '../../bytes/reader.ts';
import { latin1 } from '../../bytes/text.ts';

/** Algorithms that the draft names, and the bytes of their digests. */
const DIGEST_LENGTHS = { sha256: 32, sha512: 64, sha384: 48, sha224: 28, sha1: 20, md5: 16, crc32: 4 } as const;

/** The name of a digest algorithm in check-file. */
export type DigestAlgorithm = keyof typeof DIGEST_LENGTHS;

/** Digests of a part of a file. */
export interface FileDigests {
  readonly algorithm: DigestAlgorithm;
  /** One for each block in turn, or one for everything. */
  readonly digests: readonly Uint8Array[];
}

/** Whether `name` is an algorithm of the draft. */
export function isDigestAlgorithm(name: string): name is DigestAlgorithm {
  return Object.hasOwn(DIGEST_LENGTHS, name);
}

/** All of them, the strongest that is common first. */
export const DIGEST_ALGORITHMS: readonly DigestAlgorithm[] = ['sha256', 'sha512', 'sha384', 'sha224', 'sha1', 'md5'];

/**
 * The digests in the body of EXTENDED_REPLY. Servers that follow a later draft, and paramiko, say `check-file` in front of
 * the algorithm.
 */
export function readDigests(body: Uint8Array): FileDigests {
  const reader = new Reader(body);
  let algorithm = latin1(reader.string());
  if (algorithm === 'check-file') algorithm = latin1(reader.string());
  if (!isDigestAlgorithm(algorithm)) throw new DecodeError('The answer to check-file names an algorithm of its own');
  const length = DIGEST_LENGTHS[algorithm];
  if (reader.remaining % length !== 0) {
    throw new DecodeError(`${reader.remaining} bytes are no digests of ${length} bytes each`);
  }
  const digests: Uint8Array[] = [];
  while (reader.remaining > 0) digests.push(reader.raw(length).slice());
  return { algorithm, digests };
}
