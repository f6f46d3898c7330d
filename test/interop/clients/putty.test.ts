/** PuTTY's plink and psftp against puressh's server. */

import { describe } from 'node:test';
import { putty } from '../../support/clients/putty.ts';
import { clientTests } from '../../support/clients/suite.ts';

describe('PuTTY', () => {
  clientTests(putty);
});
