/** TCP connections to a listener of Bun as byte pipes. */

import { lookup } from 'node:dns/promises';
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { SshError } from '../errors.ts';
import { onAbort } from '../io/abort.ts';
import type { Accepted, Listener, ListenOptions } from '../io/listen.ts';
import { posixCode } from '../io/posix_code.ts';
import { type BunHandlers, type BunSocket, BunSocketPipe } from './bun_socket.ts';

import { listenFailed } from './listen_error.ts';
import { checkListen, listenerOf, Reception } from './tcp_listener.ts';

/** A socket of a listener, whose handlers are the same for all of them. */
interface AcceptedSocket extends BunSocket {
  /** Set when it is accepted. */
  data: BunSocketPipe;
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
}

interface BunListener {
  readonly port: number;
  /** `true` would end the connections too. */
  stop(all: boolean): void;
}

interface BunApi {
  listen(options: {
    hostname: string;
    port: number;
    allowHalfOpen: boolean;
    socket: BunHandlers<AcceptedSocket>;
  }): BunListener;
}

/** Listens; rejects with `bad-argument`, `aborted` or `listen-failed`. */
export async function listenBun(
  options: ListenOptions,
  accept: (accepted: Accepted) => void,
  failed?: (error: SshError) => void,
): Promise<Listener> {
  const { host, port, signal } = options;
  checkListen(options);
  const bun = (globalThis as unknown as { readonly Bun: BunApi }).Bun;
  const reception = new Reception(accept, failed);
  try {
    // Bun itself does not say that it could not resolve a name, nor to what.
    const { address: hostname } = await orAborted(lookup(host), signal);
    const refuse = (error: unknown): void => reception.fail({ host: hostname, port: listener.port }, error);
    const socket = handlersOf(reception, refuse);
    const listener = bun.listen({ hostname, port, allowHalfOpen: true, socket });
    const stop = async (): Promise<void> => listener.stop(false);
    return listenerOf({ host: hostname, port: listener.port }, stop, signal);
  } catch (error) {
    throw error instanceof SshError ? error : listenFailed({ host, port }, error);
  }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, reject, 'Listening');
    work.then(resolve, reject).finally(forget);
  });
}

/** Leads what comes for any of the sockets to its pipe. */
function handlersOf(reception: Reception, refuse: (error: unknown) => void): BunHandlers<AcceptedSocket> {
  return {
    open(socket) {
      const pipe = new BunSocketPipe();
      socket.data = pipe;
      pipe.handlers.open(socket);
      const full = noDescriptor();
      if (full !== undefined) {
        pipe.close();
        refuse(full);
        return;
      }
      reception.take(pipe, socket.remoteAddress, socket.remotePort);
    },
    data: (socket, bytes) => socket.data.handlers.data(socket, bytes),
    drain: (socket) => socket.data.handlers.drain(socket),
    end: (socket) => socket.data.handlers.end(socket),
    error: (socket, error) => socket.data.handlers.error(socket, error),
    close: (socket, error) => socket.data.handlers.close(socket, error),
  };
}

/**
 * Why no other descriptor can be had, if so. Without one Bun cannot accept, does not say so, and tries again all the time; so
 * the connection that takes the last is given up, which is also what Node does.
 */
function noDescriptor(): unknown {
  try {
    closeSync(openSync(devNull, 'r'));
  } catch (error) {
    if (['EMFILE', 'ENFILE'].includes(posixCode(error))) return error;
  }
  return undefined;
}
