/** New keys of every type. Must not know files. */

import { copy } from '../bytes/bytes.ts';
import { wipe } from '../bytes/secret.ts';
import { printable } from '../bytes/text.ts';
import { whenReady } from '../crypto/maybe_promise.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { MAX_MODULUS_BITS, MIN_NEW_BITS } from '../crypto/rsa_rule.ts';
import { SshError } from '../errors.ts';
import { checkNames } from './key_arguments.ts';
import { keyPairOf, newEd25519Key, type PrivateKey } from './key_pair.ts';
import { type EcdsaKeyType, ecdsaCurves } from './public_key.ts';

/** What key to make. `bits`: of ECDSA 256 (default), 384 or 521; of RSA 3072 (default), 2048 to 16384. */
export type KeyRequest =
  | { readonly type: 'ed25519' }
  | { readonly type: 'ecdsa'; readonly bits?: 256 | 384 | 521 | undefined }
  | { readonly type: 'rsa'; readonly bits?: number | undefined };

/** What ssh-keygen makes of RSA by default: as strong as AES with 128 bits (SP 800-57 part 1 §5.6.1.1). */
const DEFAULT_RSA_BITS = 3072;
/** A draw is no scalar with probability 2^-32 at most (P-256): a second one is hardly ever seen. */
const MAX_DRAWS = 16;

/**
 * A new key. RSA takes seconds in plain JavaScript, where it is at once made; a runtime's own cryptography answers with a
 * promise. Throws `bad-argument` for a type or size that there is not.
 */
export function newKey(crypto: CryptoProvider, request: KeyRequest, comment = ''): MaybePromise<PrivateKey> {
  checkNames('makeKey', request, ['type', 'bits']);
  switch (request.type) {
    case 'ed25519':
      return newEd25519Key(crypto, comment);
    case 'ecdsa':
      return newEcdsaKey(crypto, request.bits ?? 256, comment);
    case 'rsa': {
      const { bits = DEFAULT_RSA_BITS } = request;
      if (!Number.isInteger(bits) || bits < MIN_NEW_BITS || bits > MAX_MODULUS_BITS) {
        throw new SshError(
          'bad-argument',
          `A new RSA key has ${MIN_NEW_BITS} to ${MAX_MODULUS_BITS} bits, not ${bits}`,
        );
      }
      const made = crypto.rsa.generate(bits, crypto.random);
      return whenReady(made, (key) => keyPairOf(crypto, { type: 'ssh-rsa', key }, comment));
    }
  }
  const { type } = request as { readonly type?: unknown };
  const shown = printable(String(type), 40);
  throw new SshError('bad-argument', `There are keys of type ed25519, ecdsa and rsa, not '${shown}'`);
}

function newEcdsaKey(crypto: CryptoProvider, bits: number, comment: string): PrivateKey {
  const type = `ecdsa-sha2-nistp${bits}`;
  if (!Object.hasOwn(ecdsaCurves, type)) {
    throw new SshError('bad-argument', `An ECDSA key has 256, 384 or 521 bits, not ${bits}`);
  }
  const { curve, size } = ecdsaCurves[type as EcdsaKeyType];
  // FIPS 186-5 A.2.2: what is out of range is drawn again, so that every scalar is as likely as every other
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const scalar = copy(crypto.random(size));
    if (bits === 521) scalar[0] = (scalar[0] as number) & 1;
    try {
      return keyPairOf(crypto, { type: type as EcdsaKeyType, curve, scalar }, comment);
    } catch (error) {
      wipe(scalar);
      if (!(error instanceof SshError && error.code === 'crypto')) throw error;
    }
  }
  throw new SshError('crypto', `The random source gave no scalar of ${bits} bits in ${MAX_DRAWS} draws: it is broken`);
}
