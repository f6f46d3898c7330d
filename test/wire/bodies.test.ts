/** Bodies that stand behind messages, and the numbers and names that RFCs assign. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeFields, encodeFields, type Layout } from '../../src/bytes/schema.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import {
  DisconnectReason,
  MARKER,
  OpenFailureReason,
  SERVICE_CONNECTION,
  SERVICE_USERAUTH,
} from '../../src/wire/numbers.ts';
import { channelOpen, channelRequest, forwardedPort, globalRequest } from '../../src/wire/requests.ts';
import { requestBody, signedRequest } from '../../src/wire/userauth.ts';

const bodies: readonly [what: string, layout: Layout, value: Record<string, unknown>, bytes: string][] = [
  [
    'pty-req (RFC 4254 §6.2)',
    channelRequest['pty-req'],
    { term: 'vt100', columns: 80, rows: 24, widthPixels: 640, heightPixels: 480, modes: fromHex('00') },
    '00000005 7674313030 00000050 00000018 00000280 000001e0 00000001 00',
  ],
  ['env (RFC 4254 §6.4)', channelRequest.env, { name: 'LANG', value: 'C' }, '00000004 4c414e47 00000001 43'],
  ['shell (RFC 4254 §6.5)', channelRequest.shell, {}, ''],
  ['auth-agent-req@openssh.com (OpenSSH PROTOCOL.agent)', channelRequest['auth-agent-req@openssh.com'], {}, ''],
  ['exec (RFC 4254 §6.5)', channelRequest.exec, { command: fromHex('6cff') }, '00000002 6cff'],
  ['subsystem (RFC 4254 §6.5)', channelRequest.subsystem, { name: 'sftp' }, '00000004 73667470'],
  [
    'window-change (RFC 4254 §6.7)',
    channelRequest['window-change'],
    { columns: 1, rows: 2, widthPixels: 3, heightPixels: 4 },
    '00000001 00000002 00000003 00000004',
  ],
  ['signal (RFC 4254 §6.9)', channelRequest.signal, { signal: 'TERM' }, '00000004 5445524d'],
  ['exit-status (RFC 4254 §6.10)', channelRequest['exit-status'], { status: 255 }, '000000ff'],
  [
    'exit-signal (RFC 4254 §6.10)',
    channelRequest['exit-signal'],
    { signal: 'SEGV', coreDumped: true, message: 'm', language: '' },
    '00000004 53454756 01 00000001 6d 00000000',
  ],
  [
    'direct-tcpip (RFC 4254 §7.2)',
    channelOpen['direct-tcpip'],
    { host: 'db', port: 5432, originHost: '::1', originPort: 65535 },
    '00000002 6462 00001538 00000003 3a3a31 0000ffff',
  ],
  [
    'forwarded-tcpip (RFC 4254 §7.2)',
    channelOpen['forwarded-tcpip'],
    { host: '', port: 8080, originHost: '10.0.0.1', originPort: 1 },
    '00000000 00001f90 00000008 31302e302e302e31 00000001',
  ],
  [
    'tcpip-forward (RFC 4254 §7.1)',
    globalRequest['tcpip-forward'],
    { host: '0.0.0.0', port: 0 },
    '00000007 302e302e302e30 00000000',
  ],
  [
    'cancel-tcpip-forward (RFC 4254 §7.1)',
    globalRequest['cancel-tcpip-forward'],
    { host: '', port: 80 },
    '00000000 00000050',
  ],
  ['the port of tcpip-forward (RFC 4254 §7.1)', forwardedPort, { port: 40000 }, '00009c40'],
  ['password (RFC 4252 §8)', requestBody.password, { change: false, password: 'pä' }, '00 00000003 70c3a4'],
  [
    'password change (RFC 4252 §8)',
    requestBody.passwordChange,
    { change: true, oldPassword: 'o', newPassword: 'n' },
    '01 00000001 6f 00000001 6e',
  ],
  [
    'publickey query (RFC 4252 §7)',
    requestBody.publicKeyQuery,
    { signed: false, algorithm: 'ssh-ed25519', publicKey: fromHex('01') },
    '00 0000000b 7373682d65643235353139 00000001 01',
  ],
  [
    'publickey signed (RFC 4252 §7)',
    requestBody.publicKeySigned,
    { signed: true, algorithm: 'a', publicKey: fromHex('01'), signature: fromHex('02') },
    '01 00000001 61 00000001 01 00000001 02',
  ],
  [
    'keyboard-interactive (RFC 4256 §3.1)',
    requestBody.keyboardInteractive,
    { language: '', submethods: 'pam' },
    '00000000 00000003 70616d',
  ],
  [
    'the signed data of publickey (RFC 4252 §7)',
    signedRequest,
    {
      sessionId: fromHex('aabb'),
      number: 50,
      user: 'u',
      service: 'ssh-connection',
      method: 'publickey',
      signed: true,
      algorithm: 'a',
      publicKey: fromHex('01'),
    },
    `00000002 aabb 32 00000001 75 0000000e 7373682d636f6e6e656374696f6e 00000009 7075626c69636b6579 01
     00000001 61 00000001 01`,
  ],
];

describe('bodies', () => {
  for (const [what, layout, value, text] of bodies) {
    it(`${what} both ways`, () => {
      assert.equal(hex(encodeFields(layout, value as never)), hex(fromHex(text)));
      assert.deepEqual(decodeFields(layout, fromHex(text)), value);
    });
  }

  it('have a case for every layout', () => {
    const groups = [channelRequest, channelOpen, globalRequest, requestBody, { forwardedPort, signedRequest }];
    const declared = groups.flatMap((group) => Object.values(group) as Layout[]);
    const tried = new Set(bodies.map(([, layout]) => layout));
    assert.deepEqual(
      declared.filter((layout) => !tried.has(layout)),
      [],
    );
  });
});

describe('numbers', () => {
  it('DisconnectReason is the list of RFC 4253 §11.1', () => {
    assert.deepEqual(DisconnectReason, {
      hostNotAllowedToConnect: 1,
      protocolError: 2,
      keyExchangeFailed: 3,
      reserved: 4,
      macError: 5,
      compressionError: 6,
      serviceNotAvailable: 7,
      protocolVersionNotSupported: 8,
      hostKeyNotVerifiable: 9,
      connectionLost: 10,
      byApplication: 11,
      tooManyConnections: 12,
      authCancelledByUser: 13,
      noMoreAuthMethodsAvailable: 14,
      illegalUserName: 15,
    });
  });

  it('OpenFailureReason is the list of RFC 4254 §5.1', () => {
    assert.deepEqual(OpenFailureReason, {
      administrativelyProhibited: 1,
      connectFailed: 2,
      unknownChannelType: 3,
      resourceShortage: 4,
    });
  });

  it('service names and markers are spelled as in RFC 4250 §4.7, RFC 8308 §2.1 and OpenSSH PROTOCOL §1.9', () => {
    assert.equal(SERVICE_USERAUTH, 'ssh-userauth');
    assert.equal(SERVICE_CONNECTION, 'ssh-connection');
    assert.deepEqual(MARKER, {
      extInfoClient: 'ext-info-c',
      extInfoServer: 'ext-info-s',
      strictClient: 'kex-strict-c-v00@openssh.com',
      strictServer: 'kex-strict-s-v00@openssh.com',
    });
  });
});
