import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { DerReader } from '../../src/keys/der.ts';
import { sshError } from './tools.ts';

const reader = (text: string) => new DerReader(fromHex(text));

describe('DerReader', () => {
  it('reads the elements that key files have', () => {
    const sequence = reader('301b 020101 02017f 06032b6570 0403010203 03020080 0500 a103020100').sequence();
    assert.equal(sequence.smallInteger(), 1);
    assert.equal(hex(sequence.integer()), '7f');
    assert.equal(sequence.oid(), '1.3.101.112');
    assert.equal(hex(sequence.octetString()), '010203');
    assert.equal(hex(sequence.bitString()), '80');
    sequence.null();
    assert.equal(sequence.context(0, 'constructed'), undefined);
    assert.equal(sequence.context(1, 'primitive'), undefined);
    assert.equal(hex(sequence.context(1, 'constructed') ?? new Uint8Array()), '020100');
    sequence.expectEnd('the test');
    assert.ok(sequence.done);
  });

  it('reads integers without the zero of their encoding', () => {
    assert.equal(hex(reader('020100').integer()), '');
    assert.equal(hex(reader('02020080').integer()), '80');
    assert.equal(hex(reader('02021234').integer()), '1234');
  });

  it('reads the object identifiers of X.690 §8.19 and of the standards', () => {
    assert.equal(reader('0603883703').oid(), '2.999.3');
    assert.equal(reader('06072a8648ce3d0201').oid(), '1.2.840.10045.2.1');
    assert.equal(reader('06092a864886f70d010101').oid(), '1.2.840.113549.1.1.1');
    assert.equal(reader('06052b81040022').oid(), '1.3.132.0.34');
  });

  it('reads long lengths that are minimal', () => {
    assert.equal(reader(`048180${'00'.repeat(128)}`).octetString().length, 128);
    assert.equal(reader(`04820100${'00'.repeat(256)}`).octetString().length, 256);
  });

  it('refuses what is BER and not DER, or neither', () => {
    const refused: [string, (r: DerReader) => unknown, RegExp][] = [
      ['', (r) => r.integer(), /Truncated/],
      ['02', (r) => r.integer(), /Truncated/],
      ['0202 01', (r) => r.integer(), /Truncated/],
      ['0200', (r) => r.integer(), /Empty INTEGER/],
      ['0201ff', (r) => r.integer(), /Negative/],
      ['02020001', (r) => r.integer(), /superfluous/],
      ['02020100', (r) => r.smallInteger(), /too large/],
      ['0401ff', (r) => r.integer(), /INTEGER expected, tag 0x04/],
      ['3080 0000', (r) => r.sequence(), /Bad length/],
      ['04850000000001ff', (r) => r.octetString(), /Bad length/],
      ['0484ffffffff', (r) => r.octetString(), /Bad length/],
      ['0483ffffff', (r) => r.octetString(), /Truncated/],
      ['048101ff', (r) => r.octetString(), /not minimal/],
      [`04820080${'00'.repeat(128)}`, (r) => r.octetString(), /not minimal/],
      ['0482', (r) => r.octetString(), /Truncated/],
      ['050100', (r) => r.null(), /NULL with content/],
      ['030207 80', (r) => r.bitString(), /does not end on a byte/],
      ['0300', (r) => r.bitString(), /does not end on a byte/],
      ['0600', (r) => r.oid(), /Truncated/],
      ['060188', (r) => r.oid(), /Truncated/],
      ['06032b8001', (r) => r.oid(), /not minimal/],
      ['06072bffffffffff7f', (r) => r.oid(), /huge arc/],
    ];
    for (const [text, read, message] of refused)
      assert.throws(() => read(reader(text)), sshError('decode', message), text);
  });

  it('refuses what is left over', () => {
    const rest = reader('050000');
    rest.null();
    assert.throws(() => rest.expectEnd('the test'), sshError('decode', /1 bytes too many at the end of the test/));
  });
});
