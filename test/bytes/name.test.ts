import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeName, encodeName } from '../../src/bytes/name.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { SshError } from '../../src/errors.ts';
import { drawBelow } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';

/** Bytes and what Python's `surrogateescape` (PEP 383) makes of them. */
const vectors: readonly [bytes: string, text: string][] = [
  ['', ''],
  ['61c3a4f09f9880', 'aä😀'],
  ['efbbbf61', '\ufeffa'],
  ['ff', '\udcff'],
  ['61ff62', 'a\udcffb'],
  ['c3', '\udcc3'],
  ['c3c3a4', '\udcc3ä'],
  ['e282', '\udce2\udc82'],
  ['e28261', '\udce2\udc82a'],
  ['c0af', '\udcc0\udcaf'],
  ['eda080', '\udced\udca0\udc80'],
  ['edb2ff', '\udced\udcb2\udcff'],
  ['f09f98', '\udcf0\udc9f\udc98'],
  ['f09f9880ff', '😀\udcff'],
  ['f4908080', '\udcf4\udc90\udc80\udc80'],
];

describe('decodeName and encodeName', () => {
  for (const [bytes, text] of vectors) {
    it(`takes ${bytes || 'nothing'} there and back`, () => {
      assert.equal(decodeName(fromHex(bytes)), text);
      assert.equal(hex(encodeName(text)), bytes);
    });
  }

  it('takes any bytes there and back, and no two names become the same text', () => {
    const random = seededRandom('names');
    const alphabet = fromHex('002f6180bfc0c2c3a0e0ede282ef90f0f4f5ff');
    const seen = new Map<string, string>();
    for (let i = 0; i < 5000; i++) {
      const drawn = random(drawBelow(random, 9));
      const bytes = i % 2 === 0 ? drawn.map(() => alphabet[drawBelow(random, 19)] as number) : drawn;
      const text = decodeName(bytes);
      assert.equal(hex(encodeName(text)), hex(bytes));
      assert.equal(seen.get(text) ?? hex(bytes), hex(bytes));
      seen.set(text, hex(bytes));
    }
  });

  it('leaves what is no name byte alone: a slash, NUL and letters are never made of a surrogate', () => {
    for (let code = 0xd800; code <= 0xdfff; code++) {
      const text = `a${String.fromCharCode(code)}`;
      if (code >= 0xdc80 && code <= 0xdcff) assert.equal(hex(encodeName(text)), `61${(code - 0xdc00).toString(16)}`);
      else
        assert.throws(
          () => encodeName(text),
          (error) => error instanceof SshError && error.code === 'bad-argument',
        );
    }
  });

  it('says which surrogate', () => {
    assert.throws(() => encodeName('a\udc2fb'), /U\+DC2F/);
  });

  it('keeps a long name of mixed bytes', () => {
    const name = utf8('ä/'.repeat(10_000));
    name[5] = 0xff;
    assert.equal(hex(encodeName(decodeName(name))), hex(name));
  });
});
