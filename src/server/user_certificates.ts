/** Logging in with certificates of authorities that the server trusts, as OpenSSH's TrustedUserCAKeys. Must not know files. */

import { equalBytes } from '../bytes/bytes.ts';
import { decodeLenient, printable } from '../bytes/text.ts';
import { callback, checkTable, elsewhere, type OptionTable } from '../core/option_checks.ts';
import { badArgument } from '../core/options.ts';
import type { MaybePromise } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { admitCertificate } from '../keys/authorized_keys.ts';
import type { Certificate } from '../keys/certificate.ts';
import type { CertificateRights } from '../keys/certificate_options.ts';
import { type PublicKey, parsePublicKey } from '../keys/public_key.ts';
import { parsePublicKeyLine } from '../keys/public_key_line.ts';
import type { ShownKey } from '../keys/shown_key.ts';
import type { Attempt, Permissions, UserKey } from './handlers.ts';

/** Whose certificates count, and for whom. */
export interface UserCertificatesOptions {
  /** The public keys of the authorities: lines as in `.pub` files, one or several in a text, or blobs. At least one. */
  readonly authorities: readonly (string | Uint8Array)[];
  /** The names that may log in as this user, as AuthorizedPrincipalsFile has them. Default: the user's own name alone. */
  readonly principals?: ((attempt: Attempt) => MaybePromise<readonly string[]>) | undefined;
  /**
   * Whether a key, its certificate or the authority is revoked, as `revocationOf` says of a revocation list: anything but `false` and
   * `undefined` is yes. Asked last. Default: none is.
   */
  readonly revoked?: ((key: ShownKey) => MaybePromise<boolean | object | undefined>) | undefined;
  /** Called with why a certificate of one of the authorities let nobody in. */
  readonly onRefused?: ((username: string, reason: string) => void) | undefined;
}

const table: OptionTable<UserCertificatesOptions> = {
  authorities: elsewhere,
  principals: callback,
  revoked: callback,
  onRefused: callback,
};

/** What a certificate lets in with; it is the identity of the login. */
export interface CertificateGrant {
  readonly permissions: Permissions;
  readonly identity: Certificate;
  readonly noTouchRequired: boolean;
}

/** A function for `auth.publickey`; of keys without a certificate it lets none in. */
export type UserCertificatesLogin = (attempt: Attempt & { readonly key: UserKey }) => Promise<false | CertificateGrant>;

/**
 * `auth.publickey` for certificates. Only what a certificate permits is permitted; one that names no principals, or has a
 * critical option that is not known, lets nobody in. To take plain keys too, ask `authorizedKeys` where this gives `false`.
 * Throws `bad-argument`.
 */
export function userCertificates(options: UserCertificatesOptions): UserCertificatesLogin {
  checkTable('userCertificates', options, table);
  const { principals, revoked, onRefused } = options;
  const authorities = authoritiesOf(options.authorities);
  return async ({ key, ...attempt }) => {
    const { certificate } = key;
    if (certificate === undefined || !authorities.some(({ blob }) => equalBytes(blob, certificate.authority.blob))) {
      return false;
    }
    const { username, peer } = attempt;
    const names = principals === undefined ? [username] : await principals(attempt);
    // a text would be searched for parts of it
    if (!Array.isArray(names)) throw badArgument('principals of userCertificates gives a list of names');
    const context = { now: Date.now(), address: peer.address, presence: key.presence };
    const rights = admitCertificate(certificate, names, context);
    const isRevoked = typeof rights !== 'string' && Boolean(await revoked?.(shownBy(key)));
    if (typeof rights === 'string' || isRevoked) {
      onRefused?.(username, typeof rights === 'string' ? rights : 'it is revoked');
      return false;
    }
    const { noTouchRequired } = rights;
    return { permissions: rightsAsPermissions(rights), identity: certificate, noTouchRequired };
  };
}

function authoritiesOf(given: UserCertificatesOptions['authorities']): readonly PublicKey[] {
  if (!Array.isArray(given) || given.length === 0) {
    throw badArgument('userCertificates needs authorities: a list with the public key of at least one');
  }
  return given.flatMap((each: unknown) => {
    if (typeof each !== 'string' && !(each instanceof Uint8Array)) {
      throw badArgument(`An authority is a public key, as text or as a blob, not ${typeof each}`);
    }
    return keysIn(each);
  });
}

/** A blob begins with the length of its type, so with a zero; no text does. */
function keysIn(given: string | Uint8Array): PublicKey[] {
  try {
    if (typeof given !== 'string' && given[0] === 0) return [parsePublicKey(given)];
    const text = typeof given === 'string' ? given : decodeLenient(given);
    const lines = text.split('\n').map((line) => line.trim());
    const keys = lines.filter((line) => line !== '' && !line.startsWith('#'));
    if (keys.length === 0) throw badArgument('An authority is empty text');
    return keys.map((line) => parsePublicKey(parsePublicKeyLine(line).blob));
  } catch (error) {
    if (!(error instanceof SshError)) throw error;
    throw badArgument(
      `An authority cannot be read: ${printable(error.message)}; a path is not enough, give what its file holds`,
    );
  }
}

/** What the user shows, as it came over the line. */
export function shownBy({ publicKey, certificate }: UserKey): ShownKey {
  if (certificate === undefined) return { type: publicKey.type, blob: publicKey.blob, key: publicKey };
  return { type: certificate.type, blob: certificate.blob, key: publicKey, certificate };
}

/** What a certificate permits, as permissions of a login. */
export function rightsAsPermissions({ command, pty, portForwarding, agentForwarding }: CertificateRights): Permissions {
  return { ...(command === undefined ? {} : { command }), pty, portForwarding, agentForwarding };
}
