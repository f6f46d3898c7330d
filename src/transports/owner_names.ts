/** Names of users and groups from the files of a POSIX system (passwd(5), group(5)), where there are such files. */

import { decodeLenient } from '../bytes/text.ts';
import type { HostOwners } from '../sftp/server/host_files.ts';

/** For how long names count as known: new users turn up within a minute, and a listing does not read two files each time. */
const KNOWN_MS = 60_000;

/** Names by id from lines of the form `name:password:id:…`; of several with one id the first, as the system takes it. */
export function parseOwners(text: string): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  for (const line of text.split('\n')) {
    const [name = '', , id = ''] = line.split(':');
    // Lines that begin with + or - refer to other sources.
    if (/^[^+\-#]/.test(name) && /^\d+$/.test(id) && !names.has(Number(id))) names.set(Number(id), name);
  }
  return names;
}

/** Owners of the machine, read with `read`. */
export function ownersOf(read: (path: string) => Promise<Uint8Array>): () => Promise<HostOwners> {
  const names = (path: string): Promise<ReadonlyMap<number, string>> =>
    read(path).then(
      (bytes) => parseOwners(decodeLenient(bytes)),
      () => new Map<number, string>(), // Windows, or a server that may not read it
    );
  let known: Promise<HostOwners> | undefined;
  let since = 0;
  return () => {
    const now = performance.now();
    if (known === undefined || now - since > KNOWN_MS) {
      since = now;
      known = Promise.all([names('/etc/passwd'), names('/etc/group')]).then(([users, groups]) => ({ users, groups }));
    }
    return known;
  };
}
