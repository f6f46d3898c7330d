/** Work on things with names, such as files, one after the other. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does `work` once everything that was asked for under this name before has ended, well or not. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const running = before.catch(() => {}).then(work);
    this.#last.set(name, running);
    try {
      return await running;
    } finally {
      if (this.#last.get(name) === running) this.#last.delete(name);
    }
  }
}
