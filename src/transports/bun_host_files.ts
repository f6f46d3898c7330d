/** The files of the host with Bun, for the server's directory backend: those of Node but for reading directories. */

import type { Buffer } from 'node:buffer';
import * as fs from 'node:fs';
import { decodeName } from '../bytes/name.ts';
import type { SftpBackend } from '../sftp/server/backend.ts';
import { type DirectoryOptions, directoryFiles } from '../sftp/server/directory.ts';
import type { HostFiles } from '../sftp/server/host_files.ts';
import { called } from './node_host_file.ts';
import { directoryOf, hostFilesOf, nodeNames, realDirectory } from './node_host_files.ts';

/** The files of the machine that Bun runs on. */
export const bunHostFiles: HostFiles = hostFilesOf({
  ...nodeNames,
  // `opendir` fails when names are to be bytes, and reads everything at once too.
  async openDirectory(path) {
    const place = nodeNames.path(path);
    const names = await called<Buffer[]>((callback) => fs.readdir(place, { encoding: 'buffer' }, callback));
    return directoryOf(names.map(decodeName));
  },
});

/** As `directory` of Node. */
export function directory(root: string, options: DirectoryOptions = {}): SftpBackend {
  return directoryFiles(bunHostFiles, realDirectory(root), options);
}
