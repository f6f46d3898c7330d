/** A backend whose calls wait until a test lets them go, and are written down: for the order in which a server makes them. */

import type { BackendFile, SftpBackend } from '../../src/sftp/server/backend.ts';
import { isPromise, type MaybePromise } from '../../src/sftp/server/maybe_promise.ts';
import type { MemoryFile } from '../../src/sftp/server/memory_file.ts';
import { type MemoryFiles, memoryFiles } from '../../src/sftp/server/memory_fs.ts';

/** Calls that can be held. */
const HELD = [
  'open',
  'read',
  'write',
  'fstat',
  'fsetstat',
  'sync',
  'close',
  'stat',
  'rename',
  'remove',
  'list',
] as const;
type Held = (typeof HELD)[number];

interface Waiting {
  readonly call: string;
  readonly go: () => void;
}

export class GatedFiles {
  readonly memory: MemoryFiles;
  readonly backend: SftpBackend;
  /** Every call as it was made, such as `read /a 0+32768`. */
  readonly log: string[] = [];
  /** How often each path was opened, and closed. */
  opened = 0;
  closed = 0;
  /** Calls on one open file at the same time, which must never be more than one; those of `close` beside another. */
  overlaps = 0;
  /** Whether READs and WRITEs of a path fail: gives what to throw. */
  fails: (call: string, path: string, offset: number, length: number) => unknown = () => undefined;
  /** Most bytes that a read gives. */
  clamp: number = Number.POSITIVE_INFINITY;
  stream = false;
  readonly #holding = new Map<Held, (path: string) => boolean>();
  readonly #waiting: Waiting[] = [];

  constructor(files: Readonly<Record<string, string | Uint8Array>> = {}) {
    const memory = memoryFiles({ files, now: () => 0 });
    this.memory = memory;
    this.backend = {
      open: (path, request) =>
        this.#pass('open', path, '', () => {
          this.opened++;
          return this.#file(path, memory.open(path, request));
        }),
      stat: (path) => this.#pass('stat', path, '', () => memory.stat(path)),
      rename: (from, to) => this.#pass('rename', from, ` ${to}`, () => memory.rename(from, to)),
      remove: (path) => this.#pass('remove', path, '', () => memory.remove(path)),
      list: (path) =>
        this.#pass('list', path, '', () => {
          this.opened++;
          return this.#list(path);
        }),
      home: () => '/',
      files: { sync: true },
    };
  }

  *#list(path: string): Generator<{ readonly name: string; readonly attrs: object }> {
    try {
      for (const { name, attrs } of this.memory.list(path)) yield { name, attrs };
    } finally {
      this.closed++;
      this.log.push(`left ${path}`);
    }
  }

  /** Holds calls of these names from now on, of all paths or of one. */
  hold(call: Held, path?: string): void {
    this.#holding.set(call, (each) => path === undefined || each === path);
  }

  /** Lets go what waits, and, unless told otherwise, what comes later. */
  release(call: Held, later = true): void {
    if (later) this.#holding.delete(call);
    for (const waiting of this.#waiting.filter((each) => each.call === call)) {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.go();
    }
  }

  /** Calls that wait. */
  get waiting(): readonly string[] {
    return this.#waiting.map(({ call }) => call);
  }

  #pass<T>(call: Held, path: string, detail: string, run: () => MaybePromise<T>): MaybePromise<T> {
    this.log.push(`${call} ${path}${detail}`);
    if (!this.#holding.get(call)?.(path)) return run();
    return new Promise((resolve, reject) => {
      const go = (): void => {
        try {
          resolve(run());
        } catch (error) {
          reject(error);
        }
      };
      this.#waiting.push({ call, go });
    });
  }

  #file(path: string, file: MemoryFile): BackendFile {
    let running = 0;
    let closed = false;
    const alone = <T>(call: Held, detail: string, run: () => MaybePromise<T>): MaybePromise<T> => {
      if (running > 0 || closed) this.overlaps++;
      running++;
      let result: MaybePromise<T>;
      try {
        result = this.#pass(call, path, detail, run);
      } catch (error) {
        running--;
        throw error;
      }
      if (isPromise(result)) return result.finally(() => running--);
      running--;
      return result;
    };
    const failing = (call: string, offset: number, length: number): void => {
      const error = this.fails(call, path, offset, length);
      if (error !== undefined) throw error;
    };
    return {
      stream: this.stream,
      read: (offset, length) =>
        alone('read', ` ${offset}+${length}`, () => {
          failing('read', offset, length);
          return file.read(offset, Math.min(length, this.clamp));
        }),
      write: (offset, pieces) => {
        const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
        return alone('write', ` ${offset}+${length}`, () => {
          failing('write', offset, length);
          return file.write(offset, pieces);
        });
      },
      stat: () => alone('fstat', '', () => file.stat()),
      setstat: (attrs) => alone('fsetstat', ` ${JSON.stringify(attrs)}`, () => file.setstat(attrs)),
      sync: () => alone('sync', '', () => undefined),
      close: () => {
        this.closed++;
        const result = alone('close', '', () => file.close());
        closed = true;
        return result;
      },
    };
  }
}
