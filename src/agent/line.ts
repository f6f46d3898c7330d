/** One connection to an agent: a request, its answer, and the end. Must not know what the messages mean. */

import { SshError } from '../errors.ts';
import type { Clock } from '../io/clock.ts';
import type { BytePipe } from '../io/pipe.ts';
import { agentFailed } from './failure.ts';
import { encodeFrame, type Frame, FrameReader } from './frames.ts';

/** A pipe to an agent. */
export interface AgentPipe extends BytePipe {
  /** Whether a program may not end by itself because of this connection. Absent where nothing can be done about it. */
  keepAlive?(on: boolean): void;
}

interface Waiting {
  readonly resolve: (frame: Frame) => void;
  readonly reject: (error: SshError) => void;
}

export class AgentLine {
  readonly #pipe: AgentPipe;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #frames = new FrameReader();
  #waiting: Waiting | undefined;
  #end: SshError | undefined;

  /** `name`: how messages call the agent. */
  constructor(pipe: AgentPipe, name: string, clock: Clock) {
    this.#pipe = pipe;
    this.#name = name;
    this.#clock = clock;
    pipe.open({
      data: (bytes) => this.#data(bytes),
      end: () => this.#fail('it closed the connection'),
      drain: () => {},
      closed: (cause) => this.#fail(cause?.message ?? 'it closed the connection', cause),
    });
    pipe.keepAlive?.(false);
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** Asks. One request at a time. Rejects with `agent-failed`, and the connection is of no more use then. */
  async request(type: number, body: Uint8Array, timeout: number | undefined): Promise<Frame> {
    if (this.#end !== undefined) throw this.#end;
    const answer = new Promise<Frame>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    const late = (): void => this.#fail(`it did not answer within ${timeout} ms`);
    const cancel = timeout === undefined ? () => {} : this.#clock.after(timeout, late);
    this.#pipe.keepAlive?.(true);
    this.#pipe.write([encodeFrame(type, body)]);
    try {
      return await answer;
    } finally {
      cancel();
      this.#pipe.keepAlive?.(false);
    }
  }

  close(): void {
    this.#fail('this side closed the connection');
  }

  #data(bytes: Uint8Array): void {
    if (this.#end !== undefined) return;
    this.#frames.push(bytes);
    this.#pipe.consumed(bytes.length);
    try {
      const frame = this.#frames.next();
      if (frame === undefined) return;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve(frame);
      // nothing but the one answer may come
      if (waiting === undefined || this.#frames.length > 0) this.#fail('it said something that it was not asked');
    } catch (error) {
      if (!(error instanceof SshError)) throw error;
      this.#fail(error.message, error);
    }
  }

  #fail(why: string, cause?: SshError): void {
    if (this.#end !== undefined) return;
    this.#end = agentFailed(`No answer of ${this.#name}: ${why}`, cause);
    this.#waiting?.reject(this.#end);
    this.#waiting = undefined;
    this.#pipe.close();
  }
}
