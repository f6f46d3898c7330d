/**
 * Certificates of hosts, and the authorities that known_hosts files name for them: OpenSSH's PROTOCOL.certkeys, sshd(8). Decides as
 * OpenSSH's check_host_cert does. Must not know plain keys, nor what a program does with a verdict.
 */

import { equalBytes } from '../bytes/bytes.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { type Certificate, judgeCertificate, verifyCertificate } from './certificate.ts';
import { lowerAscii } from './host_pattern.ts';
import { signatureAlgorithms, whenReady } from './signature.ts';

/** A line that names an authority for a host. */
export interface AuthorityLine {
  readonly source: string;
  readonly line: number;
  readonly blob: Uint8Array;
}

/** What a known authority says about a host. */
export type AuthorityVerdict =
  | { readonly state: 'certified'; readonly source: string; readonly line: number; readonly keyId: string }
  | { readonly state: 'bad-certificate'; readonly reason: string; readonly source: string; readonly line: number };

/**
 * Whether the certificate holds for `host` at `now` (milliseconds since 1970). `authorities` are the lines about that host; where
 * none has the certificate's authority there is nothing to say. Principals are compared with the name that was asked for, without
 * its port; a certificate without any is one for every host, as in OpenSSH.
 */
export function judgeHostCertificate(
  crypto: CryptoProvider,
  authorities: readonly AuthorityLine[],
  host: string,
  certificate: Certificate,
  now: number,
): MaybePromise<AuthorityVerdict | undefined> {
  const found = authorities.find(({ blob }) => equalBytes(blob, certificate.authority.blob));
  if (found === undefined) return undefined;
  const { source, line } = found;
  const bad = (reason: string): AuthorityVerdict => ({ state: 'bad-certificate', reason, source, line });
  return whenReady(verifyCertificate(crypto, certificate), (valid) => {
    if (!valid) return bad('its authority has not signed it');
    const use = { kind: 'host', principal: lowerAscii(host), now, allowEmptyPrincipals: true } as const;
    const verdict = judgeCertificate(certificate, use);
    if (!verdict.ok) return bad(verdict.reason);
    return { state: 'certified', source, line, keyId: certificate.keyId };
  });
}

/** Every type of certificate that a host may show, best first. */
export function hostCertificateTypes(): string[] {
  const rows = [...signatureAlgorithms.values()].filter(({ name, plain, legacy }) => name !== plain && legacy !== true);
  return [...new Set(rows.map(({ keyType }) => keyType))];
}
