/** A program that connects, works, and has to end by itself: see `client/ending.test.ts`. It never calls `process.exit`. */

import { api } from './connect.ts';

const [how, port, username, key, knownHosts, fifo] = process.argv.slice(2) as string[];

const ssh = await api.connect({
  host: '127.0.0.1',
  port: Number(port),
  username: username as string,
  auth: [api.keyFile(key as string)],
  hostKey: api.knownHosts(knownHosts as string),
});
const sftp = await ssh.sftp();
const session = await ssh.exec('sleep 30');
const settled = Promise.allSettled([
  sftp.open(fifo as string),
  session.exit,
  session.stdout.getReader().read(),
  ssh.closed,
]);
console.log('connected');
if (how === 'close') await ssh.close();
if (how === 'kill') await ssh.closed; // whoever started this kills the server
const codes = (await settled).map((result) => (result.status === 'rejected' ? result.reason.code : 'fine'));
console.log(codes.join(' '));
