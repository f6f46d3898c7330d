/** Which files of the target are replaced. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keepReason } from '../../../src/sftp/tree/overwrite.ts';

const source = { size: 5, modified: 100 };

describe('keepReason', () => {
  it('always replaces, never keeps', () => {
    assert.equal(keepReason('always', source, source), undefined);
    assert.match(keepReason('never', source, { size: 6, modified: 1 }) ?? '', /there/);
  });

  it('newer: replaces what was changed earlier, and keeps what is not known to be', () => {
    assert.equal(keepReason('newer', source, { size: 5, modified: 99 }), undefined);
    for (const modified of [100, 101, undefined])
      assert.match(keepReason('newer', source, { size: 9, modified }) ?? '', /not older/);
    assert.match(keepReason('newer', { size: 5, modified: undefined }, { size: 9, modified: 1 }) ?? '', /not older/);
  });

  it('different: keeps the same size and time only', () => {
    assert.match(keepReason('different', source, { ...source }) ?? '', /same/);
    for (const target of [
      { size: 6, modified: 100 },
      { size: 5, modified: 101 },
      { size: 5, modified: 99 },
      { size: undefined, modified: 100 },
      { size: 5, modified: undefined },
    ]) {
      assert.equal(keepReason('different', source, target), undefined);
    }
    const unknown = { size: undefined, modified: undefined };
    assert.equal(keepReason('different', unknown, unknown), undefined);
  });
});
