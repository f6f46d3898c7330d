/**
 * A program that moves a file to or from sftp-server of OpenSSH, and after so many bytes says so and does nothing any more, for
 * tests that kill it. Arguments: `get` or `put`, the server, the directory, the names of the remote and the local file, the span
 * and the number of bytes.
 */

import { writeSync } from 'node:fs';
import { systemClock } from '../../src/io/clock.ts';
import { get } from '../../src/sftp/get.ts';
import { greet } from '../../src/sftp/greet.ts';
import { Link } from '../../src/sftp/link.ts';
import { put } from '../../src/sftp/put.ts';
import { nodeFiles } from '../../src/transports/node_files.ts';
import { stdioPipe } from './stdio_pipe.ts';

const [way, server = '', directory = '', remote = '', local = '', span, most] = process.argv.slice(2);
const link = new Link(stdioPipe(server, [], directory), { clock: systemClock, stallTimeout: 0 });
await greet(link, 0, undefined);
const onProgress = ({ bytes }: { readonly bytes: number }): void => {
  if (bytes < Number(most)) return;
  writeSync(1, 'so far\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
const options = { resume: true, onProgress, requestSize: 32_768, requests: 16 } as const;
const hints = { span: Number(span) };
if (way === 'get') await get(link, remote, local, nodeFiles, options, hints);
else await put(link, local, remote, nodeFiles, options, hints);
process.exit(0);
