/** Failures of sockets in words that say what to do; the same for every runtime, which all name them as POSIX does. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { posixCode } from '../io/posix_code.ts';

/** How messages name an address. */
export function addressName(host: string, port: number): string {
  return `${host.includes(':') ? `[${printable(host)}]` : printable(host)}:${port}`;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; check the port, and that the server runs',
  ENOTFOUND: 'the name cannot be resolved; check its spelling, and the name server',
  EAI_AGAIN: 'the name cannot be resolved just now; check the network, and try again',
  ETIMEDOUT: 'no answer; check the address, and whether a firewall drops the packets',
  EHOSTUNREACH: 'there is no route to the host; check the address and the network',
  ENETUNREACH: 'there is no route to the network; check the address and the network',
  ECONNRESET: 'the connection was reset before it was made; something in between may refuse it',
  EACCES: 'the system does not permit it; a firewall on this machine may be in the way',
  EPERM: 'the system does not permit it; a firewall on this machine may be in the way',
};

/** The error for a connection that could not be made. */
export function connectFailed(host: string, port: number, error: unknown): SshError {
  const code = posixCode(error);
  const reason = reasons[code] ?? printable(error instanceof Error ? error.message : String(error));
  return new SshError('connect-failed', `Cannot connect to ${addressName(host, port)}: ${reason}`, {
    fault: 'network',
    phase: 'connect',
    cause: error,
  });
}

/** The error for a connection that was not made in time. */
export function connectTimeout(host: string, port: number, milliseconds: number): SshError {
  const message = `No connection to ${addressName(host, port)} within ${milliseconds} ms (timeouts.connect): ${reasons.ETIMEDOUT}`;
  return new SshError('timeout', message, { fault: 'network', phase: 'connect' });
}

/** The error for a connection that failed later. */
export function connectionLost(error: unknown): SshError {
  const code = posixCode(error);
  const message = code === 'ECONNRESET' ? 'the peer reset the connection' : code === 'EPIPE' ? 'the peer is gone' : '';
  return new SshError('connection-lost', message || printable(error instanceof Error ? error.message : String(error)), {
    fault: 'network',
    cause: error,
  });
}
