/** paramiko's client against puressh's server. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useOwnServer } from '../../support/clients/own_server.ts';
import { paramiko } from '../../support/clients/paramiko.ts';
import { clientTests } from '../../support/clients/suite.ts';
import { keyThenQuestions, TITLE } from '../../support/clients/two_steps.ts';

const LIMIT = { timeout: 60_000 };

describe('paramiko', () => {
  const clients = clientTests(paramiko.client);
  const options = { ...clients.options, ...LIMIT };

  it('has a connection without strict key exchange, which it does not know', options, async () => {
    const { server } = clients;
    await paramiko.perform(server, { keys: [server.keys.ed25519.openssh], steps: [] });
    assert.match(server.connections.at(-1)?.peer.identification ?? '', /^SSH-2\.0-paramiko_/);
  });

  it('is refused with a wrong password', options, async () => {
    const { code, stderr } = await paramiko.attempt(clients.server, { password: 'wrong', steps: [] });
    assert.equal(code, 1);
    assert.match(stderr, /AuthenticationException/);
  });
});

describe('paramiko, with a banner and a key before questions', () => {
  const clients = useOwnServer(paramiko.client.unavailable, { banner: 'Grüße\n', auth: keyThenQuestions });
  const options = { ...clients.options, ...LIMIT };

  it('answers several rounds', options, async () => {
    const { server } = clients;
    const answers = [['Bello', '12 34'], ['grün']];
    const { asked } = await paramiko.perform(server, { keys: [server.keys.ed25519.openssh], answers, steps: [] });
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

  it('is not let in with a wrong answer', options, async () => {
    const { server } = clients;
    const answers = [['Bello', '12 34'], ['rot']];
    const { stderr } = await paramiko.attempt(server, { keys: [server.keys.ed25519.openssh], answers, steps: [] });
    assert.match(stderr, /AuthenticationException/);
  });
});
