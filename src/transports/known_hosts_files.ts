/** The host key policies that stand on the user's files, on whatever file system a runtime has. */

import type { HostKeyPolicy } from '../client/host_key.ts';
import {
  type AcceptNewOptions,
  acceptNewIn,
  type KnownHostsOptions,
  knownHostsIn,
} from '../client/known_hosts_policy.ts';
import { checkTable, integer, type OptionTable, text } from '../core/option_checks.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { removeHost } from '../keys/known_hosts_edit.ts';
import type { Krl } from '../keys/krl.ts';
import { SSH_PORT } from '../wire/numbers.ts';
import { fileError } from './file_error.ts';
import { expandHome, type HomeSystem, textFile } from './home.ts';

/** Where OpenSSH keeps the keys of hosts. */
export const KNOWN_HOSTS = '~/.ssh/known_hosts';

/** Options of `knownHosts`. */
export interface KnownHostsFileOptions extends Omit<KnownHostsOptions, 'revoked'> {
  /**
   * Keys that are revoked, whatever known_hosts says: a key revocation list of `ssh-keygen -k`, or a file that is one or that has a
   * public key in each line. No connection is made where that file is missing or damaged.
   */
  readonly revoked?: Krl | string | undefined;
}

/** Options of `acceptNew`. */
export interface AcceptNewFileOptions
  extends Omit<AcceptNewOptions, 'revoked'>,
    Pick<KnownHostsFileOptions, 'revoked'> {}

export function knownHostsOf(
  system: HomeSystem,
  paths: string | readonly string[],
  options: KnownHostsFileOptions = {},
): HostKeyPolicy {
  const files = (typeof paths === 'string' ? [paths] : paths).map((path) => textFile(system, path));
  return knownHostsIn(files, withRevoked(system, options));
}

export function acceptNewOf(system: HomeSystem, path: string, options: AcceptNewFileOptions = {}): HostKeyPolicy {
  return acceptNewIn(textFile(system, path), withRevoked(system, options));
}

function withRevoked<T extends { readonly revoked?: Krl | string | undefined }>(
  system: HomeSystem,
  options: T,
): Omit<T, 'revoked'> & Pick<KnownHostsOptions, 'revoked'> {
  const { revoked, ...others } = options;
  if (typeof revoked !== 'string') return { ...others, revoked };
  const name = expandHome(revoked, system.home);
  const read = (): Promise<Uint8Array> =>
    system.read(name).catch((error) => {
      throw fileError('read the revoked keys in', name, error);
    });
  return { ...others, revoked: { name, read } };
}

/** Options of `forgetHost`. */
export interface ForgetHostOptions {
  /** Default: 22. */
  readonly port?: number | undefined;
  /** The known_hosts file. Default: `~/.ssh/known_hosts`. */
  readonly path?: string | undefined;
}

const forgetTable: OptionTable<ForgetHostOptions> = { port: integer(1, 65_535), path: text };

/** How many lines have gone. */
export async function forgetHostOf(
  system: HomeSystem,
  crypto: CryptoProvider,
  host: string,
  options: ForgetHostOptions = {},
): Promise<number> {
  checkTable('forgetHost', options, forgetTable);
  const { port = SSH_PORT, path = KNOWN_HOSTS } = options;
  let count = 0;
  await textFile(system, path).edit?.((text) => {
    const found = removeHost(crypto, text ?? '', host, port);
    count = found.removed.length;
    return count === 0 ? undefined : found.text;
  });
  return count;
}
