/**
 * An agent used for one connection of SSH, which it is told of before it is asked for anything: then it can refuse keys that are limited to
 * other hosts (`ssh-add -h`). OpenSSH PROTOCOL.agent §1. Must not know how that connection came about.
 */

import { Reader } from '../bytes/reader.ts';
import { SshError } from '../errors.ts';
import type { Agent, SessionBinding } from './agent.ts';
import type { AgentClient } from './client.ts';
import { AgentMessage, encodeSessionBind, SESSION_BIND } from './messages.ts';

/**
 * The agent behind `client`, which nobody else uses, bound to what `binding` gives as soon as it gives something. An agent that does
 * not know of such bindings is used all the same. What is forwarded may tell of further connections, and nothing else.
 */
export function boundAgent(client: AgentClient, binding: () => SessionBinding | undefined): Agent {
  let bound: Promise<unknown> | undefined;
  const bind = async (): Promise<void> => {
    const session = binding();
    if (session !== undefined) bound ??= client.extension(encodeSessionBind(session)).catch(unlessBroken);
    await bound;
  };
  return {
    async identities() {
      await bind();
      return await client.identities();
    },
    async sign(blob, data, flags) {
      await bind();
      return await client.sign(blob, data, flags);
    },
    async other(type, body) {
      if (type !== AgentMessage.extension || new Reader(body).name() !== SESSION_BIND) return undefined;
      await bind();
      return (await client.extension(body)) ? Uint8Array.of(AgentMessage.success) : undefined;
    },
  };
}

/** What broke the connection over a message that it does not know may work without. */
function unlessBroken(error: unknown): void {
  if (!(error instanceof SshError) || error.code !== 'agent-failed') throw error;
}
