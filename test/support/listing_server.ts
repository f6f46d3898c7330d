/** An SFTP server whose directories hold what a test says, names that are none included. */

import { decodeLenient, latin1, utf8 } from '../../src/bytes/text.ts';
import type { Attributes } from '../../src/sftp/proto/attrs.ts';
import { encodeNames } from '../../src/sftp/proto/names.ts';
import { decodePacket, encodePacket, packets } from '../../src/sftp/proto/packets.ts';
import { reply, ScriptedSftp } from './scripted_sftp.ts';

/** What a listing says. */
export interface Listed {
  readonly name: string | Uint8Array;
  readonly attrs: Attributes;
}

export interface Listings {
  /** By path, as the client asks for them. */
  readonly directories: Readonly<Record<string, readonly Listed[]>>;
  /** What links hold, by path. */
  readonly links?: Readonly<Record<string, string>>;
  /** What STAT and LSTAT say, by path; otherwise they know files only. */
  readonly attrs?: (name: 'STAT' | 'LSTAT', path: string) => Attributes | undefined;
  readonly realpath?: (path: string) => string;
}

const NO_SUCH_FILE = 2;

/** Attributes of one kind. */
export const kinds = {
  file: (size: number): Attributes => ({ permissions: 0o100644, size, atime: 1, mtime: 1 }),
  directory: { permissions: 0o40755 },
  symlink: { permissions: 0o120777 },
  device: { permissions: 0o20666 },
} as const;

/** Files are added to the server by their path. */
export function listingServer({ directories, links = {}, attrs, realpath }: Listings): ScriptedSftp {
  const open = new Map<string, readonly Listed[]>();
  let handles = 0;
  const nameOf = (id: number, name: string | Uint8Array): readonly Uint8Array[] => [reply.names(id, [name])];
  return new ScriptedSftp({
    request(name, id, packet) {
      const path = (): string => decodeLenient(decodePacket(packets.opendir, packet).path);
      switch (name) {
        case 'OPENDIR': {
          const entries = directories[path()];
          if (entries === undefined) return NO_SUCH_FILE;
          const handle = `d${handles++}`;
          open.set(handle, entries);
          return [reply.handle(id, utf8(handle))];
        }
        case 'READDIR': {
          const handle = latin1(decodePacket(packets.readdir, packet).handle);
          const entries = open.get(handle) ?? [];
          open.set(handle, []);
          if (entries.length === 0) return 1;
          const all = entries.map((entry) => ({ ...entry, longname: entry.name }));
          return [encodePacket(packets.name, { id, count: all.length, entries: encodeNames(all) })];
        }
        case 'CLOSE':
          return open.delete(latin1(decodePacket(packets.close, packet).handle)) ? 0 : 'honest';
        case 'STAT':
        case 'LSTAT': {
          const found = attrs?.(name, path());
          return found === undefined ? 'honest' : [reply.attrs(id, found)];
        }
        case 'READLINK': {
          const target = links[path()];
          return target === undefined ? NO_SUCH_FILE : nameOf(id, target);
        }
        case 'REALPATH':
          return nameOf(id, realpath?.(path()) ?? path());
        default:
          return 'honest';
      }
    },
  });
}
