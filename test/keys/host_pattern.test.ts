import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lowerAscii, matchPattern, matchPatternList } from '../../src/keys/host_pattern.ts';

describe('matchPattern', () => {
  const cases: [pattern: string, matching: string[], other: string[]][] = [
    ['', [''], ['a']],
    ['a', ['a'], ['', 'b', 'aa', 'A']],
    ['?', ['a', '*'], ['', 'ab']],
    ['*', ['', 'a', 'a.b'], []],
    ['**', ['', 'a'], []],
    ['*?', ['a', 'ab'], ['']],
    ['a*', ['a', 'ab'], ['', 'ba']],
    ['*a', ['a', 'ba', 'aa'], ['', 'ab']],
    ['a*b*c', ['abc', 'axbxc', 'abbc', 'abcbc'], ['ab', 'acb', 'abcd']],
    ['*.example.com', ['www.example.com', '.example.com', 'a.b.example.com'], ['example.com', 'www.example.com.']],
    ['192.0.2.?', ['192.0.2.7'], ['192.0.2.70', '192.0.2.', '192x0.2.77']],
    ['*aab', ['aab', 'aaab', 'aabaab'], ['aaba']],
    ['[a]', ['[a]'], ['a']],
    ['a.b', ['a.b'], ['axb']],
  ];
  for (const [pattern, matching, other] of cases) {
    it(`matches all of a name with '${pattern}', and nothing else`, () => {
      for (const name of matching) assert.equal(matchPattern(name, pattern), true, name);
      for (const name of other) assert.equal(matchPattern(name, pattern), false, name);
    });
  }

  it('takes no time that grows beyond the product of the lengths', { timeout: 10_000 }, () => {
    assert.equal(matchPattern('a'.repeat(1000), `${'a*'.repeat(500)}b`), false);
    assert.equal(matchPattern('a'.repeat(1000), `${'*a'.repeat(400)}?b`), false);
  });
});

describe('matchPatternList', () => {
  it('wants a match, and no match that is negated, in any order', () => {
    for (const list of ['*.org,!bad.org', '!bad.org,*.org']) {
      assert.equal(matchPatternList('good.org', list), true);
      assert.equal(matchPatternList('bad.org', list), false);
      assert.equal(matchPatternList('good.com', list), false);
    }
    assert.equal(matchPatternList('good.org', '!bad.org'), false);
    assert.equal(matchPatternList('a', ''), false);
  });

  it('compares ASCII letters in either case, and no others', () => {
    assert.equal(matchPatternList('Host', 'hOST'), true);
    assert.equal(matchPatternList('\u212a', 'k'), false); // KELVIN SIGN, which toLowerCase makes a k
    assert.equal(lowerAscii('A\u0130Z'), 'a\u0130z');
  });

  it('gives up on patterns that OpenSSH finds too long', () => {
    const long = `${'*'.repeat(1022)}a`;
    assert.equal(matchPatternList('a', long), true);
    assert.equal(matchPatternList('a', `*${long}`), false);
    assert.equal(matchPatternList('a', `a,*${long}`), false);
  });
});
