/**
 * An agent's side of a pipe: answers one message after the other with what an `Agent` says, whether that is behind a socket, on a
 * forwarded channel, or functions. RFC 9987. Must not know keys.
 */

import { DecodeError } from '../bytes/reader.ts';
import { callback, checkTable, type OptionTable } from '../core/option_checks.ts';
import { type SshError, toSshError } from '../errors.ts';
import type { BytePipe } from '../io/pipe.ts';
import { asPipe, type ByteStreams } from '../io/streams.ts';
import type { Agent } from './agent.ts';
import { encodeFrame, type Frame, FrameReader, MAX_FRAME } from './frames.ts';
import { AgentMessage, encodeIdentities, encodeSignature, readSignRequest } from './messages.ts';

/** Options of `serveAgent`. */
export interface ServeAgentOptions {
  /** Called with what a function of the agent threw; whoever asked gets FAILURE. Default: nobody is told. */
  readonly onError?: ((error: SshError) => void) | undefined;
}

const table: OptionTable<ServeAgentOptions> = { onError: callback };

/**
 * Serves `agent` on a pipe, or on streams, which belong to it from now on. Resolves once the pipe is closed; never rejects. What
 * breaks the protocol ends the pipe. Throws `bad-argument`.
 */
export function serveAgent(
  stream: BytePipe | ByteStreams,
  agent: Agent,
  options: ServeAgentOptions = {},
): Promise<void> {
  checkTable('serveAgent', options, table);
  const pipe = asPipe(stream, 'serveAgent takes');
  return new Promise((resolve) => new Server(pipe, agent, options, resolve));
}

class Server {
  readonly #pipe: BytePipe;
  readonly #agent: Agent;
  readonly #options: ServeAgentOptions;
  readonly #frames = new FrameReader();
  #state: 'reading' | 'answering' | 'closed' = 'reading';
  #room = true;
  #inputEnded = false;
  /** Bytes that were taken in and not given back. */
  #held = 0;

  constructor(pipe: BytePipe, agent: Agent, options: ServeAgentOptions, done: () => void) {
    this.#pipe = pipe;
    this.#agent = agent;
    this.#options = options;
    pipe.open({
      data: (bytes) => {
        this.#frames.push(bytes);
        this.#held += bytes.length;
        this.#next();
      },
      end: () => {
        this.#inputEnded = true;
        this.#next();
      },
      drain: () => {
        this.#room = true;
        this.#next();
      },
      closed: () => {
        this.#state = 'closed';
        done();
      },
    });
  }

  #next(): void {
    if (this.#state !== 'reading' || !this.#room) return;
    const frame = this.#take();
    if (frame === undefined) return;
    this.#state = 'answering';
    this.#answer(frame).then((answer) => {
      if (this.#state === 'closed') return;
      this.#state = 'reading';
      this.#room = this.#pipe.write([answer]);
      this.#next();
    });
  }

  #take(): Frame | undefined {
    try {
      const frame = this.#frames.next();
      // more than one whole message waits only for those before it
      if (this.#frames.length <= MAX_FRAME + 4) {
        this.#pipe.consumed(this.#held);
        this.#held = 0;
      }
      if (frame === undefined && this.#inputEnded) this.#pipe.end();
      return frame;
    } catch (error) {
      this.#pipe.close(toSshError(error, 'internal'));
      return undefined;
    }
  }

  async #answer(frame: Frame): Promise<Uint8Array> {
    try {
      const answer = await this.#ask(frame);
      if (answer !== undefined && answer.length <= MAX_FRAME + 4) return answer;
    } catch (error) {
      if (!(error instanceof DecodeError)) this.#failed(error);
    }
    return encodeFrame(AgentMessage.failure);
  }

  async #ask({ type, body }: Frame): Promise<Uint8Array | undefined> {
    if (type === AgentMessage.requestIdentities) {
      return encodeFrame(AgentMessage.identitiesAnswer, encodeIdentities(await this.#agent.identities()));
    }
    if (type === AgentMessage.signRequest) {
      const { blob, data, flags } = readSignRequest(body);
      const signature = await this.#agent.sign(blob, data, flags);
      return signature && encodeFrame(AgentMessage.signResponse, encodeSignature(signature));
    }
    const answer = await this.#agent.other?.(type, body);
    return answer && encodeFrame(answer[0] ?? AgentMessage.failure, answer.subarray(1));
  }

  /** What whoever is told throws is dropped: a peer can bring it about. */
  #failed(error: unknown): void {
    try {
      this.#options.onError?.(toSshError(error, 'agent-failed'));
    } catch {
      // nobody is left who could be told
    }
  }
}
