/**
 * Certificates of hosts, and the authorities that known_hosts files name for them: OpenSSH's PROTOCOL.certkeys, sshd(8). Decides as
 * check_host_cert of OpenSSH 10.3 does: principals may be patterns, and a certificate without any is for no host; older ones know no
 * patterns, and take the latter for every host. Must not know plain keys, nor what a program does with a verdict.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { whenReady } from '../crypto/maybe_promise.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { type Certificate, judgeCertificate, verifyCertificate } from './certificate.ts';
import { lowerAscii, MAX_PATTERN, matchPattern } from './host_pattern.ts';
import { signatureAlgorithms } from './signature.ts';

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
 * its port.
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
    const name = lowerAscii(host);
    const principal = certificate.principals.find((each) => isPrincipal(name, each)) ?? name;
    const verdict = judgeCertificate(certificate, { kind: 'host', principal, now, allowEmptyPrincipals: false });
    if (!verdict.ok) return bad(verdict.reason);
    return { state: 'certified', source, line, keyId: certificate.keyId };
  });
}

function isPrincipal(name: string, principal: string): boolean {
  return principal.length <= MAX_PATTERN && matchPattern(name, principal);
}

/** Every type of certificate that a host may show, best first. */
export function hostCertificateTypes(): string[] {
  const rows = [...signatureAlgorithms.values()].filter(({ name, plain, legacy }) => name !== plain && legacy !== true);
  return [...new Set(rows.map(({ keyType }) => keyType))];
}
