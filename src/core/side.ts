/** What one role has and the other has not: the way to log in, what a server can sign with, and what it announces. */

import type { CryptoProvider } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import type { Signer } from '../keys/signature.ts';
import type { AlgorithmLists } from './algorithms/lists.ts';
import type { Auth } from './auth/auth.ts';
import { ClientAuth, type ClientIdentity } from './auth/client.ts';
import { ServerAuth } from './auth/server.ts';
import type { Context } from './events.ts';
import type { Limits } from './limits.ts';

export interface ClientSide extends ClientIdentity {
  readonly role: 'client';
}

export interface ServerSide {
  readonly role: 'server';
  /** What the server proves itself with; several of one type are tried in order. */
  readonly hostKeys: readonly Signer[];
  /** Methods that users may log in with, such as `publickey` and `password`. */
  readonly methods: readonly string[];
  /** Signature algorithms that users may sign with, by plain names, as `server-sig-algs` has them (RFC 8308 §3.1). */
  readonly signatures: readonly string[];
  /** Text to show before the login (RFC 4252 §5.4); '' is none. */
  readonly banner: string;
}

export type SideConfig = (ClientSide | ServerSide) & {
  readonly crypto: CryptoProvider;
  readonly limits: Limits;
  readonly algorithms: AlgorithmLists;
};

/** One role, made from its configuration. */
export interface Side {
  readonly auth: Auth;
  readonly algorithms: AlgorithmLists;
  readonly hostKeys: readonly Signer[];
  /** For EXT_INFO. */
  readonly extensions: ReadonlyMap<string, string>;
}

/** Throws `bad-argument` where no host key can sign what the lists offer. */
export function sideOf(config: SideConfig, context: Context): Side {
  const { algorithms, crypto, limits } = config;
  if (config.role === 'client') {
    const auth = new ClientAuth(config, limits, context);
    return { auth, algorithms, hostKeys: [], extensions: new Map() };
  }
  const { hostKeys, methods, signatures, banner } = config;
  return {
    auth: new ServerAuth({ crypto, limits, methods, signatures, banner }, context),
    algorithms: { ...algorithms, hostKeys: signable(algorithms.hostKeys, hostKeys) },
    hostKeys,
    // OpenSSH PROTOCOL §1.8 for the ping that every connection answers
    extensions: new Map([
      ['server-sig-algs', signatures.join(',')],
      ['ping@openssh.com', '0'],
    ]),
  };
}

/** The names of `names` that one of the keys signs with; throws `bad-argument` where there is none. */
export function signable(names: readonly string[], hostKeys: readonly Signer[]): readonly string[] {
  const found = names.filter((name) => hostKeys.some((key) => key.algorithms.includes(name)));
  if (found.length > 0) return found;
  const have = hostKeys.flatMap((key) => key.algorithms).join(', ') || 'none';
  throw new SshError(
    'bad-argument',
    `No host key signs with any of ${names.join(', ')}; there are keys for ${have}: give one, or set algorithms.hostKeys`,
  );
}
