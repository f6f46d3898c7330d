import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fromHex, hex } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import { type Attributes, decodeAttributes, encodeAttributes, fileKind } from '../../../src/sftp/proto/attrs.ts';
import { decodeNames, encodeNames } from '../../../src/sftp/proto/names.ts';
import { root } from '../../support/root.ts';

const throwsCode = (code: string, run: () => unknown): void =>
  assert.throws(run, (error) => error instanceof SshError && error.code === code);

/** Everything at once: draft §5, in its order. */
const FULL = {
  bytes:
    '8000000f' + // flags
    '0000000100000002' + // size 4294967298
    '000003e800000064' + // uid 1000, gid 100
    '000081a4' + // permissions 0100644
    'ffffffff96000000' + // atime 2106, mtime 2049
    '0000000100000003784079' + // one pair: x@y
    '0000000100',
  value: {
    size: 4294967298,
    uid: 1000,
    gid: 100,
    permissions: 0o100644,
    atime: 4294967295,
    mtime: 2516582400,
    extended: [{ type: 'x@y', data: new Uint8Array([0]) }],
  },
};

describe('decodeAttributes', () => {
  it('reads every attribute, times unsigned (T46)', () => {
    assert.deepEqual(decodeAttributes(fromHex(FULL.bytes)), FULL.value);
  });

  it('makes up nothing: no flags, no members', () => {
    assert.deepEqual(decodeAttributes(fromHex('00000000')), {});
  });

  it("reads what OpenSSH's server sends", () => {
    const { steps } = JSON.parse(readFileSync(new URL('vectors/sftp/openssh_server.json', root), 'utf8')) as {
      steps: { step: string; reply: string }[];
    };
    const step = steps.find(({ step: name }) => name.startsWith('STAT of a file of 5')) as { reply: string };
    const attrs = decodeAttributes(fromHex(step.reply).subarray(9));
    assert.deepEqual(attrs, {
      size: 5,
      uid: 0,
      gid: 0,
      permissions: 0o100640,
      atime: 1000000000,
      mtime: 4000000000,
    });
  });

  it('refuses every shorter form and trailing bytes', () => {
    const bytes = fromHex(FULL.bytes);
    for (let length = 0; length < bytes.length; length++) {
      throwsCode('decode', () => decodeAttributes(bytes.subarray(0, length)));
    }
    throwsCode('decode', () => decodeAttributes(new Uint8Array([...bytes, 0])));
  });

  it('refuses a count of extended pairs that the packet cannot hold, at once', () => {
    throwsCode('decode', () => decodeAttributes(fromHex('80000000ffffffff')));
    throwsCode('decode', () => decodeAttributes(fromHex('80000000000000020000000000000000')));
  });

  it('ignores the bits 0x10 and 0x20 of version 4, with nothing behind them', () => {
    assert.deepEqual(decodeAttributes(fromHex('00000035000000000000000700008180')), { size: 7, permissions: 0o100600 });
  });

  it('takes the uint64 of version 4 behind them where only that fits', () => {
    const bytes = '00000035' + '0000000000000007' + '00008180' + '0000000000000001' + '0000000000000002';
    assert.deepEqual(decodeAttributes(fromHex(bytes)), { size: 7, permissions: 0o100600 });
  });
});

describe('encodeAttributes', () => {
  it('writes every attribute as the draft has it', () => {
    assert.equal(hex(encodeAttributes(FULL.value)), FULL.bytes);
  });

  it('writes only what is given', () => {
    assert.equal(hex(encodeAttributes({})), '00000000');
    assert.equal(hex(encodeAttributes({ permissions: 0o600 })), '0000000400000180');
  });

  it('wants uid with gid, and atime with mtime', () => {
    throwsCode('bad-argument', () => encodeAttributes({ uid: 1 }));
    throwsCode('bad-argument', () => encodeAttributes({ mtime: 1 }));
  });

  const times: [string, number, string][] = [
    ['-1', -1, '00000000'],
    ['the year 2200', 7258118400, 'ffffffff'],
  ];
  for (const [name, mtime, clamped] of times) {
    it(`refuses or clamps a time of ${name}, and never wraps it (T46)`, () => {
      throwsCode('bad-argument', () => encodeAttributes({ atime: 0, mtime }));
      assert.equal(hex(encodeAttributes({ atime: 0, mtime }, 'clamp')), `0000000800000000${clamped}`);
    });
  }

  it('refuses sizes and permissions that do not fit', () => {
    for (const attrs of [
      { size: -1 },
      { size: 0.5 },
      { size: 2 ** 53 },
      { permissions: -1 },
      { permissions: 2 ** 32 },
    ]) {
      throwsCode('bad-argument', () => encodeAttributes(attrs as Attributes));
    }
  });
});

describe('fileKind', () => {
  it('reads the type bits', () => {
    const kinds = [0o100644, 0o040755, 0o120777, 0o020666, 0o060660, 0o010644, 0o140777, 0o644].map((permissions) =>
      fileKind({ permissions }),
    );
    const expected = ['file', 'directory', 'symlink', 'character-device', 'block-device', 'fifo', 'socket', 'unknown'];
    assert.deepEqual(kinds, expected);
    assert.equal(fileKind({}), 'unknown');
  });
});

describe('decodeNames', () => {
  const entry = '00000001ff' + '00000000' + '00000010'; // a name of one byte ff, no long name, a bit of version 4

  it('reads names as bytes', () => {
    const [first, second] = decodeNames(2, fromHex(entry + entry));
    assert.equal(hex((first as { name: Uint8Array }).name), 'ff');
    assert.deepEqual(second?.attrs, {});
  });

  it('reads entries whose bits of version 4 have a body', () => {
    assert.equal(decodeNames(2, fromHex(`${entry}0000000000000001${entry}0000000000000002`)).length, 2);
  });

  it('refuses a count that the packet cannot hold, at once, and one that is too small', () => {
    throwsCode('decode', () => decodeNames(0xffffffff, fromHex(entry)));
    throwsCode('decode', () => decodeNames(2, fromHex(entry)));
    throwsCode('decode', () => decodeNames(0, fromHex(entry)));
  });

  it('reads what encodeNames wrote', () => {
    const bytes = encodeNames([{ name: 'é', longname: 'l', attrs: { size: 1 } }]);
    assert.equal(hex(bytes), '00000002c3a9' + '000000016c' + '00000001' + '0000000000000001');
    assert.equal(decodeNames(1, bytes)[0]?.attrs.size, 1);
  });
});
