/** SFTP as a program on a session: here the parts of one rank meet that must not import each other. */

import { badArgument, requireKnown } from './core/options.ts';
import type { MaybePromise } from './crypto/provider.ts';
import type { Login } from './server/handlers.ts';
import type { Program } from './server/session.ts';
import type { SftpBackend } from './sftp/server/backend.ts';
import { serverLimits } from './sftp/server/limits.ts';
import { type SftpServerOptions, serveSftp } from './sftp/server/server.ts';

/** Files for every user alike, or for each their own. */
export type SftpSource = SftpBackend | ((login: Login) => MaybePromise<SftpBackend>);

/** Options of the subsystem. */
export type SftpSubsystemOptions = Omit<SftpServerOptions, 'backend' | 'username' | 'signal'>;

const known: Required<{ [K in keyof SftpSubsystemOptions]: true }> = {
  readOnly: true,
  home: true,
  limits: true,
  onError: true,
  now: true,
  clock: true,
  random: true,
};

/** Serves files: the program for the subsystem `sftp`. Throws `bad-argument`. */
export function sftpSubsystem(source: SftpSource, options: SftpSubsystemOptions = {}): Program {
  if (typeof source !== 'function' && (typeof source !== 'object' || source === null)) {
    throw badArgument(
      `sftp is a backend, such as directory('/srv'), or a function that gives one, not ${typeof source}`,
    );
  }
  // misspelt, `readOnly` would leave everything writable
  requireKnown('sftpOptions', options, known);
  serverLimits(options.limits);
  return async (session) => {
    const { pipe, login, signal } = session;
    const backend = typeof source === 'function' ? await source(login) : source;
    await serveSftp(pipe, { ...options, backend, username: login.username, signal });
  };
}
