/** TCP connections to a listener of Deno as byte pipes. */

import type { SshError } from '../errors.ts';
import type { Accepted, ListenAddress, Listener, ListenOptions } from '../io/listen.ts';
import { posixCode } from '../io/posix_code.ts';

import { type DenoConn, type DenoListener, deno } from './deno_api.ts';
import { acceptedDeno, withCode } from './deno_socket.ts';
import { listenFailed } from './listen_error.ts';
import { checkListen, listenerOf, Reception } from './tcp_listener.ts';

/**
 * Milliseconds before the next try to accept after one has failed. What fails, mostly for want of a descriptor, fails
 * again at once, so that without it the loop would take all of the processor and let nothing else end.
 */
const ACCEPT_PAUSE = 100;

/** Listens; rejects with `bad-argument`, `aborted` or `listen-failed`. */
export async function listenDeno(
  options: ListenOptions,
  accept: (accepted: Accepted) => void,
  failed?: (error: SshError) => void,
): Promise<Listener> {
  const { host, port, signal } = options;
  checkListen(options);
  let listener: DenoListener;
  try {
    listener = deno().listen({ hostname: host, port });
  } catch (error) {
    throw listenFailed({ host, port }, withCode(error));
  }
  const address = { host: listener.addr.hostname, port: listener.addr.port };
  return listenerOf(address, acceptAll(listener, address, new Reception(accept, failed)), signal);
}

/** Accepts until the function that it returns is called, whose promise resolves when the listener is gone. */
export function acceptAll(listener: DenoListener, address: ListenAddress, reception: Reception): () => Promise<void> {
  let stopped = false;
  let goOn = (): void => {};
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ACCEPT_PAUSE);
      goOn = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const loop = async (): Promise<void> => {
    while (!stopped) {
      try {
        const conn = await listener.accept();
        if (stopped) conn.close();
        else take(conn, reception);
      } catch (error) {
        // A peer that has gone meanwhile took its place in the queue with it.
        if (stopped || posixCode(error) === 'ECONNABORTED') continue;
        reception.fail(address, error);
        await pause();
      }
    }
  };
  const ended = loop();
  return () => {
    stopped = true;
    listener.close();
    goOn();
    return ended;
  };
}

function take(conn: DenoConn, reception: Reception): void {
  const { hostname, port } = conn.remoteAddr;
  reception.take(acceptedDeno(conn), hostname, port);
}
