import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import {
  CHANNEL_DATA_HEADER,
  channelDataHeader,
  channelExtendedDataHeader,
  connection,
  decodeChannelData,
  EXTENDED_DATA_STDERR,
} from '../../src/wire/connection.ts';
import { decode, encode } from '../../src/wire/message.ts';

const lengths = [0, 1, 32767, 32768];
const recipients = [0, 1, 0x80000000, 0xffffffff];

describe('channelDataHeader', () => {
  it('and the data are what the row encodes', () => {
    for (const length of lengths) {
      for (const recipient of recipients) {
        const data = new Uint8Array(length).fill(7);
        const byHand = concat(channelDataHeader(recipient, length), data);
        assert.equal(hex(byHand), hex(encode(connection.channelData, { recipient, data })));
      }
    }
  });

  it('is 5e, recipient, length', () => {
    assert.equal(hex(channelDataHeader(0x01020304, 0x8000)), '5e0102030400008000');
    assert.equal(CHANNEL_DATA_HEADER, 9);
  });
});

describe('channelExtendedDataHeader', () => {
  it('and the data are what the row encodes', () => {
    for (const length of lengths) {
      for (const recipient of recipients) {
        const data = new Uint8Array(length).fill(7);
        const byHand = concat(channelExtendedDataHeader(recipient, EXTENDED_DATA_STDERR, length), data);
        assert.equal(hex(byHand), hex(encode(connection.channelExtendedData, { recipient, kind: 1, data })));
      }
    }
  });

  it('is 5f, recipient, type, length', () => {
    assert.equal(hex(channelExtendedDataHeader(1, 1, 2)), '5f000000010000000100000002');
  });
});

describe('decodeChannelData', () => {
  it('reads what the rows read', () => {
    const data = fromHex('5e 00000005 00000003 616263');
    assert.deepEqual(decodeChannelData(data), { recipient: 5, kind: 0, data: fromHex('616263') });
    assert.deepEqual(decode(connection.channelData, data), { recipient: 5, data: fromHex('616263') });
    const extended = fromHex('5f ffffffff 00000001 00000003 616263');
    assert.deepEqual(decodeChannelData(extended), { recipient: 4294967295, kind: 1, data: fromHex('616263') });
    assert.deepEqual(decode(connection.channelExtendedData, extended), {
      recipient: 4294967295,
      kind: 1,
      data: fromHex('616263'),
    });
  });

  it('takes no data at all', () => {
    assert.equal(decodeChannelData(fromHex('5e 00000000 00000000')).data.length, 0);
    assert.equal(decodeChannelData(fromHex('5f 00000000 00000001 00000000')).data.length, 0);
  });

  it('returns a view', () => {
    const payload = fromHex('5e 00000005 00000001 61');
    assert.equal(decodeChannelData(payload).data.buffer, payload.buffer);
  });

  for (const text of ['5e 00000005 00000003 616263', '5f 00000005 00000001 00000003 616263']) {
    const payload = fromHex(text);

    it(`${text.slice(0, 2)} refuses payloads cut anywhere, and as the row does`, () => {
      const row = payload[0] === 0x5e ? connection.channelData : connection.channelExtendedData;
      for (let length = 1; length < payload.length; length++) {
        const cut = payload.subarray(0, length);
        assert.throws(() => decodeChannelData(cut), { code: 'decode', fault: 'peer' }, `${length}`);
        assert.throws(() => decode(row, cut), { code: 'decode' }, `${length}`);
      }
    });

    it(`${text.slice(0, 2)} refuses trailing bytes and lengths that lie`, () => {
      assert.throws(() => decodeChannelData(fromHex(`${text}00`)), { code: 'decode' });
      for (const length of [0, 2, 4, 0x7fffffff, 0xffffffff]) {
        const lying = payload.slice();
        new DataView(lying.buffer).setUint32(payload.length - 7, length);
        assert.throws(() => decodeChannelData(lying), { code: 'decode' }, String(length));
      }
    });
  }
});
