// docs/config.md: a host of ssh_config.
import { connect, sshConfig } from '../../../src/node.ts';

await using ssh = await connect(await sshConfig('box'));
const { stdout } = await ssh.run('hostname');
console.log(new TextDecoder().decode(stdout));
