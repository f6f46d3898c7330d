/** Logging in with the keys of `authorized_keys` files (sshd(8)). Must not know where files are. */

import { printable } from '../bytes/text.ts';
import { callback, checkTable, elsewhere, type OptionTable } from '../core/option_checks.ts';
import { badArgument, requireInteger } from '../core/options.ts';
import type { MaybePromise } from '../crypto/provider.ts';
import {
  type Admission,
  type AuthorizedKey,
  type AuthorizedKeys,
  findAuthorizedKey,
  isAbout,
  parseAuthorizedKeys,
  type RefusedLine,
  refusalOf,
} from '../keys/authorized_keys.ts';
import type { KeyOptions } from '../keys/key_options.ts';
import type { Attempt, Permissions, UserKey } from './handlers.ts';
import { bothAllow } from './permissions.ts';
import { rightsAsPermissions, shownBy } from './user_certificates.ts';

/** The content of a user's file, or nothing where there is no such user. */
export type AuthorizedKeysSource =
  | Readonly<Record<string, string | Uint8Array>>
  | ((username: string) => MaybePromise<string | Uint8Array | undefined>);

/** How the files are read. */
export interface AuthorizedKeysLoginOptions {
  /** Called, at each attempt, with lines that cannot be read, or that name the key and do not let it in now, such as for `from`. */
  readonly onRefused?: ((username: string, lines: readonly RefusedLine[]) => void) | undefined;
  /** Minutes that the time zone of an `expiry-time` without `Z` is ahead of UTC. Default: 0. */
  readonly utcOffset?: number | undefined;
}

const table: OptionTable<AuthorizedKeysLoginOptions> = { onRefused: callback, utcOffset: elsewhere };

/** Minutes of a day: no time zone is further from UTC. */
const LARGEST_OFFSET = 1440;

const TWO_COMMANDS = 'the certificate and the line have two different commands';

/** What a line lets in with. `noTouchRequired`: a security key may sign without somebody touching it. */
export interface AuthorizedKeysGrant {
  readonly permissions: Permissions;
  readonly identity: AuthorizedKey;
  readonly noTouchRequired: boolean;
}

/** A function for `auth.publickey`. With `partial` added, what it gives is one step of several. */
export type AuthorizedKeysLogin = (
  attempt: Attempt & { readonly key: UserKey },
) => Promise<false | AuthorizedKeysGrant>;

/**
 * `auth.publickey` for files in the form of OpenSSH, by user name; what a line restricts becomes the login's permissions, and
 * the line, an `AuthorizedKey`, its identity. Lines with `cert-authority` let in certificates that the key has signed, and no
 * other line does. A function is asked again for each attempt. Throws `bad-argument`.
 */
export function authorizedKeys(
  source: AuthorizedKeysSource,
  options: AuthorizedKeysLoginOptions = {},
): AuthorizedKeysLogin {
  checkTable('authorizedKeys', options, table);
  const { onRefused, utcOffset = 0 } = options;
  const isTable = typeof source === 'object' && source !== null && !(source instanceof Uint8Array);
  if (typeof source !== 'function' && !isTable) {
    throw badArgument(
      'authorizedKeys takes the contents of files by user name, { ada: text }, or a function of the name',
    );
  }
  requireInteger('utcOffset', utcOffset, -LARGEST_OFFSET, LARGEST_OFFSET);
  const keysFor = typeof source === 'function' ? keysFrom(source, utcOffset) : keysOf(source, utcOffset);
  return async ({ username, peer, key }) => {
    const { keys, refused } = await keysFor(username);
    if (refused.length > 0) onRefused?.(username, refused);
    const { address } = peer;
    const context = { now: Date.now(), address, username, presence: key.presence };
    const shown = shownBy(key);
    const found = findAuthorizedKey(keys, shown, context);
    const granted = found && grantOf(found);
    if (granted !== undefined) return granted;
    const shut = keys.filter((line) => isAbout(line, shown));
    const why = shut.map((entry) => ({
      line: entry.line,
      reason: refusalOf(entry, context, key.certificate) ?? TWO_COMMANDS,
    }));
    if (why.length > 0) onRefused?.(username, why);
    return false;
  };
}

type KeysFor = (username: string) => MaybePromise<AuthorizedKeys>;

/** Read again for each attempt, so that a key that is taken out of a file is out at once. */
function keysFrom(source: Extract<AuthorizedKeysSource, (username: string) => unknown>, utcOffset: number): KeysFor {
  return async (username) => parseAuthorizedKeys((await source(username)) ?? '', { utcOffset });
}

/** Read once. What stands in a program and lets nobody in is a mistake, as a rule a path where a file's content should be. */
function keysOf(source: Readonly<Record<string, string | Uint8Array>>, utcOffset: number): KeysFor {
  const parsed = new Map<string, AuthorizedKeys>();
  for (const [username, text] of Object.entries(source)) {
    const user = printable(username, 64);
    if (typeof text !== 'string' && !(text instanceof Uint8Array)) {
      throw badArgument(`authorizedKeys: for "${user}" give the content of a file, text or bytes, not ${typeof text}`);
    }
    const found = parseAuthorizedKeys(text, { utcOffset });
    parsed.set(username, found);
    const [first] = found.refused;
    if (found.keys.length > 0 || first === undefined) continue;
    // no line of a key is without blanks
    const isPath = typeof text === 'string' && !/\s/.test(text.trim());
    const hint = isPath ? '; a path is not enough: give what its file holds' : '';
    throw badArgument(`authorizedKeys: what is given for "${user}" holds no key: ${first.reason}${hint}`);
  }
  return (username) => parsed.get(username) ?? { keys: [], refused: [] };
}

/** `undefined`: the certificate and the line cannot be had together. */
function grantOf(line: Admission): AuthorizedKeysGrant | undefined {
  const { options, rights } = line;
  const own = permissionsOf(options);
  const permissions = rights === undefined ? own : bothAllow(own, rightsAsPermissions(rights));
  const noTouchRequired = options.noTouchRequired && rights?.noTouchRequired !== false;
  return permissions && { permissions, identity: line, noTouchRequired };
}

function permissionsOf(options: KeyOptions): Permissions {
  const { command, environment, pty, portForwarding, agentForwarding, permitOpen, permitListen } = options;
  return {
    ...(command === undefined ? {} : { command }),
    environment: Object.fromEntries(environment),
    pty,
    portForwarding,
    agentForwarding,
    ...(permitOpen === undefined ? {} : { permitOpen }),
    ...(permitListen === undefined ? {} : { permitListen }),
  };
}
