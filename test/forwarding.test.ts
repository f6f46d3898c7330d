/** Forwarding over TCP of the runtime at hand, with OpenSSH's idea of who asks left out: rules alone decide. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tcpForwardingOver } from '../src/forwarding.ts';
import type { Accepted, Listen } from '../src/io/listen.ts';
import { memoryPipes } from '../src/io/memory_pipe.ts';
import type { Login } from '../src/server/handlers.ts';

const login = { username: 'ada' } as Login;
const target = { host: 'db', port: 5432, originHost: '192.0.2.1', originPort: 40000 };
const { signal } = new AbortController();

describe('tcpForwarding', () => {
  it('offers what has a rule, and nothing else', () => {
    const never = (): never => assert.fail('nobody is asked');
    assert.deepEqual(Object.keys(tcpForwardingOver(never, never, {})), []);
    assert.deepEqual(Object.keys(tcpForwardingOver(never, never, { connect: () => true })), ['connect']);
    assert.deepEqual(Object.keys(tcpForwardingOver(never, never, { listen: () => true })), ['listen']);
  });

  it('connects where the rule says true, and to nowhere where it says anything else', async () => {
    const [pipe] = memoryPipes();
    const dialled: unknown[] = [];
    const dial = async (options: unknown) => {
      dialled.push(options);
      return pipe;
    };
    const rules = {
      allowed: 'db',
      connect(asked: typeof target, who: Login) {
        assert.equal(who, login);
        return asked.host === this.allowed ? true : ('yes' as unknown as boolean);
      },
    };
    const { connect } = tcpForwardingOver(dial, () => assert.fail('nobody listens'), rules);
    assert.equal(await connect?.(target, login, signal), pipe);
    assert.deepEqual(dialled, [{ host: 'db', port: 5432, timeout: 20_000, signal }]);
    assert.equal(await connect?.({ ...target, host: 'elsewhere' }, login, signal), undefined);
    assert.equal(dialled.length, 1);
  });

  it('listens where the rule allows it, on every address where the client names none', async () => {
    const asked: unknown[] = [];
    const accept = (_accepted: Accepted): void => {};
    const listen: Listen = async (options, heard) => {
      assert.equal(heard, accept);
      asked.push(options);
      return { address: { host: options.host, port: 4000 }, close: async () => {} };
    };
    const rules = { listen: async ({ port }: { readonly port: number }) => port !== 22 };
    const { listen: bind } = tcpForwardingOver(() => assert.fail('nobody connects'), listen, rules);
    for (const host of ['', '*', 'localhost', '0.0.0.0']) await bind?.({ host, port: 0 }, login, accept);
    assert.deepEqual(
      asked,
      ['::', '::', 'localhost', '0.0.0.0'].map((host) => ({ host, port: 0 })),
    );
    assert.equal(await bind?.({ host: '', port: 22 }, login, accept), undefined);
    assert.equal(asked.length, 4);
  });
});
