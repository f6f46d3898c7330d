/**
 * A channel of kind `session` (RFC 4254 §6): the requests that start a program on it, and how the program ended. Must not know
 * what is done with its bytes.
 */

import type { Agent } from '../agent/agent.ts';
import { decodeFields, encodeFields } from '../bytes/schema.ts';
import { printable, toBytes } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { ChannelPipe } from '../io/channel_pipe.ts';
import { EXTENDED_DATA_STDERR } from '../wire/connection.ts';
import { AGENT_REQUEST, channelRequest } from '../wire/requests.ts';
import { checkAgent, forwardAgent } from './agent_forwarding.ts';
import type { Link } from './link.ts';

/** How a program ended, as far as the server told. */
export interface ExitStatus {
  /** The exit code; absent when the server sent none, as after a signal. */
  readonly code?: number;
  /** The signal that ended it, without `SIG`, such as `TERM`. */
  readonly signal?: string;
  readonly coreDumped?: boolean;
  /** What the server says about the signal, sanitised. */
  readonly message?: string;
}

/** What starts a program. */
export type StartRequest =
  | { readonly request: 'exec'; readonly command: string }
  | { readonly request: 'shell' }
  | { readonly request: 'subsystem'; readonly name: string };

/** How to open a session. */
export interface SessionChannelOptions {
  readonly signal?: AbortSignal | undefined;
  /** Variables for the program; a mistake in them is told before anything is opened. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Forwarded, while the session lives. */
  readonly agent?: Agent | undefined;
  /** See `ChannelOptions`. */
  readonly early?: boolean | undefined;
  /** What the program writes to stderr; to be given back with `consumed`. May be called before `open` resolves. */
  readonly stderr: (data: Uint8Array, channel: ChannelPipe) => void;
}

export class SessionChannel {
  readonly pipe: ChannelPipe;
  readonly #state: { exit: ExitStatus };

  private constructor(pipe: ChannelPipe, state: { exit: ExitStatus }) {
    this.pipe = pipe;
    this.#state = state;
  }

  static async open(link: Link, options: SessionChannelOptions): Promise<SessionChannel> {
    const state = { exit: {} };
    const { agent } = options;
    checkAgent(agent);
    const variables = Object.entries(options.env ?? {}).map(([name, value]) => envBody(name, value));
    const pipe = await link.openChannel('session', {
      signal: options.signal,
      early: options.early,
      extras: {
        request: (request, body) => readExit(state, request, body),
        extended(kind, data, channel) {
          if (kind === EXTENDED_DATA_STDERR) options.stderr(data, channel);
          else channel.consumed(data.length);
        },
      },
    });
    if (agent !== undefined) {
      pipe.freed.then(forwardAgent(link, agent));
      pipe.notify(AGENT_REQUEST);
    }
    for (const body of variables) pipe.notify('env', body);
    return new SessionChannel(pipe, state);
  }

  /** What the server has told so far; final once the channel is closed. */
  get exit(): ExitStatus {
    return this.#state.exit;
  }

  /** Starts a program. Rejects with `request-failed` when the server refuses. */
  async start(start: StartRequest): Promise<void> {
    if (await this.pipe.request(start.request, startBody(start), true)) return;
    throw new SshError('request-failed', `The server refused ${describe(start)}`, { fault: 'peer', phase: 'open' });
  }

  /** Sets a variable for the program; servers silently drop what they do not allow (OpenSSH: AcceptEnv). */
  env(name: string, value: string): void {
    this.pipe.notify('env', envBody(name, value));
  }

  /** Sends the program a signal (RFC 4254 §6.9), named without `SIG`; many servers ignore it. */
  signal(name: string): void {
    if (!/^[A-Za-z0-9@._-]+$/.test(name)) throw new SshError('bad-argument', `Not a signal: ${printable(name, 40)}`);
    this.pipe.notify('signal', encodeFields(channelRequest.signal, { signal: name.replace(/^SIG/, '') }));
  }
}

/** Takes in how the program ended; returns whether the request is known. */
function readExit(state: { exit: ExitStatus }, request: string, body: Uint8Array): boolean {
  if (request === 'exit-status') {
    const { status } = decodeFields(channelRequest['exit-status'], body, request);
    state.exit = { ...state.exit, code: status };
    return true;
  }
  if (request !== 'exit-signal') return false;
  const { signal, coreDumped, message } = decodeFields(channelRequest['exit-signal'], body, request);
  state.exit = { ...state.exit, signal: printable(signal, 64), coreDumped, message: printable(message) };
  return true;
}

/** OpenSSH ends the whole connection, with all that runs on it, when it finds a null byte in these. */
function plainText(what: string, value: string): string {
  if (typeof value === 'string' && !value.includes('\0')) return value;
  throw new SshError('bad-argument', `${what} must be a string without null bytes`);
}

function envBody(name: string, value: string): Uint8Array {
  const what = 'A variable of the environment';
  return encodeFields(channelRequest.env, { name: plainText(what, name), value: plainText(what, value) });
}

function startBody(start: StartRequest): Uint8Array {
  switch (start.request) {
    case 'exec':
      return encodeFields(channelRequest.exec, { command: toBytes(plainText('A command', start.command)) });
    case 'subsystem':
      return encodeFields(channelRequest.subsystem, { name: plainText('The name of a subsystem', start.name) });
    case 'shell':
      return new Uint8Array(0);
  }
}

function describe(start: StartRequest): string {
  switch (start.request) {
    case 'exec':
      return `to run "${printable(start.command, 100)}"`;
    case 'subsystem':
      return `the subsystem "${printable(start.name, 100)}": it offers none of that name, or not to this user`;
    case 'shell':
      return 'to start a shell';
  }
}
