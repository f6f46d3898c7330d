/** asyncssh's client against puressh's server. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { asyncssh } from '../../support/clients/asyncssh.ts';
import { PASSWORD, useOwnServer } from '../../support/clients/own_server.ts';
import { clientTests, content, sameBytes } from '../../support/clients/suite.ts';
import { keyThenQuestions, TITLE } from '../../support/clients/two_steps.ts';

const LIMIT = { timeout: 60_000 };

describe('asyncssh', () => {
  const clients = clientTests(asyncssh.client);
  const options = { ...clients.options, ...LIMIT };

  it('sends signals, and learns which one ended the program', options, async () => {
    const { server } = clients;
    const signals = ['TERM', 'INT', 'USR1'];
    const steps = signals.map((signal) => ({ do: 'signal', command: ':signal', signal }) as const);
    const { results } = await asyncssh.perform(server, { keys: [server.keys.ed25519.openssh], steps });
    const expected = signals.map((name) => ({ signal: [name, false, 'as you wish', ''], status: -1 }));
    assert.deepEqual(results, expected);
  });

  it('begins key exchanges of its own', options, async () => {
    const { server } = clients;
    const bytes = content(400_000); // too little for the server to begin one
    const [source, target] = [join(server.local, 'source'), join(server.local, 'target')];
    writeFileSync(source, bytes);
    const steps = [
      { do: 'put', local: source, remote: '/rekeyed' },
      { do: 'get', remote: '/rekeyed', local: target },
    ] as const;
    const options = { rekey_bytes: 65_536 };
    await asyncssh.perform(server, { keys: [server.keys.ed25519.openssh], steps, options });
    sameBytes(target, bytes);
    const exchanges = server.connections.at(-1)?.keyExchanges ?? 0;
    assert.ok(exchanges > 1, `${exchanges} key exchanges`);
  });

  it('logs in with each kind of key', options, async () => {
    const { server } = clients;
    for (const { openssh } of Object.values(server.keys)) {
      await asyncssh.perform(server, { keys: [openssh], steps: [] });
    }
  });

  it('is refused with a wrong password', options, async () => {
    const { code, stderr } = await asyncssh.attempt(clients.server, { password: 'wrong', steps: [] });
    assert.equal(code, 1);
    assert.match(stderr, /PermissionDenied/);
  });
});

describe('asyncssh, with a banner and a key before questions', () => {
  const clients = useOwnServer(asyncssh.client.unavailable, { banner: 'Grüße\n', auth: keyThenQuestions });
  const options = { ...clients.options, ...LIMIT };

  it('answers several rounds', options, async () => {
    const { server } = clients;
    const answers = [['Bello', '12 34'], ['grün']];
    const { asked } = await asyncssh.perform(server, { keys: [server.keys.ed25519.openssh], answers, steps: [] });
    assert.deepEqual(asked, [
      'banner Grüße\n',
      [
        TITLE,
        'Two questions',
        [
          ['Pet: ', true],
          ['Code: ', false],
        ],
      ],
      ['', '', [['Color: ', true]]],
    ]);
  });

  it('is not let in by either alone', options, async () => {
    const { server } = clients;
    const onlyKey = await asyncssh.attempt(server, { keys: [server.keys.ed25519.openssh], steps: [] });
    assert.match(onlyKey.stderr, /PermissionDenied/);
    const onlyAnswers = await asyncssh.attempt(server, { answers: [['Bello', '12 34'], ['grün']], steps: [] });
    assert.match(onlyAnswers.stderr, /PermissionDenied/);
    const password = await asyncssh.attempt(server, { password: PASSWORD, steps: [] });
    assert.match(password.stderr, /PermissionDenied/);
  });
});
