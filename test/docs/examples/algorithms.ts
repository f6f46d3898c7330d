// docs/algorithms.md: other algorithms, and compression.
import * as pako from 'pako';
import { connect, keyFile, knownHosts, zlibFrom } from '../../../src/node.ts';

await using ssh = await connect({
  host: 'example.org',
  username: 'ada',
  auth: [keyFile('~/.ssh/id_ed25519')],
  hostKey: knownHosts(),
  algorithms: { preset: 'legacy', ciphers: '-aes128-*', macs: ['hmac-sha2-256', 'hmac-sha1'] },
  compression: zlibFrom(pako),
});
const { cipher, compression } = ssh.info.algorithms.toServer;
console.log(cipher, compression);
