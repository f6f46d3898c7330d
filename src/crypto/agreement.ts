/**
 * Makes an `Agreement` of the two operations of a Diffie-Hellman group, with the checks that every group needs. Holds no
 * mathematics: `pure/` and `native/` bring it.
 */

import { wipe } from '../bytes/secret.ts';
import type { Agreement, AgreementSecret, RandomSource } from './provider.ts';
import { expectLength, refused } from './refuse.ts';

/** The mathematics of a Diffie-Hellman group. */
export interface GroupOperations {
  publicValue(secret: AgreementSecret): Uint8Array;
  /** The shared secret in its full width; throws for a public value that is not in the group. */
  shared(secret: AgreementSecret, publicValue: Uint8Array): Uint8Array;
}

/** A Diffie-Hellman group. */
export interface DiffieHellman extends GroupOperations {
  /** For error messages. */
  readonly name: string;
  readonly secretSize: number;
  readonly publicSize: number;
  newSecret(random: RandomSource): AgreementSecret;
}

/** The shared secret, or `crypto` with fault `peer` for a public value that must not be used. */
function checkedShared(group: DiffieHellman, secret: AgreementSecret, publicValue: Uint8Array): Uint8Array {
  if (publicValue.length !== group.publicSize) {
    throw refused(`${group.name} public value of ${publicValue.length} bytes: it must have ${group.publicSize}`);
  }
  try {
    return group.shared(secret, publicValue);
  } catch (cause) {
    throw refused(`${group.name} public value is not a usable point of the curve`, 'peer', cause);
  }
}

/** Key agreement over `group`, as a key encapsulation. */
export function agreement(group: DiffieHellman): Agreement {
  return {
    generate(random) {
      const secret = group.newSecret(random);
      return { secret, publicValue: group.publicValue(secret) };
    },
    respond(random, initiator) {
      const secret = group.newSecret(random);
      try {
        const shared = checkedShared(group, secret, initiator);
        return { publicValue: group.publicValue(secret), shared };
      } finally {
        wipe(secret);
      }
    },
    finish(secret, responder) {
      expectLength(secret, group.secretSize, `${group.name} secret`);
      return checkedShared(group, secret, responder);
    },
  };
}
