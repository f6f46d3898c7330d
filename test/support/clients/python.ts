/** Clients that are Python scripts: a plan goes in as JSON, what came of it comes out as JSON. */

import { fileURLToPath } from 'node:url';
import { pythonWith } from '../peers/python.ts';
import { root } from '../root.ts';
import type { Client, Step, Way } from './client.ts';
import type { OwnServer } from './own_server.ts';
import { type Ended, run } from './process.ts';

/** What a script is to do. */
export interface Plan {
  /** Paths of private keys. */
  readonly keys?: readonly string[];
  readonly password?: string;
  /** To rounds of questions, in turn. */
  readonly answers?: readonly (readonly string[])[];
  readonly steps: readonly (Step | { readonly do: 'run'; readonly command: string } | SignalStep)[];
  /** Further arguments of `asyncssh.connect`. */
  readonly options?: Readonly<Record<string, unknown>>;
}

/** Runs a command and sends it a signal once it has written a line. asyncssh only. */
export interface SignalStep {
  readonly do: 'signal';
  readonly command: string;
  readonly signal: string;
}

/** What came of it. */
export interface Report {
  /** Of each step. */
  readonly results: readonly unknown[];
  /** What the server has shown before the login: `[title, instruction, [[prompt, echo], …]]`, or `banner …`. */
  readonly asked: readonly unknown[];
}

export interface Python {
  readonly client: Client;
  /** Runs a plan; the process says what it failed of on stderr. */
  attempt(server: OwnServer, plan: Plan): Promise<Ended>;
  /** The same for a plan that succeeds. */
  perform(server: OwnServer, plan: Plan): Promise<Report>;
}

/** The client that `test/support/clients/${module}_client.py` is. */
export function pythonClient(module: string, can: Client['can']): Python {
  const python = pythonWith(module);
  const script = fileURLToPath(new URL(`test/support/clients/${module}_client.py`, root));
  const attempt = ({ port, username, knownHosts }: OwnServer, plan: Plan): Promise<Ended> =>
    run([python ?? 'python3', '-W', 'ignore', script, JSON.stringify({ port, username, knownHosts, ...plan })]);
  const perform = async (server: OwnServer, plan: Plan): Promise<Report> => {
    const { code, stdout, stderr } = await attempt(server, plan);
    if (code !== 0) throw new Error(`${module}: code ${code}\n${stderr}`);
    return JSON.parse(stdout.toString()) as Report;
  };
  const login = (server: OwnServer, way: Way): Pick<Plan, 'keys' | 'password'> =>
    way === 'key' ? { keys: [server.keys.ed25519.openssh] } : { password: server.password };
  const client: Client = {
    name: module,
    slow: true,
    unavailable: python === undefined ? `there is no Python with ${module}` : undefined,
    ways: ['password', 'key'],
    can,
    async run(server, way, command) {
      const { results } = await perform(server, { ...login(server, way), steps: [{ do: 'run', command }] });
      const { code, stdout, stderr } = results[0] as { code: number; stdout: string; stderr: string };
      return { code, stdout: Buffer.from(stdout, 'latin1'), stderr };
    },
    async files(server, way, steps) {
      const { results } = await perform(server, { ...login(server, way), steps });
      return results.filter((_, i) => steps[i]?.do === 'list').flat() as string[];
    },
  };
  return { client, attempt, perform };
}
