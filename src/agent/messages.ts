/**
 * The messages of the agent protocol: RFC 9987 §3. Each is a byte that says which, and a body. Must not know where they come
 * from.
 */

import { Reader } from '../bytes/reader.ts';
import { encodeFields } from '../bytes/schema.ts';
import { Writer } from '../bytes/writer.ts';
import { SshError } from '../errors.ts';
import type { AgentIdentity, SessionBinding } from './agent.ts';

/** Numbers of the messages that puressh makes and reads: RFC 9987 §6.1. */
export const AgentMessage = {
  failure: 5,
  success: 6,
  requestIdentities: 11,
  identitiesAnswer: 12,
  signRequest: 13,
  signResponse: 14,
  extension: 27,
} as const;

/** Flags of a request to sign: RFC 9987 §3.6.1. */
export const SignFlag = { rsaSha256: 2, rsaSha512: 4 } as const;

/** The most keys that one list may have, as in OpenSSH (MAX_AGENT_IDENTITIES). */
export const MAX_IDENTITIES = 2048;

/** Tells an agent which connection of SSH it is used for, so that keys can be limited to some: OpenSSH PROTOCOL.agent §1. */
export const SESSION_BIND = 'session-bind@openssh.com';

const sessionBind = {
  name: 'name',
  hostKey: 'string',
  sessionId: 'string',
  signature: 'string',
  forwarding: 'boolean',
} as const;

export function encodeSessionBind(binding: SessionBinding): Uint8Array {
  return encodeFields(sessionBind, { name: SESSION_BIND, ...binding });
}

const signRequest = { blob: 'string', data: 'string', flags: 'uint32' } as const;

/** What an agent is asked to sign. */
export interface SignRequest {
  readonly blob: Uint8Array;
  readonly data: Uint8Array;
  readonly flags: number;
}

export function encodeSignRequest(request: SignRequest): Uint8Array {
  return encodeFields(signRequest, { ...request });
}

/** Throws `decode`. Some clients leave out flags that are 0. */
export function readSignRequest(body: Uint8Array): SignRequest {
  const reader = new Reader(body);
  const [blob, data] = [reader.string(), reader.string()];
  const flags = reader.remaining === 0 ? 0 : reader.u32();
  reader.expectEnd('request to sign');
  return { blob, data, flags };
}

export function encodeIdentities(identities: readonly AgentIdentity[]): Uint8Array {
  const writer = new Writer().u32(identities.length);
  for (const { blob, comment } of identities) writer.string(blob).string(comment);
  return writer.finish();
}

/** Throws `decode`, or `limit` for more than `MAX_IDENTITIES`. The blobs are views. */
export function readIdentities(body: Uint8Array): AgentIdentity[] {
  const reader = new Reader(body);
  const count = reader.u32();
  if (count > MAX_IDENTITIES) {
    throw new SshError('limit', `The agent lists ${count} keys; ${MAX_IDENTITIES} are allowed`, { fault: 'peer' });
  }
  const identities: AgentIdentity[] = [];
  for (let i = 0; i < count; i++) identities.push({ blob: reader.string(), comment: reader.text() });
  reader.expectEnd('list of keys');
  return identities;
}

export function encodeSignature(blob: Uint8Array): Uint8Array {
  return new Writer().string(blob).finish();
}

/** The signature blob; throws `decode`. */
export function readSignature(body: Uint8Array): Uint8Array {
  const reader = new Reader(body);
  const blob = reader.string();
  reader.expectEnd('signature');
  return blob;
}
