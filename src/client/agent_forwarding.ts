/**
 * An agent forwarded to sessions: channels that the server opens to it are served as long as a session lives that asked for that, and
 * are refused otherwise. OpenSSH PROTOCOL.agent, RFC 9987 §5. Must not know what the agent is.
 */

import type { Agent } from '../agent/agent.ts';
import { boundAgent } from '../agent/bound.ts';
import { serveAgent } from '../agent/server.ts';
import { SshError } from '../errors.ts';
import type { BytePipe } from '../io/pipe.ts';
import { OpenFailureReason } from '../wire/numbers.ts';
import { AGENT_CHANNEL } from '../wire/requests.ts';
import { AgentLogin, bindingOf } from './agent_login.ts';
import type { Link } from './link.ts';

/** Connections to the agent that a server may have open at once: each program there that signs has one, for a moment. */
const MAX_CHANNELS = 32;

const forwardings = new WeakMap<Link, Forwarding>();

/** Serves `agent` to the server from now on; the function that is returned ends that for new channels. */
export function forwardAgent(link: Link, agent: Agent): () => void {
  let forwarding = forwardings.get(link);
  if (forwarding === undefined) {
    forwarding = new Forwarding(link);
    forwardings.set(link, forwarding);
  }
  return forwarding.add(agent);
}

/** Throws `bad-argument` for what is no agent. */
export function checkAgent(agent: Agent | undefined): void {
  if (agent === undefined) return;
  const { identities, sign } = (agent ?? {}) as Partial<Agent>;
  if (typeof identities === 'function' && typeof sign === 'function') return;
  throw new SshError('bad-argument', 'agent must be an agent: agent(), agentOf(…), or { identities, sign }');
}

class Forwarding {
  readonly #link: Link;
  /** Those of the sessions that live, the latest last. A channel does not say which session it is for. */
  #agents: readonly { readonly agent: Agent }[] = [];
  #channels = 0;

  constructor(link: Link) {
    this.#link = link;
    link.onChannel(AGENT_CHANNEL, (id) => this.#open(id));
  }

  add(agent: Agent): () => void {
    const entry = { agent };
    this.#agents = [...this.#agents, entry];
    return () => {
      this.#agents = this.#agents.filter((each) => each !== entry);
    };
  }

  #open(id: number): void {
    const latest = this.#agents.at(-1);
    if (latest === undefined) {
      this.#link.refuseChannel(id, OpenFailureReason.administrativelyProhibited, 'not requested');
      return;
    }
    if (this.#channels >= MAX_CHANNELS) {
      const why = `no more than ${MAX_CHANNELS} connections to the agent at once`;
      this.#link.refuseChannel(id, OpenFailureReason.resourceShortage, why);
      return;
    }
    this.#channels++;
    const freed = (): void => void this.#channels--;
    const pipe = this.#link.acceptChannel(id, { closesItself: true, extras: { freed } });
    this.#serve(pipe, latest.agent);
  }

  /** The user's agent gets a connection for each program that uses it, and is told that it is forwarded. */
  #serve(pipe: BytePipe, agent: Agent): void {
    if (!(agent instanceof AgentLogin)) {
      serveAgent(pipe, agent);
      return;
    }
    const client = agent.connection();
    const bound = boundAgent(client, () => bindingOf(this.#link.proof, true));
    serveAgent(pipe, bound).then(() => client.close());
  }
}
