/** An agent as a way to log in. Must not know where it is. */

import type { AgentIdentity } from '../agent/agent.ts';
import { AgentClient } from '../agent/client.ts';
import type { AgentPipe } from '../agent/line.ts';
import type { IdentitiesMethod } from './auth.ts';

/** How an agent is reached. */
export interface AgentAccess {
  readonly open: () => Promise<AgentPipe>;
  /** Whether nobody said that there is one: what cannot be reached then counts as an agent without keys. */
  readonly mayBeMissing: boolean;
}

/**
 * The user's agent: in `auth` it is a way to log in with its keys, as `agent` of a session it is forwarded, and its own methods list
 * its keys and have it sign. The connection to it is made when it is needed, and keeps no program from ending.
 */
export class AgentLogin extends AgentClient implements IdentitiesMethod {
  readonly method = 'publickey';
  readonly from = 'agent';
  readonly #access: AgentAccess | undefined;

  /** Without `access` there is no agent: it has no keys then. */
  constructor(access: AgentAccess | undefined) {
    super(access?.open ?? (() => Promise.reject(new Error('there is none'))));
    this.#access = access;
  }

  override async identities(): Promise<readonly AgentIdentity[]> {
    if (this.#access === undefined) return [];
    try {
      return await super.identities();
    } catch (error) {
      if (this.#access.mayBeMissing && isUnreachable(error)) return [];
      throw error;
    }
  }
}

function isUnreachable(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return (cause as { readonly code?: unknown } | undefined)?.code === 'connect-failed';
}
