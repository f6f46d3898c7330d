/** SFTP servers made with libraries for Python, each a script beside this file that takes its plan as one JSON object. */

import { fileURLToPath } from 'node:url';
import { root } from '../root.ts';
import { type KeyName, keyNames, testKeys } from './keys.ts';
import { findProgram, type Peer } from './peer.ts';
import { startServer } from './process.ts';
import { pythonWith } from './python.ts';
import { ownLogin } from './user.ts';

/** A library, and the script that makes a server of it. */
export interface PythonServer {
  readonly name: string;
  readonly module: string;
  readonly script: string;
  /** Kinds of host key that it can load. */
  readonly hostKeys: readonly KeyName[];
}

export const paramiko: PythonServer = {
  name: 'paramiko',
  module: 'paramiko',
  script: 'paramiko_server.py',
  hostKeys: keyNames,
};

export const conch: PythonServer = {
  name: 'Twisted Conch',
  module: 'twisted.conch.ssh.factory',
  script: 'conch_server.py',
  hostKeys: ['ed25519', 'ecdsa256', 'rsa'],
};

/** Why no such server can be started here, or `undefined`. */
export function available({ module }: PythonServer): string | undefined {
  if (findProgram('ssh-keygen') === undefined) return 'there is no ssh-keygen';
  return pythonWith(module) === undefined ? `there is no Python with ${module}` : undefined;
}

/** Starts one on loopback; `stop` it when done. Everything runs as whoever runs the tests. */
export async function startPythonServer(server: PythonServer): Promise<Peer> {
  const program = pythonWith(server.module);
  if (program === undefined) throw new Error(available(server));
  const keys = testKeys();
  const { username } = ownLogin();
  const script = fileURLToPath(new URL(`test/support/peers/${server.script}`, root));
  return startServer({
    name: server.name.replaceAll(' ', '-'),
    username,
    password: undefined,
    keys: keys.user,
    hostKeys: Object.fromEntries(server.hostKeys.map((name) => [name, keys.host[name].public])),
    command(_dir, port) {
      const hostKeys = server.hostKeys.map((name) => [name, keys.host[name].path]);
      const plan = { port, username, hostKeys, authorizedKeys: keys.authorizedKeys };
      return [program, '-W', 'ignore', script, JSON.stringify(plan)];
    },
  });
}
