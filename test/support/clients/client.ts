/** What a client of another maker can be told to do to a server, whatever its command line looks like. */

import type { OwnServer } from './own_server.ts';
import type { Ended } from './process.ts';

/** How the client proves who it is. */
export type Way = 'password' | 'key';

/** One thing to do with files. `remote` is absolute in the served tree, `local` is a path of the host. */
export type Step =
  | { readonly do: 'get' | 'reget' | 'put' | 'reput'; readonly remote: string; readonly local: string }
  | { readonly do: 'list' | 'remove' | 'mkdir' | 'rmdir'; readonly remote: string }
  | { readonly do: 'rename'; readonly remote: string; readonly to: string };

export interface Client {
  readonly name: string;
  /** Why it cannot be had here, or `undefined`. In CI its tests then fail. */
  readonly unavailable: string | undefined;
  /** Why this machine does not let it work, even where it is installed: its tests are skipped everywhere. */
  readonly impossible?: string | undefined;
  /** It takes long by itself: it is given less to do where other runtimes than Node 24 run the server. */
  readonly slow?: boolean | undefined;
  readonly ways: readonly Way[];
  readonly can: readonly Step['do'][];
  /** Runs a command on the server. */
  readonly run?: (server: OwnServer, way: Way, command: string) => Promise<Pick<Ended, 'code' | 'stdout' | 'stderr'>>;
  /** Does the steps in order and throws at the first that fails. Returns what lists gave: names, `.` and `..` maybe among them. */
  readonly files: (server: OwnServer, way: Way, steps: readonly Step[]) => Promise<string[]>;
}

/** Lines without their ends. */
export function lines(bytes: Uint8Array): string[] {
  return new TextDecoder()
    .decode(bytes)
    .split(/\r?\n/)
    .filter((line) => line !== '');
}
