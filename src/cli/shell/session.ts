/** What the commands of a shell share: the session, where it stands on either side, and where output goes. */

import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { printable } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import type { SftpClient } from '../../sftp/client.ts';
import type { RemotePath } from '../../sftp/options.ts';
import { joinPath } from '../../sftp/path.ts';
import { fileKind } from '../../sftp/proto/attrs.ts';
import type { Moving } from '../move.ts';
import type { ProgressMeter } from '../progress.ts';
import type { MoveChoice } from '../transfer_args.ts';

/** Where a shell writes, and what only a person has. */
export interface ShellOutput {
  /** Writes to standard output; resolves when there is room for more. */
  write(data: string | Uint8Array): Promise<void>;
  /** Writes a line to standard error. */
  say(line: string): void;
  /** Characters a line, where output goes to a terminal; absent elsewhere. */
  readonly columns?: number | undefined;
  /** A display for a transfer; absent where nobody watches. */
  meter?(name: string): ProgressMeter | undefined;
  /** Runs a line of the local shell, an empty one a whole shell; absent where no person is there. */
  local?(line: string, directory: string): Promise<void>;
}

/** A session with two directories. */
export class Shell {
  readonly sftp: SftpClient;
  readonly output: ShellOutput;
  /** Where the session started. */
  readonly home: RemotePath;
  directory: RemotePath;
  localDirectory: string;
  /** Set by the command that ends the shell. */
  isOver = false;

  private constructor(sftp: SftpClient, output: ShellOutput, home: RemotePath, localDirectory: string) {
    this.sftp = sftp;
    this.output = output;
    this.home = home;
    this.directory = home;
    this.localDirectory = localDirectory;
  }

  static async open(
    sftp: SftpClient,
    output: ShellOutput,
    localDirectory: string,
    signal?: AbortSignal,
  ): Promise<Shell> {
    return new Shell(sftp, output, await sftp.realpath('.', { signal }), localDirectory);
  }

  /** A remote path as the server takes it: `~` is where the session started, all else begins where the shell stands. */
  remote(text: string): RemotePath {
    const [, rest] = /^~(?:$|\/+(.*)$)/s.exec(text) ?? [];
    if (text.startsWith('~') && (text.length === 1 || text[1] === '/')) {
      return rest === undefined || rest === '' ? this.home : joinPath(this.home, rest);
    }
    if (text.startsWith('/')) return text;
    return text === '' ? this.directory : joinPath(this.directory, text);
  }

  /** A path without the directory that the shell stands in, for showing. */
  relative(path: RemotePath): RemotePath {
    const start = joinPath(this.directory, '');
    if (typeof path !== 'string' || typeof start !== 'string') return path;
    return path.startsWith(start) && path !== start ? path.slice(start.length) : path;
  }

  /** A local path as the platform takes it; `~` is the user's home. */
  local(text: string): string {
    if (text === '~' || text.startsWith('~/')) return join(homedir(), text.slice(1));
    return resolve(this.localDirectory, text);
  }

  /** Goes to a remote directory. */
  async enter(path: RemotePath, signal: AbortSignal): Promise<void> {
    const [real, attrs] = await Promise.all([this.sftp.realpath(path, { signal }), this.sftp.stat(path, { signal })]);
    const kind = fileKind(attrs);
    if (kind !== 'directory' && kind !== 'unknown') {
      throw new SshError('sftp-status', `${shownPath(path)} is no directory`, { fault: 'peer' });
    }
    this.directory = real;
  }

  /** What transfers need. */
  moving(choice: MoveChoice, name: string, signal: AbortSignal): Moving {
    const meter = this.output.meter?.(name);
    return { sftp: this.sftp, signal, choice, meter, local: (path) => this.local(path) };
  }

  async line(text: string): Promise<void> {
    await this.output.write(`${text}\n`);
  }

  async lines(texts: readonly string[]): Promise<void> {
    if (texts.length > 0) await this.output.write(texts.map((text) => `${text}\n`).join(''));
  }
}

const MAX_PATH = 4096;

/** A remote path as it may be shown. */
export function shownPath(path: RemotePath): string {
  return printable(path, MAX_PATH);
}
