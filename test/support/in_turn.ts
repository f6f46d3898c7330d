/** Scripts of a side that only ever reacts: the same bytes in give the same bytes out, whoever sends them. */

import type { Event } from '../../src/core/events.ts';
import type { CoreSide, EventOf, SideScript } from './core_side.ts';

/** One thing to do, and the event that it waits for. */
export interface Turn {
  readonly on: Event['type'];
  readonly run: (side: CoreSide, event: Event) => void;
}

/** Once `type` has come, `run`. */
export function on<T extends Event['type']>(type: T, run: (side: CoreSide, event: EventOf<T>) => void): Turn {
  return { on: type, run: run as Turn['run'] };
}

/** The turns one after the other, each on the first event of its type after the turn before it. */
export function inTurn(turns: readonly Turn[]): NonNullable<SideScript['onEvent']> {
  let next = 0;
  return (event, side) => {
    const turn = turns[next];
    if (turn?.on !== event.type) return false;
    next++;
    turn.run(side, event);
    return true;
  };
}
