/** Type and permissions in the letters of ls(1). */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { modeText } from '../../../src/sftp/proto/mode.ts';

describe('modeText', () => {
  /** As `stat -c %A` shows them. */
  const modes: readonly [number, string][] = [
    [0o100644, '-rw-r--r--'],
    [0o40755, 'drwxr-xr-x'],
    [0o120777, 'lrwxrwxrwx'],
    [0o60660, 'brw-rw----'],
    [0o20620, 'crw--w----'],
    [0o10600, 'prw-------'],
    [0o140777, 'srwxrwxrwx'],
    [0o104755, '-rwsr-xr-x'],
    [0o102644, '-rw-r-Sr--'],
    [0o106611, '-rwS--s--x'],
    [0o41777, 'drwxrwxrwt'],
    [0o41776, 'drwxrwxrwT'],
  ];
  for (const [permissions, text] of modes) {
    it(`shows ${permissions.toString(8)} as ${text}`, () => assert.equal(modeText({ permissions }, '?'), text));
  }

  it('shows what is not known as it is told', () => {
    assert.equal(modeText({ permissions: 0o777 }, '-'), '-rwxrwxrwx');
    assert.equal(modeText({ permissions: 0o644 }, '?'), '?rw-r--r--');
    assert.equal(modeText({}, '?'), '?---------');
  });
});
