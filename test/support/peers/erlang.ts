/** Erlang's own SSH server with its SFTP as a peer: see `erlang_server.escript`. */

import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../root.ts';
import { type KeyName, testKeys } from './keys.ts';
import { findProgram, type Peer } from './peer.ts';
import { startServer } from './process.ts';
import { ownLogin } from './user.ts';

/** The host keys, by the names that Erlang looks for; one ECDSA key can be there. */
const offered = { ed25519: 'ed25519', ecdsa256: 'ecdsa', rsa: 'rsa' } as const;
const names = Object.keys(offered) as (keyof typeof offered & KeyName)[];

/** Why no Erlang server can be started here, or `undefined`. */
export function available(): string | undefined {
  for (const name of ['escript', 'ssh-keygen']) if (findProgram(name) === undefined) return `there is no ${name}`;
  return undefined;
}

/** Starts one on loopback; `stop` it when done. Everything runs as whoever runs the tests. */
export async function startErlang(): Promise<Peer> {
  const program = findProgram('escript');
  if (program === undefined) throw new Error(available());
  const keys = testKeys();
  return startServer({
    name: 'erlang',
    username: ownLogin().username,
    password: undefined,
    keys: keys.user,
    hostKeys: Object.fromEntries(names.map((name) => [name, keys.host[name].public])),
    command(dir, port) {
      const [system, user] = [join(dir, 'system'), join(dir, 'user')];
      mkdirSync(system);
      mkdirSync(user);
      for (const name of names) copyFileSync(keys.host[name].path, join(system, `ssh_host_${offered[name]}_key`));
      writeFileSync(join(user, 'authorized_keys'), keys.authorizedKeys);
      const script = fileURLToPath(new URL('test/support/peers/erlang_server.escript', root));
      return [program, script, String(port), dir];
    },
  });
}
