/**
 * One task with the `ssh2-sftp-client` package, at its own defaults:
 *
 *   node ssh2_sftp_client.mjs get|put|get-tree|put-tree|list PORT USER KEY REMOTE LOCAL
 */

import { readFileSync } from 'node:fs';
import Client from 'ssh2-sftp-client';

const [work, port, username, key, remote, local] = process.argv.slice(2);
const client = new Client();
const tasks = {
  get: () => client.fastGet(remote, local),
  put: () => client.fastPut(local, remote),
  'get-tree': () => client.downloadDir(remote, local),
  'put-tree': () => client.uploadDir(local, remote),
  async list() {
    const entries = await client.list(remote);
    process.stdout.write(entries.map(({ name }) => `${name}\n`).join(''));
  },
};

try {
  await client.connect({
    host: '127.0.0.1',
    port: Number(port),
    username,
    privateKey: readFileSync(key),
    hostVerifier: () => true,
  });
  await tasks[work]();
} catch (error) {
  process.stderr.write(`ssh2-sftp-client: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  await client.end();
}
