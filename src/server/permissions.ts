/**
 * What a user may do whom several steps let in together: what each of them allows, and nothing that one of them does not, as
 * OpenSSH's sshauthopt_merge has it or stricter. Knows no login.
 */

import type { ForwardPermit } from '../keys/forward_permit.ts';
import type { Permissions } from './handlers.ts';

/** What both allow; `undefined` where they bind to two different commands. Of variables those of `first` count. */
export function bothAllow(first: Permissions, second: Permissions): Permissions | undefined {
  const command = first.command ?? second.command;
  if (second.command !== undefined && second.command !== command) return undefined;
  const permitOpen = bothPermit(first.permitOpen, second.permitOpen);
  const permitListen = bothPermit(first.permitListen, second.permitListen);
  return {
    ...(command === undefined ? {} : { command }),
    environment: { ...second.environment, ...first.environment },
    pty: first.pty !== false && second.pty !== false,
    portForwarding: first.portForwarding !== false && second.portForwarding !== false,
    agentForwarding: first.agentForwarding !== false && second.agentForwarding !== false,
    ...(permitOpen === undefined ? {} : { permitOpen }),
    ...(permitListen === undefined ? {} : { permitListen }),
  };
}

type Permits = readonly ForwardPermit[] | undefined;

/** Of two patterns of `permitlisten` that are not the same, nobody can say what both match: neither counts. */
function bothPermit(first: Permits, second: Permits): Permits {
  if (first === undefined || second === undefined) return first ?? second;
  const both: ForwardPermit[] = [];
  for (const a of first) {
    for (const b of second) {
      const host = narrower(a.host, b.host);
      const port = narrower(a.port, b.port);
      if (host !== undefined && port !== undefined) both.push({ host, port });
    }
  }
  return both;
}

function narrower<T extends string | number>(a: T, b: T): T | undefined {
  if (a === '*') return b;
  return b === '*' || a === b ? a : undefined;
}
