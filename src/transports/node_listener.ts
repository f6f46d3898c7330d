/** TCP connections to a server of `node:net` as byte pipes. */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { SshError } from '../errors.ts';
import { onAbort } from '../io/abort.ts';
import type { Accepted, ListenAddress, Listener, ListenOptions } from '../io/listen.ts';
import { listenFailed } from './listen_error.ts';
import { acceptedNode } from './node_socket.ts';
import { checkListen, listenerOf, Reception } from './tcp_listener.ts';

/** Listens; rejects with `bad-argument`, `aborted` or `listen-failed`. */
export function listenNode(
  options: ListenOptions,
  accept: (accepted: Accepted) => void,
  failed?: (error: SshError) => void,
): Promise<Listener> {
  const { host, port, signal } = options;
  return new Promise((resolve, reject) => {
    checkListen(options);
    const reception = new Reception(accept, failed);
    let address: ListenAddress | undefined;
    let forget = (): void => {};
    const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket: Socket) =>
      reception.take(acceptedNode(socket), socket.remoteAddress, socket.remotePort),
    );
    // It calls back only when the last connection has ended; the port itself is free with the next turn.
    const stop = (): Promise<void> => {
      server.close();
      return new Promise((stopped) => setImmediate(stopped));
    };
    server.on('error', (error) => {
      if (address !== undefined) {
        reception.fail(address, error);
        return;
      }
      forget();
      reject(listenFailed({ host, port }, error));
    });
    server.on('listening', () => {
      forget();
      if (signal?.aborted) {
        server.close(); // the signal fired while the name was resolved, when there was nothing to close
        return;
      }
      const bound = server.address() as AddressInfo;
      address = { host: bound.address, port: bound.port };
      resolve(listenerOf(address, stop, signal));
    });
    if (signal !== undefined) forget = onAbort(signal, reject, 'Listening');
    server.listen({ host, port });
  });
}
