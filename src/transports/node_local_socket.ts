/**
 * A Unix socket, or a named pipe of Windows, of `node:net` as a byte pipe: how an agent is reached. Deno and Bun have `node:net` for
 * both, too.
 */

import { connect, type Socket } from 'node:net';
import type { AgentPipe } from '../agent/line.ts';
import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { posixCode } from '../io/posix_code.ts';
import { acceptedNode } from './node_socket.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'nothing is there',
  ECONNREFUSED: 'nobody listens there',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTSOCK: 'it is no socket',
  ENOTDIR: 'a part of the path is not a directory',
};

/** Connects to the socket or pipe at `path`; rejects with `connect-failed`. */
export function dialLocalNode(path: string): Promise<AgentPipe> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    socket.pause(); // until the pipe is opened
    const failed = (error: unknown): void => {
      socket.destroy();
      const why = reasons[posixCode(error)] ?? printable(error instanceof Error ? error.message : String(error));
      reject(new SshError('connect-failed', `Cannot connect to ${printable(path)}: ${why}`, { cause: error }));
    };
    socket.once('error', failed);
    socket.once('connect', () => {
      const pipe = acceptedNode(socket); // which listens to errors from now on
      socket.off('error', failed);
      resolve(withKeepAlive(pipe, socket));
    });
  });
}

function withKeepAlive(pipe: AgentPipe, socket: Socket): AgentPipe {
  return Object.assign(pipe, {
    keepAlive: (on: boolean): void => {
      if (on) socket.ref();
      else socket.unref();
    },
  });
}
