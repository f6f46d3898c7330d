/** lftp against puressh's server. */

import { describe } from 'node:test';
import { lftp } from '../../support/clients/lftp.ts';
import { clientTests } from '../../support/clients/suite.ts';

describe('lftp', () => {
  clientTests(lftp);
});
