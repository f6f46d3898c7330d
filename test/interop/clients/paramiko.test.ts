/** paramiko's client against puressh's server. */

import { describe } from 'node:test';
import { paramiko } from '../../support/clients/paramiko.ts';
import { clientTests } from '../../support/clients/suite.ts';

describe('paramiko', () => {
  clientTests(paramiko.client);
});
