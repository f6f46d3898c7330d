/** Where the user's agent is: what the environment says, or the pipe of Windows' own. */

import type { AgentPipe } from '../agent/line.ts';
import { printable } from '../bytes/text.ts';
import { AgentLogin } from '../client/agent_login.ts';
import { SshError } from '../errors.ts';
import { expandHome } from './home.ts';

/** The pipe of the OpenSSH agent that comes with Windows. */
const WINDOWS_PIPE = '\\\\.\\pipe\\openssh-ssh-agent';

/** What a runtime has to say. */
export interface AgentSurroundings {
  readonly windows: boolean;
  /** The value of SSH_AUTH_SOCK, if it is set. */
  readonly socket: string | undefined;
  home(): string | undefined;
}

/** Where an agent is expected. `mayBeMissing`: nobody said that it is there. */
export interface AgentPlace {
  readonly path: string;
  readonly mayBeMissing: boolean;
}

/** The agent at `path`, or the user's; it is not connected to before it is used. Throws `bad-argument`. */
export function agentIn(
  dial: (path: string) => Promise<AgentPipe>,
  path: string | undefined,
  surroundings: AgentSurroundings,
): AgentLogin {
  const place = agentPlace(path, surroundings);
  return new AgentLogin(place && { open: () => dial(place.path), mayBeMissing: place.mayBeMissing });
}

/**
 * Where to look for an agent; `undefined`: there is none. On Windows only pipes can be reached, and what other shells put into
 * SSH_AUTH_SOCK is none. Throws `bad-argument` for a path that cannot be one.
 */
export function agentPlace(path: string | undefined, surroundings: AgentSurroundings): AgentPlace | undefined {
  const { windows, socket } = surroundings;
  if (path !== undefined) {
    if (typeof path !== 'string' || path === '' || path.includes('\0')) {
      throw new SshError('bad-argument', 'The path of an agent must be a text with at least one character');
    }
    if (windows && !isPipe(path)) {
      const message = `On Windows an agent is a pipe, such as ${WINDOWS_PIPE}, not ${printable(path)}`;
      throw new SshError('bad-argument', message);
    }
    return { path: expandHome(path, () => surroundings.home()), mayBeMissing: false };
  }
  if (windows) {
    return socket !== undefined && isPipe(socket)
      ? { path: socket, mayBeMissing: false }
      : { path: WINDOWS_PIPE, mayBeMissing: true };
  }
  return socket === undefined || socket === '' ? undefined : { path: socket, mayBeMissing: false };
}

function isPipe(path: string): boolean {
  return /^[\\/]{2}[.?][\\/]pipe[\\/]./i.test(path);
}
