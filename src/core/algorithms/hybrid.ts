/**
 * Hybrid methods: a key encapsulation and a classical agreement side by side, in one value each way, so that a secret is lost only if
 * both are broken (draft-ietf-sshm-mlkem-hybrid-kex, draft-ietf-sshm-ntruprime-ssh). The secret K is a hash of both.
 */

import { concat } from '../../bytes/bytes.ts';
import { wipe } from '../../bytes/secret.ts';
import { whenReady } from '../../crypto/maybe_promise.ts';
import type { Agreement, Hash, Kem } from '../../crypto/provider.ts';

/**
 * Public values are those of `kem` and `agreement` one after the other; both halves are checked by their primitives. The shared
 * secret is HASH(K_PQ ‖ K_CL), each in its full width.
 */
export function hybrid(kem: Kem, agreement: Agreement, hash: Hash): Agreement {
  const combine = (first: Uint8Array, second: Uint8Array): Uint8Array => {
    const both = concat(first, second);
    const shared = hash.digest(both);
    for (const secret of [first, second, both]) wipe(secret);
    return shared;
  };
  return {
    generate(random) {
      const first = kem.generate(random);
      const second = agreement.generate(random);
      const secret = concat(first.secret, second.secret);
      wipe(first.secret);
      wipe(second.secret);
      return { secret, publicValue: concat(first.publicValue, second.publicValue) };
    },
    respond(random, initiator) {
      const encapsulated = kem.encapsulate(random, initiator.subarray(0, kem.publicSize));
      return whenReady(encapsulated, ({ ciphertext, shared: first }) =>
        whenReady(agreement.respond(random, initiator.subarray(kem.publicSize)), ({ publicValue, shared: second }) => ({
          publicValue: concat(ciphertext, publicValue),
          shared: combine(first, second),
        })),
      );
    },
    finish(secret, responder) {
      const decapsulated = kem.decapsulate(
        secret.subarray(0, kem.secretSize),
        responder.subarray(0, kem.ciphertextSize),
      );
      return whenReady(decapsulated, (first) =>
        whenReady(agreement.finish(secret.subarray(kem.secretSize), responder.subarray(kem.ciphertextSize)), (second) =>
          combine(first, second),
        ),
      );
    },
  };
}
