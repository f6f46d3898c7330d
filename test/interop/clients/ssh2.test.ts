/** The client of the ssh2 package against puressh's server. */

import { describe } from 'node:test';
import { ssh2 } from '../../support/clients/ssh2.ts';
import { clientTests } from '../../support/clients/suite.ts';

describe('ssh2', () => {
  clientTests(ssh2);
});
