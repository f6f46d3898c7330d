/** What is to be found at a server under a path or a pattern. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { SftpClient } from '../sftp/client.ts';
import type { RemotePath } from '../sftp/options.ts';
import type { Attributes } from '../sftp/proto/attrs.ts';
import { isStatusError } from '../sftp/proto/status.ts';

/** A path, or a pattern. */
export interface RemoteSource {
  readonly path: RemotePath;
  /** Where `path` has wildcards: the same as a pattern. What is called exactly `path` goes first. */
  readonly pattern?: string | undefined;
  /** Where a pattern that is not absolute begins. Default: where the session started. */
  readonly base?: RemotePath | undefined;
}

/** What was found, with its attributes where the server was asked. */
export interface Found {
  readonly path: RemotePath;
  readonly attrs?: Attributes | undefined;
}

/** A path is taken as it is; a pattern that matches nothing is an error. */
export async function matches(
  sftp: SftpClient,
  { path, pattern, base }: RemoteSource,
  signal: AbortSignal,
): Promise<Found[]> {
  if (pattern === undefined) return [{ path }];
  const [literal, found] = await Promise.all([
    ifTold(sftp.lstat(path, { signal })),
    search(sftp, pattern, base, signal),
  ]);
  if (literal !== undefined) return [{ path, attrs: literal }];
  if (found instanceof SshError) throw found;
  if (found.length > 0) return found;
  throw new SshError('sftp-status', `Nothing at the server matches ${printable(pattern, 1024)}`, { fault: 'peer' });
}

/** What is asked about a path; `undefined` where the server refuses, as where nothing stands. */
export async function ifTold(asked: Promise<Attributes>): Promise<Attributes | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isStatusError(error)) return undefined;
    throw error;
  }
}

/** In the order of the paths. What cannot be searched matters only where the path itself is not there. */
async function search(
  sftp: SftpClient,
  pattern: string,
  from: RemotePath | undefined,
  signal: AbortSignal,
): Promise<Found[] | SshError> {
  const found: Found[] = [];
  try {
    for await (const { path, attrs } of sftp.glob(pattern, { from, signal })) found.push({ path, attrs });
  } catch (error) {
    if (error instanceof SshError && ['bad-argument', 'sftp-status'].includes(error.code)) return error;
    throw error;
  }
  const keyOf = ({ path }: Found): string => (typeof path === 'string' ? path : printable(path, 65536));
  return found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
