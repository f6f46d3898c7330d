/** asyncssh's client against puressh's server. */

import { describe } from 'node:test';
import { asyncssh } from '../../support/clients/asyncssh.ts';
import { clientTests } from '../../support/clients/suite.ts';

describe('asyncssh', () => {
  clientTests(asyncssh.client);
});
