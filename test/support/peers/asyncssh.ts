/** A server made with Python's asyncssh as a peer: see `asyncssh_server.py`. */

import { fileURLToPath } from 'node:url';
import { root } from '../root.ts';
import { type KeyName, keyNames, testKeys } from './keys.ts';
import { findProgram, type Peer } from './peer.ts';
import { startServer } from './process.ts';
import { pythonWith } from './python.ts';
import { ownLogin } from './user.ts';

export interface AsyncsshOptions {
  /** Kinds of host key to offer; default all. */
  readonly hostKeys?: readonly KeyName[];
  /** Allow this password, by `password` and by `keyboard-interactive`. */
  readonly password?: string;
  /** Further arguments of `asyncssh.create_server`, such as `{ encryption_algs: ['aes256-ctr'] }`. */
  readonly server?: Readonly<Record<string, unknown>>;
}

/** The Python that has asyncssh. */
export function asyncsshPython(): string | undefined {
  return pythonWith('asyncssh');
}

/** Why no asyncssh server can be started here, or `undefined`. */
export function available(): string | undefined {
  if (findProgram('ssh-keygen') === undefined) return 'there is no ssh-keygen';
  return asyncsshPython() === undefined ? 'there is no Python with asyncssh' : undefined;
}

/** Starts an asyncssh server on loopback; `stop` it when done. Everything runs as whoever runs the tests. */
export async function startAsyncssh(options: AsyncsshOptions = {}): Promise<Peer> {
  const program = asyncsshPython();
  if (program === undefined) throw new Error(available());
  const keys = testKeys();
  const offered = options.hostKeys ?? keyNames;
  const { username } = ownLogin();
  const script = fileURLToPath(new URL('test/support/peers/asyncssh_server.py', root));
  return startServer({
    name: 'asyncssh',
    username,
    password: options.password,
    keys: keys.user,
    hostKeys: Object.fromEntries(offered.map((name) => [name, keys.host[name].public])),
    command(_dir, port) {
      const plan = {
        port,
        username,
        password: options.password ?? null,
        hostKeys: offered.map((name) => keys.host[name].path),
        authorizedKeys: keys.authorizedKeys,
        server: options.server ?? {},
      };
      return [program, '-W', 'ignore', script, JSON.stringify(plan)];
    },
  });
}
