import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { buildExtInfo, readExtInfo, serverSigAlgs } from '../../src/core/ext_info.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { quirksOf } from '../../src/core/quirks.ts';
import { thrown } from './tools.ts';

/** 07, then the count 2, then server-sig-algs = ssh-ed25519,rsa-sha2-256 and x@y = 00 ff: RFC 8308 §2.3. */
const two = concat(
  fromHex('07 00000002 0000000f'),
  utf8('server-sig-algs'),
  fromHex('00000018'),
  utf8('ssh-ed25519,rsa-sha2-256'),
  fromHex('00000003'),
  utf8('x@y'),
  fromHex('00000002 00ff'),
);

describe('readExtInfo', () => {
  it('reads names and values, which are bytes', () => {
    const extensions = readExtInfo(two, defaultLimits);
    assert.deepEqual([...extensions.keys()], ['server-sig-algs', 'x@y']);
    assert.equal(hex(extensions.get('x@y') ?? new Uint8Array(0)), '00ff');
  });

  it('keeps the values when the packet they came in is used again', () => {
    const packet = two.slice();
    const extensions = readExtInfo(packet, defaultLimits);
    packet.fill(0);
    assert.deepEqual(serverSigAlgs(extensions, quirksOf('SSH-2.0-x')), ['ssh-ed25519', 'rsa-sha2-256']);
  });

  it('takes the later of two values of one name', () => {
    const payload = fromHex('07 00000002 00000001 61 00000001 31 00000001 61 00000001 32');
    assert.deepEqual([...readExtInfo(payload, defaultLimits)], [['a', Uint8Array.of(0x32)]]);
  });

  it('accepts none', () => {
    assert.equal(readExtInfo(fromHex('07 00000000'), defaultLimits).size, 0);
  });

  it('refuses every truncation, and bytes too many', () => {
    for (let length = 1; length < two.length; length++) {
      thrown('decode', () => readExtInfo(two.subarray(0, length), defaultLimits));
    }
    thrown('decode', () => readExtInfo(concat(two, Uint8Array.of(0)), defaultLimits));
  });

  it('refuses more extensions than the limit before it reads any', () => {
    const error = thrown('protocol', () => readExtInfo(fromHex('07 ffffffff'), defaultLimits));
    assert.equal(error.message, 'EXT_INFO announces 4294967295 extensions; 1024 are allowed');
    thrown('protocol', () => readExtInfo(fromHex('07 00000401'), defaultLimits));
    thrown('decode', () => readExtInfo(fromHex('07 00000400'), defaultLimits));
  });
});

describe('buildExtInfo', () => {
  it('writes what readExtInfo reads', () => {
    const payload = buildExtInfo(
      new Map([
        ['server-sig-algs', 'ssh-ed25519'],
        ['b', ''],
      ]),
    );
    assert.equal(
      hex(payload),
      hex(
        concat(
          fromHex('07 00000002 0000000f'),
          utf8('server-sig-algs'),
          fromHex('0000000b'),
          utf8('ssh-ed25519'),
          fromHex('00000001 62 00000000'),
        ),
      ),
    );
  });
});

describe('serverSigAlgs', () => {
  const of = (value: string): readonly string[] | undefined =>
    serverSigAlgs(new Map([['server-sig-algs', utf8(value)]]), quirksOf('SSH-2.0-x'));

  it('is the list in its order, and undefined when the server did not say', () => {
    assert.deepEqual(of('rsa-sha2-256'), ['rsa-sha2-256']);
    assert.deepEqual(of('b,a'), ['b', 'a']);
    assert.equal(serverSigAlgs(new Map([['other', utf8('x')]]), quirksOf('SSH-2.0-x')), undefined);
  });

  it('is empty for an empty list (RFC 4251 §5)', () => {
    assert.deepEqual(of(''), []);
  });
});
