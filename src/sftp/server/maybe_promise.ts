/** Values that are there at once or come later: a backend in memory costs no promise, one on a disk needs them. */

import type { MaybePromise } from '../../crypto/provider.ts';

export type { MaybePromise } from '../../crypto/provider.ts';

/** What `next` makes of the value; at once where the value is there. */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** Whether the value comes later. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}
