/** What an agent is: something that keeps private keys and signs with them, wherever it is. RFC 9987. Types only. */

import type { MaybePromise } from '../crypto/provider.ts';

/** A key, or a certificate, that an agent signs with. */
export interface AgentIdentity {
  /** The key blob, of a type that puressh may not know. */
  readonly blob: Uint8Array;
  /** What whoever added the key called it: any text, not sanitised. */
  readonly comment: string;
}

/** A connection of SSH, as an agent is told of it: OpenSSH PROTOCOL.agent §1. */
export interface SessionBinding {
  /** The host key blob of the first key exchange. */
  readonly hostKey: Uint8Array;
  readonly sessionId: Uint8Array;
  /** The host's signature over the session id. */
  readonly signature: Uint8Array;
  /** Whether the agent is forwarded over that connection, and not used to log in. */
  readonly forwarding: boolean;
}

/** An agent: the program behind a socket, or functions of yours. */
export interface Agent {
  /** Best first. */
  identities(): MaybePromise<readonly AgentIdentity[]>;
  /**
   * The signature blob over `data` with the key `blob`; `undefined`: this agent does not sign with it, or not this. `flags` choose the
   * hash of an RSA signature (RFC 9987 §3.6.1): 2 for rsa-sha2-256, 4 for rsa-sha2-512.
   */
  sign(blob: Uint8Array, data: Uint8Array, flags: number): MaybePromise<Uint8Array | undefined>;
  /** Any other request, by its number: the answer with its number in front; `undefined`, as without this function: FAILURE. */
  other?(type: number, body: Uint8Array): MaybePromise<Uint8Array | undefined>;
}
