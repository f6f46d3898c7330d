/**
 * Local files as the transfers see them: an interface only, implemented once per runtime in `transports`. Knows no
 * runtime, no SFTP and no SSH.
 *
 * Every promise here rejects with an `SshError` of code `bad-local-file`, fault `local`, whose `path` and `operation`
 * are set, except where a member says otherwise.
 */

/** What stands at a path. `symlink` is a link itself, not what it points to; `other` is a device, pipe or socket. */
export type LocalKind = 'file' | 'directory' | 'symlink' | 'other';

/** What is known of a path without following a symbolic link. */
export interface LocalStat {
  readonly kind: LocalKind;
  /** Bytes; meaningful for `file` only. */
  readonly size: number;
  /** POSIX permission bits (0..0o7777); absent where the platform has none. */
  readonly permissions?: number;
  /** Time of the last change of the content: seconds since 1970, with fractions. */
  readonly modified?: number;
  /** Time of the last access: seconds since 1970, with fractions. */
  readonly accessed?: number;
  /** Tells the file from every other there is now, whatever its name; absent where the platform cannot. */
  readonly id?: string;
}

/** What can be set of a file or directory; what is absent stays. */
export interface LocalAttributes {
  /** POSIX permission bits (0..0o7777). Ignored where there are none. */
  readonly permissions?: number;
  /** Seconds since 1970, with fractions. */
  readonly accessed?: number;
  /** Seconds since 1970, with fractions. */
  readonly modified?: number;
}

/** A name in a directory; `kind` is that of the entry itself, links not followed. */
export interface LocalEntry {
  readonly name: string;
  readonly kind: LocalKind;
}

/** How to open a local file. */
export interface LocalOpenOptions {
  readonly access: 'read' | 'write';
  /**
   * For writing: `new` creates and rejects when the path exists; `replace` creates or empties; `keep` creates or opens
   * with its content; `never` opens with its content and rejects when nothing is there. Default: `replace`.
   */
  readonly create?: 'new' | 'replace' | 'keep' | 'never';
  /**
   * POSIX permission bits of a file that is created: exactly these, whatever the umask says, since they are as a rule
   * those of the file that is about to be replaced. Absent: what the platform gives new files. Ignored where there are none.
   */
  readonly permissions?: number;
}

/**
 * An open local file. Positions are byte offsets from its start. On a file that cannot seek (`LocalKind` `other`) the
 * positions are ignored; the caller then reads and writes in order, one call after the other.
 */
export interface LocalFile {
  /** Reads at `position` into `target`, at most its length. Resolves with how many bytes were read; 0 is the end. */
  read(target: Uint8Array, position: number): Promise<number>;
  /**
   * Writes all bytes of the pieces, one after the other, from `position` on; a short write is carried on inside. The
   * pieces (often many, often views of larger buffers) must not change until the promise settles; they are not copied
   * and not kept after. Up to 1024 pieces; several calls for separate ranges may be pending at once.
   */
  write(pieces: readonly Uint8Array[], position: number): Promise<void>;
  /** Length in bytes now. */
  size(): Promise<number>;
  /** What is known of the file that is open. */
  stat(): Promise<LocalStat>;
  /** Cuts the file to `size` bytes, or lengthens it with zeros. */
  truncate(size: number): Promise<void>;
  /** Sets the permissions and times that are given; later writes change the times again. */
  setAttributes(attributes: LocalAttributes): Promise<void>;
  /** Resolves when what was written is on the disk. */
  sync(): Promise<void>;
  /** Releases the file. Called exactly once, with nothing else pending. */
  close(): Promise<void>;
}

/** The local file system. Paths are those of the platform. */
export interface LocalFiles {
  open(path: string, options: LocalOpenOptions): Promise<LocalFile>;
  /** What stands at `path`, links not followed; `undefined` when nothing does. */
  stat(path: string): Promise<LocalStat | undefined>;
  /** The path with every symbolic link followed; `undefined` when it leads to nothing. */
  resolve(path: string): Promise<string | undefined>;
  /** Moves `from` to `to` in one step; an existing file at `to` is replaced. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; a path where nothing stands is no error. */
  remove(path: string): Promise<void>;
  /** What a directory holds, without `.` and `..`, in no order. */
  list(path: string): Promise<readonly LocalEntry[]>;
  /**
   * Makes a directory; false: there was one already, or a link to one. `permissions` are exactly those of the new one,
   * whatever the umask says.
   */
  makeDirectory(path: string, permissions?: number): Promise<boolean>;
  /** The text that a symbolic link holds. */
  readLink(path: string): Promise<string>;
  /** Makes `path` a symbolic link that holds `target`. Rejects when something stands there. */
  makeLink(target: string, path: string): Promise<void>;
  /** Sets permissions and times of what `path` leads to, links followed. */
  setAttributes(path: string, attributes: LocalAttributes): Promise<void>;
  /** Whether a file may have this name as far as the platform is concerned: devices of Windows, for one. Absent: any may. */
  isName?(name: string): boolean;
  /** The last component of `path`. */
  name(path: string): string;
  /** The path of `name` in the directory that holds `path`. */
  beside(path: string, name: string): string;
  /** The path of `name`, one component or several, in `directory`. Nothing is resolved: `..` and links stay as they are. */
  join(directory: string, name: string): string;
}
