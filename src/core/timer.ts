/** A deadline without a clock: it starts to run when it is next looked at, because only then the time is known. */

export class Timer {
  readonly #duration: number;
  #state: 'off' | 'started' | number = 'off';

  /** `duration` in milliseconds; `Infinity` never ends. */
  constructor(duration: number) {
    this.#duration = duration;
  }

  /** Starts anew. */
  start(): void {
    this.#state = 'started';
  }

  stop(): void {
    this.#state = 'off';
  }

  get running(): boolean {
    return this.#state !== 'off';
  }

  /** When it ends; `undefined` when it is off or never ends. */
  dueAt(now: number): number | undefined {
    if (this.#state === 'off' || this.#duration === Number.POSITIVE_INFINITY) return undefined;
    if (this.#state === 'started') this.#state = now + this.#duration;
    return this.#state;
  }

  /** Whether it has ended. */
  expired(now: number): boolean {
    const due = this.dueAt(now);
    return due !== undefined && due <= now;
  }
}
