/** The local files of a client, which one in a browser does not have. */

import { SshError } from '../errors.ts';
import type { LocalFiles } from '../io/local_files.ts';

/** Throws `bad-argument` where there are none. */
export function needFiles(files: LocalFiles | undefined): LocalFiles {
  if (files !== undefined) return files;
  throw new SshError('bad-argument', 'This client has no local files: give a stream or bytes, or set localFiles');
}
