/** puressh for Deno: everything of `puressh`, connections over TCP both ways, and the files of the machine and the user. */

import type { HostConfig } from './config/host_config.ts';
import {
  type ConfigParts,
  type ConfiguredOptions,
  connectOptionsOf,
  type HostConfigOptions,
  hostConfigWith,
  type SshConfigOptions,
  sshConfigWith,
} from './configured.ts';
import { type ClientOptions, connectPipe, connectTcp, type Runtime } from './connect.ts';
import { nodeCrypto } from './crypto/native/node.ts';
import { type TcpForwardingRules, tcpForwardingOver } from './forwarding.ts';
import type { BytePipe } from './io/pipe.ts';
import type { ByteStreams } from './io/streams.ts';
import { type KeyRequest, newKey } from './keys/generate.ts';
import type { PrivateKey } from './keys/key_pair.ts';
import { createServerIn, type ListenServerOptions, listenTcp, type ServerOptions, type SshServer } from './serve.ts';
import type { ForwardHandlers } from './server/handlers.ts';
import type { SshClient } from './ssh_client.ts';
import { configFiles, namedFiles } from './transports/config_files.ts';
import { agent } from './transports/deno_agent.ts';
import { denoFiles } from './transports/deno_files.ts';
import { acceptNew, keyFile, knownHosts } from './transports/deno_home.ts';
import { listenDeno } from './transports/deno_listener.ts';
import { dialDeno } from './transports/deno_socket.ts';
import { localFacts, nodeConfigSystem } from './transports/node_config.ts';

export * from './index.ts';
export { agent } from './transports/deno_agent.ts';
export { denoFiles as localFiles } from './transports/deno_files.ts';
export { acceptNew, forgetHost, keyFile, knownHosts } from './transports/deno_home.ts';
export { directory } from './transports/deno_host_files.ts';
export type { KeyFileOptions } from './transports/key_file.ts';
export type { AcceptNewFileOptions, ForgetHostOptions, KnownHostsFileOptions } from './transports/known_hosts_files.ts';

const runtime: Runtime = { crypto: nodeCrypto, files: denoFiles };

/** Connects to `host` at `port` and logs in. Rejects with an `SshError`: see its codes. */
export function connect(options: ClientOptions): Promise<SshClient> {
  return connectTcp(runtime, dialDeno, options);
}

/**
 * What the user's ssh_config(5) says about a host, as options of `connect`: `connect({ ...(await sshConfig('box')), signal })`. Files
 * that are missing count as empty. Rejects with `bad-config`, which names file and line, `not-supported` for a keyword that
 * cannot be passed over, `bad-local-file`.
 */
export function sshConfig(host: string, options?: SshConfigOptions): Promise<ConfiguredOptions> {
  return sshConfigWith(configParts(), host, options);
}

/**
 * The same as values, for programs that decide themselves; `connectOptions` makes options of `connect` of them. Rejects as `sshConfig`.
 */
export function hostConfig(host: string, options?: HostConfigOptions): Promise<HostConfig> {
  return hostConfigWith(configParts(), host, options);
}

/** Options of `connect` for what `hostConfig` has found; `options` as for it, since servers on the way are looked up now. */
export function connectOptions(config: HostConfig, options: SshConfigOptions = {}): Promise<ConfiguredOptions> {
  return connectOptionsOf(configParts(), config, options);
}

function configParts(): ConfigParts {
  const system = nodeConfigSystem();
  return {
    ...namedFiles(system),
    files: (file) => configFiles(system, file),
    facts: localFacts,
    keyFile,
    agent,
    knownHosts,
    acceptNew,
    crypto: nodeCrypto.auto,
    connect,
  };
}

/** Connects over any byte stream and logs in. It belongs to the client from now on, and is closed when that fails. */
export function connectOver(stream: BytePipe | ByteStreams, options: ClientOptions): Promise<SshClient> {
  return connectPipe(runtime, stream, options);
}

/** A new key of any type, with the cryptography of the runtime. Rejects with `bad-argument` for a type or size that there is not. */
export async function makeKey(request: KeyRequest, comment = ''): Promise<PrivateKey> {
  return await newKey(nodeCrypto.auto, request, comment);
}

/** A server that listens on TCP. Rejects with an `SshError`: `bad-argument`, or `listen-failed`. */
export function listen(options: ListenServerOptions): Promise<SshServer> {
  return listenTcp(runtime, listenDeno, options);
}

/** A server that listens nowhere: `server.serve(stream)` serves one client over any byte stream. Rejects with `bad-argument`. */
export function createServer(options: ServerOptions): Promise<SshServer> {
  return createServerIn(runtime, options);
}

/** `forward` of a server: TCP connections and listeners of this machine, for clients that `rules` allow. */
export function tcpForwarding(rules: TcpForwardingRules): ForwardHandlers {
  return tcpForwardingOver(dialDeno, listenDeno, rules);
}
