/** Logging in with one of a few fixed passwords: for small servers and tests. Must not know how a login goes. */

import { equalSecret } from '../bytes/secret.ts';
import { utf8 } from '../bytes/text.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import type { LoginHandlers } from './handlers.ts';

/**
 * Passwords by user name, as `auth.password`. Hashes are compared, in constant time, for users that do not exist as well.
 * The passwords stay in memory as they are: a server with many users checks slow hashes (scrypt, argon2) in a function of its own.
 */
export function passwordsIn(
  crypto: Pick<CryptoProvider, 'hashes' | 'random'>,
  users: Readonly<Record<string, string>>,
): NonNullable<LoginHandlers['password']> {
  const digest = (text: string): Uint8Array => crypto.hashes.sha256.digest(utf8(text));
  const digests = new Map(Object.entries(users).map(([name, password]) => [name, digest(password)]));
  const nobody = crypto.random(32).slice();
  return ({ username, password }) => equalSecret(digests.get(username) ?? nobody, digest(password));
}
