/** Values that a provider gives at once, or later where the runtime computes beside the program. */

import type { MaybePromise } from './provider.ts';

/** `next` of the value, now if it is there and later if it is a promise. */
export function whenReady<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
