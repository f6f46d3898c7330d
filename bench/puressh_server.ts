/**
 * puressh's own server over the whole file system, for the benchmark of servers:
 *
 *   node puressh_server.js HOSTKEY AUTHORIZED_KEYS USER
 *
 * Prints its port. A line `connections` on standard input is answered with how many live. Ends with standard input.
 */

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { authorizedKeys, directory, listen } from '../src/node.ts';

const [hostKey, userKeys, username] = process.argv.slice(2) as [string, string, string];

const server = await listen({
  port: 0,
  hostKeys: [readFileSync(hostKey)],
  auth: { publickey: authorizedKeys({ [username]: readFileSync(userKeys) }) },
  sftp: directory('/'),
  capacity: { unauthenticated: 1000 },
  onError: (error) => process.stderr.write(`${error.stack}\n`),
});
process.stdout.write(`${server.address?.port}\n`);

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  if (line === 'connections') process.stdout.write(`${server.connections.size}\n`);
});
lines.on('close', () => process.exit(0));
