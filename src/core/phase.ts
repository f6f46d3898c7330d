/**
 * What a message means at the moment it arrives: one table of phase × category, and the role. Strict key exchange is a column
 * of it. Every rule about which message may come when stands here; nothing else decides that.
 */

import type { Category } from '../wire/message.ts';
import { categoryOf } from '../wire/table.ts';
import type { Role } from './events.ts';

/**
 * `kex`: until the peer's first NEWKEYS; `strict-kex`: the same once both sides announced strict key exchange;
 * `service`: until the authentication service is agreed; `auth`: until USERAUTH_SUCCESS; `open`: after;
 * `early-rekey` and `rekey`: from a later KEXINIT of the peer to its NEWKEYS, before USERAUTH_SUCCESS and after it.
 */
export type Phase = 'kex' | 'strict-kex' | 'service' | 'auth' | 'open' | 'early-rekey' | 'rekey';

/** `unimplemented`: answer UNIMPLEMENTED and go on (RFC 4253 §11.4). `disconnect`: PROTOCOL_ERROR. */
export type Verdict = 'accept' | 'ignore' | 'unimplemented' | 'disconnect';

const A = 'accept';
const I = 'ignore';
const U = 'unimplemented';
const D = 'disconnect';

/** Columns of the table. */
const columns: readonly Phase[] = ['kex', 'strict-kex', 'service', 'auth', 'open', 'early-rekey', 'rekey'];

const table: Readonly<Record<Category | 'unknown', readonly Verdict[]>> = {
  // RFC 4253 §11.1: may come at any time
  disconnect: [A, A, A, A, A, A, A],
  // RFC 4253 §11.2–11.4; strict key exchange forbids them until NEWKEYS (OpenSSH PROTOCOL §1.9)
  control: [A, D, A, A, A, A, A],
  // RFC 4253 §7.1: no service messages during key exchange; paramiko asks again before each attempt to log in
  'service-request': [D, D, A, A, D, D, D],
  'service-accept': [D, D, A, D, D, D, D],
  // RFC 8308 §2.4: after NEWKEYS, or before USERAUTH_SUCCESS; later ones do no harm
  'ext-info': [D, D, A, A, I, D, D],
  // a second one during an exchange: RFC 4253 §7.1; the initial one is judged by the key exchange itself
  kexinit: [A, A, A, A, A, D, D],
  newkeys: [A, A, D, D, D, A, A],
  exchange: [A, A, D, D, D, A, A],
  // RFC 4252 §5.3: requests after success are silently ignored
  'auth-request': [D, D, D, A, I, D, D],
  // some devices repeat a FAILURE after SUCCESS; nothing waits for it
  'auth-reply': [D, D, D, A, I, D, D],
  // RFC 4253 §7.1 forbids them after KEXINIT, but servers (asyncssh 2.10) go on sending data; as OpenSSH, we take it
  connection: [D, D, D, D, A, D, A],
  // OpenSSH PROTOCOL §1.8
  ping: [D, D, A, A, A, D, D],
  // RFC 4253 §11.4
  unknown: [U, D, U, U, U, U, U],
};

/** Categories that only the other role ever receives. */
const wrongWay: Readonly<Record<Role, readonly (Category | 'unknown')[]>> = {
  client: ['service-request', 'auth-request'],
  server: ['service-accept', 'auth-reply'],
};

/** What to do with message `number` in `phase`, for the side in `role` that received it. */
export function verdictOn(phase: Phase, role: Role, number: number): Verdict {
  const category = categoryOf(number, role) ?? 'unknown';
  if (wrongWay[role].includes(category)) return 'disconnect';
  return table[category][columns.indexOf(phase)] as Verdict;
}
