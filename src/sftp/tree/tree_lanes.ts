/**
 * Over which channels the files of an upload go. The peer's window lets a channel carry one window a round trip (RFC 4254 §5.2);
 * where that was measured to be the limit, files are spread over several. Each goes over one of them, from OPEN to RENAME. A
 * channel is used only when it sees a file that was just written, so that no file gets to another place.
 */

import { lanesWanted } from '../lane_growth.ts';
import type { Link } from '../link.ts';
import { stat } from '../operations.ts';
import type { CallOptions, RemotePath } from '../options.ts';
import type { Attributes } from '../proto/attrs.ts';
import { packets } from '../proto/packets.ts';

/** Round trips that are measured: acknowledgements come in bursts, a round trip apart. */
const LOOK = 2;

/** Windows of the peer that files under way on a channel may fill: enough to hide OPEN and RENAME of the next. */
const WINDOWS = 4;

/** `over`: there will be no more channels. */
type State =
  | { readonly name: 'measuring'; readonly since: number; readonly waits: number; bytes: number }
  | { readonly name: 'opening' | 'over' };

export class TreeLanes {
  readonly #main: Link;
  readonly #most: number;
  readonly #call: CallOptions;
  /** Bytes of the files under way on each. */
  readonly #under = new Map<Link, number>();
  #state: State;
  readonly #waiting: (() => void)[] = [];
  /** A file that is whole. */
  #proof: RemotePath | undefined;

  /** `most` channels, `main` included. */
  constructor(main: Link, most: number, call: CallOptions) {
    this.#main = main;
    this.#most = most;
    this.#call = call;
    this.#under.set(main, 0);
    this.#state = most > 1 && main.pool !== undefined ? this.#measuring() : { name: 'over' };
  }

  /** How many channels there are. */
  get count(): number {
    return this.#under.size;
  }

  /**
   * The channel for a file of `bytes`: that with the least to do. While there may be more of them, files wait rather than fill
   * the first one for seconds. The caller gives it back.
   */
  async take(bytes: number): Promise<Link> {
    for (;;) {
      let [best, least] = [this.#main, this.#under.get(this.#main) ?? 0];
      for (const [link, under] of this.#under) if (under < least) [best, least] = [link, under];
      if (least === 0 || least + bytes <= this.#room) {
        this.#under.set(best, least + bytes);
        return best;
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Bytes of files that may be under way on a channel. */
  get #room(): number {
    const window = this.#main.stats?.peerWindow ?? 0;
    return this.#state.name === 'over' || window === 0 ? Number.POSITIVE_INFINITY : WINDOWS * window;
  }

  give(link: Link, bytes: number): void {
    const under = this.#under.get(link);
    if (under !== undefined) this.#under.set(link, under - bytes);
    if (link !== this.#main && link.cause !== undefined) this.#under.delete(link);
    this.#wake();
  }

  #wake(): void {
    for (const go of this.#waiting.splice(0)) go();
  }

  /** The file at `path` is whole. */
  whole(path: RemotePath): void {
    this.#proof = path;
  }

  /** `count` bytes of any file were acknowledged, and about `left` are still to send. */
  acknowledged(count: number, left: number): void {
    const state = this.#state;
    if (state.name !== 'measuring') return;
    state.bytes += count;
    const { stats, clock } = this.#main;
    const milliseconds = clock.now() - state.since;
    const roundTrip = stats?.roundTrip ?? 0;
    if (stats === undefined || milliseconds < LOOK * roundTrip || this.#proof === undefined) return;
    const waited = stats.windowLimited || stats.windowWaits > state.waits;
    const wanted = lanesWanted({ bytes: state.bytes, milliseconds, lanes: this.count, left, waited }, stats);
    if (wanted > this.count) this.#open(Math.min(wanted, this.#most) - this.count, this.#proof);
    else this.#state = this.#measuring();
  }

  #measuring(): State {
    return { name: 'measuring', since: this.#main.clock.now(), waits: this.#main.stats?.windowWaits ?? 0, bytes: 0 };
  }

  #open(count: number, proof: RemotePath): void {
    this.#state = { name: 'opening' };
    const seen = stat(this.#main, packets.lstat, proof, this.#call);
    const joining = Array.from({ length: count }, () => this.#join(proof, seen));
    Promise.all(joining).then((joined) => {
      if (this.#state.name === 'over') return;
      const isOver = joined.includes(false) || this.count >= this.#most;
      this.#state = isOver ? { name: 'over' } : this.#measuring();
      this.#wake();
    });
  }

  /** Whether another channel is there. One that is refused is no failure. */
  async #join(proof: RemotePath, seen: Promise<Attributes>): Promise<boolean> {
    const { pool } = this.#main;
    const [taken, known] = await Promise.allSettled([pool?.take(this.#most - 1), seen]);
    if (taken.status === 'rejected' || taken.value === undefined) return false;
    const link = taken.value;
    try {
      if (known.status === 'fulfilled') {
        const own = await stat(link, packets.lstat, proof, this.#call);
        if (isSame(own, known.value) && this.#state.name === 'opening') {
          this.#under.set(link, 0);
          this.#wake();
          return true;
        }
      }
    } catch {
      // it is of no use
    }
    pool?.give(link);
    return false;
  }

  /** Gives the channels back. No file may be under way. */
  close(): void {
    this.#state = { name: 'over' };
    for (const link of this.#under.keys()) if (link !== this.#main) this.#main.pool?.give(link);
    this.#under.clear();
  }
}

/** Whether these are attributes of one file. */
function isSame(a: Attributes, b: Attributes): boolean {
  if (a.size === undefined || a.mtime === undefined) return false;
  return (['size', 'mtime', 'permissions', 'uid', 'gid'] as const).every((name) => a[name] === b[name]);
}
