/**
 * The provider for Node, Deno and Bun: their `node:crypto` over the pure provider. What of it each of them has, and has
 * right, the self test finds out.
 */

import { overlay } from '../overlay.ts';
import type { CryptoProvider } from '../provider.ts';
import { pureProvider } from '../pure/index.ts';
import { agreements, ecdsa, ed25519, rsa } from './node_asymmetric.ts';
import { aeads, hashes, macs, md5, streams } from './node_bulk.ts';
import { cbc } from './node_cbc.ts';
import { chacha20 } from './node_chacha.ts';
import { kdfs } from './node_kdfs.ts';
import { kems } from './node_kem.ts';
import { modularPower } from './node_modp.ts';

let provider: CryptoProvider | undefined;

/** `node:crypto` where it is there and right, noble elsewhere. The same value at every call. */
export function nodeProvider(): CryptoProvider {
  provider ??= overlay('node+pure', pureProvider, {
    hashes,
    md5,
    macs,
    streams,
    cbc,
    aeads,
    chacha20,
    agreements,
    kems,
    modularPower,
    ed25519,
    ecdsa,
    rsa,
    kdfs,
  });
  return provider;
}

/** What `crypto: 'auto'` and `crypto: 'pure'` mean where there is `node:crypto`. */
export const nodeCrypto: { readonly auto: CryptoProvider; readonly pure: CryptoProvider } = {
  get auto() {
    return nodeProvider(); // not before it is asked for: its self tests cost milliseconds
  },
  pure: pureProvider,
};
