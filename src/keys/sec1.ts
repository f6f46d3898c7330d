/** EC private keys on named curves (RFC 5915, which SEC 1 §C.4 is too). Must not know its armour, nor other formats. */

import { type DerReader, onlyElement } from './der.ts';
import type { Found } from './key_file.ts';
import type { KeyFileErrors } from './key_file_errors.ts';
import { ecdsaSecret } from './key_pair.ts';
import type { EcdsaKeyType } from './public_key.ts';

/** Object identifiers of the curves that SSH uses (RFC 5656 §10.1). */
export const curveTypes: Readonly<Record<string, EcdsaKeyType>> = {
  '1.2.840.10045.3.1.7': 'ecdsa-sha2-nistp256',
  '1.3.132.0.34': 'ecdsa-sha2-nistp384',
  '1.3.132.0.35': 'ecdsa-sha2-nistp521',
};

/** Names of algorithms and curves that people do have keys of, but that SSH or puressh does not use. */
const strangers: Readonly<Record<string, string>> = {
  '1.2.840.10040.4.1': 'DSA',
  '1.2.840.113549.1.1.10': 'RSASSA-PSS',
  '1.3.101.110': 'X25519',
  '1.3.101.111': 'X448',
  '1.3.101.113': 'Ed448',
  '1.3.132.0.10': 'secp256k1',
};

/** The error for a kind of key, or a curve, that is not used. */
export function unsupportedKind(oid: string, errors: KeyFileErrors): Error {
  return errors.unsupported(`a key of kind ${strangers[oid] ?? oid}`, 'use an Ed25519, RSA or NIST P-256/384/521 key');
}

/** The key type of the curve that comes next, by its name or written out (RFC 3279 §2.3.5), of which only names are read. */
export function readCurve(parameters: DerReader, errors: KeyFileErrors): EcdsaKeyType {
  if (parameters.isNext('sequence')) {
    const advice = 'name the curve: `openssl ec -in FILE -param_enc named_curve`';
    throw errors.unsupported('an EC key whose curve is written out', advice);
  }
  const curve = parameters.oid();
  const type = curveTypes[curve];
  if (type === undefined) throw unsupportedKind(curve, errors);
  return type;
}

/**
 * An ECPrivateKey. `outer` is the type that stands around it, in PKCS#8; without it the key names its curve itself. Writers exist
 * that drop leading zeros of the scalar; those are put back.
 */
export function readSec1(content: Uint8Array, errors: KeyFileErrors, outer?: EcdsaKeyType): Found {
  const key = onlyElement(content, (reader) => reader.sequence());
  if (key.smallInteger() !== 1) throw errors.corrupt('its ECPrivateKey is not of version 1');
  const scalar = key.octetString();
  const parameters = key.context(0, 'constructed');
  const inner = parameters && onlyElement(parameters, (reader) => readCurve(reader, errors));
  if (outer !== undefined && inner !== undefined && inner !== outer) {
    throw errors.corrupt('it names two different curves');
  }
  const type = outer ?? inner;
  if (type === undefined) throw errors.corrupt('it does not name its curve');
  const point = key.context(1, 'constructed');
  key.expectEnd('ECPrivateKey');
  return {
    secret: ecdsaSecret(type, scalar),
    publicHalf: point && onlyElement(point, (reader) => reader.bitString()).slice(),
  };
}
