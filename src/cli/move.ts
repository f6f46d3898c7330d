/** What `get` and `put` share beside the session: what is shown meanwhile, how many files are under way, which are left alone. */

import type { SftpClient } from '../sftp/client.ts';
import type { Progress } from '../sftp/options.ts';
import type { TreeOptions, TreeProgress } from '../sftp/tree/options.ts';
import { filterOf } from './path_pattern.ts';
import type { ProgressMeter } from './progress.ts';
import type { Summary } from './summary.ts';
import type { MoveChoice } from './transfer_args.ts';

/** Everything that moving needs. */
export interface Moving {
  readonly sftp: SftpClient;
  readonly signal: AbortSignal;
  readonly choice: MoveChoice;
  /** Shows how far it is; absent: nobody watches. */
  readonly meter?: ProgressMeter | undefined;
  /** The local path as the platform takes it: relative ones may begin elsewhere than the process does. */
  local(path: string): string;
}

/** What a choice means for one file and for many. What is not chosen is absent. */
export function optionsOf(choice: MoveChoice): Options {
  const { requests, requestSize, lanes, verify, preserve, resume, sparse } = choice;
  return {
    ...(requests === undefined ? {} : { requests }),
    ...(requestSize === undefined ? {} : { requestSize }),
    ...(lanes === undefined ? {} : { lanes }),
    ...(verify === undefined ? {} : { verify }),
    ...(preserve ? { preserve } : {}),
    ...(resume === false ? {} : { resume }),
    ...(sparse ? { sparse } : {}),
  };
}

type Options = Pick<TreeOptions, 'requests' | 'requestSize' | 'lanes' | 'verify' | 'preserve' | 'resume' | 'sparse'>;

/** What it means for a directory besides. */
export function treeOptions(choice: MoveChoice): TreeOptions {
  const { overwrite, symlinks, exclude } = choice;
  return { ...optionsOf(choice), overwrite, symlinks, filter: filterOf(exclude) };
}

/** Files of one command under way at once: enough to hide the distance, few enough to leave little half done. */
const FILES_AT_ONCE = 16;

/** Runs `work` for every item, some at a time. The first rejection ends it, once those under way have settled. */
export async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  let isOver = false;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (isOver) return;
      try {
        await work(item);
      } catch (error) {
        isOver = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.min(FILES_AT_ONCE, items.length) }, worker);
  const results = await Promise.allSettled(workers);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** What hears how far a file is; absent where nobody watches. */
export type OnProgress = ((progress: Pick<Progress, 'bytes' | 'total'>) => void) | undefined;

/** How far one of several sources is. */
interface Part {
  readonly bytes: number;
  readonly total: number | undefined;
  readonly files: number;
  readonly known: number;
  readonly all: boolean;
}

/** Joins the progress of several sources into that of all; shows that of a single one as it is. */
export class Tally {
  readonly #meter: ProgressMeter | undefined;
  readonly #isMany: boolean;
  readonly #parts: Part[] = [];
  /** Sums, so that no call has to go through all parts. */
  readonly #sum = { bytes: 0, total: 0, unknown: 0, done: 0, known: 0, open: 0 };

  /** A source each, with its size where that is known: one file until it shows that it is more. */
  constructor(meter: ProgressMeter | undefined, sizes: readonly (number | undefined)[], isMany: boolean) {
    this.#meter = meter;
    this.#isMany = isMany;
    for (const total of sizes) {
      const part = { bytes: 0, total, files: 0, known: 1, all: true };
      this.#parts.push(part);
      this.#add(part, 1);
    }
  }

  /** The progress function of source number `at` where it is a file; absent where nobody watches. */
  file(at: number, name: string): OnProgress {
    const meter = this.#meter;
    if (meter === undefined) return undefined;
    if (!this.#isMany) return ({ bytes, total }) => meter.update(bytes, total, undefined, name);
    return ({ bytes, total }) => this.#update(at, { bytes, total, files: 0, known: 1, all: true }, name);
  }

  /** Likewise of one that is a tree. */
  tree(at: number): ((progress: TreeProgress) => void) | undefined {
    if (this.#meter === undefined) return undefined;
    return ({ bytes, total, files, filesTotal, listed, path }) =>
      this.#update(at, { bytes, total, files, known: filesTotal, all: listed }, path);
  }

  /** A file is through, or will not come. */
  through(at: number): void {
    const part = this.#parts[at] as Part;
    this.#set(at, { ...part, total: part.bytes, files: part.known, all: true });
  }

  #update(at: number, part: Part, name: string): void {
    this.#set(at, part);
    const { bytes, total, unknown, done, known, open } = this.#sum;
    // what has not begun has no size yet: then nothing is said about the end
    this.#meter?.update(bytes, unknown > 0 ? undefined : total, { done, known, all: open === 0 }, name);
  }

  #set(at: number, part: Part): void {
    this.#add(this.#parts[at] as Part, -1);
    this.#add(part, 1);
    this.#parts[at] = part;
  }

  #add({ bytes, total, files, known, all }: Part, sign: 1 | -1): void {
    const sum = this.#sum;
    sum.bytes += sign * bytes;
    sum.total += sign * (total ?? 0);
    sum.unknown += total === undefined ? sign : 0;
    sum.done += sign * files;
    sum.known += sign * known;
    sum.open += all ? 0 : sign;
  }
}

/** Ends the progress display, and gives what it all came to. Where something failed, the lines about that say more. */
export function finished(meter: ProgressMeter | undefined, summary: Summary, isMany: boolean): Summary {
  if (summary.failedTotal > 0 || summary.files === 0) meter?.clear();
  else if (isMany) meter?.done(summary.bytes, summary.files, 'all');
  else meter?.done(summary.bytes);
  return summary;
}
