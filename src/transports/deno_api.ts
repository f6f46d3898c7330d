/** The part of `Deno` that puressh uses, as types of our own: the library compiles without those of any runtime. */

export interface DenoConn {
  readonly remoteAddr: { readonly hostname: string; readonly port: number };
  /** `null` at the end of the stream. */
  read(target: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<number>;
  closeWrite(): Promise<void>;
  close(): void;
  setNoDelay(on: boolean): void;
}

export interface DenoListener {
  readonly addr: { readonly hostname: string; readonly port: number };
  accept(): Promise<DenoConn>;
  close(): void;
}

export interface DenoFileInfo {
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  readonly isSymlink: boolean;
  readonly size: number;
  readonly mode: number | null;
  readonly mtime: Date | null;
  readonly atime: Date | null;
  readonly dev: number;
  readonly ino: number | null;
}

/** What `readDir` yields; a link is neither file nor directory. */
export type DenoEntry = Pick<DenoFileInfo, 'isFile' | 'isDirectory' | 'isSymlink'> & { readonly name: string };

export interface DenoFile {
  read(target: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<number>;
  /** `whence` 0: from the start. */
  seekSync(offset: number, whence: 0 | 2): number;
  stat(): Promise<DenoFileInfo>;
  truncate(size: number): Promise<void>;
  sync(): Promise<void>;
  /** Seconds since 1970. */
  utime(accessed: number, modified: number): Promise<void>;
  close(): void;
}

export interface DenoOpenOptions {
  readonly read?: boolean;
  readonly write?: boolean;
  readonly append?: boolean;
  readonly create?: boolean;
  readonly createNew?: boolean;
  readonly truncate?: boolean;
  readonly mode?: number;
}

export interface DenoApi {
  readonly build: { readonly os: string };
  readonly env: { get(name: string): string | undefined };
  connect(options: { hostname: string; port: number; signal?: AbortSignal }): Promise<DenoConn>;
  listen(options: { hostname: string; port: number }): DenoListener;
  open(path: string, options: DenoOpenOptions): Promise<DenoFile>;
  readFile(path: string): Promise<Uint8Array>;
  readDir(path: string): AsyncIterable<DenoEntry>;
  readLink(path: string): Promise<string>;
  symlink(target: string, path: string): Promise<void>;
  /** Seconds since 1970; links are followed. */
  utime(path: string, accessed: number, modified: number): Promise<void>;
  mkdir(path: string, options: { recursive: boolean; mode: number }): Promise<void>;
  stat(path: string): Promise<DenoFileInfo>;
  lstat(path: string): Promise<DenoFileInfo>;
  realPath(path: string): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  remove(path: string): Promise<void>;
}

/** `Deno` itself; looked up when it is used, so that this file loads anywhere. */
export function deno(): DenoApi {
  return (globalThis as unknown as { readonly Deno: DenoApi }).Deno;
}
