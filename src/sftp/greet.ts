/** The beginning of a session: INIT, VERSION, and the question for limits. */

import { decodeFields, encodeFields } from '../bytes/schema.ts';
import type { SshError } from '../errors.ts';
import { forgetAbort, listenToAbort } from '../io/abort.ts';
import { abortedError, call, stalledError } from './call.ts';
import type { Link } from './link.ts';
import { offers } from './operations.ts';
import { extensions } from './proto/extensions.ts';
import { decodePacket, packets } from './proto/packets.ts';
import { StallGuard } from './stall.ts';

/** Opens the pipe and resolves with VERSION; whatever else comes, or nothing for `stallTimeout` ms, ends the link. */
export function greet(link: Link, stallTimeout: number, signal: AbortSignal | undefined): Promise<void> {
  link.ready = greeting(link, stallTimeout, signal);
  link.ready.catch(() => undefined); // everything that is asked fails with it, too
  return link.ready;
}

function greeting(link: Link, stallTimeout: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const guard = new StallGuard(
      link.clock,
      stallTimeout,
      () => link.heardAt,
      () => link.fail(stalledError('init', undefined, ' to SSH_FXP_INIT', stallTimeout)),
    );
    const onAbort = (): void => link.fail(abortedError('init', undefined, signal as AbortSignal));
    const settle = (): void => {
      guard.stop();
      if (signal !== undefined) forgetAbort(signal, onAbort);
    };
    const ready = (): void => {
      settle();
      askLimits(link);
      resolve();
    };
    const failed = (cause: SshError): void => {
      settle();
      reject(cause);
    };
    guard.start();
    if (signal !== undefined) listenToAbort(signal, onAbort);
    link.start(ready, failed);
    if (signal?.aborted) onAbort();
  });
}

/** limits@openssh.com, where the server has it; what comes of it is used from then on. */
function askLimits(link: Link): void {
  const { request, fields, reply } = extensions.limits;
  if (!offers(link, extensions.limits)) return;
  const known = (value: bigint): number | undefined => (value === 0n ? undefined : Number(value));
  call(link, {
    row: packets.extended,
    value: { request, body: encodeFields(fields, {}) },
    operation: 'limits',
    expects: packets.extendedReply,
    decode: (packet) => decodeFields(reply, decodePacket(packets.extendedReply, packet).body, request),
  }).then(
    (limits) => {
      const entries = Object.entries(limits).map(([name, value]) => [name, known(value)] as const);
      const stated = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
      link.limits = { ...stated, ...link.limits }; // what is known already is known better
    },
    () => undefined, // a server that refuses it states no limits
  );
}
