/**
 * The progress line: one line of a terminal, written over and over. What it says is a pure function of the numbers; when
 * it is written depends on the clock that it is given.
 */

import { printable } from '../bytes/text.ts';
import { formatBytes, formatDuration } from './units.ts';

/** What a progress line shows. */
export interface ProgressState {
  readonly name: string;
  readonly bytes: number;
  /** Bytes there will be, as far as known. */
  readonly total?: number | undefined;
  /** Bytes a second, now. */
  readonly rate: number;
  /** Seconds since the start. */
  readonly seconds: number;
  readonly done: boolean;
  /** Where more than one file is moved. */
  readonly files?: FileCount | undefined;
}

/** How many files are through, of how many. */
export interface FileCount {
  readonly done: number;
  readonly known: number;
  /** Whether `known` files are all there will be. */
  readonly all: boolean;
}

/** A terminal to write to. */
export interface ProgressOutput {
  write(text: string): unknown;
  readonly columns?: number | undefined;
}

const NAME_SHARE = 0.35; // of the line: the numbers matter more
const WITHOUT_COLUMNS = 80;
const MAX_NAME = 4096;

/** The line, no longer than `columns`: a name that is too long is cut in its middle. */
export function progressLine(state: ProgressState, columns: number = WITHOUT_COLUMNS): string {
  const { bytes, total, rate, seconds, done, files } = state;
  const speed = `${formatBytes(rate)}/s`;
  const isEndKnown = total !== undefined && total > 0 && files?.all !== false;
  const fields = !isEndKnown
    ? [...countField(state), formatBytes(bytes), speed, formatDuration(seconds)]
    : [
        ...countField(state),
        `${String(percent(bytes, total, done)).padStart(3)}%`,
        done ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(total)}`,
        speed,
        done ? formatDuration(seconds) : `${formatDuration((total - bytes) / rate)} left`,
      ];
  const numbers = fields.join('  ');
  const room = Math.min(Math.max(8, Math.floor(columns * NAME_SHARE)), columns - numbers.length - 2);
  const line = room >= 4 ? `${shorten(printable(state.name, MAX_NAME), room)}  ${numbers}` : numbers;
  return line.slice(0, columns);
}

/** `12/340 files`, with a `+` while more may be found. */
function countField({ files, done }: ProgressState): string[] {
  if (files === undefined) return [];
  const of = done ? String(files.done) : `${files.done}/${files.known}${files.all ? '' : '+'}`;
  return [`${of} ${of === '1' ? 'file' : 'files'}`];
}

/** 100 is for what is complete only, however little is missing. */
function percent(bytes: number, total: number, done: boolean): number {
  if (done) return 100;
  return Math.min(99, Math.floor((100 * bytes) / total));
}

function shorten(text: string, room: number): string {
  const characters = [...text];
  if (characters.length <= room) return text;
  const head = Math.ceil((room - 1) / 2);
  return `${characters.slice(0, head).join('')}…${characters.slice(characters.length - (room - 1 - head)).join('')}`;
}

const EVERY_MS = 100; // often enough to look alive, rare enough to cost nothing
const SMOOTHING_MS = 2000; // a rate that jumps cannot be read

/** Draws a progress line as numbers come in. */
export class ProgressMeter {
  readonly #output: ProgressOutput;
  #name: string;
  readonly #now: () => number;
  readonly #start: number;
  #drawnAt = -Infinity;
  #lastAt: number;
  #lastBytes = 0;
  #rate: number | undefined;
  #width = 0;
  #bytes = 0;
  #total: number | undefined;
  #files: FileCount | undefined;

  /** `now` gives milliseconds. */
  constructor(output: ProgressOutput, name: string, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#name = name;
    this.#now = now;
    this.#start = now();
    this.#lastAt = this.#start;
  }

  /** Tells how far it is, of many files with which is under way; draws if it is time to. */
  update(bytes: number, total: number | undefined, files?: FileCount, name: string = this.#name): void {
    const now = this.#now();
    this.#bytes = bytes;
    this.#total = total;
    this.#files = files;
    this.#name = name;
    if (now - this.#drawnAt < EVERY_MS) return;
    const elapsed = now - this.#lastAt;
    if (elapsed > 0) {
      const current = ((bytes - this.#lastBytes) * 1000) / elapsed;
      const weight = 1 - Math.exp(-elapsed / SMOOTHING_MS);
      this.#rate = this.#rate === undefined ? current : this.#rate + (current - this.#rate) * weight;
      this.#lastAt = now;
      this.#lastBytes = bytes;
    }
    this.#drawnAt = now;
    this.#draw(false, this.#rate ?? 0);
  }

  /** Every one of `bytes` arrived, of `files` files where there were many: the last state stays on the terminal. */
  done(bytes: number, files?: number, name: string = this.#name): void {
    const seconds = this.#seconds();
    this.#bytes = bytes;
    this.#total = bytes;
    this.#files = files === undefined ? undefined : { done: files, known: files, all: true };
    this.#name = name;
    this.#draw(true, seconds > 0 ? this.#bytes / seconds : 0);
    this.#output.write('\n');
  }

  /** Takes the line away, for an error message in its place. */
  clear(): void {
    if (this.#width > 0) this.#output.write(`\r${' '.repeat(this.#width)}\r`);
    this.#width = 0;
  }

  #seconds(): number {
    return (this.#now() - this.#start) / 1000;
  }

  #draw(done: boolean, rate: number): void {
    const state = {
      name: this.#name,
      bytes: this.#bytes,
      total: this.#total,
      files: this.#files,
      rate,
      seconds: this.#seconds(),
      done,
    };
    // The last column stays free: writing there makes some terminals go to the next line.
    const line = progressLine(state, (this.#output.columns || WITHOUT_COLUMNS) - 1);
    const width = [...line].length;
    this.#output.write(`\r${line}${' '.repeat(Math.max(0, this.#width - width))}`);
    this.#width = width;
  }
}
