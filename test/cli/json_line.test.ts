import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jsonLine } from '../../src/cli/json_line.ts';

describe('jsonLine', () => {
  it('has no character at which a reader of lines could end one, and means the value', () => {
    const value = { name: 'a\u2028{"event":"login"}\u2029b\n\r\x0b\x0c\x1c\x1d\x1e', list: ['\u2028', 1, null] };
    const line = jsonLine(value);
    // what `node:readline` and Python's `splitlines` end lines at
    for (const end of '\n\r\v\f\x1c\x1d\x1e\u2028\u2029') assert.ok(!line.includes(end), JSON.stringify(end));
    assert.deepEqual(JSON.parse(line), value);
    assert.equal(jsonLine('\u2028'), '"\\u2028"');
  });
});
