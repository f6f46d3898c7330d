/** Logging in with one of a few fixed passwords: for small servers and tests. Must not know how a login goes. */

import { equalSecret } from '../bytes/secret.ts';
import { printable, utf8 } from '../bytes/text.ts';
import { badArgument } from '../core/options.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import type { LoginHandlers } from './handlers.ts';

/**
 * Passwords by user name, as `auth.password`. Hashes are compared, in constant time, for users that do not exist as well.
 * The passwords stay in memory as they are: a server with many users checks slow hashes (scrypt, argon2) in a function of its own.
 * Throws `bad-argument`.
 */
export function passwordsIn(
  crypto: Pick<CryptoProvider, 'hashes' | 'random'>,
  users: Readonly<Record<string, string>>,
): NonNullable<LoginHandlers['password']> {
  if (typeof users !== 'object' || users === null)
    throw badArgument("passwords takes them by user name: { ada: 'secret' }");
  for (const [name, password] of Object.entries(users)) {
    if (typeof password === 'string') continue;
    throw badArgument(`The password of "${printable(name, 64)}" must be a text, not ${typeof password}`);
  }
  const digest = (text: string): Uint8Array => crypto.hashes.sha256.digest(utf8(text));
  const digests = new Map(Object.entries(users).map(([name, password]) => [name, digest(password)]));
  const nobody = crypto.random(32).slice();
  return ({ username, password }) => equalSecret(digests.get(username) ?? nobody, digest(password));
}
