import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { password } from '../../src/client/auth.ts';
import { insecureAcceptAny } from '../../src/client/host_key.ts';
import { type ConnectOptions, settingsOf } from '../../src/client/options.ts';
import { thrown } from '../core/tools.ts';
import { root } from '../support/root.ts';

const basics: ConnectOptions = { host: 'h', username: 'u', auth: [], hostKey: insecureAcceptAny() };

describe('settingsOf', () => {
  it('has the defaults of the design', () => {
    const settings = settingsOf(basics);
    assert.equal(settings.port, 22);
    assert.deepEqual([settings.window, settings.maxWindow], [2_097_152, 67_108_864]);
    assert.equal(settings.maxPacket, 32_768);
    assert.deepEqual(settings.keepalive, { interval: 30_000, count: 3 });
    assert.deepEqual(settings.rekey, { bytes: 1_073_741_824, packets: 2_147_483_648, time: 3_600_000 });
    assert.equal(settings.maxAuthFailures, 5);
    assert.deepEqual([settings.identitiesOnly, settings.requireSignature], [false, false]);
    assert.equal(settings.signatures.includes('ssh-rsa'), false);
    assert.equal(settingsOf({ ...basics, algorithms: 'legacy' }).signatures.at(-1), 'ssh-rsa');
  });

  it('names the version of the package', () => {
    const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string };
    assert.equal(settingsOf(basics).software, `puressh_${version}`);
  });

  it('takes parts of groups, and undefined as nothing said', () => {
    const settings = settingsOf({
      ...basics,
      port: undefined,
      rekey: { bytes: 65_536, time: undefined as unknown as number },
      keepalive: { count: 9 },
      timeouts: { auth: 5, channelClose: 6, connect: 7 },
      limits: { channels: 3 },
    });
    assert.equal(settings.port, 22);
    assert.deepEqual(settings.rekey, { bytes: 65_536, packets: 2_147_483_648, time: 3_600_000 });
    assert.deepEqual(settings.keepalive, { interval: 30_000, count: 9 });
    assert.equal(settings.limits.authTime, 5);
    assert.equal(settings.limits.channelCloseTime, 6);
    assert.equal(settings.limits.identificationTime, 30_000);
    assert.equal(settings.limits.channels, 3);
  });

  it('lets a window grow to 64 MiB, to what is said, or, where it is that large from the start, not at all', () => {
    const largest = (window: number, maxWindow?: number): number =>
      settingsOf({ ...basics, window, maxWindow }).maxWindow;
    assert.deepEqual([largest(40_000), largest(1 << 27), largest(40_000, 40_000)], [67_108_864, 1 << 27, 40_000]);
    for (const maxWindow of [39_999, 2 ** 32, 1.5, Number.POSITIVE_INFINITY]) {
      const error = thrown('bad-argument', () => settingsOf({ ...basics, window: 40_000, maxWindow }));
      assert.equal(error.message, `maxWindow must be an integer from 40000 to 4294967295, not ${maxWindow}`);
    }
  });

  it('switches keepalives off', () => {
    assert.equal(settingsOf({ ...basics, keepalive: false }).keepalive.interval, Number.POSITIVE_INFINITY);
  });

  it('takes no option that it does not know, nor one of another type', () => {
    const message = (change: object): string =>
      thrown('bad-argument', () => settingsOf({ ...basics, ...change } as ConnectOptions)).message;
    assert.match(message({ usrename: 'u' }), /^connect: there is no option usrename; there are host, .*username/);
    assert.equal(message({ early: 'yes' }), "connect: early must be true or false, not 'yes'");
    for (const wrong of ['hunter2', null, undefined, {}, { method: 'none' }, { method: 'password' }, () => 'x']) {
      const said = message({ auth: [password('pw'), wrong] });
      assert.match(said, /^auth\[1\] must be a way to log in, as keyFile\(\), .* make them, not \w+$/);
      assert.equal(said.includes('hunter2'), false);
    }
    assert.match(message({ auth: 'hunter2' }), /^auth must be a list/);
    assert.match(message({ identitiesOnly: 1 }), /^connect: identitiesOnly must be true or false/);
    assert.match(message({ requireSignature: 'yes' }), /^connect: requireSignature must be true or false/);
    assert.match(message({ signatures: 'ssh-rsa' }), /^signatures must be a list of names, such as ssh-ed25519/);
    assert.match(
      message({ signatures: ['rsa'] }),
      /^signatures names "rsa", which puressh does not know; it knows ssh-/,
    );
    assert.equal(message({ hostKeyOrder: 'any' }), "connect: hostKeyOrder must be known-first or fixed, not 'any'");
    assert.equal(message({ onBanner: true }), 'connect: onBanner must be a function, not true');
    assert.equal(message({ algorithms: 'kex' }), "connect: algorithms must be 'legacy' or an object, not 'kex'");
    assert.match(message({ algorithms: { kex: 'x' } }), /^algorithms\.kex names "x", which puressh does not know/);
    assert.match(
      message({ algorithms: { compression: '+zlib' } }),
      /^algorithms\.compression names zlib: give the library/,
    );
    assert.match(message({ compression: {} }), /^compression must be an object with functions deflater and inflater/);
    settingsOf({ ...basics, usrename: undefined, crypto: 'pure' } as ConnectOptions);
  });
});
