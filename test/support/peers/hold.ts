/** A program that starts an `sshd`, prints its port and directory, and waits to be killed: see `peers.test.ts`. */

import { startSshd } from './openssh.ts';

const { port, dir } = await startSshd();
process.stdout.write(`${JSON.stringify({ port, dir })}\n`);
setInterval(() => {}, 1000);
