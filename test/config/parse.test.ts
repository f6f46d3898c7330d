import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_CONFIG_LINE, parseConfig, parseConfigOptions } from '../../src/config/parse.ts';
import { splitArguments, takeWord } from '../../src/config/words.ts';

describe('takeWord', () => {
  const rows: readonly [string, { word: string; rest?: string } | undefined][] = [
    ['Port', { word: 'Port' }],
    ['Port 22', { word: 'Port', rest: '22' }],
    ['Port \t 22 ', { word: 'Port', rest: '22 ' }],
    ['Port=22', { word: 'Port', rest: '22' }],
    ['Port = 22', { word: 'Port', rest: '22' }],
    ['Port == 22', { word: 'Port', rest: '= 22' }],
    [' Port', { word: '', rest: 'Port' }],
    ['"a b" c', { word: 'a b', rest: 'c' }],
    ['a"b c"d e', { word: 'ab c', rest: 'd e' }],
    ['"a', undefined],
    ['', { word: '' }],
  ];
  for (const [text, expected] of rows) {
    it(`takes the word of ${JSON.stringify(text)}`, () => assert.deepEqual(takeWord(text), expected));
  }
});

describe('splitArguments', () => {
  const rows: readonly [string, readonly string[] | undefined][] = [
    ['', []],
    ['a', ['a']],
    [' a \t b ', ['a', 'b']],
    ['"a b" \'c d\'', ['a b', 'c d']],
    ['a"b"c', ['abc']],
    ['""', ['']],
    ['a # b', ['a']],
    ['a#b', ['a#b']],
    ['"#a"', ['#a']],
    ['a\\ b', ['a b']],
    ['"a\\ b"', ['a\\ b']],
    ['\\"a\\\'\\\\', ['"a\'\\']],
    ['C:\\Users\\me', ['C:\\Users\\me']],
    ['a\\', ['a\\']],
    ['"a', undefined],
    ['\'a"', undefined],
  ];
  for (const [text, expected] of rows) {
    it(`splits ${JSON.stringify(text)}`, () => assert.deepEqual(splitArguments(text), expected));
  }
});

describe('parseConfig', () => {
  it('has a line for each keyword, with its number', () => {
    const { lines, source, kind } = parseConfig(
      '\ufeffHost box\r\n\r\n # no\n\tPort = 22 # yes\nuser "a b"\f\n',
      'file',
    );
    assert.deepEqual([source, kind], ['file', 'file']);
    assert.deepEqual(
      lines.map(({ keyword, args, line }) => [keyword, args, line]),
      [
        ['host', ['box'], 1],
        ['port', ['22'], 4],
        ['user', ['a b'], 5],
      ],
    );
  });

  const bad: readonly [string, RegExp][] = [
    ['Port', /^f:1: Port has no value$/],
    ['\nUser "x', /^f:2: a quotation mark is not closed|^f:2: User: a quotation mark is not closed$/],
    ['"User x', /^f:1: a quotation mark is not closed$/],
    ['User a\0b', /^f:1: the line holds a null byte$/],
    [`User ${'x'.repeat(MAX_CONFIG_LINE)}`, /^f:1: the line is longer than 16384 characters$/],
    ['x\n'.repeat(600_000), /^f: is larger than 1048576 bytes$/],
  ];
  for (const [text, message] of bad) {
    it(`refuses ${JSON.stringify(text.slice(0, 20))}`, () => {
      assert.throws(() => parseConfig(text, 'f'), { code: 'bad-config', message });
    });
  }

  it('shows no control characters of a file in messages', () => {
    assert.throws(() => parseConfig('Us\u001b[31mer', 'f'), { message: 'f:1: Us\\x1b[31mer has no value' });
  });
});

describe('parseConfigOptions', () => {
  it('has a line for each option', () => {
    const { lines, kind } = parseConfigOptions(['Port=22', ' user  ada ']);
    assert.equal(kind, 'options');
    assert.deepEqual(
      lines.map(({ keyword, args, line }) => [keyword, args, line]),
      [
        ['port', ['22'], 0],
        ['user', ['ada'], 0],
      ],
    );
  });

  it('refuses what is no option', () => {
    for (const option of ['', '# x', 'Port']) assert.throws(() => parseConfigOptions([option]), { code: 'bad-config' });
  });
});
