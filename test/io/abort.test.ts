/** Waiting for signals. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forgetAbort, listenToAbort, onAbort } from '../../src/io/abort.ts';

/** A controller whose signal counts the listeners that it has. */
function counted(): { readonly controller: AbortController; readonly listeners: () => number } {
  const controller = new AbortController();
  const { signal } = controller;
  let count = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    count += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    count -= 1;
    remove(...args);
  };
  return { controller, listeners: () => count };
}

describe('listenToAbort and forgetAbort', () => {
  it('have one listener for all who wait, and none when nobody does', () => {
    const { controller, listeners } = counted();
    const runs = Array.from({ length: 100 }, () => () => undefined);
    for (const run of runs) listenToAbort(controller.signal, run);
    assert.equal(listeners(), 1);
    for (const run of runs.slice(1)) forgetAbort(controller.signal, run);
    assert.equal(listeners(), 1);
    forgetAbort(controller.signal, runs[0] as () => void);
    forgetAbort(controller.signal, runs[0] as () => void);
    assert.equal(listeners(), 0);
  });

  it('call who still waits, once and in order, without those whom one of them has forgotten', () => {
    const { controller } = counted();
    const { signal } = controller;
    const called: string[] = [];
    const gone = (): void => void called.push('gone');
    const later = (): void => void called.push('later');
    listenToAbort(signal, gone);
    forgetAbort(signal, gone);
    listenToAbort(signal, () => {
      called.push('first');
      forgetAbort(signal, later);
    });
    listenToAbort(signal, later);
    const forget = onAbort(signal, (error) => void called.push(error.code));
    listenToAbort(signal, () => void called.push('last'));
    controller.abort();
    controller.abort();
    forget();
    assert.deepEqual(called, ['first', 'aborted', 'last']);
    onAbort(signal, () => void called.push('at once'));
    assert.equal(called.at(-1), 'at once');
  });
});
