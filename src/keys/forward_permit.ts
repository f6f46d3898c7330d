/**
 * `permitopen` and `permitlisten` of authorized_keys (sshd(8)): which forwardings a key allows. Decides as OpenSSH does.
 * Must not know names of services: ports are numbers.
 */

import { printable } from '../bytes/text.ts';
import { lowerAscii, matchPattern } from './host_pattern.ts';

/** A destination, or a place to listen at. */
export interface ForwardPermit {
  /** Without brackets. `*` is any host; other wildcards count for `permitlisten` only. */
  readonly host: string;
  readonly port: number | '*';
}

/** The parts of key options that are about forwarding. */
export interface ForwardOptions {
  readonly portForwarding: boolean;
  readonly permitOpen?: readonly ForwardPermit[];
  readonly permitListen?: readonly ForwardPermit[];
}

/** The permit `host:port` or `[host]:port`, with `bare` also `port` alone; otherwise the reason why it is none. */
export function parseForwardPermit(value: string, bare: boolean): ForwardPermit | string {
  const text = bare && !value.includes(':') ? `*:${value}` : value;
  const colon = text.startsWith('[') ? text.indexOf(']') + 1 : text.indexOf(':');
  const port = parsePort(text.slice(colon + 1));
  if (colon < 0 || text[colon] !== ':' || port === undefined) {
    return `'${printable(value, 60)}' is not ${bare ? '[host:]port' : 'host:port'} with a port from 1 to 65535 or *`;
  }
  return { host: text.startsWith('[') ? text.slice(1, colon - 1) : text.slice(0, colon), port };
}

function parsePort(text: string): number | '*' | undefined {
  if (text === '*') return '*';
  const port = /^\d+$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65535 ? port : undefined;
}

/** Whether a connection to a host and port may be opened. Hosts are compared as they are, upper and lower case too. */
export function permitsOpen(options: ForwardOptions, host: string, port: number): boolean {
  if (!options.portForwarding) return false;
  if (options.permitOpen === undefined) return true;
  return options.permitOpen.some(
    (permit) => (permit.port === '*' || permit.port === port) && (permit.host === '*' || permit.host === host),
  );
}

/**
 * Whether a listener may be opened. `host` is what the client asks for; empty means all addresses (RFC 4254 §7.1). As in
 * OpenSSH its letters count as lower case, those of a permit as they are.
 */
export function permitsListen(options: ForwardOptions, host: string, port: number): boolean {
  if (!options.portForwarding) return false;
  if (options.permitListen === undefined) return true;
  const name = lowerAscii(host);
  return options.permitListen.some(
    (permit) => (permit.port === '*' || permit.port === port) && matchPattern(name, permit.host),
  );
}
