/** Which algorithms are offered, in which order. Tables say what can be spoken; these lists say what is. */

import { printable } from '../../bytes/text.ts';
import type { CryptoProvider } from '../../crypto/provider.ts';
import { SshError } from '../../errors.ts';
import { signatureAlgorithms } from '../../keys/signature.ts';
import { ciphers } from './ciphers.ts';
import { exchanges } from './exchanges.ts';
import { macs } from './macs.ts';

/** Names in order of preference, as KEXINIT carries them; both directions of a connection use the same lists. */
export interface AlgorithmLists {
  readonly kex: readonly string[];
  readonly hostKeys: readonly string[];
  readonly ciphers: readonly string[];
  readonly macs: readonly string[];
  readonly compression: readonly string[];
}

const CHACHA = ['chacha20-poly1305@openssh.com'];
const GCM = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'];
const CTR = ['aes128-ctr', 'aes192-ctr', 'aes256-ctr'];

/** The defaults; the provider says whether AES or ChaCha20 is the faster one here. */
export function defaultAlgorithms(crypto: CryptoProvider): AlgorithmLists {
  return {
    kex: [
      'curve25519-sha256',
      'curve25519-sha256@libssh.org',
      'ecdh-sha2-nistp256',
      'ecdh-sha2-nistp384',
      'ecdh-sha2-nistp521',
    ],
    hostKeys: [
      'ssh-ed25519',
      'ecdsa-sha2-nistp256',
      'ecdsa-sha2-nistp384',
      'ecdsa-sha2-nistp521',
      'rsa-sha2-512',
      'rsa-sha2-256',
    ],
    ciphers: crypto.fastAes ? [...GCM, ...CHACHA, ...CTR] : [...CHACHA, ...GCM, ...CTR],
    macs: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
    compression: ['none'],
  };
}

const known: { readonly [K in keyof AlgorithmLists]: { has(name: string): boolean; keys(): Iterable<string> } } = {
  kex: exchanges,
  hostKeys: signatureAlgorithms,
  ciphers,
  macs,
  compression: new Map([['none', undefined]]),
};

/** The defaults with the caller's lists in their place; throws `bad-argument` for a list or a name that puressh does not know. */
export function chooseAlgorithms(crypto: CryptoProvider, wanted: Partial<AlgorithmLists> = {}): AlgorithmLists {
  const lists: Record<keyof AlgorithmLists, readonly string[]> = { ...defaultAlgorithms(crypto) };
  // A misspelt list would leave the defaults on offer, although its caller has narrowed them.
  const misspelt = Object.keys(wanted).find((category) => !Object.hasOwn(known, category));
  if (misspelt !== undefined) {
    const message = `algorithms has no list ${printable(misspelt, 80)}; there are ${Object.keys(known).join(', ')}`;
    throw new SshError('bad-argument', message);
  }
  for (const category of Object.keys(known) as (keyof AlgorithmLists)[]) {
    const names = wanted[category];
    if (names === undefined) continue;
    if (names.length === 0) throw new SshError('bad-argument', `algorithms.${category} is empty: name at least one`);
    for (const name of names) {
      if (known[category].has(name)) continue;
      throw new SshError(
        'bad-argument',
        `algorithms.${category} names "${printable(name)}", which puressh does not know; it knows ${[...known[category].keys()].join(', ')}`,
      );
    }
    lists[category] = names;
  }
  return lists;
}
