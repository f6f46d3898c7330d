// docs/trust.md: known_hosts that are kept up to date, and revoked keys.
import { connect, keyFile, knownHosts } from '../../../src/node.ts';

const hostKey = knownHosts('known_hosts', { update: true, revoked: 'revoked_keys' });
const auth = [keyFile('~/.ssh/id_ed25519')];
await using ssh = await connect({ host: 'example.org', username: 'ada', auth, hostKey });
console.log(ssh.info.hostKey.keyType, ssh.info.hostKey.fingerprint);
