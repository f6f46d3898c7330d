import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultRekeyLimits, isWornOut } from '../../src/core/rekey.ts';

describe('isWornOut', () => {
  const limits = { bytes: 1000, packets: 10, time: 60_000 };

  it('is false below both limits and true from either on', () => {
    assert.equal(isWornOut(limits, { bytes: 0, packets: 0 }), false);
    assert.equal(isWornOut(limits, { bytes: 999, packets: 9 }), false);
    assert.equal(isWornOut(limits, { bytes: 1000, packets: 1 }), true);
    assert.equal(isWornOut(limits, { bytes: 160, packets: 10 }), true);
  });
});

describe('defaultRekeyLimits', () => {
  it('are a gigabyte and an hour (RFC 4253 §9), and 2^31 packets (RFC 4344 §3.1)', () => {
    assert.deepEqual(defaultRekeyLimits, { bytes: 1073741824, packets: 2147483648, time: 3600000 });
  });
});
