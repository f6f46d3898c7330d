/** curl against puressh's server. */

import { describe } from 'node:test';
import { curlClient } from '../../support/clients/curl.ts';
import { clientTests } from '../../support/clients/suite.ts';

describe('curl', () => {
  clientTests(curlClient);
});
