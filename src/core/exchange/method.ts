/**
 * What a method of key exchange is to `kex.ts`: it says and hears the messages 30–49 of one exchange, and ends with a shared secret
 * and what both sides hash. Negotiation, host keys, the hash itself and the switch to new keys are not its.
 */

import { copy } from '../../bytes/bytes.ts';
import type { CryptoProvider, RandomSource } from '../../crypto/provider.ts';
import { protocolError, SshError, toSshError } from '../../errors.ts';
import type { Row } from '../../wire/message.ts';
import { DisconnectReason } from '../../wire/numbers.ts';
import type { Context } from '../events.ts';
import type { ExchangeInputs } from '../exchange_hash.ts';

/** What the two sides have told each other, as it is hashed. */
export type ExchangeValues = Pick<ExchangeInputs, 'group' | 'clientPublic' | 'serverPublic'>;

interface Ended {
  readonly values: ExchangeValues;
  /** In its full width. Its owner now is who hears of it. */
  readonly shared: Uint8Array;
}

/** How a method ends at a client. */
export interface ClientEnd extends Ended {
  readonly hostKey: Uint8Array;
  readonly signature: Uint8Array;
}

/** How a method ends at a server, which has yet to sign. */
export interface ServerEnd extends Ended {
  /** The message that carries the host key and its signature. */
  reply(hostKey: Uint8Array, signature: Uint8Array): Uint8Array;
}

/** Who runs a method. */
export interface MethodHost<End> extends Pick<Context, 'send' | 'settle'> {
  readonly crypto: CryptoProvider;
  readonly random: RandomSource;
  finished(end: End): void;
}

/** A method that runs: it was made when both KEXINITs were there, and a client's has said its first message. */
export interface Method {
  /** A message of the method. Throws for one that may not come now. */
  receive(payload: Uint8Array): void;
}

/** Throws unless `payload` is a message of one of these rows. */
export function expectRow(payload: Uint8Array, ...rows: readonly Row[]): void {
  if (rows.some(({ number }) => number === payload[0])) return;
  const names = rows.map(({ name }) => name).join(' or ');
  throw protocolError(`Message ${payload[0]} where ${names} must come`, {
    disconnect: DisconnectReason.keyExchangeFailed,
  });
}

/** Copies of the byte strings of a message, which were views of memory that is used again. */
export function copyEach<T extends Readonly<Record<string, Uint8Array>>>(message: T): T {
  return Object.fromEntries(Object.entries(message).map(([name, bytes]) => [name, copy(bytes)])) as T;
}

export function kexError(message: string, cause?: unknown): SshError {
  return new SshError('key-exchange-failed', message, {
    fault: 'peer',
    phase: 'key-exchange',
    disconnect: DisconnectReason.keyExchangeFailed,
    cause,
  });
}

/** Runs `work` on values of the peer; what a primitive or a parser refuses there, now or later, is a failed key exchange. */
export function attempt<T>(work: () => T): T {
  const fail = (error: unknown): never => {
    throw kexError(`Key exchange failed: ${toSshError(error, 'crypto').message}`, error);
  };
  try {
    const result = work();
    return result instanceof Promise ? (result.catch(fail) as T) : result;
  } catch (error) {
    return fail(error);
  }
}
