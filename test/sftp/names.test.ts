/** Names that a server lists, and which of them are used. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../../src/bytes/text.ts';
import { localNameFault, nameFault, shownName } from '../../src/sftp/names.ts';

describe('nameFault and localNameFault', () => {
  it('take names as they are in use', () => {
    for (const name of ['a', '.profile', '...', 'a..', '..a', 'a b', 'é', '12:30.log', '-rf', '~', '*', '日本']) {
      assert.equal(nameFault(utf8(name)), undefined, name);
      assert.equal(localNameFault(utf8(name)), undefined, name);
    }
  });

  it('refuse what leads elsewhere (T57)', () => {
    for (const name of ['', '.', '..', '../x', 'a/b', '/', 'a\0b']) {
      assert.notEqual(nameFault(utf8(name)), undefined, name);
      assert.equal(localNameFault(utf8(name)), nameFault(utf8(name)), name);
    }
  });

  it('refuse for local files what another system or a terminal takes otherwise (T57)', () => {
    for (const name of ['..\\x', 'a\\b', 'C:x', 'c:', 'a\x1b[2J', 'a\nb', 'a\x7f', 'a\u009b']) {
      assert.equal(nameFault(utf8(name)), undefined, name);
      assert.notEqual(localNameFault(utf8(name)), undefined, name);
    }
    assert.equal(nameFault(Uint8Array.of(0x61, 0xff)), undefined);
    assert.equal(localNameFault(Uint8Array.of(0x61, 0xff)), 'is not UTF-8');
  });

  it('show names without their control characters', () => {
    assert.equal(shownName(utf8('a\x1bb')), '"a\\x1bb"');
  });
});
