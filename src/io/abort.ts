/** AbortSignal as errors of ours. */

import { SshError } from '../errors.ts';

/** The error for a signal that has fired; its reason is the cause. */
export function abortedBy(signal: AbortSignal, what = 'The operation'): SshError {
  return new SshError('aborted', `${what} was aborted`, { cause: signal.reason });
}

/** Who waits for a signal. One listener serves all of them: Node 20 warns of a leak at the eleventh on one signal. */
const waiting = new WeakMap<AbortSignal, Waiting>();

interface Waiting {
  readonly runs: Set<() => void>;
  readonly listener: () => void;
}

/** Calls `run` when the signal fires, which it must not have yet. Any number may wait for one signal. */
export function listenToAbort(signal: AbortSignal, run: () => void): void {
  let here = waiting.get(signal);
  if (here === undefined) {
    const runs = new Set<() => void>();
    const listener = (): void => {
      for (const each of runs) each(); // without those that one of them has forgotten
      waiting.delete(signal);
    };
    here = { runs, listener };
    waiting.set(signal, here);
    signal.addEventListener('abort', listener, { once: true });
  }
  here.runs.add(run);
}

/** Forgets what `listenToAbort` was told, if anything. */
export function forgetAbort(signal: AbortSignal, run: () => void): void {
  const here = waiting.get(signal);
  if (here === undefined || !here.runs.delete(run) || here.runs.size > 0) return;
  waiting.delete(signal);
  signal.removeEventListener('abort', here.listener);
}

/** Runs `run` once when the signal fires, at once if it has; returns what forgets about it. */
export function onAbort(signal: AbortSignal, run: (error: SshError) => void, what?: string): () => void {
  const listener = (): void => run(abortedBy(signal, what));
  if (signal.aborted) listener();
  else listenToAbort(signal, listener);
  return () => forgetAbort(signal, listener);
}
