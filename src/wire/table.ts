/** The one table of messages by number. Numbers 30–49 and 60–79 are known by range only: the running method owns them. */

import { connection } from './connection.ts';
import type { Category, Row } from './message.ts';
import { transport } from './transport.ts';
import { userauth } from './userauth.ts';

const byNumber: (Row | undefined)[] = new Array(256).fill(undefined);
for (const group of [transport, userauth, connection]) {
  for (const row of Object.values(group)) byNumber[row.number] = row;
}

/** The row of a message whose number means the same everywhere; `undefined` for any other. */
export function rowOf(number: number): Row | undefined {
  return byNumber[number];
}

/**
 * The category of a message number as the given side receives it; `undefined` for numbers that nothing assigns.
 * 60–79 belong to the running authentication method (RFC 4252 §6): what a client receives there is a reply.
 */
export function categoryOf(number: number, receiver: 'client' | 'server'): Category | undefined {
  if (number >= 30 && number <= 49) return 'exchange';
  if (number >= 60 && number <= 79) return receiver === 'client' ? 'auth-reply' : 'auth-request';
  return byNumber[number]?.category;
}

/** Name of a message for errors and traces, such as `SSH_MSG_KEXINIT` or `message 200`. */
export function messageName(number: number): string {
  return byNumber[number]?.name ?? `message ${number}`;
}
