/** A program that can be measured, as everybody who runs one sees it. */

import { execFileSync } from 'node:child_process';
import type { Peer } from '../test/support/peers/peer.ts';
import type { Invocation } from './measure.ts';

export type Direction = 'get' | 'put';

export type Work = Direction | 'get-tree' | 'put-tree' | 'list';

/** Options of puressh that a suite varies; absent: its defaults. */
export interface Tuning {
  readonly crypto?: 'pure';
  readonly requests?: number;
  /** Bytes; the window neither grows nor shrinks. */
  readonly window?: number;
  readonly lanes?: number;
}

/** One task that a program is asked for. */
export interface Job {
  readonly work: Work;
  /** Where to connect: the server itself or a relay before it. */
  readonly port: number;
  readonly peer: Peer;
  readonly remote: string;
  /** Not for `list`, which prints the names. `-`: standard output. */
  readonly local: string;
  readonly tuning?: Tuning;
}

/** A program that can be measured. */
export interface Program {
  readonly name: string;
  readonly version: string;
  /** The runtime and its version; only puressh has one. */
  readonly runtime?: string;
  /** How that runtime is started, before the name of a script. */
  readonly launcher?: readonly string[];
  readonly works: readonly Work[];
  invoke(job: Job): Invocation;
}

/** Someone who is not here, and why. */
export interface Missing {
  readonly name: string;
  readonly why: string;
}

/** The first line that a program prints about itself. */
export function versionLine(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split('\n', 1)[0] ?? '';
}
