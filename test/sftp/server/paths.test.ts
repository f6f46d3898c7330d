import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, utf8 } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import { Status } from '../../../src/sftp/proto/status.ts';
import { parentOf, pathText, resolvePath } from '../../../src/sftp/server/paths.ts';

describe('resolvePath', () => {
  const cases: readonly [start: string, text: string, path: string][] = [
    ['/', '', '/'],
    ['/', '.', '/'],
    ['/', '..', '/'],
    ['/home/ada', '', '/home/ada'],
    ['/home/ada', 'x', '/home/ada/x'],
    ['/home/ada', './x/./y/', '/home/ada/x/y'],
    ['/home/ada', '../x', '/home/x'],
    ['/home/ada', '../../../../x', '/x'],
    ['/home/ada', '/x', '/x'],
    ['/home/ada', '//x///y//', '/x/y'],
    ['/home/ada', '/x/../..', '/'],
    ['/home/ada', '/../../x', '/x'],
    ['/home/ada', '...', '/home/ada/...'],
    ['/home/ada', '/x/..y/.z/a..', '/x/..y/.z/a..'],
    ['/home/ada', 'a b\\c', '/home/ada/a b\\c'],
    ['', 'x', '/x'],
    ['relative', 'x', '/relative/x'],
  ];
  for (const [start, text, path] of cases) {
    it(`${text || 'nothing'} from ${start || 'nothing'} is ${path}`, () =>
      assert.equal(resolvePath(start, text), path));
  }

  it('parentOf', () => {
    assert.deepEqual(['/', '/a', '/a/b'].map(parentOf), ['/', '/', '/a']);
  });
});

describe('pathText', () => {
  const refused = (bytes: Uint8Array): void =>
    assert.throws(
      () => pathText(bytes),
      (error) => error instanceof SshError && error.status === Status.badMessage,
    );

  it('keeps every byte of a name', () => {
    assert.equal(pathText(utf8('/ä/x')), '/ä/x');
    assert.equal(pathText(fromHex('2fff2fc0af')), '/\udcff/\udcc0\udcaf');
    assert.equal(
      resolvePath('/', pathText(fromHex('c0af2e2e2fc0ae'))),
      '/\udcc0\udcaf../\udcc0\udcae',
      'no overlong slash or dot',
    );
  });

  it('refuses a null byte and too many bytes', () => {
    refused(utf8('\0'));
    refused(utf8('/a\0b'));
    refused(new Uint8Array(4097).fill(0x61));
    assert.equal(pathText(new Uint8Array(4096).fill(0x61)).length, 4096);
  });
});
