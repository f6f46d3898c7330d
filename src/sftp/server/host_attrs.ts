/**
 * Attributes of SFTP and what a host knows of a file, one as the other. Order of changes: size, owner, permissions, times,
 * since a change of the owner takes setuid bits away and any change but the last sets times.
 */

import type { Attributes } from '../proto/attrs.ts';
import type { HostFile, HostFiles, HostStat } from './host_files.ts';
import { PosixError } from './posix_error.ts';

/** Bits that a client may set: permissions, setuid, setgid and the sticky bit. */
export const SETTABLE = 0o7777;

/** What a client is told. Times that no uint32 holds are the nearest. */
export function attributesOf(stat: HostStat): Attributes {
  const { size, uid, gid, mode } = stat;
  return { size, uid, gid, permissions: mode, atime: uint32(stat.atime), mtime: uint32(stat.mtime) };
}

function uint32(seconds: number): number {
  return Math.min(Math.max(seconds, 0), 0xffffffff);
}

/** Whether there is anything to set; vendor attributes are not known here, and are passed over. */
export function setsNothing(attrs: Attributes): boolean {
  return ownerOf(attrs) === undefined && timesOf(attrs) === undefined && !setsContent(attrs);
}

function setsContent(attrs: Attributes): boolean {
  return attrs.size !== undefined || attrs.permissions !== undefined;
}

/** Ids and times come in pairs only: half of one says nothing. */
function ownerOf({ uid, gid }: Attributes): readonly [uid: number, gid: number] | undefined {
  return uid === undefined || gid === undefined ? undefined : [uid, gid];
}

function timesOf({ atime, mtime }: Attributes): readonly [atime: number, mtime: number] | undefined {
  return atime === undefined || mtime === undefined ? undefined : [atime, mtime];
}

/** Sets attributes of what is open. */
export async function setOpen(file: HostFile, attrs: Attributes): Promise<void> {
  const { size, permissions } = attrs;
  const owner = ownerOf(attrs);
  const times = timesOf(attrs);
  if (size !== undefined) await file.truncate(size);
  if (owner !== undefined) await file.chown(...owner);
  if (permissions !== undefined) await file.chmod(permissions & SETTABLE);
  if (times !== undefined) await file.utimes(...times);
}

/** Sets attributes of what stands at a path: a link itself, or what cannot be opened. */
export async function setAtPath(host: HostFiles, path: string, isLink: boolean, attrs: Attributes): Promise<void> {
  const { size, permissions } = attrs;
  const owner = ownerOf(attrs);
  const times = timesOf(attrs);
  if (size !== undefined) throw new PosixError('EINVAL', `${path} has no size to set`);
  // `chmod` would go through the link, and POSIX systems as a rule keep no permissions of links
  if (permissions !== undefined && isLink) throw new PosixError('ENOTSUP', `${path} is a link`);
  if (owner !== undefined) await host.lchown(path, ...owner);
  if (permissions !== undefined) await host.chmod(path, permissions & SETTABLE);
  if (times !== undefined) await host.lutimes(path, ...times);
}
