/** puressh's own server in the process of the tests, with every kind of host key, for the clients of other makers. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { ListenServerOptions, SshServer } from '../../../src/serve.ts';
import type { ServerConnection } from '../../../src/server/connection.ts';
import { api } from '../connect.ts';
import { type KeyName, keyNames, testKeys, type UserKey } from '../peers/keys.ts';
import { peerTest } from '../peers/peer.ts';
import { shell } from './shell.ts';

/** Bytes that the tests of one client need, and as many again for whoever runs beside. */
const ROOM = 1024 * 1024 * 1024;

export const PASSWORD = 'korrekt horse "battery"';

/** A running server on loopback. */
export interface OwnServer {
  readonly ssh: SshServer;
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly username: 'ada';
  readonly password: string;
  readonly keys: Readonly<Record<KeyName, UserKey>>;
  /** A known_hosts file with all host keys; `~/.ssh/known_hosts` of `home`, too. */
  readonly knownHosts: string;
  /** `SHA256:…` of the host keys, by kind. */
  readonly fingerprints: Readonly<Record<KeyName, string>>;
  /** The host's path of the served directory, which clients see as `/`. */
  readonly files: string;
  /** An empty directory for the clients' side. */
  readonly local: string;
  /** A home for clients that want one. */
  readonly home: string;
  /** Every connection that there was, in order. */
  readonly connections: readonly ServerConnection[];
  /** What the server has reported. A test that expects some takes them out. */
  readonly errors: Error[];
  stop(): Promise<void>;
}

export type OwnServerOptions = Partial<ListenServerOptions>;

/** Starts the server; whoever starts it stops it. */
export async function startOwnServer(options: OwnServerOptions = {}): Promise<OwnServer> {
  const keys = testKeys();
  const dir = mkdtempSync(join(place(), 'puressh-own-'));
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  process.once('exit', remove); // a test that hangs must not leave files in memory
  const [files, local, home] = ['files', 'local', 'home'].map((name) => join(dir, name)) as [string, string, string];
  for (const folder of [files, local, join(home, '.ssh')]) mkdirSync(folder, { recursive: true });
  const connections: ServerConnection[] = [];
  const errors: Error[] = [];
  const ssh = await api.listen({
    port: 0,
    hostKeys: keyNames.map((name) => readFileSync(keys.host[name].path)),
    auth: {
      publickey: api.authorizedKeys({ ada: keys.authorizedKeys }),
      password: api.passwords({ ada: PASSWORD }),
    },
    session: { exec: shell(files), shell: shell(files) },
    sftp: api.directory(files),
    onConnection: (connection) => connections.push(connection),
    onError: (error) => errors.push(error),
    ...options,
  });
  const port = ssh.address?.port as number;
  const knownHosts = join(home, '.ssh', 'known_hosts');
  writeFileSync(knownHosts, keyNames.map((name) => `[127.0.0.1]:${port} ${keys.host[name].public}\n`).join(''));
  return {
    ssh,
    host: '127.0.0.1',
    port,
    username: 'ada',
    password: PASSWORD,
    keys: keys.user,
    knownHosts,
    fingerprints: Object.fromEntries(
      keyNames.map((name, i) => [name, ssh.fingerprints[i]]),
    ) as OwnServer['fingerprints'],
    files,
    local,
    home,
    connections,
    errors,
    async stop() {
      await ssh.close();
      process.off('exit', remove);
      remove();
    },
  };
}

/** Where 10,000 files are made in no time, if there is room; Docker gives 64 MiB by default. */
function place(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    if (bavail * bsize >= ROOM) return '/dev/shm';
  } catch {
    // there is none
  }
  return tmpdir();
}

/** A server that serves all tests of a `describe`. */
export interface SharedServer {
  readonly options: { readonly skip?: string };
  /** Inside tests only. */
  readonly server: OwnServer;
}

/**
 * Called in the body of a `describe`. `unavailable`: why the client cannot be had here, which in CI fails its tests;
 * `impossible`: why it cannot work on this machine.
 */
export function useOwnServer(
  unavailable: string | undefined,
  options: OwnServerOptions = {},
  impossible?: string,
): SharedServer {
  const test = impossible === undefined ? peerTest(unavailable) : { skip: impossible };
  let server: OwnServer | undefined;
  before(
    async () => {
      if (test.skip === undefined) server = await startOwnServer(options);
    },
    { timeout: 60_000 },
  );
  after(
    async () => {
      await server?.stop();
      assert.deepEqual(server?.errors ?? [], [], 'the server has met errors');
    },
    { timeout: 60_000 },
  );
  return {
    options: test,
    get server() {
      if (server === undefined) throw new Error(unavailable ?? 'The server runs inside tests only');
      return server;
    },
  };
}
