import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hex } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';

describe('Writer', () => {
  it('loses nothing when it has to grow in the middle of any value', () => {
    const whole = '01020304050000000000000006000000020708000000030900ff';
    for (let capacity = 0; capacity <= whole.length / 2; capacity++) {
      const writer = new Writer(capacity).u8(1).u32(0x02030405).u64(6n).string(Uint8Array.of(7, 8));
      assert.equal(hex(writer.string(Uint8Array.of(9, 0, 255)).finish()), whole, `capacity ${capacity}`);
    }
  });
});
