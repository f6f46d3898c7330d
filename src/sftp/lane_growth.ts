/**
 * When an upload gets more lanes, and how they are opened. The peer's window lets a channel carry one window a round trip
 * (RFC 4254 §5.2), so further channels help where that was measured to be the limit. A lane that may not be what it should
 * is closed again, and nobody hears of it.
 */

import type { PipeStats } from '../io/pipe.ts';
import type { Link } from './link.ts';
import { closeQuietly, fstat, type OpenHandle, openFile, stat } from './operations.ts';
import { type Attributes, fileKind } from './proto/attrs.ts';
import { packets } from './proto/packets.ts';

/** Milliseconds: a server that is nearer than this is held up by its machine, or ours, and not by its window. */
const NEAR = 5;

/** Round trips that what is left has to fill: opening a lane takes four of them, and it should be of use for a while. */
const WORTHWHILE = 6;

/** Part of its window that a lane carries in a round trip: from here on the window may be the limit, after a long look … */
const HALF = 0.5;

/** … and here nothing else is: then there may be four times as many lanes at once. */
const NEARLY_ALL = 0.8;

/** Round trips that eight such lanes would have to do: then they are opened at once, for what a few too many may cost. */
const LONG_HAUL = 24;

/** Acknowledgements come in bursts, a round trip apart: a look is long, and over, after so many round trips. */
const LONG_LOOK = 2;

/** What was measured over at least a round trip. */
export interface Measured {
  /** Acknowledged over all lanes, in so many milliseconds. */
  readonly bytes: number;
  readonly milliseconds: number;
  readonly lanes: number;
  /** Bytes still to send; infinity where nobody knows. */
  readonly left: number;
  /** Whether data had to wait for the peer's window meanwhile. */
  readonly waited: boolean;
}

/** How many lanes there should be. */
export function lanesWanted(measured: Measured, { roundTrip, peerWindow }: PipeStats): number {
  const { bytes, milliseconds, lanes, left, waited } = measured;
  if (!waited || roundTrip === undefined || roundTrip < NEAR || peerWindow === 0) return lanes;
  const aTrip = (bytes / milliseconds) * roundTrip;
  if (left < aTrip * WORTHWHILE) return lanes;
  const share = aTrip / lanes / peerWindow;
  if (share >= NEARLY_ALL) {
    const isLong = left !== Number.POSITIVE_INFINITY && left >= 8 * (aTrip / lanes) * LONG_HAUL;
    return isLong ? 8 * lanes : 4 * lanes;
  }
  return share >= HALF && milliseconds >= LONG_LOOK * roundTrip ? 2 * lanes : lanes;
}

/** What a growing upload says of itself. */
export interface Growing {
  readonly lanes: number;
  /** Bytes still to send; infinity where nobody knows. */
  readonly left: number;
  /** The end of what is acknowledged, and of what was sent, as positions in the file. */
  readonly acknowledged: number;
  readonly sent: number;
  /** A lane is there. */
  joined(file: OpenHandle): void;
}

/** `measuring` from `since` on, `opening` so many lanes, or `over`: there will be no more. */
type State =
  | { readonly name: 'measuring'; readonly since: number; readonly waits: number; bytes: number }
  | { readonly name: 'opening'; waiting: number; refused: boolean }
  | { readonly name: 'over' };

/** Thrown, and caught, here only. */
const NOT_THE_FILE: Error = new Error('What the lane sees is not the file that is being written');

export class LaneGrowth {
  readonly #file: OpenHandle;
  readonly #most: number;
  readonly #upload: Growing;
  readonly #stop = new AbortController();
  #state: State;
  /** Milliseconds that a measurement takes at least: the round trip, once it is known. */
  #span = NEAR;

  /** For the upload into `file`, which has one lane and is to have `most` at the most. */
  constructor(file: OpenHandle, most: number, upload: Growing) {
    this.#file = file;
    this.#most = most;
    this.#upload = upload;
    const possible = most > 1 && file.reopen !== undefined && file.link.pool !== undefined;
    this.#state = possible ? this.#measuring(0) : { name: 'over' };
  }

