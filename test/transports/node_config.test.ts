/** What is known of the user of this machine. */

import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, it } from 'node:test';
import { localFacts } from '../../src/transports/node_config.ts';

describe('localFacts', () => {
  it('names the user of the environment, and none that a runtime makes up', () => {
    const names = ['USER', 'LOGNAME', 'USERNAME'];
    const kept = names.map((name) => [name, process.env[name]] as const);
    try {
      for (const name of names) delete process.env[name];
      assert.notEqual(localFacts().localUser, 'unknown');
      process.env.LOGNAME = 'ada';
      assert.equal(localFacts().localUser, 'ada');
      process.env.USER = 'unknown';
      assert.equal(localFacts().localUser, '');
    } finally {
      for (const [name, value] of kept) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  });
});
