/** Failures of listeners in words that say what to do; the same for every runtime, which all name them as POSIX does. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { ListenAddress } from '../io/listen.ts';
import { posixCode } from '../io/posix_code.ts';
import { addressName } from './connect_error.ts';

const DESCRIPTORS =
  'this program has too many files and connections open; close some, or raise the limit of the system';

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use; choose another, or end what listens there',
  EADDRNOTAVAIL: 'this machine has no such address; give one that it has, or 0.0.0.0 or :: for all',
  EAFNOSUPPORT: 'the system has no addresses of this kind; IPv6 may be switched off',
  EACCES: 'the system does not permit it; ports below 1024 may need more rights, or choose a higher one',
  EPERM: 'the system does not permit it; ports below 1024 may need more rights, or choose a higher one',
  EINVAL: 'the address cannot be used like this; one that starts with fe80 needs its interface, as in fe80::1%eth0',
  ENOTFOUND: 'the name cannot be resolved; check its spelling, or give an address',
  EAI_AGAIN: 'the name cannot be resolved just now; check the network, or give an address',
  EMFILE: DESCRIPTORS,
  ENFILE: DESCRIPTORS,
};

/** The error for a place that cannot be listened on. */
export function listenFailed(address: ListenAddress, error: unknown): SshError {
  return failure('Cannot listen on', 'listen', address, error);
}

/** The error for a connection that could not be accepted. */
export function acceptFailed(address: ListenAddress, error: unknown): SshError {
  return failure('Cannot accept a connection on', 'accept', address, error);
}

function failure(what: string, phase: string, { host, port }: ListenAddress, error: unknown): SshError {
  const reason = reasons[posixCode(error)] ?? printable(error instanceof Error ? error.message : String(error));
  return new SshError('listen-failed', `${what} ${addressName(host, port)}: ${reason}`, { phase, cause: error });
}
