/**
 * One transfer with the `ssh2` package, at its own defaults:
 *
 *   node ssh2_client.mjs get|put PORT USER KEY REMOTE LOCAL [CIPHER]
 */

import { readFileSync } from 'node:fs';
import ssh2 from 'ssh2';

const [direction, port, username, key, remote, local, cipher] = process.argv.slice(2);
const client = new ssh2.Client();

function fail(error) {
  process.stderr.write(`ssh2: ${error.message}\n`);
  process.exit(1);
}

client.on('error', fail);
client.on('ready', () => {
  client.sftp((error, sftp) => {
    if (error) return fail(error);
    const done = (failure) => {
      if (failure) return fail(failure);
      client.end();
    };
    if (direction === 'get') sftp.fastGet(remote, local, done);
    else sftp.fastPut(local, remote, done);
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
