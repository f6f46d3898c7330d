/** Patterns: what they match, what they stand for, and that none of them takes long. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeName } from '../../src/bytes/name.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { SshError } from '../../src/errors.ts';
import { escapeGlob, isGlob, matches, parseGlob } from '../../src/sftp/glob_pattern.ts';

/** Whether a pattern of one part matches a name. */
function fits(pattern: string, name: string | Uint8Array, hidden = false): boolean {
  const text = typeof name === 'string' ? name : decodeName(name);
  return parseGlob(pattern).some(({ segments }) => {
    const [segment] = segments;
    if (segment === undefined || segments.length !== 1) throw new Error(`${pattern} has ${segments.length} parts`);
    if (segment.kind === 'literal') return decodeName(segment.name) === text;
    return segment.kind === 'wildcard' && matches(segment, text, hidden);
  });
}

/** The parts of each alternative, in short. */
function parts(pattern: string): string[] {
  return parseGlob(pattern).map(({ segments, isAbsolute, directoriesOnly }) => {
    const names = segments.map((segment) => {
      if (segment.kind === 'literal') return decodeName(segment.name);
      return segment.kind === 'globstar' ? '**' : '?';
    });
    return `${isAbsolute ? '/' : ''}${names.join('/')}${directoriesOnly ? '/' : ''}`;
  });
}

function refused(pattern: string): SshError {
  try {
    parseGlob(pattern);
  } catch (error) {
    if (error instanceof SshError) return error;
    throw error;
  }
  assert.fail(`${pattern} was taken`);
}

describe('glob patterns', () => {
  it('match names as shells do', () => {
    const table: readonly (readonly [string, readonly string[], readonly string[]])[] = [
      ['*', ['a', 'abc', 'a.b', '日本', '*'], ['.a']],
      ['?', ['a', '日', '\u{1f600}'], ['', 'ab', '.']],
      ['a*b*c', ['abc', 'aXbYc', 'abbcc', 'abcbc'], ['ab', 'abcd', 'Xabc']],
      ['*.txt', ['a.txt', 'a.b.txt'], ['a.txt.', '.txt', 'atxt']],
      ['.*', ['.a', '.', '..x'], ['a.']],
      ['[a-c]', ['a', 'b', 'c'], ['d', 'A', 'ab', '-']],
      ['[!a-c]', ['d', 'A', '-'], ['a', 'b', '']],
      ['[^a]', ['b'], ['a']],
      ['[abc-]', ['a', '-'], ['d']],
      ['[]a]', [']', 'a'], ['b']],
      ['[!]a]', ['b'], [']', 'a']],
      ['[a', ['[a'], ['a']],
      ['[\\]]', [']'], ['\\']],
      ['[à-ü]', ['é'], ['e']],
      ['x[!.]y', ['xay'], ['x.y']],
      ['\\*', ['*'], ['a', '\\*']],
      ['a\\?b', ['a?b'], ['axb']],
      ['{a,b}c', ['ac', 'bc'], ['c', 'abc', '{a,b}c']],
      ['{a,b{c,d}}', ['a', 'bc', 'bd'], ['b']],
      ['a{,b}', ['a', 'ab'], ['b']],
      ['{a}', ['{a}'], ['a']],
      ['{a,b', ['{a,b'], ['a']],
      ['\\{a,b\\}', ['{a,b}'], ['a']],
      ['{*,.*}x', ['ax', '.ax'], ['a']],
      ['{{a,b},c}', ['a', 'b', 'c'], []],
      ['{a,b},c', ['a,c', 'b,c'], ['c']],
    ];
    for (const [pattern, yes, no] of table) {
      for (const name of yes) assert.equal(fits(pattern, name), true, `${pattern} ${name}`);
      for (const name of no) assert.equal(fits(pattern, name), false, `${pattern} ${name}`);
    }
    assert.equal(fits('*a', '.a', true), true);
    assert.equal(fits('?a', '.a', true), true);
  });

  it('match names that are not UTF-8, byte by byte where they are not', () => {
    const name = new Uint8Array([...utf8('é'), 0xff, 0x61]);
    for (const pattern of ['*', '*a', '??a', 'é*', 'é?a']) assert.equal(fits(pattern, name), true, pattern);
    for (const pattern of ['?a', '???a', 'e*']) assert.equal(fits(pattern, name), false, pattern);
    const [exact] = parseGlob(new Uint8Array([...utf8('[é]'), 0xff, 0x2a]));
    assert.equal(exact?.segments[0]?.kind === 'wildcard' && matches(exact.segments[0], decodeName(name), false), true);
  });

  it('have parts, which braces may go across', () => {
    assert.deepEqual(parts('a/b/*'), ['a/b/?']);
    assert.deepEqual(parts('/a//./b/'), ['/a/b/']);
    assert.deepEqual(parts('**/**/x'), ['**/x']);
    assert.deepEqual(parts('a/**'), ['a/**/?']);
    assert.deepEqual(parts('a**b'), ['?']);
    assert.deepEqual(parts('{a,b/c}/d'), ['a/d', 'b/c/d']);
    assert.deepEqual(parts('{/a,b}'), ['/a', 'b']);
    assert.deepEqual(parts('a\\/b'), ['a/b']);
    assert.deepEqual(parts('a/\\**'), ['a/?']);
  });

  it('are refused where they are none, or stand for too many', () => {
    for (const pattern of ['', '/', './', 'a\0', 'a\\']) assert.equal(refused(pattern).code, 'bad-argument', pattern);
    assert.equal(refused(null as unknown as string).code, 'bad-argument');
    assert.equal(refused('{a,b}'.repeat(20)).code, 'limit');
    assert.equal(refused('{a,'.repeat(40_000)).code, 'limit');
    assert.equal(parseGlob('{a,b}'.repeat(10)).length, 1024);
  });

  it('take no time that grows beyond pattern times name', () => {
    assert.equal(parts('{a,'.repeat(1300))[0], '{a,'.repeat(1300));
    const name = 'a'.repeat(20_000);
    assert.equal(fits(`${'a*'.repeat(50)}b`, name), false);
    assert.equal(fits(`${'*a'.repeat(50)}*`, name), true);
  });

  it('isGlob and escapeGlob: text that means itself', () => {
    for (const text of ['a*', '[a]', '{a,b}', 'a\\b', 'a?b-!', '**']) {
      assert.equal(isGlob(text), true, text);
      assert.equal(fits(escapeGlob(text), text), true, text);
    }
    assert.equal(isGlob('/srv/a b.txt'), false);
    assert.equal(fits(escapeGlob('[a-c]'), 'b'), false);
  });
});
