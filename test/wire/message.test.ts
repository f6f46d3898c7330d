import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { connection } from '../../src/wire/connection.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { decode, encode, type Row } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { keyboardAuth, passwordAuth, publicKeyAuth, userauth } from '../../src/wire/userauth.ts';

const cookie = '000102030405060708090a0b0c0d0e0f';

/** Every row once: its value, and its payload written down from the layouts of the RFCs. */
const rows: readonly [row: Row, value: Record<string, unknown>, payload: string][] = [
  [
    transport.disconnect,
    { reason: 11, description: 'bye', language: 'en' },
    '01 0000000b 00000003 627965 00000002 656e',
  ],
  [transport.ignore, { data: fromHex('00ff') }, '02 00000002 00ff'],
  [transport.unimplemented, { sequence: 4294967295 }, '03 ffffffff'],
  [transport.debug, { alwaysDisplay: true, message: 'm', language: '' }, '04 01 00000001 6d 00000000'],
  [transport.serviceRequest, { service: 'ssh-userauth' }, '05 0000000c 7373682d7573657261757468'],
  [transport.serviceAccept, { service: 'ssh-userauth' }, '06 0000000c 7373682d7573657261757468'],
  [transport.extInfo, { count: 1, pairs: fromHex('000000016100000000') }, '07 00000001 00000001 61 00000000'],
  [
    transport.kexinit,
    {
      cookie: fromHex(cookie),
      kex: ['a', 'b'],
      hostKey: ['c'],
      cipherToServer: ['d'],
      cipherToClient: ['e'],
      macToServer: ['f'],
      macToClient: ['g'],
      compressionToServer: ['h'],
      compressionToClient: ['i'],
      languageToServer: [],
      languageToClient: ['j'],
      firstKexPacketFollows: true,
      reserved: 0,
    },
    `14 ${cookie} 00000003 612c62 00000001 63 00000001 64 00000001 65 00000001 66 00000001 67 00000001 68
     00000001 69 00000000 00000001 6a 01 00000000`,
  ],
  [transport.newkeys, {}, '15'],
  [transport.ping, { data: fromHex('01') }, 'c0 00000001 01'],
  [transport.pong, { data: fromHex('01') }, 'c1 00000001 01'],
  [ecdh.init, { publicValue: fromHex('aa') }, '1e 00000001 aa'],
  [
    ecdh.reply,
    { hostKey: fromHex('01'), publicValue: fromHex('02'), signature: fromHex('03') },
    '1f 00000001 01 00000001 02 00000001 03',
  ],
  [
    userauth.request,
    { user: 'ä', service: 's', method: 'none', rest: new Uint8Array(0) },
    '32 00000002 c3a4 00000001 73 00000004 6e6f6e65',
  ],
  [
    userauth.failure,
    { methods: ['publickey', 'password'], partialSuccess: true },
    `33 00000012
     7075626c69636b65792c70617373776f7264 01`,
  ],
  [userauth.success, {}, '34'],
  [userauth.banner, { message: 'hi', language: '' }, '35 00000002 6869 00000000'],
  [publicKeyAuth.ok, { algorithm: 'a', publicKey: fromHex('ff') }, '3c 00000001 61 00000001 ff'],
  [passwordAuth.changeRequest, { prompt: 'p', language: '' }, '3c 00000001 70 00000000'],
  [
    keyboardAuth.infoRequest,
    { title: 't', instruction: 'i', language: '', count: 1, prompts: fromHex('00000001 70 00') },
    '3c 00000001 74 00000001 69 00000000 00000001 00000001 70 00',
  ],
  [keyboardAuth.infoResponse, { count: 1, responses: fromHex('00000001 72') }, '3d 00000001 00000001 72'],
  [connection.globalRequest, { request: 'r', wantReply: true, body: fromHex('ee') }, '50 00000001 72 01 ee'],
  [connection.requestSuccess, { body: fromHex('00000016') }, '51 00000016'],
  [connection.requestFailure, {}, '52'],
  [
    connection.channelOpen,
    { kind: 'session', sender: 1, window: 2097152, maxPacket: 32768, body: new Uint8Array(0) },
    '5a 00000007 73657373696f6e 00000001 00200000 00008000',
  ],
  [
    connection.channelOpenConfirmation,
    { recipient: 1, sender: 2, window: 3, maxPacket: 4, body: fromHex('05') },
    '5b 00000001 00000002 00000003 00000004 05',
  ],
  [
    connection.channelOpenFailure,
    { recipient: 1, reason: 4, description: 'no', language: '' },
    '5c 00000001 00000004 00000002 6e6f 00000000',
  ],
  [connection.channelWindowAdjust, { recipient: 1, bytes: 1024 }, '5d 00000001 00000400'],
  [connection.channelData, { recipient: 1, data: fromHex('616263') }, '5e 00000001 00000003 616263'],
  [
    connection.channelExtendedData,
    { recipient: 1, kind: 1, data: fromHex('616263') },
    '5f 00000001 00000001 00000003 616263',
  ],
  [connection.channelEof, { recipient: 1 }, '60 00000001'],
  [connection.channelClose, { recipient: 1 }, '61 00000001'],
  [
    connection.channelRequest,
    { recipient: 1, request: 'exec', wantReply: false, body: fromHex('000000026c73') },
    '62 00000001 00000004 65786563 00 00000002 6c73',
  ],
  [connection.channelSuccess, { recipient: 1 }, '63 00000001'],
  [connection.channelFailure, { recipient: 1 }, '64 00000001'],
];

describe('encode and decode', () => {
  for (const [row, value, text] of rows) {
    const payload = fromHex(text);
    const hasRest = Object.values(row.fields).includes('rest');

    it(`${row.name} (${row.number}) both ways`, () => {
      assert.equal(hex(encode(row, value as never)), hex(payload));
      assert.deepEqual(decode(row, payload), value);
    });

    it(`${row.name} (${row.number}) refuses payloads cut anywhere and trailing bytes`, () => {
      const fixed = hasRest
        ? payload.length - (value[Object.keys(value).at(-1) as string] as Uint8Array).length
        : payload.length;
      for (let length = 1; length < fixed; length++) {
        assert.throws(() => decode(row, payload.subarray(0, length)), { code: 'decode', fault: 'peer' }, `${length}`);
      }
      if (hasRest) return;
      const longer = fromHex(`${hex(payload)}00`);
      assert.throws(() => decode(row, longer), {
        code: 'decode',
        message: new RegExp(`1 bytes too many .*${row.name}`),
      });
    });
  }

  it('have a case for every row', () => {
    const groups = [transport, ecdh, userauth, publicKeyAuth, passwordAuth, keyboardAuth, connection];
    const declared = groups.flatMap((group) => Object.values<Row>(group));
    const tried = new Set(rows.map(([row]) => row));
    assert.deepEqual(
      declared.filter((row) => !tried.has(row)),
      [],
    );
  });
});
