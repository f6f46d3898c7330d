/** Directories that are made with those above them: in few round trips, whatever is there already. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { call } from './call.ts';
import type { Link } from './link.ts';
import { stat } from './operations.ts';
import type { CallOptions, RemotePath } from './options.ts';
import { pathBytes, remotePath } from './path.ts';
import { type Attributes, encodeAttributes, fileKind } from './proto/attrs.ts';
import { packets } from './proto/packets.ts';
import { isStatusError } from './proto/status.ts';

const SLASH = 0x2f;

/** Directories that are made above one path: more is no path that a server would take. */
const MAX_ABOVE = 1024;

/** MKDIR. */
export async function makeDirectory(
  link: Link,
  path: RemotePath,
  attrs: Attributes,
  options: CallOptions,
): Promise<void> {
  const value = { path: pathBytes(path), attrs: encodeAttributes(attrs) };
  await call(link, { row: packets.mkdir, value, operation: 'mkdir', path }, options);
}

/**
 * Makes the directory `path`, and those above it that are missing, which get no `attrs`. Resolves with whether `path` was
 * made here; `false`: it was there. `target-exists`: something that is no directory stands in the way.
 *
 * MKDIR and STAT of the whole path leave together, which is all where the directory above is there. Otherwise STAT of all
 * above it tells what is missing, and the MKDIRs for that leave together, too; a server that does not keep their order has
 * what failed asked again, one by one.
 */
export async function makePath(
  link: Link,
  path: RemotePath,
  attrs: Attributes,
  options: CallOptions,
): Promise<boolean> {
  const whole = pathBytes(path);
  const refused = await attempt(link, whole, attrs, options);
  if (refused === 'made') return true;
  if (refused === 'there') return false;
  const above = ancestors(whole);
  const found = await Promise.all(above.map((each) => look(link, each, options)));
  const file = found.indexOf('other');
  if (file >= 0) throw inTheWay(above[file] as Uint8Array);
  const from = found.lastIndexOf('directory') + 1;
  const missing = [...above.slice(from), whole];
  if (missing.length === 1) throw refused;
  const last = missing.length - 1;
  const asked = missing.map((each, i) => makeDirectory(link, remotePath(each), i === last ? attrs : {}, options));
  const made = await Promise.allSettled(asked);
  if (made[last]?.status === 'fulfilled') return true;
  let result: Attempt = refused;
  for (const [i, each] of missing.entries()) {
    if (made[i]?.status === 'fulfilled') continue;
    result = await attempt(link, each, i === last ? attrs : {}, options);
    if (result instanceof SshError) throw result;
  }
  return result === 'made';
}

/** What came of MKDIR: the error is a refusal where nothing stands. */
type Attempt = 'made' | 'there' | SshError;

/** MKDIR, and STAT to know why it was refused. */
async function attempt(link: Link, path: Uint8Array, attrs: Attributes, options: CallOptions): Promise<Attempt> {
  const making = makeDirectory(link, remotePath(path), attrs, options);
  const looking = look(link, path, options);
  looking.catch(() => undefined); // told below, if it matters
  try {
    await making;
    return 'made';
  } catch (error) {
    if (!isStatusError(error)) throw error;
    const there = await looking;
    if (there === 'other') throw inTheWay(path, error);
    return there === 'directory' ? 'there' : error;
  }
}

/** STAT: what `path` leads to. What the server does not let us see counts as missing: MKDIR tells. */
async function look(link: Link, path: Uint8Array, options: CallOptions): Promise<'missing' | 'directory' | 'other'> {
  try {
    const kind = fileKind(await stat(link, packets.stat, remotePath(path), options));
    return kind === 'directory' || kind === 'unknown' ? 'directory' : 'other';
  } catch (error) {
    if (isStatusError(error)) return 'missing';
    throw error;
  }
}

function inTheWay(path: Uint8Array, cause?: SshError): SshError {
  const shown = printable(path, 1024);
  return new SshError('target-exists', `mkdir ${shown}: something that is no directory stands there`, {
    fault: 'policy',
    operation: 'mkdir',
    path: shown,
    ...(cause?.status === undefined ? {} : { status: cause.status, cause }),
  });
}

/** The paths above `path`, the shortest first, without `/`. */
function ancestors(path: Uint8Array): Uint8Array[] {
  const above: Uint8Array[] = [];
  let end = path.length;
  const dropSlashes = (): void => {
    while (end > 0 && path[end - 1] === SLASH) end -= 1;
  };
  dropSlashes();
  for (;;) {
    while (end > 0 && path[end - 1] !== SLASH) end -= 1;
    dropSlashes();
    if (end === 0) return above.reverse();
    above.push(path.subarray(0, end));
    if (above.length > MAX_ABOVE) throw new SshError('limit', `mkdir: more than ${MAX_ABOVE} directories in one path`);
  }
}
