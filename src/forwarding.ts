/** Forwarding over the TCP of a runtime, for whatever a policy allows. RFC 4254 §7. */

import type { MaybePromise } from './crypto/provider.ts';
import { CONNECT_TIMEOUT, type Dial } from './io/dial.ts';
import type { Listen, ListenAddress } from './io/listen.ts';
import type { ForwardHandlers, ForwardTarget, Login } from './server/handlers.ts';

/** What clients may have forwarded. What has no function is refused. */
export interface TcpForwardingRules {
  /** Whether a client may be connected to a target; the addresses are the client's word. */
  connect?(target: ForwardTarget, login: Login): MaybePromise<boolean>;
  /** Whether the server may listen for a client; a host of '' or '*' is every address (RFC 4254 §7.1). */
  listen?(bind: ListenAddress, login: Login): MaybePromise<boolean>;
}

/** `forward` of a server. */
export function tcpForwardingOver(dial: Dial, listen: Listen, rules: TcpForwardingRules): ForwardHandlers {
  const { connect: mayConnect, listen: mayListen } = rules;
  return {
    ...(mayConnect !== undefined && {
      async connect(target, login, signal) {
        if ((await mayConnect.call(rules, target, login)) !== true) return undefined;
        return await dial({ host: target.host, port: target.port, timeout: CONNECT_TIMEOUT, signal });
      },
    }),
    ...(mayListen !== undefined && {
      async listen(bind, login, accept) {
        if ((await mayListen.call(rules, bind, login)) !== true) return undefined;
        return await listen(
          { host: bind.host === '' || bind.host === '*' ? '::' : bind.host, port: bind.port },
          accept,
        );
      },
    }),
  };
}
