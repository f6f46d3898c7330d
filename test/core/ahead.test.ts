/** What is said before the login is through, behind an attempt and after it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ahead } from '../../src/core/ahead.ts';
import type { Auth } from '../../src/core/auth/auth.ts';

/** A login run by hand, and what left in order: messages as their number, data as its bytes. */
function desk(bears = true) {
  const auth = { phase: 'auth', attempts: 0, hopeful: undefined as number | undefined };
  const sent: string[] = [];
  const data: Uint8Array[][] = [];
  let given: Uint8Array[] | undefined;
  const ahead = new Ahead(auth as unknown as Auth, {
    bears: () => bears,
    send: (payload) => void sent.push(`sent ${payload.join()}`),
    takeBulk: () => {
      given = data.shift();
      return given;
    },
  });
  /** As the transport does when nothing else waits. */
  const pull = (): string[] => {
    const taken: string[] = [];
    for (let parts = ahead.bulk(); parts !== undefined; parts = ahead.bulk()) {
      taken.push(parts.map((part) => part.join()).join('|'));
      for (const part of given ?? []) part.fill(0); // what has left may be used again
    }
    return taken;
  };
  const attempt = (hopeful = true): void => {
    auth.attempts++;
    auth.hopeful = hopeful ? auth.attempts : undefined;
  };
  const refuse = (): void => {
    auth.hopeful = undefined;
  };
  const accept = (): string[] => {
    auth.hopeful = undefined;
    auth.phase = 'open';
    ahead.loggedIn();
    return sent.splice(0);
  };
  return { ahead, data, sent, pull, attempt, refuse, accept };
}

const message = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes);

describe('Ahead', () => {
  it('keeps messages and data until somebody is logged in, where the peer does not bear them', () => {
    const { ahead, data, pull, attempt, accept } = desk(false);
    ahead.send(message(90));
    data.push([message(94), message(1)]);
    attempt();
    assert.deepEqual(pull(), []);
    assert.deepEqual(accept(), ['sent 90']);
    assert.deepEqual(pull(), ['94|1']);
  });

  it('sends them behind the attempt that may succeed, and once only if it does', () => {
    const { ahead, data, sent, pull, attempt, accept } = desk();
    ahead.send(message(90));
    assert.deepEqual(pull(), [], 'no attempt is out');
    attempt();
    assert.deepEqual(pull(), ['90']);
    ahead.send(message(98));
    data.push([message(94), message(1, 2)]);
    assert.deepEqual(pull(), ['98', '94,1,2']);
    ahead.send(message(93));
    assert.deepEqual(accept(), ['sent 93'], 'what had not left');
    data.push([message(94), message(3)]);
    assert.deepEqual(pull(), ['94|3'], 'and later data as it is');
    ahead.send(message(97));
    assert.deepEqual(sent, ['sent 97']);
  });

  it('sends all of it again, in order, where another attempt succeeds', () => {
    const { ahead, data, pull, attempt, refuse, accept } = desk();
    ahead.send(message(90));
    attempt();
    data.push([message(94), message(1, 2)]);
    pull();
    refuse();
    ahead.send(message(98));
    assert.deepEqual(pull(), []);
    attempt();
    assert.deepEqual(pull(), [], 'once is enough');
    assert.deepEqual(accept(), ['sent 90', 'sent 94,1,2', 'sent 98']);
  });

  it('goes behind no attempt that only asks', () => {
    const { ahead, pull, attempt, accept } = desk();
    ahead.send(message(90));
    attempt(false);
    assert.deepEqual(pull(), []);
    attempt();
    assert.deepEqual(pull(), ['90']);
    assert.deepEqual(accept(), []);
  });
});
