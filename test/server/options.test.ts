/** What a program without types may pass to a server and its helpers: each mistake is `bad-argument`, at once. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base64 } from '../../src/bytes/text.ts';
import { parseAuthorizedKeys } from '../../src/keys/authorized_keys.ts';
import { authorizedKeys } from '../../src/server/authorized_keys.ts';
import { type ServerOptions, serverSettings } from '../../src/server/options.ts';
import { passwordsIn } from '../../src/server/passwords.ts';
import { sftpSubsystem } from '../../src/sftp_subsystem.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';
import { testKey } from '../support/test_keys.ts';

const hostKey = ed25519Signer(memoCrypto, 7);
const basics: ServerOptions = { hostKeys: [hostKey], auth: { password: () => true } };

describe('serverSettings', () => {
  const mistakes: readonly [options: object, message: RegExp][] = [
    [{ capacity: { connections: Number.NaN } }, /^capacity\.connections .*not NaN/],
    [{ capacity: { unauthenticated: -1 } }, /^capacity\.unauthenticated .*not -1/],
    [{ timeouts: { identification: 0 } }, /^timeouts\.identification .*not 0/],
    [{ timeouts: { keyExchange: '60' } }, /^timeouts\.keyExchange .*not 60/],
    [{ timeouts: { channelClose: Number.NEGATIVE_INFINITY } }, /^timeouts\.channelClose .*not -Infinity/],
    [{ limits: { authFailures: Number.NaN } }, /^limits\.authFailures .*not NaN/],
    [{ capacity: { conections: 5 } }, /^capacity has no member conections; there are connections, /],
    [{ timeouts: { auth: 5 } }, /^timeouts has no member auth; there are identification, /],
    [{ limits: { channel: 5 } }, /^limits has no member channel; there are /],
    [{ keepalive: { interval: 0 } }, /^keepalive\.interval .*not 0/],
    [{ signatures: [] }, /^signatures must be a list with at least one/],
    [{ signatures: 'ssh-ed25519' }, /^signatures must be a list/],
    [{ signatures: ['ssh-\u001bdss'] }, /^signatures names "ssh-[ -~]*dss".*it knows ssh-ed25519/],
    [{ onConnection: true }, /onConnection must be a function, not boolean/],
    [{ onLogin: 'log' }, /onLogin must be a function, not string/],
    [{ onError: {} }, /onError must be a function, not object/],
    [{ banner: null }, /^banner must be a text, not object/],
    [{ hostKeys: [{ sign: () => new Uint8Array(0) }] }, /^A host key is/],
  ];
  for (const [options, message] of mistakes) {
    it(`refuses ${Object.keys(options)[0]} where it matches ${message.source}`, async () => {
      const error = await rejectsWith(serverSettings({ ...basics, ...options }, memoCrypto), 'bad-argument');
      assert.match(error.message, message);
    });
  }

  it('takes infinity for no end', async () => {
    const never = Number.POSITIVE_INFINITY;
    const options = { ...basics, timeouts: { login: never }, capacity: { connections: never } };
    const settings = await serverSettings(options, memoCrypto);
    assert.deepEqual([settings.limits.loginTime, settings.capacity.connections], [never, never]);
  });

  it('takes two host keys of one type', async () => {
    const two = [hostKey, ed25519Signer(memoCrypto, 8)];
    assert.deepEqual((await serverSettings({ ...basics, hostKeys: two }, memoCrypto)).hostKeys, two);
  });
});

describe('sftpSubsystem', () => {
  it('refuses options that it does not know: misspelt, readOnly would leave all writable', () => {
    for (const options of [{ readonly: true }, { limits: { openHandle: 5 } }]) {
      assert.throws(() => sftpSubsystem({}, options as never), {
        code: 'bad-argument',
        message: /has no member (readonly|openHandle); there are/,
      });
    }
  });
});

describe('authorizedKeys', () => {
  it('wants contents by user name', () => {
    for (const source of [undefined, null, 'ssh-ed25519 AAAA', new Uint8Array(8), 7]) {
      assert.throws(() => authorizedKeys(source as never), { code: 'bad-argument', message: /by user name/ });
    }
  });

  it('refuses what holds no key, such as a path, and never shows a private key', () => {
    const refused = (text: unknown, message: RegExp): void => {
      assert.throws(() => authorizedKeys({ ada: text } as never), { code: 'bad-argument', message });
    };
    refused('keys/ada.pub', /^authorizedKeys: what is given for "ada" holds no key: .*a path is not enough/);
    refused([new Uint8Array(8)], /^authorizedKeys: for "ada" give the content of a file, text or bytes, not object/);
    for (const head of [
      '-----BEGIN OPENSSH PRIVATE KEY-----',
      '-----BEGIN PRIVATE KEY-----',
      'PuTTY-User-Key-File-3: x',
    ]) {
      const text = `# mine\n${head}\nAAAAsecretsecret\n`;
      refused(text, /A private key, which has no place here: give the public one/);
      assert.deepEqual(parseAuthorizedKeys(text).keys, []);
      assert.ok(!JSON.stringify(parseAuthorizedKeys(text)).includes('secret'));
    }
    for (const text of ['', '# nobody yet\n']) authorizedKeys({ ada: text });
  });

  it('tells of lines that name the key and do not let it in', async () => {
    const { publicKey } = testKey('ssh-ed25519', 'user');
    const line = `ssh-ed25519 ${base64(publicKey.blob)}`;
    const heard: unknown[] = [];
    const text = `from="10.0.0.0/8" ${line}\nexpiry-time="20200101Z" ${line}\n`;
    const login = authorizedKeys({ ada: text }, { onRefused: (...told) => heard.push(told) });
    const peer = { address: '192.0.2.1', port: 1, identification: '' };
    const attempt = { username: 'ada', peer, steps: [], key: { fingerprint: '', publicKey } };
    assert.equal(await login(attempt), false);
    const lines = heard as [string, { line: number; reason: string }[]][];
    assert.deepEqual(
      lines.map(([name, told]) => [name, told.map(({ line: at }) => at)]),
      [['ada', [1, 2]]],
    );
    assert.match(lines[0]?.[1][1]?.reason ?? '', /expiry-time/);
  });

  it('wants an offset of a time zone', () => {
    for (const utcOffset of [Number.NaN, 0.5, 1441]) {
      assert.throws(() => authorizedKeys({}, { utcOffset }), { code: 'bad-argument', message: /^utcOffset/ });
    }
  });
});

describe('passwordsIn', () => {
  it('wants texts by user name', () => {
    for (const users of [undefined, null, 'ada:secret']) {
      assert.throws(() => passwordsIn(memoCrypto, users as never), { code: 'bad-argument', message: /by user name/ });
    }
    for (const password of [undefined, null, 7]) {
      const users = { 'a\u001b': password } as never;
      assert.throws(() => passwordsIn(memoCrypto, users), {
        code: 'bad-argument',
        message: /^The password of "a[ -~]*"/,
      });
    }
  });
});
