/** A TCP connection that the server makes for us, as a byte pipe: a channel of kind `direct-tcpip` (RFC 4254 §7.2). */

import { encodeFields } from '../bytes/schema.ts';
import { requireInteger, requireText } from '../core/options.ts';
import type { BytePipe } from '../io/pipe.ts';
import { channelOpen } from '../wire/requests.ts';
import type { Link } from './link.ts';

/** Options of `openTunnel`. */
export interface TunnelOptions {
  /** Gives up waiting for the server; has no effect once the tunnel is open. */
  readonly signal?: AbortSignal | undefined;
  /** Called once when the tunnel has ended in both directions. */
  readonly onClosed?: (() => void) | undefined;
}

export async function openTunnel(
  link: Link,
  host: string,
  port: number,
  options: TunnelOptions = {},
): Promise<BytePipe> {
  requireText('host', host);
  requireInteger('port', port, 1, 65535);
  // Nobody connected to us to be the origin; servers only log it.
  const body = encodeFields(channelOpen['direct-tcpip'], { host, port, originHost: '127.0.0.1', originPort: 0 });
  const { signal, onClosed } = options;
  const extras = onClosed === undefined ? {} : { freed: onClosed };
  return await link.openChannel('direct-tcpip', { body, closesItself: true, signal, extras });
}
