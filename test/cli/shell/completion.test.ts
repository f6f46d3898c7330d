/** What the Tab key offers. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inColumns } from '../../../src/cli/shell/columns.ts';
import { commandNames, findCommand } from '../../../src/cli/shell/commands.ts';
import { type Candidate, commandReplacements, completionOf, replacements } from '../../../src/cli/shell/completion.ts';
import { splitWords } from '../../../src/cli/shell/words.ts';
import { seededRandom } from '../../support/random.ts';

const at = (line: string) => completionOf(line, (name) => findCommand(name)?.operands);

describe('completionOf', () => {
  it('takes the first word for a command, marks left out', () => {
    for (const line of ['', 'l', '  l', '-@l']) assert.equal(at(line).kind, 'command', line);
    assert.deepEqual(at('-re'), { kind: 'command', typed: 're' });
    assert.deepEqual(at('help l'), { kind: 'command', typed: 'l' });
  });

  it('knows which operand is on which side', () => {
    const kind = (line: string) => at(line).kind;
    assert.equal(kind('ls '), 'remote');
    assert.equal(kind('get -r a b'), 'remote');
    assert.equal(kind('put '), 'local');
    assert.equal(kind('put x y'), 'local');
    assert.equal(kind('lcd '), 'local');
    assert.equal(kind('chmod 6'), 'none');
    assert.equal(kind('chmod -h 600 '), 'remote');
    assert.equal(kind('frobnicate '), 'none');
    assert.equal(kind('pwd '), 'none');
    assert.equal(kind('!ls '), 'none');
    assert.equal(kind('# ls '), 'none');
  });

  it('tells the directory from the beginning of the name, in quotes and without', () => {
    assert.deepEqual(at('ls d/e/f'), { kind: 'remote', typed: 'd/e/f', directory: 'd/e/', prefix: 'f', open: '' });
    assert.deepEqual(at('ls "a b/c'), { kind: 'remote', typed: '"a b/c', directory: 'a b/', prefix: 'c', open: '"' });
    assert.deepEqual(at('ls a\\ b'), { kind: 'remote', typed: 'a\\ b', directory: '', prefix: 'a b', open: '' });
    assert.deepEqual(at('ls '), { kind: 'remote', typed: '', directory: '', prefix: '', open: '' });
  });
});

describe('replacements', () => {
  function offered(line: string, ...names: (string | Candidate)[]): string[] {
    const completion = at(line);
    assert.ok(completion.kind === 'remote' || completion.kind === 'local');
    return replacements(
      completion,
      names.map((name) => (typeof name === 'string' ? { name, isDirectory: false } : name)),
    );
  }

  it('begin with what is typed, end a file with a blank and a directory with its slash', () => {
    assert.deepEqual(offered('ls d/a', 'ab', 'b', { name: 'ac', isDirectory: true }), ['d/ab ', 'd/ac/']);
    assert.deepEqual(offered('ls ', 'x', '.y'), ['x ']);
    assert.deepEqual(offered('ls .', 'x', '.y'), ['.y ']);
  });

  it('escape what a line would not take as it is', () => {
    assert.deepEqual(offered('ls a', "a b'*"), ["a\\ b\\'\\* "]);
    assert.deepEqual(offered('ls "a', 'a b"c'), ['"a b\\"c" ']);
    assert.deepEqual(offered("ls 'a", { name: 'a b', isDirectory: true }), ["'a b/"]);
    assert.deepEqual(offered('ls a\\', 'a b', 'ab'), ['a\\ b ']);
  });

  it('leave out what cannot be typed, and what a terminal would obey', () => {
    assert.deepEqual(offered('ls ', 'a\u001b[31m', 'b\n', 'c\ufffd', '\u202ed', 'e'), ['e ']);
  });

  it('are lines that say the name, whatever it is', () => {
    const random = seededRandom('completion');
    const below = (limit: number): number => (random(1)[0] as number) % limit;
    const alphabet = [...'ab \'"\\*?[]{}#-!@é😀'];
    for (let i = 0; i < 300; i++) {
      const name = Array.from({ length: 1 + below(7) }, () => alphabet[below(alphabet.length)]).join('');
      const length = below([...name].length + 1);
      const prefix = [...name].slice(0, length).join('');
      for (const typed of ["'", '"'].map((quote) => quote + prefix.replace(/['"\\]/g, (c) => `\\${c}`))) {
        const completion = at(`ls ${typed}`);
        if (completion.kind !== 'remote' || completion.prefix !== prefix) continue; // the other quote: its `\` stays
        const [text] = replacements(completion, [{ name, isDirectory: false }]);
        assert.deepEqual(splitWords(`ls ${text}`), [{ text: 'ls' }, { text: name }], JSON.stringify([typed, name]));
      }
    }
  });
});

describe('commandReplacements', () => {
  it('gives the names that begin so, aliases too', () => {
    assert.deepEqual(commandReplacements('re', commandNames), ['reget ', 'rename ', 'reput ']);
    assert.deepEqual(commandReplacements('by', commandNames), ['bye ']);
    assert.deepEqual(commandReplacements('zz', commandNames), []);
  });
});

describe('inColumns', () => {
  it('reads from top to bottom, and fits', () => {
    assert.deepEqual(inColumns(['a', 'b', 'c', 'd', 'e'], 7), ['a  c  e', 'b  d']);
    assert.deepEqual(inColumns(['a', 'b'], 1), ['a', 'b']);
    assert.deepEqual(inColumns([], 80), []);
    const names = Array.from({ length: 100 }, (_, i) => `name-${i}`);
    for (const width of [1, 10, 40, 80, 200]) {
      const lines = inColumns(names, width);
      if (width >= 10) assert.ok(lines.every((line) => line.length <= width));
      assert.deepEqual(lines.join(' ').split(/ +/).sort(), [...names].sort());
    }
  });
});
