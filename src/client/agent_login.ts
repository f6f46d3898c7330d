/** The user's agent as a way to log in, and to forward. Must not know where it is. */

import type { Agent, AgentIdentity, SessionBinding } from '../agent/agent.ts';
import { boundAgent } from '../agent/bound.ts';
import { AgentClient } from '../agent/client.ts';
import type { AgentPipe } from '../agent/line.ts';
import { signersOf } from '../agent/signers.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { onAbort } from '../io/abort.ts';
import type { Signer } from '../keys/signature.ts';
import type { IdentitiesMethod, LoginSurroundings } from './auth.ts';

/** How an agent is reached. */
export interface AgentAccess {
  readonly open: () => Promise<AgentPipe>;
  /** Whether nobody said that there is one: what cannot be reached then counts as an agent without keys. */
  readonly mayBeMissing: boolean;
}

/**
 * The user's agent: in `auth` it is a way to log in with its keys, as `agent` of a session it is forwarded, and its own methods list
 * its keys and have it sign. It is connected to when it is needed, and no longer: once for a login, for a program that it
 * is forwarded to, and for each call.
 */
export class AgentLogin implements IdentitiesMethod, Agent {
  readonly method = 'publickey';
  readonly from = 'agent';
  readonly #access: AgentAccess | undefined;

  /** Without `access` there is no agent: it has no keys then. */
  constructor(access: AgentAccess | undefined) {
    this.#access = access;
  }

  /** The keys and certificates that the agent says it signs with. Rejects with `agent-failed`. */
  identities(): Promise<readonly AgentIdentity[]> {
    return this.#once((client) => this.#listed(client));
  }

  /** See `Agent`. Rejects with `agent-failed`. */
  sign(blob: Uint8Array, data: Uint8Array, flags: number): Promise<Uint8Array | undefined> {
    return this.#once((client) => client.sign(blob, data, flags));
  }

  /** What signs with each of its keys. In a login all of it goes over one connection, which ends with the login. */
  async signers(_crypto?: CryptoProvider, login?: LoginSurroundings): Promise<readonly Signer[]> {
    if (login === undefined) return signersOf(this, await this.identities());
    const client = this.connection();
    onAbort(login.ended, () => client.close());
    const agent = boundAgent(client, () => bindingOf(login.session(), false));
    return signersOf(agent, await this.#listed(client));
  }

  /** A connection of its own, made when it is needed; whoever asks for it closes it. */
  connection(): AgentClient {
    return new AgentClient(this.#access?.open ?? (() => Promise.reject(new Error('there is none'))));
  }

  async #listed(agent: Agent): Promise<readonly AgentIdentity[]> {
    if (this.#access === undefined) return [];
    try {
      return await agent.identities();
    } catch (error) {
      if (this.#access.mayBeMissing && isUnreachable(error)) return [];
      throw error;
    }
  }

  async #once<T>(use: (client: AgentClient) => Promise<T>): Promise<T> {
    const client = this.connection();
    try {
      return await use(client);
    } finally {
      client.close();
    }
  }
}

/** What an agent is told of a connection, once there is something to tell. */
export function bindingOf(
  session: Omit<SessionBinding, 'forwarding'> | undefined,
  forwarding: boolean,
): SessionBinding | undefined {
  return session && { ...session, forwarding };
}

function isUnreachable(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return (cause as { readonly code?: unknown } | undefined)?.code === 'connect-failed';
}
