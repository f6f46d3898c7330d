/** Questions that wait for the driver's answer, and whether input is held meanwhile. */

import type { MaybePromise } from '../crypto/provider.ts';
import type { Event, Question } from './events.ts';

interface OpenQuestion {
  readonly hold: boolean;
  readonly answered: (value: never) => void;
}

export class Questions {
  readonly #emit: (event: Event) => void;
  readonly #open = new Map<number, OpenQuestion>();
  #next = 1;
  #holding = 0;

  constructor(emit: (event: Event) => void) {
    this.#emit = emit;
  }

  /** Whether a question is open that holds input. */
  get holding(): boolean {
    return this.#holding > 0;
  }

  /** Asks; `answered` runs when the answer is there. */
  ask(question: Question, hold: boolean, answered: (value: never) => void): void {
    const id = this.#next++;
    this.#open.set(id, { hold, answered });
    if (hold) this.#holding++;
    this.#emit({ type: 'question', id, question });
  }

  /** Runs `then` with the value: at once, or, if it is a promise, as a question that holds input. */
  settle<T>(value: MaybePromise<T>, then: (value: T) => void): void {
    if (value instanceof Promise) this.ask({ kind: 'work', promise: value }, true, then as (value: never) => void);
    else then(value);
  }

  /** Takes question `id` off: what runs with its answer, if it was open. */
  take(id: number): ((value: never) => void) | undefined {
    const question = this.#open.get(id);
    if (question === undefined) return undefined;
    this.#open.delete(id);
    if (question.hold) this.#holding--;
    return question.answered;
  }

  clear(): void {
    this.#open.clear();
    this.#holding = 0;
  }
}
