// README.md: an upload, a command with its streams, and what an error says.
import { connect, keyFile, knownHosts, SshError } from '../../../src/node.ts';

try {
  const auth = [keyFile('~/.ssh/id_ed25519')];
  await using ssh = await connect({ host: 'example.org', username: 'ada', auth, hostKey: knownHosts() });

  await using sftp = await ssh.sftp();
  const { bytes } = await sftp.put('big.log', '/srv/big.log'); // there once it is whole
  console.log(bytes);

  const sort = await ssh.exec('sort -n'); // stdin, stdout and stderr are Web Streams
  const [, sorted] = await Promise.all([
    new Blob(['10\n9\n']).stream().pipeTo(sort.stdin),
    new Response(sort.stdout).text(),
  ]);
  console.log(sorted, (await sort.exit).code);

  await sftp.readFile('/no/such');
} catch (error) {
  if (!(error instanceof SshError)) throw error;
  console.log(error.code, error.fault, error.message); // sftp-status peer open /no/such: no such file
}
