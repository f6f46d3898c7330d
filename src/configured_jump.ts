/**
 * ProxyJump: the byte stream to a host through other SSH servers. Each is connected to with its own configuration, and through
 * those before it; the tunnel through the last one is the stream. Ends of it end them all.
 */

import { printable } from './bytes/text.ts';
import type { HostConfig, JumpHost } from './config/host_config.ts';
import type { ClientOptions } from './connect.ts';
import { SshError } from './errors.ts';
import type { Dial } from './io/dial.ts';
import type { SshClient } from './ssh_client.ts';

/** Servers that one connection may go through; each is a round trip more for every byte. */
export const MAX_JUMPS = 8;

/** Whoever trusts the last host need not trust those before it. */
const JUMP_TRUST =
  '; for a server on the way that is said in its part of the configuration: a line in its known_hosts file, or StrictHostKeyChecking accept-new';

/** What connecting to a server on the way takes. */
export interface JumpParts {
  /** The configuration of such a server; `options` are lines that come before the files. */
  configOf(host: string, user: string | undefined, options: readonly string[]): Promise<HostConfig>;
  /** What to connect with; `trail` are the servers that the connection is for. */
  optionsOf(config: HostConfig, trail: readonly string[]): Promise<ClientOptions>;
  connect(options: ClientOptions): Promise<SshClient>;
}

/**
 * By which loops are found: a server as it was asked for. Two of them may have one address, each in a network of its own, as
 * routers have that stand behind each other.
 */
export function stationName({ user, originalHost, port }: HostConfig): string {
  return `${user}@${originalHost}:${port}`;
}

/** How to dial through `jumps`, the last of which opens the tunnel; `trail`: the servers that wait for it. */
export function dialThrough(jumps: readonly JumpHost[], trail: readonly string[], parts: JumpParts): Dial {
  const before = jumps.slice(0, -1);
  const last = jumps.at(-1) as JumpHost;
  return async ({ host, port, signal }) => {
    const options = [
      ...(last.port === undefined ? [] : [`Port=${last.port}`]),
      ...(before.length === 0 ? [] : [`ProxyJump=${quoted(before.map(written).join(','))}`]),
    ];
    const config = await parts.configOf(last.host, last.user, options);
    const name = stationName(config);
    if (trail.includes(name)) {
      throw new SshError('bad-config', `ProxyJump goes in a circle: ${shown([...trail, name])}`);
    }
    if (trail.length > MAX_JUMPS) {
      throw new SshError('bad-config', `ProxyJump goes through more than ${MAX_JUMPS} servers: ${shown(trail)}`);
    }
    let ssh: SshClient | undefined;
    try {
      const connected = await parts.connect({ ...(await parts.optionsOf(config, [...trail, name])), signal });
      ssh = connected;
      return await connected.openTunnel(host, port, { signal, onClosed: () => void connected.close() });
    } catch (error) {
      await ssh?.close();
      throw through(error, `${config.user}@${config.host}:${config.port}`);
    }
  };
}

/** Which server on the way it was. */
function through(error: unknown, name: string): unknown {
  if (!(error instanceof SshError) || error.code === 'bad-config' || error.code === 'aborted') return error;
  const { code, fault, phase } = error;
  const isTold = code !== 'host-key-unknown' || error.message.endsWith(JUMP_TRUST);
  const advice = isTold ? '' : JUMP_TRUST;
  return new SshError(code, `Through ${printable(name)}: ${error.message}${advice}`, {
    fault,
    ...(phase === undefined ? {} : { phase }),
    cause: error,
  });
}

/** As one argument of a line, with nothing in it that stands for something else. */
function quoted(text: string): string {
  return `"${text.replaceAll('%', '%%').replace(/[\\"]/g, '\\$&')}"`;
}

/** What is absent is left to the configuration of that server. */
function written({ user, host, port }: JumpHost): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `${user === undefined ? '' : `${user}@`}${name}${port === undefined ? '' : `:${port}`}`;
}

function shown(names: readonly string[]): string {
  return names.map((name) => printable(name, 80)).join(', ');
}
