/**
 * Who decides whether a host key is trusted, and the policies that need no files. There is no default: a client has to say
 * whom it trusts. Must not know files nor connections.
 */

import { printable } from '../bytes/text.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { SshError, type SshErrorCode } from '../errors.ts';
import { judgeHostCertificate } from '../keys/host_authority.ts';
import { fingerprint, type PublicKey, parseFingerprint } from '../keys/public_key.ts';
import type { ShownKey } from '../keys/shown_key.ts';
import { DisconnectReason, SSH_PORT } from '../wire/numbers.ts';

/** A host key that a server has shown; its signature over the key exchange has been verified. */
export interface HostKeyOffer {
  /** As the caller named it. */
  readonly host: string;
  readonly port: number;
  /** The signature algorithm that was negotiated, such as `rsa-sha2-512`. */
  readonly algorithm: string;
  /** The type of the key, such as `ssh-rsa`, or of the certificate. */
  readonly keyType: string;
  /** The blob of the key, or of the certificate. */
  readonly hostKey: Uint8Array;
  /** `SHA256:` and base64, as OpenSSH shows it; of a certificate that of its key. */
  readonly fingerprint: string;
  /** What the blob holds. Nothing of a certificate was verified yet. */
  readonly key: ShownKey;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly crypto: CryptoProvider;
}

/** What a server says after the login about all its keys (OpenSSH PROTOCOL §2.5, `hostkeys-00@openssh.com`). */
export interface HostKeyUpdate {
  readonly host: string;
  readonly port: number;
  /** What it has proved itself with in the key exchange. */
  readonly used: ShownKey;
  /** The keys that it says it has, those of types that puressh does not know left out. Nothing is proved. */
  readonly offered: readonly PublicKey[];
  /**
   * Has the server prove that it holds these of the keys that it offered; for none of them nothing is sent. Rejects if a proof is
   * missing or wrong, or does not come in time.
   */
  prove(keys: readonly PublicKey[]): Promise<void>;
  readonly crypto: CryptoProvider;
}

/** Decides about host keys. */
export interface HostKeyPolicy {
  /** Returns to trust the key; throws, or rejects, with the reason why not. Runs once a connection. */
  check(offer: HostKeyOffer): MaybePromise<void>;
  /**
   * Types of the keys that the host is known under, and of certificates where it is known by an authority. Algorithms for them
   * are offered first, so that a known host does not come with a key that is not known.
   */
  preferredKeyTypes?(host: string, port: number, crypto: CryptoProvider): MaybePromise<readonly string[]>;
  /**
   * The server has told its keys: a policy may remember new ones and forget those that the server has no more. Runs once a
   * connection at most, after the login, and beside everything else; what it throws ends nothing, and is told in
   * `info.hostKeyUpdate`.
   */
  update?(update: HostKeyUpdate): MaybePromise<void>;
}

/** The choices, for errors about a policy that is missing. */
export const POLICY_CHOICES: string =
  'knownHosts() trusts the keys in known_hosts, acceptNew() also remembers hosts that are new, ' +
  "pin('SHA256:…') trusts one key, insecureAcceptAny() trusts whoever answers";

/**
 * Trusts the keys with these SHA-256 fingerprints, as `ssh-keygen -lf` shows them, and no other. Of a certificate it may be that of
 * its key, or of the authority, as long as the certificate holds for the host.
 */
export function pin(fingerprints: string | readonly string[]): HostKeyPolicy {
  const list = typeof fingerprints === 'string' ? [fingerprints] : fingerprints;
  if (!Array.isArray(list)) throw new SshError('bad-argument', 'pin() needs a fingerprint, or a list of such texts');
  const pinned = list.map(parseFingerprint);
  if (pinned.length === 0) throw new SshError('bad-argument', 'pin() needs at least one fingerprint');
  return {
    check(offer) {
      if (pinned.includes(offer.fingerprint)) return;
      const authority = offer.key.certificate?.authority;
      if (authority !== undefined && pinned.includes(fingerprint(offer.crypto, authority.blob))) {
        return checkPinnedAuthority(offer, authority);
      }
      throw hostKeyError(
        'host-key-mismatch',
        `${hostName(offer.host, offer.port)} shows ${keyName(offer)}, which is not pinned; pinned is ` +
          `${pinned.join(', ')}. If the pin is of a key of another type, name that type in algorithms.hostKeys`,
      );
    },
  };
}

async function checkPinnedAuthority(offer: HostKeyOffer, authority: PublicKey): Promise<void> {
  const { crypto, host, key, now } = offer;
  const lines = [{ source: 'pin()', line: 0, blob: authority.blob }];
  const certificate = key.certificate;
  const judged = certificate && (await judgeHostCertificate(crypto, lines, host, certificate, now));
  if (judged?.state === 'certified') return;
  throw badCertificate(offer, judged?.reason ?? 'there is none', 'the authority is pinned');
}

/** A known authority has certified the key of a host, but not so that it holds. */
export function badCertificate(offer: HostKeyOffer, reason: string, where: string): SshError {
  return hostKeyError(
    'host-key-certificate',
    `The certificate that ${hostName(offer.host, offer.port)} shows for ${keyName(offer)} does not hold: ` +
      `${printable(reason, 500)} (${where}). The server needs a new one, or has to be asked for by another name`,
  );
}

/**
 * Trusts any key: whoever answers, or sits in between, can read passwords and everything else. For throwaway servers on
 * loopback only.
 */
export function insecureAcceptAny(): HostKeyPolicy {
  return { check: () => {} };
}

/** An error of a policy; the peer is told that its key is not trusted (RFC 4253 §11.1, reason 9). */
export function hostKeyError(code: SshErrorCode, message: string, cause?: unknown): SshError {
  return new SshError(code, message, {
    cause,
    fault: 'policy',
    phase: 'key-exchange',
    disconnect: DisconnectReason.hostKeyNotVerifiable,
  });
}

/** How messages name a host: with its port where that is not 22. */
export function hostName(host: string, port: number): string {
  return port === SSH_PORT ? printable(host) : `[${printable(host)}]:${port}`;
}

/** How messages name a key. */
export function keyName(key: { readonly keyType: string; readonly fingerprint: string }): string {
  return `${printable(key.keyType, 64)} ${key.fingerprint}`;
}
