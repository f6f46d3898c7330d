/** That errors name the options of the command, not those of the API. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commandWording } from '../../src/cli/wording.ts';
import { insecureAcceptAny } from '../../src/client/host_key.ts';
import { settingsOf } from '../../src/client/options.ts';
import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';

describe('commandWording', () => {
  const cases: [string, string][] = [
    [
      "accept it with pin('SHA256:abc/+='), or have acceptNew() remember the key",
      'accept it with --pin SHA256:abc/+=, or let --accept-new remember the key',
    ],
    ['which is not pinned; name that type in algorithms.hostKeys', 'which is not pinned; name that type in --host-key'],
    [
      "To allow this weak one, set algorithms: { kex: '+a-b@c.d' }, or algorithms: 'legacy' to allow everything that is weak",
      'To allow this weak one, set --kex +a-b@c.d, or --legacy to allow everything that is weak',
    ],
    [
      'No connection to h:22 within 20000 ms (timeouts.connect): no answer',
      'No connection to h:22 within 20000 ms: no answer',
    ],
    ['stopped after 5 refused attempts (maxAuthFailures)', 'stopped after 5 refused attempts'],
    [
      "by SHA-1 only, allow that weak one with algorithms: 'legacy'",
      'by SHA-1 only, allow that weak one with -o PubkeyAcceptedAlgorithms=+ssh-rsa',
    ],
    [
      'is encrypted (x); give its passphrase)',
      'is encrypted (x); its passphrase is asked for at a terminal only; `ssh-add` puts the key into an agent)',
    ],
    ['open /a: no such file', 'open /a: no such file'],
  ];
  for (const [message, words] of cases) it(words, () => assert.equal(commandWording(message), words));

  it('translates what the library says about unknown algorithms', () => {
    for (const [list, option] of Object.entries({ kex: 'kex', hostKeys: 'host-key', ciphers: 'cipher', macs: 'mac' })) {
      assert.throws(
        () => chooseAlgorithms(pureProvider, { [list]: ['none-such'] }),
        (error: Error) => commandWording(error.message).startsWith(`--${option} names "none-such"`),
      );
    }
  });
  it('leaves nothing of the API in what the library says about options', () => {
    const options = { host: '', username: 'x', auth: [], hostKey: insecureAcceptAny() };
    assert.throws(
      () => settingsOf(options),
      (error: Error) => !/[a-z]\(\)|\b[a-z]+\.[a-zA-Z]+\b/.test(commandWording(error.message)),
    );
  });
});
