/** OpenSSH's ssh and sftp against puressh's server. */

import { describe } from 'node:test';
import { ssh } from '../../support/clients/openssh.ts';
import { clientTests } from '../../support/clients/suite.ts';

describe('OpenSSH', () => {
  clientTests(ssh);
});
