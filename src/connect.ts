/** Connecting, with what each runtime brings along: its cryptography, its sockets, its files. */

import { discardFor, Link } from './client/link.ts';
import { type ConnectOptions, type Settings, settingsOf } from './client/options.ts';
import type { CryptoProvider } from './crypto/provider.ts';
import { SshError } from './errors.ts';
import { LONGEST_DELAY, systemClock } from './io/clock.ts';
import { CONNECT_TIMEOUT, type Dial } from './io/dial.ts';
import type { LocalFiles } from './io/local_files.ts';
import type { BytePipe } from './io/pipe.ts';
import { asPipe, type ByteStreams } from './io/streams.ts';
import { SshClient } from './ssh_client.ts';

/** Options of a client. */
export interface ClientOptions extends ConnectOptions {
  /** Default: `auto`. */
  readonly crypto?: CryptoChoice | undefined;
  /**
   * Makes the byte stream to the server in place of a TCP connection of the runtime, such as one through another server:
   * `({ host, port }) => other.openTunnel(host, port)`. `connectOver`, which is given a stream, has no use for it.
   */
  readonly dial?: Dial | undefined;
}

/**
 * Whose cryptography: `auto` takes the runtime's own where it is there and proves right, `pure` is plain JavaScript. The
 * results are the same.
 */
export type CryptoChoice = 'auto' | 'pure' | CryptoProvider;

/** What a runtime brings along. */
export interface Runtime {
  /** What `crypto: 'auto'` and `crypto: 'pure'` mean. */
  readonly crypto: { readonly auto: CryptoProvider; readonly pure: CryptoProvider };
  /** Local files for SFTP transfers by path. */
  readonly files?: LocalFiles;
}

/** Connects over a TCP connection of the runtime. */
export async function connectTcp(runtime: Runtime, dial: Dial, options: ClientOptions): Promise<SshClient> {
  const { host, port, signal } = settingsOf(options);
  providerOf(runtime, options); // a mistake is told before anything is done
  const timeout = Math.min(options.timeouts?.connect ?? CONNECT_TIMEOUT, LONGEST_DELAY);
  const pipe = await (options.dial ?? dial)({ host, port, timeout, signal });
  return connectPipe(runtime, pipe, options);
}

/** Connects over any byte stream, which belongs to the client from now on. */
export async function connectPipe(
  runtime: Runtime,
  stream: BytePipe | ByteStreams,
  options: ClientOptions,
): Promise<SshClient> {
  const pipe = asPipe(stream, 'connectOver takes');
  let settings: Settings;
  let crypto: CryptoProvider;
  try {
    settings = settingsOf(options);
    crypto = providerOf(runtime, options);
  } catch (error) {
    throw discardFor(pipe, error);
  }
  const link = await Link.establish({ pipe, settings, crypto, clock: systemClock });
  return new SshClient(link, runtime.files);
}

/** Throws `bad-argument`. */
export function providerOf(
  runtime: Runtime,
  { crypto = 'auto' }: { readonly crypto?: CryptoChoice | undefined },
): CryptoProvider {
  if (crypto === 'auto' || crypto === 'pure') return runtime.crypto[crypto];
  if (typeof crypto?.random === 'function') return crypto;
  throw new SshError('bad-argument', "crypto must be 'auto', 'pure' or a provider");
}
