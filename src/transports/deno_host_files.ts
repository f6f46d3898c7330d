/**
 * The files of the host with Deno, for the server's directory backend: those of Node, with names as text only. Deno takes
 * bytes for text with U+FFFD in it, and gives such text for them; so files whose names are not UTF-8 are listed, but not
 * found.
 */

import * as fs from 'node:fs';
import type { SftpBackend } from '../sftp/server/backend.ts';
import { type DirectoryOptions, directoryFiles } from '../sftp/server/directory.ts';
import type { HostFiles } from '../sftp/server/host_files.ts';
import { PosixError } from '../sftp/server/posix_error.ts';
import { called } from './node_host_file.ts';
import { directoryOf, hostFilesOf, nodeNames, realDirectory } from './node_host_files.ts';

/** With the flag `u` a pair of surrogates is one character: only lone ones match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** The files of the machine that Deno runs on. */
export const denoHostFiles: HostFiles = hostFilesOf({
  lossyNames: true,
  isName: (text) => nodeNames.isName(text) && !LONE_SURROGATE.test(text),
  path(text) {
    if (LONE_SURROGATE.test(text)) throw new PosixError('EINVAL', 'Deno has no paths that are not UTF-8');
    return text;
  },
  readlink: (path) => called((callback) => fs.readlink(path, callback)),
  async openDirectory(path) {
    return directoryOf(await called<string[]>((callback) => fs.readdir(path, callback)));
  },
});

/** As `directory` of Node. */
export function directory(root: string, options: DirectoryOptions = {}): SftpBackend {
  return directoryFiles(denoHostFiles, realDirectory(root), options);
}
