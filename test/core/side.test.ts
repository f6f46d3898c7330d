import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClientAuth } from '../../src/core/auth/client.ts';
import { ServerAuth } from '../../src/core/auth/server.ts';
import type { Context } from '../../src/core/events.ts';
import { sideOf } from '../../src/core/side.ts';
import { clientConfig } from '../support/core_client.ts';
import { serverConfig } from '../support/core_server.ts';
import { testSigner } from '../support/test_keys.ts';
import { thrown } from './tools.ts';

const context: Context = {
  send: () => assert.fail('nothing is sent yet'),
  emit: () => assert.fail('nothing is told yet'),
  ask: () => assert.fail('nothing is asked yet'),
  settle: () => assert.fail('nothing is settled yet'),
};

const hostKeys = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'rsa-sha2-512', 'rsa-sha2-256'].map((algorithm) =>
  testSigner(algorithm, 'host'),
);
const lists = serverConfig().algorithms;

describe('sideOf', () => {
  it('gives a client its login, its lists, and nothing to announce', () => {
    const config = clientConfig();
    const side = sideOf(config, context);
    assert.ok(side.auth instanceof ClientAuth);
    assert.equal(side.algorithms, config.algorithms);
    assert.deepEqual([side.hostKeys, side.extensions.size], [[], 0]);
  });

  it('gives a server its login and its keys, and announces what it takes (RFC 8308 §3.1, OpenSSH PROTOCOL §1.8)', () => {
    const signatures = ['rsa-sha2-512', 'ssh-ed25519'];
    const side = sideOf(serverConfig({ hostKeys, signatures }), context);
    assert.ok(side.auth instanceof ServerAuth);
    assert.equal(side.hostKeys, hostKeys);
    assert.deepEqual(
      [...side.extensions],
      [
        ['server-sig-algs', 'rsa-sha2-512,ssh-ed25519'],
        ['ping@openssh.com', '0'],
      ],
    );
  });

  it('offers only what a host key signs, in the order of the list', () => {
    const algorithms = { ...lists, hostKeys: ['rsa-sha2-256', 'ecdsa-sha2-nistp521', 'ssh-ed25519', 'rsa-sha2-512'] };
    const side = sideOf(serverConfig({ hostKeys, algorithms }), context);
    assert.deepEqual(side.algorithms, { ...algorithms, hostKeys: ['rsa-sha2-256', 'ssh-ed25519', 'rsa-sha2-512'] });
  });

  it('refuses keys that sign nothing of the list, and says which there are', () => {
    const algorithms = { ...lists, hostKeys: ['ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'] };
    const error = thrown('bad-argument', () =>
      sideOf(serverConfig({ hostKeys: hostKeys.slice(0, 2), algorithms }), context),
    );
    assert.equal(
      error.message,
      'No host key signs with any of ecdsa-sha2-nistp384, ecdsa-sha2-nistp521; there are keys for ssh-ed25519, ' +
        'ecdsa-sha2-nistp256: give one, or set algorithms.hostKeys',
    );
    const none = thrown('bad-argument', () => sideOf(serverConfig({ hostKeys: [], algorithms }), context));
    assert.match(none.message, /there are keys for none: /);
  });
});
