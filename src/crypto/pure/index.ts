/** The complete provider in plain JavaScript: what every runtime has, and what the others are measured against. */

import type { CryptoProvider } from '../provider.ts';
import { streams } from './aes_ctr.ts';
import { aeads } from './aes_gcm.ts';
import { cbc } from './cbc.ts';
import { chacha20 } from './chacha.ts';
import { ed25519 } from './ed25519.ts';
import { hashes, macs, md5 } from './hash.ts';
import { kdfs } from './kdfs.ts';
import { mlkem768, mlkem1024 } from './mlkem.ts';
import { modularPower } from './modp.ts';
import { ecdsa, nistAgreements } from './nist.ts';
import { random } from './random.ts';
import { rsa } from './rsa.ts';
import { sntrup761 } from './sntrup761.ts';
import { x25519 } from './x25519.ts';

/** Every primitive by noble, RSA on bigint. Runs wherever JavaScript runs. */
export const pureProvider: CryptoProvider = {
  name: 'pure',
  random,
  hashes,
  md5,
  macs,
  streams,
  cbc,
  aeads,
  chacha20,
  agreements: { x25519, ...nistAgreements },
  kems: { mlkem768, mlkem1024, sntrup761 },
  modularPower,
  ed25519,
  ecdsa,
  rsa,
  kdfs,
  fastAes: false,
};
