/** A scripted server whose directories list what a test says, true or not. */

import { concat } from '../../src/bytes/bytes.ts';
import { decodeLenient, latin1, utf8 } from '../../src/bytes/text.ts';
import type { Attributes } from '../../src/sftp/proto/attrs.ts';
import { encodeNames } from '../../src/sftp/proto/names.ts';
import { decodePacket, encodePacket, packets } from '../../src/sftp/proto/packets.ts';
import { reply, type Script, ScriptedSftp } from './scripted_sftp.ts';

export interface Listed {
  readonly name: string | Uint8Array;
  readonly attrs?: Attributes;
  readonly longname?: string;
}

export const DIRECTORY: Attributes = { permissions: 0o40755 };
export const FILE: Attributes = { permissions: 0o100644 };
export const LINK: Attributes = { permissions: 0o120777 };

export interface ListedScript extends Script {
  /** What OPENDIR and READDIR give, by path; anything else is missing. A number: the status of OPENDIR. */
  readonly directories: (path: string) => readonly Listed[] | number | undefined;
  /** What LSTAT says. */
  readonly lstat?: (path: string) => Attributes | number;
}

/** Every request about a path is in `log`, with its path; REMOVE and RMDIR always succeed. */
export function listedSftp(script: ListedScript): ScriptedSftp {
  const pending = new Map<string, readonly Listed[]>();
  let handles = 0;
  const server: ScriptedSftp = new ScriptedSftp({
    ...script,
    request: (name, id, packet) => {
      if (name === 'OPENDIR') {
        const path = decodeLenient(decodePacket(packets.opendir, packet).path);
        const entries = script.directories(path) ?? 2;
        server.log.push(`OPENDIR ${path}`);
        if (typeof entries === 'number') return entries;
        const handle = `dir${handles++}`;
        pending.set(handle, entries);
        server.openHandles.set(handle, path);
        return [reply.handle(id, utf8(handle))];
      }
      if (name === 'READDIR') {
        const handle = latin1(decodePacket(packets.readdir, packet).handle);
        const entries = pending.get(handle) ?? [];
        pending.delete(handle);
        if (entries.length === 0) return 1;
        const all = entries.map(({ name, longname, attrs }) =>
          encodeNames([{ name, longname: longname ?? '', attrs: attrs ?? FILE }]),
        );
        return [encodePacket(packets.name, { id, count: all.length, entries: concat(...all) })];
      }
      if (name === 'LSTAT' && script.lstat !== undefined) {
        const path = decodeLenient(decodePacket(packets.lstat, packet).path);
        const attrs = script.lstat(path);
        server.log.push(`LSTAT ${path}`);
        return typeof attrs === 'number' ? attrs : [reply.attrs(id, attrs)];
      }
      if (name === 'REMOVE' || name === 'RMDIR') {
        server.log.push(`${name} ${decodeLenient(decodePacket(packets.remove, packet).path)}`);
        return 0;
      }
      return 'honest';
    },
  });
  return server;
}
