/**
 * One task with the `ssh2` package, at its own defaults:
 *
 *   node ssh2_client.mjs get|put|list PORT USER KEY REMOTE LOCAL [CIPHER]
 */

import { readFileSync } from 'node:fs';
import ssh2 from 'ssh2';

const [work, port, username, key, remote, local, cipher] = process.argv.slice(2);
const client = new ssh2.Client();

function fail(error) {
  process.stderr.write(`ssh2: ${error.message}\n`);
  process.exit(1);
}

client.on('error', fail);
client.on('ready', () => {
  client.sftp((error, sftp) => {
    if (error) return fail(error);
    const done = (failure, entries) => {
      if (failure) return fail(failure);
      if (work === 'list') process.stdout.write(entries.map(({ filename }) => `${filename}\n`).join(''));
      client.end();
    };
    if (work === 'get') sftp.fastGet(remote, local, done);
    else if (work === 'put') sftp.fastPut(local, remote, done);
    else sftp.readdir(remote, done);
  });
});
client.connect({
  host: '127.0.0.1',
  port: Number(port),
  username,
  privateKey: readFileSync(key),
  hostVerifier: () => true,
  ...(cipher ? { algorithms: { cipher: [cipher] } } : {}),
});
