/**
 * What every real server that the tests start looks like, and how a test asks for one. A machine without the server
 * skips such tests and says why; in CI (`CI=true`) it fails them, so that nothing is skipped there unseen.
 */

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before } from 'node:test';
import type { HostKeys, KeyName, UserKey } from './keys.ts';

/** A running server on loopback, started for one test or one test file. */
export interface Peer {
  readonly host: '127.0.0.1';
  readonly port: number;
  /** Its identification string without the line end, such as `SSH-2.0-OpenSSH_9.2`. */
  readonly identification: string;
  /** Who may log in, with any of `keys`. */
  readonly username: string;
  /** What `username` logs in with, where the server was asked to allow a password. */
  readonly password: string | undefined;
  readonly keys: Readonly<Record<KeyName, UserKey>>;
  /** The public keys it offers, as `type base64`. */
  readonly hostKeys: HostKeys;
  /** A known_hosts file with all of `hostKeys`. */
  readonly knownHosts: string;
  /** The server's own directory; mode 0755. */
  readonly dir: string;
  /** An empty directory that `username` may write to. */
  readonly files: string;
  /** What the server has logged; it stays readable after `stop`. */
  log(): Promise<string>;
  /** Kills the server and its sessions, and removes `dir`. */
  stop(): Promise<void>;
}

/** Whether this run must not skip anything. */
export const inCi: boolean = process.env.CI === 'true';

/** Options for a test that needs a peer, from the answer of the peer's `available()`. */
export function peerTest(reason: string | undefined, ci: boolean = inCi): { readonly skip?: string } {
  return reason === undefined || ci ? {} : { skip: reason };
}

/** A peer that serves all tests of a `describe`. */
export interface SharedPeer {
  /** For every test that uses the peer: `it('…', { ...shared.options, timeout: 30_000 }, …)`. */
  readonly options: { readonly skip?: string };
  /** The running peer; call it inside tests only. */
  readonly peer: Peer;
}

/** Called in the body of a `describe`: starts a peer before its tests and stops it after them. */
export function usePeer(reason: string | undefined, start: () => Promise<Peer>): SharedPeer {
  let peer: Peer | undefined;
  const options = peerTest(reason);
  before(
    async () => {
      if (options.skip === undefined) peer = await start();
    },
    { timeout: 60_000 },
  );
  after(() => peer?.stop(), { timeout: 60_000 });
  return {
    options,
    get peer() {
      if (peer === undefined) throw new Error('The peer runs inside tests only');
      return peer;
    },
  };
}

/** The path of a program, also where daemons live that are not on everybody's PATH. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).concat('/usr/sbin', '/usr/local/sbin', '/sbin');
  for (const folder of folders) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not here; the next folder.
    }
  }
  return undefined;
}
