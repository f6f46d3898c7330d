/** What a tree is moved with. */

import type { LocalFiles } from '../../io/local_files.ts';
import type { Link } from '../link.ts';
import type { SftpRequests } from '../requests.ts';

export interface TreeSession {
  readonly link: Link;
  /** On the same link. */
  readonly requests: SftpRequests;
  readonly files: LocalFiles | undefined;
}
