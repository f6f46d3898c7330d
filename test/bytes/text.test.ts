import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  base64,
  decodeExactly,
  decodeLenient,
  decodeUtf8,
  fromBase64,
  fromHex,
  fromLatin1,
  hex,
  latin1,
  printable,
  printableLines,
  toBytes,
  utf8,
} from '../../src/bytes/text.ts';

describe('utf8', () => {
  it('encodes and decodes, keeping a byte order mark', () => {
    assert.equal(hex(utf8('aä€😀')), '61c3a4e282acf09f9880');
    assert.equal(decodeUtf8(fromHex('61c3a4e282acf09f9880')), 'aä€😀');
    assert.equal(decodeUtf8(fromHex('efbbbf61')), '\ufeffa');
    assert.equal(decodeLenient(fromHex('efbbbf61')), '\ufeffa');
  });

  it('decodeExactly gives text of any bytes, and gives the bytes back', () => {
    const rows = [
      ['61c3a4', 'aä', 'c3a4'],
      ['61e4', 'aä', 'e4'],
    ] as const;
    for (const [bytes, expected, changed] of rows) {
      const { text, encode } = decodeExactly(fromHex(bytes));
      assert.equal(text, expected);
      assert.equal(hex(encode(text)), bytes);
      assert.equal(hex(encode(text.slice(1))), changed);
    }
  });

  it('decodeUtf8 is undefined for what is not UTF-8, decodeLenient replaces it', () => {
    for (const bytes of ['ff', 'c3', 'c0af', 'eda080', 'f5808080', 'e282']) {
      assert.equal(decodeUtf8(fromHex(bytes)), undefined, bytes);
      assert.match(decodeLenient(fromHex(bytes)), /^\ufffd+$/, bytes);
    }
  });

  it('toBytes leaves bytes as they are', () => {
    const bytes = fromHex('ff');
    assert.equal(toBytes(bytes), bytes);
    assert.equal(hex(toBytes('ÿ')), 'c3bf');
  });
});

describe('latin1', () => {
  it('maps every byte to the character of that number', () => {
    const text = latin1(Uint8Array.from({ length: 256 }, (_, i) => i));
    assert.equal(text.length, 256);
    for (let i = 0; i < 256; i++) assert.equal(text.charCodeAt(i), i);
  });
});

describe('fromLatin1', () => {
  it('undoes latin1 for every byte', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    assert.deepEqual(fromLatin1(latin1(bytes)), bytes);
  });

  it('refuses characters above U+00FF', () => {
    assert.throws(() => fromLatin1('a\u0100'), { code: 'bad-argument', fault: 'local' });
  });
});

describe('hex', () => {
  it('writes two lower-case digits a byte', () => assert.equal(hex(Uint8Array.of(0, 1, 0xab, 0xff)), '0001abff'));

  it('reads digits of either case and ignores white space', () => {
    assert.deepEqual([...fromHex(' 00 aB\nFF ')], [0, 0xab, 0xff]);
    assert.deepEqual([...fromHex('')], []);
  });

  it('refuses anything else', () => {
    for (const text of ['0', '0g', '0x00', '--']) assert.throws(() => fromHex(text), { code: 'bad-argument' }, text);
  });
});

describe('base64', () => {
  // RFC 4648 §10
  const rows: readonly [string, string][] = [
    ['', ''],
    ['f', 'Zg=='],
    ['fo', 'Zm8='],
    ['foo', 'Zm9v'],
    ['foob', 'Zm9vYg=='],
    ['fooba', 'Zm9vYmE='],
    ['foobar', 'Zm9vYmFy'],
  ];
  for (const [text, encoded] of rows) {
    it(`RFC 4648 §10: "${text}"`, () => {
      assert.equal(base64(utf8(text)), encoded);
      assert.equal(latin1(fromBase64(encoded) as Uint8Array), text);
      assert.equal(latin1(fromBase64(encoded.replace(/=/g, '')) as Uint8Array), text, 'without padding');
    });
  }

  it('takes long input in one piece', () => {
    const bytes = Uint8Array.from({ length: 100_001 }, (_, i) => (i * 7) % 256);
    const encoded = base64(bytes);
    assert.equal(encoded.length, 133_336);
    assert.equal(encoded.slice(0, 8), 'AAcOFRwj');
    assert.deepEqual(fromBase64(encoded), bytes);
  });

  it('ignores white space and is undefined for what is not base64', () => {
    assert.equal(latin1(fromBase64(' Zm9v\r\nYmFy\n') as Uint8Array), 'foobar');
    for (const text of ['Z', 'Zg=', '=', 'Zg==Zg==', 'Zm9-', 'Zm9_', 'Zm9v!', 'ä']) {
      assert.equal(fromBase64(text), undefined, text);
    }
  });
});

describe('printable', () => {
  it('leaves text of any language', () => assert.equal(printable('Grüße, 世界 😀'), 'Grüße, 世界 😀'));

  it('escapes C0, DEL and C1', () => {
    assert.equal(printable('a\u001b[31mb\r\n\u0000\t\u007f\u009b'), 'a\\x1b[31mb\\x0d\\x0a\\x00\\x09\\x7f\\x9b');
    for (let code = 0; code < 0xa0; code++) {
      const safe = code >= 0x20 && code < 0x7f;
      assert.equal(printable(String.fromCharCode(code)).length, safe ? 1 : 4, `U+${code.toString(16)}`);
    }
  });

  it('leaves nothing that ends a line for anybody', () => {
    const ends = '\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029';
    const shown = printable(`a${ends.split('').join('b')}c`);
    assert.equal(shown, 'a\\x0ab\\x0bb\\x0cb\\x0db\\x1cb\\x1db\\x1eb\\x85b\\u2028b\\u2029c');
  });

  it('escapes bidirectional controls', () => {
    assert.equal(printable('a\u202eb\u2066c\u200f\ufeff\u061c'), 'a\\u202eb\\u2066c\\u200f\\ufeff\\u061c');
  });

  it('cuts what is too long, and says so', () => {
    assert.equal(printable('abcdef', 3), 'abc…');
    assert.equal(printable('abc', 3), 'abc');
    assert.equal(printable('x'.repeat(1000)).length, 201);
  });

  it('takes bytes, whatever they are', () => {
    assert.equal(printable(fromHex('61ff1b')), 'a\ufffd\\x1b');
  });
});

describe('printableLines', () => {
  it('keeps line feeds and tabs, and nothing else that moves the cursor', () => {
    assert.equal(printableLines('a\tb\r\nc\rd\u001b[2J\n'), 'a\tb\nc\nd\\x1b[2J\n');
  });

  it('cuts at its limit', () => {
    assert.equal(printableLines('a\n'.repeat(10), 5), 'a\na\na');
  });
});
