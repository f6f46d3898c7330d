/** Streamlined NTRU Prime, parameter set sntrup761. */

import { SshError } from '../../errors.ts';
import type { Kem } from '../provider.ts';

const later = (): never => {
  throw new SshError('not-supported', 'sntrup761');
};

export const sntrup761: Kem = {
  publicSize: 1158,
  secretSize: 1763,
  ciphertextSize: 1039,
  sharedSize: 32,
  generate: later,
  encapsulate: later,
  decapsulate: later,
};
