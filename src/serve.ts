/** Serving, with what each runtime brings along: its cryptography and its sockets. Here SFTP joins the sessions. */

import { type CryptoChoice, providerOf, type Runtime } from './connect.ts';
import { abortSignal, checkTable, elsewhere, type OptionTable, object } from './core/option_checks.ts';
import { withoutUndefined } from './core/options.ts';
import { SshError, toSshError } from './errors.ts';
import { onAbort } from './io/abort.ts';
import { systemClock } from './io/clock.ts';
import type { Listen, ListenAddress, Listener } from './io/listen.ts';
import type { BytePipe } from './io/pipe.ts';
import { asPipe, type ByteStreams } from './io/streams.ts';
import { isCertificateType } from './keys/certificate.ts';
import { fingerprint } from './keys/public_key.ts';
import type { ServerConnection } from './server/connection.ts';
import {
  type ServerOptions as BareServerOptions,
  type ServerSettings,
  serverSettings,
  serverTable,
} from './server/options.ts';
import { Server } from './server/server.ts';
import type { Program, SessionHandlers } from './server/session.ts';
import { type SftpSource, type SftpSubsystemOptions, sftpSubsystem } from './sftp_subsystem.ts';

/** Options of a server. */
export interface ServerOptions extends BareServerOptions {
  /** As for a client. Default: `auto`. */
  readonly crypto?: CryptoChoice | undefined;
  /** Files to serve, or a function that gives each user theirs: the subsystem `sftp`. Default: none. */
  readonly sftp?: SftpSource | undefined;
  readonly sftpOptions?: SftpSubsystemOptions | undefined;
}

/** Options of a server that listens. */
export interface ListenServerOptions extends ServerOptions {
  /** Default: `127.0.0.1`, this machine only; `::` is every address. */
  readonly host?: string | undefined;
  /** 0: any port that is free, see `address`. */
  readonly port: number;
  /** Ends the server as `close` does. */
  readonly signal?: AbortSignal | undefined;
}

const created: OptionTable<ServerOptions> = {
  ...serverTable,
  crypto: elsewhere,
  sftp: elsewhere,
  sftpOptions: object,
};
const listening: OptionTable<ListenServerOptions> = {
  ...created,
  host: elsewhere,
  port: elsewhere,
  signal: abortSignal,
};

/** A server. */
export class SshServer {
  readonly #server: Server;
  readonly #fingerprints: readonly string[];
  readonly #listener: Listener | undefined;

  constructor(server: Server, fingerprints: readonly string[], listener?: Listener) {
    this.#server = server;
    this.#fingerprints = fingerprints;
    this.#listener = listener;
  }

  /** Where it listens, if it does. */
  get address(): ListenAddress | undefined {
    return this.#listener?.address;
  }

  /** SHA256 fingerprints of the host keys, for those who pin them. */
  get fingerprints(): readonly string[] {
    return this.#fingerprints;
  }

  /** Connections that live, logged in or not. */
  get connections(): ReadonlySet<ServerConnection> {
    return this.#server.connections;
  }

  /**
   * Serves one more client over any byte stream, which is the server's from now on; `remote` is where it comes from, where
   * that is known. Throws `bad-argument` for what is no stream, and `limit` when the server has as many as it takes, or is
   * closed; the stream is closed then.
   */
  serve(
    stream: BytePipe | ByteStreams,
    remote?: { readonly address: string; readonly port: number },
  ): ServerConnection {
    const connection = this.#server.accept(asPipe(stream, 'serve takes'), remote);
    if (connection === undefined) {
      throw new SshError('limit', 'The server is closed, or has as many connections as options.capacity allows');
    }
    return connection;
  }

  /** Takes no more connections and disconnects those that live; resolves when all are gone and the port is free. */
  async close(): Promise<void> {
    await this.#listener?.close();
    await this.#server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** A server that listens nowhere: give it streams. */
export async function createServerIn(runtime: Runtime, options: ServerOptions): Promise<SshServer> {
  if (options) checkTable('createServer', options, created);
  const { server, fingerprints } = await prepare(runtime, options);
  return new SshServer(server, fingerprints);
}

/** A server that listens. */
export async function listenTcp(runtime: Runtime, listen: Listen, options: ListenServerOptions): Promise<SshServer> {
  if (options) checkTable('listen', options, listening);
  const { server, fingerprints, settings } = await prepare(runtime, options);
  const { host = '127.0.0.1', port, signal } = options;
  const accept: Parameters<Listen>[1] = ({ pipe, remote }) => {
    server.accept(pipe, remote);
  };
  const listener = await listen({ host, port, signal }, accept, settings.onError);
  let forget = (): void => {};
  const close = (): Promise<void> => {
    forget();
    return listener.close();
  };
  const ssh = new SshServer(server, fingerprints, { address: listener.address, close });
  if (signal !== undefined) forget = onAbort(signal, () => void ssh.close().catch(() => {}));
  return ssh;
}

interface Prepared {
  readonly server: Server;
  readonly settings: ServerSettings;
  readonly fingerprints: readonly string[];
}

async function prepare(runtime: Runtime, options: ServerOptions): Promise<Prepared> {
  const crypto = providerOf(runtime, options ?? {});
  const checked = await serverSettings(options, crypto);
  const { sftp, sftpOptions } = options;
  const failed = (error: unknown): void => checked.onError(toSshError(error, 'internal', { phase: 'open' }));
  const settings =
    sftp === undefined
      ? checked
      : withSftp(checked, sftpSubsystem(sftp, { onError: failed, ...withoutUndefined(sftpOptions) }));
  const server = new Server({ settings, crypto, clock: systemClock });
  const keys = settings.hostKeys.filter((key) => !isCertificateType(key.keyType));
  return { server, settings, fingerprints: keys.map((key) => fingerprint(crypto, key.publicKey)) };
}

function withSftp(settings: ServerSettings, sftp: Program): ServerSettings {
  const { exec, shell, subsystems } = settings.session;
  // bound, because a class may have made the object that they are methods of
  const session: SessionHandlers = {
    ...(exec === undefined ? {} : { exec: exec.bind(settings.session) }),
    ...(shell === undefined ? {} : { shell: shell.bind(settings.session) }),
    subsystems: { ...subsystems, sftp },
  };
  return { ...settings, session };
}
