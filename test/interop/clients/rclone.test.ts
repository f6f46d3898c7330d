/** rclone against puressh's server. */

import { describe } from 'node:test';
import { rcloneClient } from '../../support/clients/rclone.ts';
import { clientTests } from '../../support/clients/suite.ts';

describe('rclone', () => {
  clientTests(rcloneClient);
});
