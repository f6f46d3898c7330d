import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fromHex, hex, latin1, utf8 } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import { decodeNames } from '../../../src/sftp/proto/names.ts';
import {
  dataHeader,
  dataLength,
  decodeBulk,
  decodePacket,
  encodePacket,
  encodePairs,
  encodeRead,
  type PacketRow,
  packetName,
  packetRow,
  packets,
  readPairs,
  writeHeader,
} from '../../../src/sftp/proto/packets.ts';
import { root } from '../../support/root.ts';

interface Vector {
  readonly packet: keyof typeof packets;
  readonly value: Readonly<Record<string, number | string>>;
  readonly bytes: string;
}

const { packets: vectors } = JSON.parse(readFileSync(new URL('vectors/sftp/packets.json', root), 'utf8')) as {
  packets: Vector[];
};

/** A value of a vector as the rows have it. */
function fieldsOf({ packet, value }: Vector): Record<string, unknown> {
  const fields = packets[packet].fields as Record<string, string>;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (fields[key] === 'uint64') return [key, BigInt(item)];
      return [key, typeof item === 'string' && item.startsWith('hex:') ? fromHex(item.slice(4)) : item];
    }),
  );
}

function plain(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, item instanceof Uint8Array ? hex(item) : item]),
  );
}

const isDecodeError = (error: unknown): boolean => error instanceof SshError && error.code === 'decode';

describe('packets', () => {
  for (const vector of vectors) {
    const row: PacketRow = packets[vector.packet];
    const bytes = fromHex(vector.bytes);
    const value = fieldsOf(vector);

    it(`encodes and decodes ${row.name} as in the vector`, () => {
      assert.equal(hex(encodePacket(row, value as never)), vector.bytes);
      assert.deepEqual(plain(decodePacket(row, bytes.subarray(4))), plain(value));
    });

    it(`refuses ${row.name} cut at every length, and with a byte too many, unless its end is open`, () => {
      const open = Object.values(row.fields).at(-1) === 'rest';
      const least = bytes.length - 4 - (open ? (Object.values(value).at(-1) as Uint8Array).length : 0);
      for (let length = 1; length < least; length++) {
        assert.throws(() => decodePacket(row, bytes.subarray(4, 4 + length)), isDecodeError, `${length} bytes`);
      }
      const longer = new Uint8Array([...bytes.subarray(4), 0]);
      if (!open) assert.throws(() => decodePacket(row, longer), isDecodeError);
    });
  }

  it('has a vector for every row and knows every row by number', () => {
    assert.deepEqual(
      vectors.map(({ packet }) => packet),
      Object.keys(packets),
    );
    assert.equal(packetRow(5), packets.read);
    assert.equal(packetRow(77), undefined);
    assert.equal(packetName(201), 'SSH_FXP_EXTENDED_REPLY');
    assert.equal(packetName(77), 'packet type 77');
  });
});

describe('bulk packets', () => {
  const bytesOf = (name: string): string => (vectors.find(({ packet }) => packet === name) as Vector).bytes;

  it('encodeRead is the READ of the vector', () => {
    assert.equal(hex(encodeRead(3, utf8('h'), 4294967297, 32768)), bytesOf('read'));
  });

  it('writeHeader and its payload are the WRITE of the vector', () => {
    assert.equal(`${hex(writeHeader(4, utf8('h'), Number.MAX_SAFE_INTEGER, 3))}010203`, bytesOf('write'));
  });

  it('dataHeader and its payload are the DATA of the vector', () => {
    assert.equal(`${hex(dataHeader(0xffffffff, 2))}cafe`, bytesOf('data'));
    assert.equal(dataLength(fromHex(bytesOf('data'))), 2);
  });

  it('dataLength refuses lengths that disagree', () => {
    assert.throws(() => dataLength(fromHex('0000000b67000000010000000300000000')), isDecodeError);
  });

  it('decodeBulk reads READ and WRITE', () => {
    const read = decodeBulk(fromHex(bytesOf('read')).subarray(4));
    assert.deepEqual(plain(read), { id: 3, handle: '68', offset: 4294967297, length: 32768, data: '' });
    const write = decodeBulk(fromHex(bytesOf('write')).subarray(4));
    assert.deepEqual(plain(write), { id: 4, handle: '68', offset: 9007199254740991, length: 3, data: '010203' });
  });

  it('decodeBulk refuses READ and WRITE cut at every length, and trailing bytes', () => {
    for (const name of ['read', 'write']) {
      const packet = fromHex(bytesOf(name)).subarray(4);
      for (let length = 1; length < packet.length; length++) {
        assert.throws(() => decodeBulk(packet.subarray(0, length)), isDecodeError, `${name} of ${length} bytes`);
      }
      assert.throws(() => decodeBulk(new Uint8Array([...packet, 0])), isDecodeError);
    }
  });
});

describe('readPairs', () => {
  it('reads what encodePairs wrote', () => {
    const pairs = readPairs(
      encodePairs([
        { name: 'a@b', value: '1' },
        { name: 'c', value: fromHex('ff') },
      ]),
    );
    assert.deepEqual(
      pairs.map(({ name, value }) => [name, hex(value)]),
      [
        ['a@b', '31'],
        ['c', 'ff'],
      ],
    );
  });

  it('refuses a name without a value, and a length beyond the end', () => {
    assert.throws(() => readPairs(fromHex('0000000161')), isDecodeError);
    assert.throws(() => readPairs(fromHex('ffffffff61')), isDecodeError);
  });
});

interface Step {
  readonly step: string;
  readonly reply: string;
}

describe("replies of OpenSSH's server", () => {
  const { steps } = JSON.parse(readFileSync(new URL('vectors/sftp/openssh_server.json', root), 'utf8')) as {
    steps: Step[];
  };
  const reply = (start: string): Uint8Array => {
    const step = steps.find(({ step: name }) => name.startsWith(start));
    return fromHex((step as Step).reply).subarray(4);
  };

  it('VERSION advertises posix-rename and limits', () => {
    const { version, extensions } = decodePacket(packets.version, reply('INIT'));
    assert.equal(version, 3);
    const names = readPairs(extensions).map(({ name, value }) => `${name}=${latin1(value)}`);
    assert.ok(names.includes('posix-rename@openssh.com=1') && names.includes('limits@openssh.com=1'));
  });

  it('NAME answers REALPATH with one entry', () => {
    const { count, entries } = decodePacket(packets.name, reply('REALPATH'));
    const [entry] = decodeNames(count, entries);
    assert.equal(count, 1);
    assert.equal(latin1((entry as { name: Uint8Array }).name), '/tmp/puressh-sftp-vector');
  });

  it('NAME answers READDIR with raw bytes, long names and attributes', () => {
    const { count, entries } = decodePacket(packets.name, reply('READDIR: a name'));
    const names = decodeNames(count, entries);
    const found = names.find(({ name }) => hex(name) === '636166e9');
    assert.equal(count, 3);
    assert.equal(found?.attrs.size, 0);
    assert.equal(found?.attrs.mtime, 2);
    assert.match(latin1(found?.longname as Uint8Array), /^-rw-r--r-- .* caf\xe9$/);
  });

  it('DATA of no bytes answers a READ of none', () => {
    assert.equal(decodePacket(packets.data, reply('READ of no bytes')).data.length, 0);
  });
});
