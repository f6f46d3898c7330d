/**
 * Private keys in PKCS#8 (RFC 5958), once they are not encrypted: Ed25519 (RFC 8410 §7), EC keys on named curves and RSA. Must
 * not know its armour, nor encryption.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { type DerReader, onlyElement, wholeBytes } from './der.ts';
import type { Found } from './key_file.ts';
import type { KeyFileErrors } from './key_file_errors.ts';
import { readPkcs1 } from './pkcs1.ts';
import { readCurve, readSec1, unsupportedKind } from './sec1.ts';

/** Object identifiers of kinds of keys (RFC 8410 §3, RFC 5480 §2.1.1, RFC 8017 §A.1). */
export const KIND = { ed25519: '1.3.101.112', ec: '1.2.840.10045.2.1', rsa: '1.2.840.113549.1.1.1' } as const;

/** The key in a PrivateKeyInfo. Throws what `errors` makes, `decode` or `crypto`. */
export function readPkcs8(bytes: Uint8Array, errors: KeyFileErrors): Found {
  const info = onlyElement(bytes, (reader) => reader.sequence());
  const version = info.smallInteger();
  const algorithm = info.sequence();
  const found = readKey(algorithm, info.octetString(), errors);
  algorithm.expectEnd('the algorithm');
  info.context(0, 'constructed'); // attributes: nothing in them is about the key's numbers
  const bits = info.context(1, 'primitive');
  info.expectEnd('PrivateKeyInfo');
  if (version > 1) throw errors.unsupported(`PKCS#8 of version ${version}`, 'write it anew with `openssl pkey`');
  if (bits === undefined) return found;
  const half = wholeBytes(bits);
  // RSA keys carry no second public half: whatever stands there is not theirs.
  if (found.secret.type === 'ssh-rsa') throw errors.halvesDiffer();
  if (found.publicHalf !== undefined && !equalBytes(found.publicHalf, half)) throw errors.halvesDiffer();
  return { secret: found.secret, publicHalf: half.slice() };
}

function readKey(algorithm: DerReader, content: Uint8Array, errors: KeyFileErrors): Found {
  const oid = algorithm.oid();
  switch (oid) {
    case KIND.ed25519:
      return { secret: { type: 'ssh-ed25519', seed: readSeed(content) } };
    case KIND.ec:
      return readSec1(content, errors, readCurve(algorithm, errors));
    case KIND.rsa:
      if (!algorithm.done) algorithm.null();
      return readPkcs1(content, errors);
    default:
      throw unsupportedKind(oid, errors);
  }
}

/** RFC 8410 §7: an OCTET STRING in the OCTET STRING. */
function readSeed(content: Uint8Array): Uint8Array {
  return onlyElement(content, (reader) => reader.octetString()).slice();
}
