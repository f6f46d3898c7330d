/** Which links of a server may be made. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { linkFault } from '../../../src/sftp/tree/link_target.ts';

describe('linkFault', () => {
  for (const [target, depth] of [
    ['a', 0],
    ['a/b/c', 0],
    ['./a', 0],
    ['a/./b//c', 0],
    ['..', 1],
    ['../..', 2],
    ['../../x', 2],
    ['.././../x', 2],
    ['..x', 0],
    ['x..', 0],
    ['ab: c', 0],
  ] as const) {
    it(`takes ${target} at depth ${depth}`, () => assert.equal(linkFault(target, depth), undefined));
  }

  for (const [target, depth, fault] of [
    ['', 0, /nothing/],
    ['/', 5, /absolute/],
    ['/etc/passwd', 5, /absolute/],
    ['..', 0, /out of the tree/],
    ['../../x', 1, /out of the tree/],
    ['./..', 0, /out of the tree/],
    ['a/..', 3, /up again/],
    ['../a/../../..', 9, /up again/],
    ['C:x', 0, /Windows/],
    ['c:/x', 0, /Windows/],
    ['a\\b', 0, /Windows/],
    ['..\\x', 3, /Windows/],
    ['a\u001b[2J', 0, /control/],
    ['a\u0000b', 0, /control/],
    ['a\u009bb', 0, /control/],
  ] as const) {
    it(`refuses ${JSON.stringify(target)} at depth ${depth}`, () =>
      assert.match(linkFault(target, depth) ?? '', fault));
  }
});
