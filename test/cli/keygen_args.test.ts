/** What a command line asks `keygen` and `keyscan` for, and what is said about one that cannot be. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseCommand } from '../../src/cli/args.ts';

const parse = (line: string) => parseCommand(line.split(' '));
const keygen = { name: 'keygen', passphrase: 'terminal', force: false, crypto: 'auto' };

describe('the command line of keygen', () => {
  it('makes an Ed25519 key by default', () => {
    const request = { type: 'ed25519' };
    const made = { ...keygen, action: 'make', request, comment: undefined, format: 'openssh', file: 'key' };
    assert.deepEqual(parse('keygen make key'), made);
  });

  it('makes what is asked for', () => {
    const line = 'keygen make -t rsa -b 4096 -C me -m ppk --passphrase-stdin --force --crypto pure key';
    assert.deepEqual(parse(line), {
      name: 'keygen',
      passphrase: 'stdin',
      force: true,
      crypto: 'pure',
      action: 'make',
      request: { type: 'rsa', bits: 4096 },
      comment: 'me',
      format: 'ppk',
      file: 'key',
    });
    const { request } = parse('keygen make --type ecdsa --bits 521 key') as never;
    assert.deepEqual(request, { type: 'ecdsa', bits: 521 });
  });

  it('converts, changes, shows', () => {
    const convert = { action: 'convert', format: 'pkcs8', comment: undefined, file: 'a', output: '-' };
    assert.deepEqual(parse('keygen convert -m pkcs8 --output - --no-passphrase a'), {
      ...keygen,
      ...convert,
      passphrase: 'none',
    });
    assert.deepEqual(parse('keygen passphrase a'), { ...keygen, action: 'passphrase', file: 'a' });
    const half = { action: 'public', format: 'rfc4716', file: 'a', output: '-' };
    assert.deepEqual(parse('keygen public --format rfc4716 a'), { ...keygen, ...half });
    const prints = { action: 'fingerprint', hash: 'md5', files: ['a', 'b'] };
    assert.deepEqual(parse('keygen fingerprint -E md5 a b'), { ...keygen, ...prints });
    assert.deepEqual(parse('keygen show a b'), { ...keygen, action: 'show', files: ['a', 'b'] });
  });

  it('certifies', () => {
    const line =
      'keygen sign --ca ca -I id -n a,b --serial 18446744073709551615 --valid +1d -O clear -O no-pty x.pub y.pub';
    assert.deepEqual(parse(line), {
      ...keygen,
      action: 'sign',
      authority: 'ca',
      files: ['x.pub', 'y.pub'],
      certify: {
        kind: 'user',
        keyId: 'id',
        principals: ['a', 'b'],
        serial: 18446744073709551615n,
        validity: { to: { fromNow: 86400 } },
        options: ['clear', 'no-pty'],
      },
    });
    const { certify } = parse('keygen sign --ca ca --id id --host x.pub') as never as { certify: { kind: string } };
    assert.equal(certify.kind, 'host');
  });

  const wrong: readonly [string, RegExp][] = [
    ['keygen', /^Something is missing: write puressh keygen make, convert, .* or sign, then a file$/],
    ['keygen nope key', /^keygen has no action nope: /],
    ['keygen make', /^A file is missing: write puressh keygen make FILE$/],
    ['keygen make a b', /^One argument too many, b: keygen make takes one file$/],
    ['keygen make -t dsa a', /^--type is ed25519, ecdsa or rsa, not 'dsa'$/],
    ['keygen make -b 256 a', /^--bits is for ecdsa and rsa/],
    ['keygen make -t ecdsa -b 255 a', /^--bits is 256, 384 or 521, not '255'$/],
    ['keygen make -t rsa -b 1024 a', /^--bits takes a whole number from 2048 to 16384, not '1024'$/],
    ['keygen make -m rfc4716 a', /^--format is openssh, pkcs8 or ppk, not 'rfc4716'$/],
    ['keygen make --no-passphrase --passphrase-stdin a', /contradict each other/],
    ['keygen make --ca x a', /^--ca is no option of keygen make/],
    ['keygen passphrase --no-passphrase a', /^--no-passphrase is no option of keygen passphrase/],
    ['keygen convert a', /^keygen convert needs --output/],
    ['keygen fingerprint -E sha1 a', /^--hash is sha256 or md5, not 'sha1'$/],
    ['keygen sign --id x a.pub', /^keygen sign needs --ca/],
    ['keygen sign --ca x a.pub', /^keygen sign needs --id/],
    ['keygen sign --ca x -I y --serial 18446744073709551616 a.pub', /^--serial takes a whole number below 2\^64/],
    ['keygen sign --ca x -I y -n a,,b a.pub', /^--principals is a list/],
    ['keygen sign --ca x -I y --valid soon a.pub', /^--valid takes an interval/],
    ['keyscan', /^Something is missing: write puressh keyscan host/],
    ['keyscan ada@host', /^ada@host names a user: keyscan logs nobody in$/],
    ['keyscan -t dsa host', /^-t takes ed25519, ecdsa, rsa with commas between, not 'dsa'$/],
    ['keyscan -p 0 host', /^-p takes a whole number from 1/],
  ];
  for (const [line, message] of wrong) {
    it(`refuses ${line}`, () => assert.throws(() => parse(line), { code: 'bad-argument', message }));
  }
});

describe('the command line of keyscan', () => {
  it('has defaults, and options for everything', () => {
    assert.deepEqual(parse('keyscan a [::1]'), {
      name: 'keyscan',
      hosts: ['a', '::1'],
      port: 22,
      kinds: ['ed25519', 'ecdsa', 'rsa'],
      certificates: false,
      hash: false,
      timeout: 5000,
      crypto: 'auto',
    });
    assert.deepEqual(parse('keyscan -p 7 -t rsa,ed25519 -c -H -T 1.5 --crypto pure a'), {
      name: 'keyscan',
      hosts: ['a'],
      port: 7,
      kinds: ['rsa', 'ed25519'],
      certificates: true,
      hash: true,
      timeout: 1500,
      crypto: 'pure',
    });
  });
});
