/** An agent as a script: takes what a client of it says, byte for byte, and says what a test wants. Messages are hex. */

import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers';
import { AgentClient } from '../../src/agent/client.ts';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import { type Chunking, cut } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

export const FAILURE = '05';
export const SUCCESS = '06';

/** `string` of RFC 4251 §5, as hex. */
export function string(value: string | Uint8Array): string {
  const bytes = typeof value === 'string' ? utf8(value) : value;
  return hex(new Writer().string(bytes).finish());
}

export const uint32 = (value: number): string => value.toString(16).padStart(8, '0');

/** A message with its length. */
export const frame = (message: string): string => uint32(message.length / 2) + message;

/** IDENTITIES_ANSWER: RFC 9987 §3.5. */
export function identities(...keys: readonly (readonly [blob: Uint8Array, comment: string])[]): string {
  return `0c${uint32(keys.length)}${keys.map(([blob, comment]) => string(blob) + string(comment)).join('')}`;
}

/** What is ready in memory runs. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** One connection of the client under test. */
export class AgentEnd {
  readonly #pipe: BytePipe;
  readonly #queue = new ChunkQueue();
  /** Whether the client has ended the connection. */
  closed = false;

  constructor(pipe: BytePipe) {
    this.#pipe = pipe;
    pipe.open({
      data: (bytes) => {
        this.#queue.push(bytes);
        pipe.consumed(bytes.length);
      },
      end: () => {
        this.closed = true;
      },
      drain: () => {},
      closed: () => {
        this.closed = true;
      },
    });
  }

  /** Takes the one message that the client has said, as hex. */
  async take(): Promise<string> {
    await turns();
    const text = hex(this.#queue.takeAll());
    const size = Number.parseInt(text.slice(0, 8), 16);
    assert.equal(text.length, 8 + 2 * size, 'one message');
    return text.slice(8);
  }

  /** Whether the client has said nothing. */
  async quiet(): Promise<boolean> {
    await turns();
    return this.#queue.length === 0;
  }

  raw(text: string): void {
    this.#pipe.write([fromHex(text)]);
  }

  say(message: string): void {
    this.raw(frame(message));
  }

  close(): void {
    this.#pipe.close();
  }
}

/** A client under test, and the ends of the connections that it makes. */
export class AgentScript {
  readonly clock: VirtualClock = new VirtualClock();
  readonly ends: AgentEnd[] = [];
  readonly client: AgentClient;

  constructor(chunking: Chunking = 'whole') {
    const random = seededRandom(`agent ${chunking}`);
    const open = async (): Promise<BytePipe> => {
      const [near, far] = memoryPipes({ chunk: (bytes) => cut(bytes, chunking, random) });
      this.ends.push(new AgentEnd(far));
      return near;
    };
    this.client = new AgentClient(open, { clock: this.clock });
  }

  /** The end of the connection that was made last. */
  async end(): Promise<AgentEnd> {
    await turns();
    return this.ends.at(-1) ?? assert.fail('nobody has connected');
  }
}
