/**
 * A client of an agent: lists its keys and has it sign, over one connection that is opened when it is needed, and again when
 * the agent has closed it. RFC 9987. Must not know where agents are found, nor what is signed.
 */

import { printable } from '../bytes/text.ts';
import { checkTable, type OptionTable, object, text } from '../core/option_checks.ts';
import { SshError, toSshError } from '../errors.ts';
import { type Clock, systemClock } from '../io/clock.ts';
import type { Signer } from '../keys/signature.ts';
import type { Agent, AgentIdentity } from './agent.ts';
import { agentFailed } from './failure.ts';
import { type Frame, MAX_FRAME } from './frames.ts';
import { AgentLine, type AgentPipe } from './line.ts';
import { AgentMessage, encodeSignRequest, readIdentities, readSignature } from './messages.ts';
import { signersOf } from './signers.ts';

/** Milliseconds for an answer to a list. A signature is not timed: the agent may ask a person, or wait for a touch. */
const LIST_TIME = 30_000;

/** Options of an `AgentClient`. */
export interface AgentClientOptions {
  /** How messages call the agent. Default: `the agent`. */
  readonly name?: string | undefined;
  readonly clock?: Clock | undefined;
}

const table: OptionTable<AgentClientOptions> = { name: text, clock: object };

/**
 * The agent at the other end of a pipe. Requests are answered one after the other. What goes wrong is `agent-failed`. It has no
 * `other`: forwarded, it lists and signs, and nothing that comes over a connection can add keys, load libraries or lock it.
 */
export class AgentClient implements Agent {
  readonly #open: () => Promise<AgentPipe>;
  readonly #name: string;
  readonly #clock: Clock;
  #state: { readonly at: 'idle' } | { readonly at: 'open'; readonly line: AgentLine } | { readonly at: 'closed' } = {
    at: 'idle',
  };
  /** The request before; resolves when it is through, whatever came of it. */
  #turn: Promise<unknown> = Promise.resolve();

  /** `open` connects to the agent; it is called again whenever there is no connection and a request comes. */
  constructor(open: () => Promise<AgentPipe>, options: AgentClientOptions = {}) {
    checkTable('AgentClient', options, table);
    this.#open = open;
    this.#name = printable(options.name ?? 'the agent');
    this.#clock = options.clock ?? systemClock;
  }

  /** The keys and certificates that the agent says it signs with, those of unknown types too. */
  async identities(): Promise<readonly AgentIdentity[]> {
    const frame = await this.#request(AgentMessage.requestIdentities, new Uint8Array(0), LIST_TIME);
    if (frame.type !== AgentMessage.identitiesAnswer) throw this.#unexpected(frame, 'the request for its keys');
    return this.#read(() => readIdentities(frame.body));
  }

  async sign(blob: Uint8Array, data: Uint8Array, flags: number): Promise<Uint8Array | undefined> {
    const frame = await this.#request(AgentMessage.signRequest, encodeSignRequest({ blob, data, flags }), undefined);
    if (frame.type === AgentMessage.failure) return undefined;
    if (frame.type !== AgentMessage.signResponse) throw this.#unexpected(frame, 'a request to sign');
    return this.#read(() => readSignature(frame.body));
  }

  /**
   * Makes a request of type 27 (RFC 9987 §3.8), whose body begins with its name; whether the agent carried it out. Whoever does not know
   * it refuses.
   */
  async extension(body: Uint8Array): Promise<boolean> {
    const frame = await this.#request(AgentMessage.extension, body, LIST_TIME);
    return frame.type === AgentMessage.success;
  }

  /** What signs with each of its keys; what has no key type is left out. */
  async signers(): Promise<readonly Signer[]> {
    return signersOf(this, await this.identities(), this.#name);
  }

  /** Closes the connection for good; what waits, and what is asked later, rejects. */
  close(): void {
    if (this.#state.at === 'open') this.#state.line.close();
    this.#state = { at: 'closed' };
  }

  #request(type: number, body: Uint8Array, timeout: number | undefined): Promise<Frame> {
    if (body.length >= MAX_FRAME) {
      const message = `A request to an agent has at most ${MAX_FRAME} bytes, not ${body.length + 1}`;
      return Promise.reject(new SshError('bad-argument', message));
    }
    const exchange = this.#turn.then(async () => (await this.#line()).request(type, body, timeout));
    this.#turn = exchange.catch(() => {});
    return exchange;
  }

  async #line(): Promise<AgentLine> {
    const before = this.#state;
    if (before.at === 'open' && !before.line.ended) return before.line;
    if (before.at === 'closed') throw this.#closed();
    const pipe = await this.#open().catch((error) => {
      const { message } = toSshError(error, 'agent-failed');
      throw agentFailed(`Cannot reach ${this.#name}: ${message}`, error);
    });
    const line = new AgentLine(pipe, this.#name, this.#clock);
    if (this.#state.at === 'closed') {
      line.close();
      throw this.#closed();
    }
    this.#state = { at: 'open', line };
    return line;
  }

  #closed(): SshError {
    return agentFailed(`The connection to ${this.#name} was closed by this side`);
  }

  #unexpected({ type }: Frame, what: string): SshError {
    const said = type === AgentMessage.failure ? 'FAILURE' : `message ${type}`;
    return this.#broken(`${this.#name} answered ${said} to ${what}`);
  }

  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof SshError)) throw error;
      throw this.#broken(`The answer of ${this.#name} is malformed: ${error.message}`, error);
    }
  }

  /** Whoever breaks the protocol once is not asked over the same connection again. */
  #broken(message: string, cause?: SshError): SshError {
    if (this.#state.at === 'open') this.#state.line.close();
    return agentFailed(message, cause);
  }
}
