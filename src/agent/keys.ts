/** An agent of keys in memory. Must not know who asks. */

import { equalBytes } from '../bytes/bytes.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { PrivateKey } from '../keys/key_pair.ts';
import { signerOf } from '../keys/private_key.ts';
import { plainAlgorithm, type Signer } from '../keys/signature.ts';
import type { Agent } from './agent.ts';
import { SignFlag } from './messages.ts';

/**
 * An agent that signs with `keys`, in their order: private keys, or anything that signs, such as a key with its certificate. RSA
 * keys sign with SHA-2, and refuse who does not ask for that.
 */
export function agentOf(crypto: CryptoProvider, keys: readonly (PrivateKey | Signer)[]): Agent {
  const signers = keys.map((key) => (key instanceof PrivateKey ? signerOf(crypto, key) : key));
  return {
    identities: () => signers.map(({ publicKey, comment = '' }) => ({ blob: publicKey, comment })),
    sign(blob, data, flags) {
      const signer = signers.find(({ publicKey }) => equalBytes(publicKey, blob));
      const algorithm = signer && algorithmFor(signer, flags);
      return algorithm === undefined ? undefined : signer?.sign(data, algorithm);
    },
  };
}

/** RFC 9987 §3.6.1: flags that are not known are refused, and those of RSA mean nothing to other keys. */
function algorithmFor({ algorithms }: Signer, flags: number): string | undefined {
  if ((flags & ~(SignFlag.rsaSha256 | SignFlag.rsaSha512)) !== 0) return undefined;
  const [first] = algorithms;
  if (first === undefined || !plainAlgorithm(first).startsWith('rsa-sha2-')) return first;
  const wanted = flags & SignFlag.rsaSha512 ? 'rsa-sha2-512' : flags & SignFlag.rsaSha256 ? 'rsa-sha2-256' : undefined;
  return algorithms.find((name) => plainAlgorithm(name) === wanted);
}
