/**
 * Who decides whether a host key is trusted, and the policies that need no files. There is no default: a client has to say
 * whom it trusts. Must not know files nor connections.
 */

import { printable } from '../bytes/text.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { SshError, type SshErrorCode } from '../errors.ts';
import { parseFingerprint } from '../keys/public_key.ts';
import { DisconnectReason, SSH_PORT } from '../wire/numbers.ts';

/** A host key that a server has shown; its signature over the key exchange has been verified. */
export interface HostKeyOffer {
  /** As the caller named it. */
  readonly host: string;
  readonly port: number;
  /** The signature algorithm that was negotiated, such as `rsa-sha2-512`. */
  readonly algorithm: string;
  /** The type of the key, such as `ssh-rsa`. */
  readonly keyType: string;
  /** The key blob. */
  readonly hostKey: Uint8Array;
  /** `SHA256:` and base64, as OpenSSH shows it. */
  readonly fingerprint: string;
  readonly crypto: CryptoProvider;
}

/** Decides about host keys. */
export interface HostKeyPolicy {
  /** Returns to trust the key; throws, or rejects, with the reason why not. Runs once a connection. */
  check(offer: HostKeyOffer): MaybePromise<void>;
  /**
   * Types of the keys that the host is known under. Algorithms for them are offered first, so that a known host does not
   * come with a key that is not known.
   */
  preferredKeyTypes?(host: string, port: number, crypto: CryptoProvider): MaybePromise<readonly string[]>;
}

/** The choices, for errors about a policy that is missing. */
export const POLICY_CHOICES: string =
  'knownHosts() trusts the keys in known_hosts, acceptNew() also remembers hosts that are new, ' +
  "pin('SHA256:…') trusts one key, insecureAcceptAny() trusts whoever answers";

/** Trusts the keys with these SHA-256 fingerprints, as `ssh-keygen -lf` shows them, and no other. */
export function pin(fingerprints: string | readonly string[]): HostKeyPolicy {
  const pinned = (typeof fingerprints === 'string' ? [fingerprints] : fingerprints).map(parseFingerprint);
  if (pinned.length === 0) throw new SshError('bad-argument', 'pin() needs at least one fingerprint');
  return {
    check(offer) {
      if (pinned.includes(offer.fingerprint)) return;
      throw hostKeyError(
        'host-key-mismatch',
        `${hostName(offer.host, offer.port)} shows ${keyName(offer)}, which is not pinned; pinned is ` +
          `${pinned.join(', ')}. If the pin is of a key of another type, name that type in algorithms.hostKeys`,
      );
    },
  };
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
