/** Answers that are asked for ahead, so that one round trip is paid for many of them. */

/**
 * What `map` makes of each item, in order. Up to `width` answers that take time are waited for at once; what is ready goes on
 * as soon as all before it did. Leaving early leaves `items`.
 */
export async function* ahead<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  width: number,
  map: (item: T) => R | Promise<R>,
): AsyncGenerator<R> {
  const pending: (R | Promise<R>)[] = [];
  for await (const item of items) {
    const result = map(item);
    if (result instanceof Promise)
      result.catch(() => undefined); // it may fail while others are waited for
    else if (pending.length === 0) {
      yield result;
      continue;
    }
    pending.push(result);
    if (pending.length >= width) yield pending.shift() as R | Promise<R>;
  }
  for (const result of pending) yield result;
}
