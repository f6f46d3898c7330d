/** The user's agent in Deno. */

import type { AgentLogin } from '../client/agent_login.ts';
import { agentIn } from './agent_path.ts';
import { deno } from './deno_api.ts';
import { dialLocalNode } from './node_local_socket.ts';

/**
 * The agent behind a Unix socket, or a pipe of Windows, at `path`; `~` is the user's home. Default: what SSH_AUTH_SOCK names, or, on Windows,
 * the pipe of the OpenSSH agent; where there is none, one without keys.
 */
export function agent(path?: string): AgentLogin {
  const { env, build } = deno();
  return agentIn(dialLocalNode, path, {
    windows: build.os === 'windows',
    socket: env.get('SSH_AUTH_SOCK'),
    home: () => env.get('HOME') ?? env.get('USERPROFILE'),
  });
}
