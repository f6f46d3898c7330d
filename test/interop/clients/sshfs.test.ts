/** sshfs against puressh's server. */

import { describe } from 'node:test';
import { sshfs } from '../../support/clients/sshfs.ts';
import { clientTests } from '../../support/clients/suite.ts';

describe('sshfs', () => {
  clientTests(sshfs);
});
