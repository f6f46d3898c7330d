import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Agent, SessionBinding } from '../../src/agent/agent.ts';
import { boundAgent } from '../../src/agent/bound.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { rejectsWith } from '../support/rejects.ts';
import { AgentScript, FAILURE, identities, SUCCESS, string } from './scripted_agent.ts';

const SESSION = { hostKey: utf8('HOST'), sessionId: utf8('SESSION'), signature: utf8('SIGNATURE') };
const bind = (forwarding: string): string =>
  `1b${string('session-bind@openssh.com')}${string('HOST')}${string('SESSION')}${string('SIGNATURE')}${forwarding}`;
const KEY = utf8('KEY');

function started(binding: () => SessionBinding | undefined): { script: AgentScript; agent: Agent } {
  const script = new AgentScript();
  return { script, agent: boundAgent(script.client, binding) };
}

describe('boundAgent', () => {
  it('tells the agent of the connection before it asks for anything, once', async () => {
    for (const [forwarding, flag] of [
      [false, '00'],
      [true, '01'],
    ] as const) {
      const { script, agent } = started(() => ({ ...SESSION, forwarding }));
      const signed = agent.sign(KEY, utf8('data'), 0);
      const end = await script.end();
      assert.equal(await end.take(), bind(flag));
      end.say(SUCCESS);
      assert.equal((await end.take()).slice(0, 2), '0d');
      end.say(`0e${string('S')}`);
      assert.equal(hex((await signed) ?? new Uint8Array(0)), hex(utf8('S')));
      const listed = agent.identities();
      assert.equal(await end.take(), '0b');
      end.say(identities([KEY, '']));
      assert.equal((await listed).length, 1);
    }
  });

  it('waits with that until there is something to tell', async () => {
    let session: SessionBinding | undefined;
    const { script, agent } = started(() => session);
    const listed = agent.identities();
    const end = await script.end();
    assert.equal(await end.take(), '0b');
    end.say(identities([KEY, '']));
    await listed;
    session = { ...SESSION, forwarding: false };
    Promise.resolve(agent.sign(KEY, utf8('data'), 0)).catch(() => {});
    assert.equal(await end.take(), bind('00'));
  });

  it('uses an agent that does not know of it, or breaks off over it', async () => {
    for (const breaks of [false, true]) {
      const { script, agent } = started(() => ({ ...SESSION, forwarding: false }));
      const listed = agent.identities();
      const end = await script.end();
      await end.take();
      if (breaks) end.close();
      else end.say(FAILURE);
      const then = await script.end();
      assert.equal(await then.take(), '0b');
      then.say(identities([KEY, '']));
      assert.equal((await listed).length, 1);
    }
  });

  it('passes on further connections, and no other request', async () => {
    const { script, agent } = started(() => undefined);
    const other = async (type: number, body: string) => agent.other?.(type, fromHex(body));
    const body = `${string('session-bind@openssh.com')}abcd`;
    for (const [said, answer] of [
      [SUCCESS, SUCCESS],
      [FAILURE, undefined],
    ] as const) {
      const asked = other(27, body);
      const end = await script.end();
      assert.equal(await end.take(), `1b${body}`);
      end.say(said);
      const given = await asked;
      assert.equal(given && hex(given), answer);
    }
    for (const type of [9, 17, 18, 19, 20, 22, 23, 25, 26]) assert.equal(await other(type, body), undefined);
    assert.equal(await other(27, string('restrict-destination-v00@openssh.com')), undefined);
    assert.equal(await (await script.end()).quiet(), true);
    await rejectsWith(other(27, 'ff'), 'decode');
  });
});
