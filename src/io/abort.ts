/** AbortSignal as errors of ours. */

import { SshError } from '../errors.ts';

/** The error for a signal that has fired; its reason is the cause. */
export function abortedBy(signal: AbortSignal, what = 'The operation'): SshError {
  return new SshError('aborted', `${what} was aborted`, { cause: signal.reason });
}

/** Runs `run` once when the signal fires, at once if it has; returns what forgets about it. */
export function onAbort(signal: AbortSignal, run: (error: SshError) => void, what?: string): () => void {
  const listener = (): void => run(abortedBy(signal, what));
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
