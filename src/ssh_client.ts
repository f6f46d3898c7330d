/** The whole client: what stands on the connection, with SFTP. Here the parts of one rank meet that must not import each other. */

import { concat } from './bytes/bytes.ts';
import { printable } from './bytes/text.ts';
import { Client } from './client/client.ts';
import type { Link } from './client/link.ts';
import type { ExitStatus } from './client/session_channel.ts';
import { SshError } from './errors.ts';
import type { LocalFiles } from './io/local_files.ts';
import type { BytePipe } from './io/pipe.ts';
import { SftpClient } from './sftp/client.ts';
import { checkClientOptions, type SftpClientOptions } from './sftp/client_options.ts';

/** Bytes of stderr that an error about a missing SFTP server quotes. */
const QUOTED_STDERR = 1000;

/** Options of `sftp`. */
export type SftpOptions = SftpClientOptions;

/** A connection that is logged in. */
export class SshClient extends Client {
  readonly #files: LocalFiles | undefined;

  constructor(link: Link, files?: LocalFiles) {
    super(link);
    this.#files = files;
  }

  /**
   * Opens an SFTP session: a channel of its own, which the caller closes. One session carries any number of operations at
   * once, so one is enough for most programs. `sftp-unavailable`: the server has none, or something else answers. With
   * `early` the session is there before the server has answered, and operations reject with that: two or three round trips
   * are saved where the server is known to bear it.
   */
  async sftp(options: SftpOptions = {}): Promise<SftpClient> {
    checkClientOptions(options); // a mistake is told before a channel is opened
    const { signal, early } = options;
    let said: Uint8Array = new Uint8Array(0);
    const stderr = (data: Uint8Array): void => {
      if (said.length < QUOTED_STDERR) said = concat(said, data.subarray(0, QUOTED_STDERR - said.length));
    };
    const { pipe, started, exit } = await this.openSubsystemPipe('sftp', { signal, stderr, early: Boolean(early) });
    const openLane = async (): Promise<BytePipe> =>
      (await this.openSubsystemPipe('sftp', { stderr: () => undefined })).pipe;
    const explain = (error: SshError): SshError => {
      if (error.code === 'request-failed') return unavailable(error.message, error);
      if (error.code !== 'sftp-unavailable' || error.cause !== undefined) return error;
      return unavailable(`${error.message}${remains(exit(), printable(said, QUOTED_STDERR).trim())}`, error);
    };
    const refused = started.catch((error: SshError) => {
      if (error.code === 'request-failed') throw error; // what else ends the channel is told by the pipe
    });
    const { sharesOpenFiles, sftpBeforeVersion, symlinkOrder, sftpExtensions, sftpLimits } = this.quirks;
    const opened = SftpClient.open(
      pipe,
      {
        localFiles: this.#files,
        ...(sharesOpenFiles ? { openLane } : {}),
        ...options,
        symlinkOrder: options.symlinkOrder ?? symlinkOrder,
        extensions: { ...sftpExtensions, ...options.extensions },
        limits: { ...sftpLimits, ...options.limits },
        early: early && sftpBeforeVersion ? 'send' : early,
      },
      { explain, started: refused, reached: this.loggedIn },
    );
    opened.catch((error: SshError) => pipe.close(error)); // options that are wrong end no session by themselves
    return opened;
  }
}

/** What the program that should have been an SFTP server left behind. */
function remains({ code, signal }: ExitStatus, said: string): string {
  const quote = said === '' ? '' : `; stderr says: "${said}"`;
  if (code !== undefined) return `; its program ended with code ${code}${quote}`;
  return signal === undefined ? quote : `; its program was ended by ${signal}${quote}`;
}

function unavailable(message: string, cause: SshError): SshError {
  return new SshError('sftp-unavailable', message, { fault: 'peer', operation: 'init', cause });
}
