/** What a server shows itself with: its keys, and its keys in certificates. */

import { equalBytes } from '../bytes/bytes.ts';
import { printable } from '../bytes/text.ts';
import { badArgument } from '../core/options.ts';
import { SshError } from '../errors.ts';
import { type Certificate, certified, parseCertificate } from '../keys/certificate.ts';
import { blobIn } from '../keys/public_key_line.ts';
import type { Signer } from '../keys/signature.ts';

/**
 * The signers, and behind them the same with the certificates: a client chooses by the algorithm whether it is shown one. Throws
 * `bad-argument` for what is no host certificate, or is for a key that is not there.
 */
export function withCertificates(signers: readonly Signer[], given: readonly unknown[] | undefined): readonly Signer[] {
  if (given === undefined) return signers;
  if (!Array.isArray(given)) throw badArgument('hostCertificates must be a list of certificates');
  const shown = given.map((each: unknown) => {
    const certificate = certificateIn(each);
    if (certificate.kind !== 'host') throw unusable(certificate, 'it is for a user, not for a host');
    const signer = signers.find(({ publicKey }) => equalBytes(publicKey, certificate.key.blob));
    if (signer === undefined) throw unusable(certificate, 'none of hostKeys is its key');
    return certified(signer, certificate);
  });
  return [...signers, ...shown];
}

function certificateIn(given: unknown): Certificate {
  if (typeof given !== 'string' && !(given instanceof Uint8Array)) {
    throw badArgument(`A host certificate is the content of a -cert.pub file, or a blob, not ${typeof given}`);
  }
  try {
    return parseCertificate(blobIn(given));
  } catch (error) {
    if (!(error instanceof SshError)) throw error;
    throw badArgument(`A host certificate cannot be read: ${printable(error.message)}`);
  }
}

function unusable({ keyId }: Certificate, why: string): SshError {
  return badArgument(`The host certificate '${printable(keyId, 60)}' cannot be used: ${why}`);
}
