// README.md: a client.
import { connect, keyFile, knownHosts } from '../../../src/node.ts';

await using ssh = await connect({
  host: 'example.org',
  username: 'ada',
  auth: [keyFile('~/.ssh/id_ed25519')],
  hostKey: knownHosts(),
});

const { stdout, code } = await ssh.run('uname -s');
console.log(code, new TextDecoder().decode(stdout).trim());

await using sftp = await ssh.sftp();
await sftp.get('/var/log/big.log', 'big.log', {
  signal: AbortSignal.timeout(60_000),
  onProgress: ({ bytes, total }) => console.log(bytes, total),
});
for await (const entry of sftp.list('/srv')) console.log(entry.name, entry.attrs.size);
