/** What every action of keygen needs. */

import type { CryptoProvider } from '../../crypto/provider.ts';
import type { Passphrases } from './passphrases.ts';

export interface Tools {
  readonly crypto: CryptoProvider;
  readonly passphrases: Passphrases;
  /** Whether files that are there may be replaced. */
  readonly force: boolean;
}
