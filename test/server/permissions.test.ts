/** What several steps of a login allow together. Expected: OpenSSH's sshauthopt_merge, or what is stricter. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { permitsListen, permitsOpen } from '../../src/keys/forward_permit.ts';
import type { Permissions } from '../../src/server/handlers.ts';
import { bothAllow } from '../../src/server/permissions.ts';

/** Both ways round, which must be the same. */
function both(a: Permissions, b: Permissions): Permissions | undefined {
  const one = bothAllow(a, b);
  assert.deepEqual(one, bothAllow(b, a));
  return one;
}

describe('bothAllow', () => {
  it('allows everything where nothing is restricted', () => {
    assert.deepEqual(both({}, {}), {
      environment: {},
      pty: true,
      portForwarding: true,
      agentForwarding: true,
    });
  });

  it('refuses what one of them refuses', () => {
    for (const name of ['pty', 'portForwarding', 'agentForwarding'] as const) {
      for (const other of [true, false, undefined]) {
        const permissions = other === undefined ? {} : { [name]: other };
        assert.equal(both({ [name]: false }, permissions)?.[name], false);
      }
    }
  });

  it('keeps a command, and has nobody bound to two', () => {
    assert.equal(both({ command: 'a' }, {})?.command, 'a');
    assert.equal(both({ command: '' }, {})?.command, '', 'an empty command is one');
    assert.equal(both({ command: 'a' }, { command: 'a' })?.command, 'a');
    assert.equal(both({ command: 'a' }, { command: 'b' }), undefined);
    assert.equal(both({ command: '' }, { command: 'b' }), undefined);
  });

  it('gives the variables of both, those of the first before those of the second', () => {
    const all = bothAllow({ environment: { A: '1', B: '1' } }, { environment: { B: '2', C: '2' } });
    assert.deepEqual(all?.environment, { A: '1', B: '1', C: '2' });
  });

  it('lets forward only what both lists have', () => {
    const all = both(
      {
        permitOpen: [
          { host: 'a', port: 1 },
          { host: '*', port: 2 },
          { host: 'c', port: '*' },
        ],
      },
      {
        permitOpen: [
          { host: 'a', port: '*' },
          { host: 'b', port: 2 },
          { host: 'd', port: 3 },
        ],
      },
    );
    const options = { ...all, portForwarding: true };
    const open = ['a', 'b', 'c', 'd'].flatMap((host) =>
      [1, 2, 3].filter((port) => permitsOpen(options, host, port)).map((port) => `${host}${port}`),
    );
    assert.deepEqual(open, ['a1', 'a2', 'b2']);
  });

  it('keeps the only list there is, and nothing of two that have nothing in common', () => {
    const permitListen = [{ host: 'x*', port: 80 }] as const;
    assert.deepEqual(both({ permitListen }, {})?.permitListen, permitListen);
    const none = both({ permitListen }, { permitListen: [{ host: 'xy', port: 80 }] });
    assert.equal(permitsListen({ ...none, portForwarding: true }, 'xy', 80), false);
    assert.deepEqual(none?.permitListen, []);
    assert.deepEqual(both({ permitOpen: [] }, { permitOpen: [{ host: '*', port: '*' }] })?.permitOpen, []);
  });
});
