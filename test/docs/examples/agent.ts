// docs/agent.md: an agent.
import { agent, connect, keyFile, knownHosts } from '../../../src/node.ts';

const keys = agent();
for (const { comment } of await keys.identities()) console.log(comment);

await using ssh = await connect({
  host: 'example.org',
  username: 'ada',
  auth: [keyFile('~/.ssh/id_ed25519'), keys],
  hostKey: knownHosts(),
});

const { stdout } = await ssh.run('ssh-add -l', { agent: keys });
console.log(new TextDecoder().decode(stdout));
