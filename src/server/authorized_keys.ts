/** Logging in with the keys of `authorized_keys` files (sshd(8)). Must not know where files are. */

import { badArgument, requireInteger } from '../core/options.ts';
import type { MaybePromise } from '../crypto/provider.ts';
import {
  type AuthorizedKey,
  findAuthorizedKey,
  parseAuthorizedKeys,
  type RefusedLine,
} from '../keys/authorized_keys.ts';
import type { Attempt, Permissions, UserKey } from './handlers.ts';

/** The content of a user's file, or nothing where there is no such user. */
export type AuthorizedKeysSource =
  | Readonly<Record<string, string | Uint8Array>>
  | ((username: string) => MaybePromise<string | Uint8Array | undefined>);

/** How the files are read. */
export interface AuthorizedKeysLoginOptions {
  /** Called with lines that let nobody in because they cannot be read. */
  readonly onRefused?: ((username: string, lines: readonly RefusedLine[]) => void) | undefined;
  /** Minutes that the time zone of an `expiry-time` without `Z` is ahead of UTC. Default: 0. */
  readonly utcOffset?: number | undefined;
}

/** Minutes of a day: no time zone is further from UTC. */
const LARGEST_OFFSET = 1440;

/** A function for `auth.publickey`. With `partial` added, what it gives is one step of several. */
export type AuthorizedKeysLogin = (
  attempt: Attempt & { readonly key: UserKey },
) => Promise<false | { readonly permissions: Permissions; readonly identity: AuthorizedKey }>;

/**
 * `auth.publickey` for files in the form of OpenSSH, by user name; what a line restricts becomes the login's permissions, and
 * the line, an `AuthorizedKey`, its identity. A file is read again for each attempt. Throws `bad-argument`.
 */
export function authorizedKeys(
  source: AuthorizedKeysSource,
  options: AuthorizedKeysLoginOptions = {},
): AuthorizedKeysLogin {
  const { onRefused, utcOffset = 0 } = options;
  const isTable = typeof source === 'object' && source !== null && !(source instanceof Uint8Array);
  if (typeof source !== 'function' && !isTable) {
    throw badArgument(
      'authorizedKeys takes the contents of files by user name, { ada: text }, or a function of the name',
    );
  }
  requireInteger('utcOffset', utcOffset, -LARGEST_OFFSET, LARGEST_OFFSET);
  const contentFor = async (username: string): Promise<string | Uint8Array | undefined> =>
    typeof source === 'function'
      ? await source(username)
      : Object.hasOwn(source, username)
        ? source[username]
        : undefined;
  return async ({ username, peer, key }) => {
    const { keys, refused } = parseAuthorizedKeys((await contentFor(username)) ?? '', { utcOffset });
    if (refused.length > 0) onRefused?.(username, refused);
    const { address } = peer;
    const context = { now: Date.now(), ...(address === undefined ? {} : { address }) };
    const found = findAuthorizedKey(keys, key.publicKey.blob, context);
    return found !== undefined && { permissions: permissionsOf(found), identity: found };
  };
}

function permissionsOf({ options }: AuthorizedKey): Permissions {
  const { command, environment, pty, portForwarding, permitOpen, permitListen } = options;
  return {
    ...(command === undefined ? {} : { command }),
    environment: Object.fromEntries(environment),
    pty,
    portForwarding,
    ...(permitOpen === undefined ? {} : { permitOpen }),
    ...(permitListen === undefined ? {} : { permitListen }),
  };
}
