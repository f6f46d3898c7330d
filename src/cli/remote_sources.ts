/** What is to be found at a server under a path or a pattern. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { SftpClient } from '../sftp/client.ts';
import type { RemotePath } from '../sftp/options.ts';
import type { Attributes } from '../sftp/proto/attrs.ts';

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
  { path, pattern }: RemoteSource,
  signal: AbortSignal,
): Promise<Found[]> {
  if (pattern === undefined) return [{ path }];
  const attrs = await sftp.lstat(path, { signal }).catch((error: unknown) => {
    if (error instanceof SshError && error.code === 'sftp-status') return undefined;
    throw error;
  });
  if (attrs !== undefined) return [{ path, attrs }];
  throw new SshError('sftp-status', `Nothing at the server matches ${printable(pattern, 1024)}`, { fault: 'peer' });
}
