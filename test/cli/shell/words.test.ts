/** Lines of the shell as words. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { escapeText, scanWords, splitWords } from '../../../src/cli/shell/words.ts';
import type { SshError } from '../../../src/errors.ts';
import { seededRandom } from '../../support/random.ts';

const texts = (line: string): string[] => splitWords(line).map(({ text }) => text);

describe('splitWords', () => {
  const cases: [string, string[]][] = [
    ['', []],
    ['  \t ', []],
    ['ls', ['ls']],
    ['  get  a b\t', ['get', 'a', 'b']],
    ["get 'a b' c", ['get', 'a b', 'c']],
    ['get "a b"c', ['get', 'a bc']],
    ['get a\\ b', ['get', 'a b']],
    ["''", ['']],
    [String.raw`"a\"b"`, ['a"b']],
    [String.raw`'a\'b'`, ["a'b"]],
    [String.raw`"a\b"`, [String.raw`a\b`]],
    [String.raw`"a\\b"`, [String.raw`a\b`]],
    [String.raw`a\\b`, [String.raw`a\b`]],
    ['# all of it', []],
    ['ls # the rest', ['ls']],
    ['get a#b', ['get', 'a#b']],
    ["get '#'", ['get', '#']],
    ['-@ls', ['-@ls']],
  ];
  for (const [line, words] of cases) it(JSON.stringify(line), () => assert.deepEqual(texts(line), words));

  it('says which quote has no end', () => {
    for (const [line, message] of [
      ["get 'a b", /A ' has no end/],
      ['get "a\\"', /A " has no end/],
      ['get a\\', /ends with a \\/],
    ] as const) {
      assert.throws(
        () => splitWords(line),
        (error: SshError) => error.code === 'bad-argument' && message.test(error.message),
      );
    }
  });

  it('has a pattern only for wildcards that are not quoted', () => {
    const pattern = (line: string) => splitWords(line)[0]?.pattern;
    assert.equal(pattern('*.log'), '*.log');
    assert.equal(pattern('{a,b}'), '{a,b}');
    assert.equal(pattern("'*.log'"), undefined);
    assert.equal(pattern('\\*.log'), undefined);
    assert.equal(pattern("'[x]'*"), '\\[x\\]*');
    assert.equal(pattern('"a*b"?'), 'a\\*b?');
    assert.equal(pattern('a\\[b?'), 'a\\[b?');
  });
});

describe('scanWords', () => {
  it('tells where words begin and what is open', () => {
    assert.deepEqual(scanWords('get "a b'), [
      { text: 'get', start: 0, open: '' },
      { text: 'a b', start: 4, open: '"' },
    ]);
    assert.equal(scanWords('get a\\').at(-1)?.open, '\\');
  });
  it('has an empty last word behind a blank where that is asked for', () => {
    assert.deepEqual(scanWords('get ', 'word').at(-1), { text: '', start: 4, open: '' });
    assert.equal(scanWords('get ').length, 1);
    assert.equal(scanWords('get', 'word').length, 1);
  });
});

describe('escapeText', () => {
  it('gives back any text, alone and in any quotes', () => {
    const random = seededRandom('words');
    const below = (limit: number): number => (random(1)[0] as number) % limit;
    const alphabet = [...'ab \t\'"\\*?[]{}#-!@/é😀'];
    for (let i = 0; i < 500; i++) {
      const length = 1 + below(8);
      const text = Array.from({ length }, () => alphabet[below(alphabet.length)]).join('');
      const words = splitWords(`x ${escapeText(text)} y`);
      assert.deepEqual(words, [{ text: 'x' }, { text }, { text: 'y' }], JSON.stringify(text));
      for (const quote of ["'", '"'] as const) {
        assert.deepEqual(splitWords(`${quote}${escapeText(text, quote)}${quote}`), [{ text }], JSON.stringify(text));
      }
    }
  });
});