  /** The first WRITE is about to be sent. */
  begin(): void {
    if (this.#state.name === 'measuring') this.#state = this.#measuring(0);
  }

  /** `count` bytes were acknowledged, on any lane. */
  acknowledged(count: number): void {
    const state = this.#state;
    if (state.name !== 'measuring') return;
    const { link } = this.#file;
    const milliseconds = link.clock.now() - state.since;
    if (milliseconds < 0) return;
    state.bytes += count;
    if (milliseconds < this.#span) return;
    const stats = link.stats;
    if (stats === undefined) {
      this.#state = { name: 'over' };
      return;
    }
    this.#span = Math.max(NEAR, stats.roundTrip ?? 0);
    // the round trip was not known before, or longer than it seemed
    if (milliseconds < this.#span) return;
    const { lanes, left } = this.#upload;
    const waited = stats.windowLimited || stats.windowWaits > state.waits;
    const wanted = lanesWanted({ bytes: state.bytes, milliseconds, lanes, left, waited }, stats);
    if (wanted > lanes) this.#open(Math.min(wanted, this.#most) - lanes);
    else if (milliseconds >= LONG_LOOK * this.#span) this.#state = this.#measuring(0);
  }

  /** No lane is wanted any more; those on their way are closed as they come. */
  stop(): void {
    this.#state = { name: 'over' };
    this.#stop.abort();
  }

  #measuring(skip: number): State {
    const { link } = this.#file;
    return { name: 'measuring', since: link.clock.now() + skip, waits: link.stats?.windowWaits ?? 0, bytes: 0 };
  }

  #open(count: number): void {
    this.#state = { name: 'opening', waiting: count, refused: false };
    const seen = this.#look();
    for (let i = 0; i < count; i++) {
      this.#join(seen).then(
        () => this.#settled(false),
        () => this.#settled(true),
      );
    }
  }

  #settled(refused: boolean): void {
    const state = this.#state;
    if (state.name !== 'opening') return;
    state.waiting--;
    state.refused ||= refused;
    if (state.waiting > 0) return;
    // A new lane's first acknowledgements come a round trip from now, in the middle of what is measured.
    const isOver = state.refused || this.#upload.lanes >= this.#most;
    this.#state = isOver ? { name: 'over' } : this.#measuring(this.#span / 2);
  }

  /**
   * What the path leads to, asked before it is opened a second time: some servers start another upload at that, under a
   * name that only appears when it is closed.
   */
  async #look(): Promise<Attributes> {
    const { link, reopen } = this.#file;
    const before = this.#upload.acknowledged;
    const attrs = await stat(link, packets.stat, reopen?.path ?? '', { signal: this.#stop.signal });
    this.#check(attrs, before);
    return attrs;
  }

  /** Whether these may be the attributes of the file that is being written, of which `least` bytes were there. */
  #check({ size, permissions }: Attributes, least: number): void {
    const most = this.#file.reopen?.fresh ? this.#upload.sent : Number.POSITIVE_INFINITY;
    const isFile = permissions === undefined || fileKind({ permissions }) === 'file';
    if (!isFile || size === undefined || size < least || size > most) throw NOT_THE_FILE;
  }

  async #join(seen: Promise<Attributes>): Promise<void> {
    const { pool } = this.#file.link;
    const [taken, looked] = await Promise.allSettled([pool?.take(this.#most - 1), seen]);
    if (taken.status === 'rejected' || taken.value === undefined) throw NOT_THE_FILE;
    const link = taken.value;
    try {
      if (looked.status === 'rejected') throw NOT_THE_FILE;
      const file = await this.#openOn(link, looked.value);
      this.#upload.joined(file);
    } catch (error) {
      pool?.give(link);
      throw error;
    }
  }

  async #openOn(link: Link, known: Attributes): Promise<OpenHandle> {
    const { path, reopen } = this.#file;
    const options = { signal: this.#stop.signal };
    // not for writing alone: there are servers that empty a file which is opened for that
    const flags = { read: true, write: true };
    const file = await openFile(link, reopen?.path ?? '', flags, {}, options, closeQuietly, path);
    try {
      const before = this.#upload.acknowledged;
      const attrs = await fstat(file, options);
      this.#check(attrs, before);
      for (const name of ['permissions', 'uid', 'gid'] as const) {
        if (attrs[name] !== known[name]) throw NOT_THE_FILE;
      }
      if ((attrs.mtime ?? 0) < (known.mtime ?? 0)) throw NOT_THE_FILE;
      if (this.#stop.signal.aborted) throw NOT_THE_FILE;
      return file;
    } catch (error) {
      closeQuietly(file);
      throw error;
    }
  }
}
