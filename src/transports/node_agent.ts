/** The user's agent, with Node's modules, which Bun has too. */

import { homedir } from 'node:os';
import type { AgentLogin } from '../client/agent_login.ts';
import { agentIn } from './agent_path.ts';
import { dialLocalNode } from './node_local_socket.ts';

/**
 * The agent behind a Unix socket, or a pipe of Windows, at `path`; `~` is the user's home. Default: what SSH_AUTH_SOCK names, or, on Windows,
 * the pipe of the OpenSSH agent; where there is none, one without keys.
 */
export function agent(path?: string): AgentLogin {
  return agentIn(dialLocalNode, path, {
    windows: process.platform === 'win32',
    socket: process.env.SSH_AUTH_SOCK,
    home: () => (process.platform === 'win32' ? undefined : process.env.HOME) || homedir(),
  });
}
