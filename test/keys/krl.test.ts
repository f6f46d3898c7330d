import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { SshError } from '../../src/errors.ts';
import { isKrl, type Krl, MAX_KRL, parseKrl, parseRevoked, revocationOf } from '../../src/keys/krl.ts';
import { formatPublicKeyLine } from '../../src/keys/public_key_line.ts';
import { parseShownKey, type ShownKey, shownKey } from '../../src/keys/shown_key.ts';
import { root } from '../support/root.ts';
import { isThorough } from '../support/thorough.ts';
import { bytes, crypto, inScratch, noKeygen, output, publicBlob, publicRows, run, sshError } from './tools.ts';

interface KrlFile {
  readonly subjects: Readonly<Record<string, string>>;
  readonly rows: readonly { readonly name: string; readonly krl: string; readonly revoked: readonly string[] }[];
}

const file: KrlFile = JSON.parse(readFileSync(new URL('vectors/keys/krls.json', root), 'utf8'));
const subjects = new Map(Object.entries(file.subjects).map(([name, blob]) => [name, parseShownKey(bytes(blob))]));
const subject = (name: string): ShownKey => subjects.get(name) ?? assert.fail(name);
const row = (name: string): Uint8Array => bytes(file.rows.find((each) => each.name === name)?.krl ?? assert.fail(name));
const why = (krl: Krl, name: string): string | undefined => revocationOf(crypto, krl, subject(name))?.what;

const none = new Uint8Array(0);
const HEADER = new Writer().u64(0x5353484b524c0a00n).u32(1).u64(7n).u64(0n).u64(0n).string('').string('c').finish();

/** A list with these sections. */
function listOf(...sections: readonly (readonly [kind: number, content: Uint8Array])[]): Uint8Array {
  const writer = new Writer().raw(HEADER);
  for (const [kind, content] of sections) writer.u8(kind).string(content);
  return writer.finish();
}

/** A section about certificates of any authority. */
function certificates(...parts: readonly (readonly [kind: number, content: Uint8Array])[]): [number, Uint8Array] {
  const writer = new Writer().string(none).string(none);
  for (const [kind, content] of parts) writer.u8(kind).string(content);
  return [1, writer.finish()];
}

const extension = (critical: boolean): Uint8Array =>
  new Writer().string('x@y').bool(critical).string('content').finish();

describe('revocationOf', () => {
  for (const { name, krl, revoked } of file.rows) {
    it(`says what ssh-keygen -Q says: ${name}`, () => {
      const list = parseKrl(bytes(krl));
      const ours = [...subjects.keys()].filter((each) => why(list, each) !== undefined);
      assert.deepEqual(ours, revoked);
    });
  }

  it('says what of a key is revoked', () => {
    assert.equal(why(parseKrl(row('keys, explicit')), 'ecdsa256'), 'key');
    assert.equal(why(parseKrl(row('keys, explicit')), 'cert-other-5'), 'authority');
    assert.equal(why(parseKrl(row('keys, explicit')), 'cert-of-key'), 'key');
    assert.equal(why(parseKrl(row('a bitmap of serial numbers')), 'cert-8'), 'serial');
    assert.equal(why(parseKrl(row('key ids')), 'cert-5'), 'key-id');
    assert.equal(why(parseKrl(row('key ids')), 'ed25519'), undefined);
  });

  it('never takes a certificate without a serial number for one with the number 0', () => {
    const zero = new Writer().u64(0n).u64(5n).finish();
    const list = parseKrl(listOf(certificates([0x21, zero], [0x20, new Writer().u64(0n).finish()])));
    assert.equal(why(list, 'cert-0'), undefined);
    assert.equal(why(list, 'cert-5'), 'serial');
  });
});

describe('parseKrl', () => {
  it('reads what a list says of itself', () => {
    const { version, generated } = parseKrl(row('nothing'));
    assert.deepEqual([version, generated], [7n, 1735689600n]);
    assert.equal(parseKrl(listOf()).comment, 'c');
  });

  it('passes over signatures and extensions that may be left aside', () => {
    const key = new Writer().string(publicBlob('ecdsa256')).finish();
    const signature = concat(
      new Writer().u8(4).string(publicBlob('ed25519')).string('signature').finish(),
      new Writer().u8(2).string(key).finish(),
    );
    const list = parseKrl(concat(listOf([255, extension(false)], certificates([0x39, extension(false)])), signature));
    assert.equal(why(list, 'ecdsa256'), 'key');
  });

  it('refuses what it would have to know', () => {
    for (const wrong of [listOf([255, extension(true)]), listOf(certificates([0x39, extension(true)]))]) {
      assert.throws(() => parseKrl(wrong), sshError('not-supported', /critical extension 'x@y'/));
    }
    const format = HEADER.slice();
    format[11] = 2;
    assert.throws(() => parseKrl(format), sshError('not-supported', /format 2/));
  });

  it('refuses what is malformed, and says what', () => {
    const u64 = (...values: bigint[]): Uint8Array => values.reduce((w, v) => w.u64(v), new Writer()).finish();
    const wrong: readonly (readonly [Uint8Array, RegExp])[] = [
      [none, /Not a key revocation list/],
      [utf8('SSHKRL\n'), /Not a key revocation list/],
      [listOf([6, none]), /section of kind 6/],
      [listOf([2, new Writer().string(none).finish()]), /empty key/],
      [listOf([3, new Writer().string(new Uint8Array(32)).finish()]), /sha1 digest of 32 bytes/],
      [listOf([5, new Writer().string(new Uint8Array(20)).finish()]), /sha256 digest of 20 bytes/],
      [listOf(certificates([0x20, new Uint8Array(12)])), /ends within one/],
      [listOf(certificates([0x21, u64(5n, 4n)])), /from 5 to 4/],
      [listOf(certificates([0x21, u64(5n, 6n, 7n)])), /range of serial numbers/],
      [
        listOf(certificates([0x22, new Writer().u64(1n).mpint(new Uint8Array(2_097_153).fill(1)).finish()])),
        /A bitmap of 2097153 bytes/,
      ],
      [
        listOf(
          certificates([
            0x22,
            new Writer()
              .u64(2n ** 64n - 7n)
              .mpint(Uint8Array.of(0x80))
              .finish(),
          ]),
        ),
        /beyond 64 bits/,
      ],
      [listOf(certificates([0x24, none])), /part of kind 36/],
      [
        concat(
          HEADER,
          new Uint8Array(5 * 4097).map((_, i) => (i % 5 === 0 ? 2 : 0)),
        ),
        /More than 4096 sections/,
      ],
    ];
    for (const [list, message] of wrong) assert.throws(() => parseKrl(list), sshError('decode', message));
    // the last serial number is in reach
    parseKrl(
      listOf(
        certificates([
          0x22,
          new Writer()
            .u64(2n ** 64n - 8n)
            .mpint(Uint8Array.of(0x80))
            .finish(),
        ]),
      ),
    );
    assert.throws(() => parseKrl(new Uint8Array(MAX_KRL + 1)), sshError('decode', /16777216 are read/));
  });

  it('compares ranges and bitmaps and never expands them', { timeout: 10_000 }, () => {
    const all = new Writer()
      .u64(1n)
      .u64(2n ** 64n - 1n)
      .finish();
    const list = parseKrl(listOf(certificates(...Array.from({ length: 1000 }, () => [0x21, all] as const))));
    assert.equal(why(list, 'cert-18446744073709551615'), 'serial');
  });

  it('takes any damage of any byte as an error with a code, or as another list', () => {
    for (const { name, krl } of file.rows) {
      const whole = bytes(krl);
      for (let at = 0; at < whole.length; at++) {
        for (const flip of [0x04, 0xff]) {
          const damaged = whole.slice();
          damaged[at] = (damaged[at] as number) ^ flip;
          outcome(damaged, name);
        }
        outcome(whole.slice(0, at), name);
      }
    }
  });
});

/** Reads what may be damaged, and searches it if it can be read. */
function outcome(krl: Uint8Array, name: string): void {
  try {
    const list = parseKrl(krl);
    for (const key of subjects.values()) revocationOf(crypto, list, key);
  } catch (error) {
    assert.ok(error instanceof SshError && /^(?:decode|not-supported)$/.test(error.code), `${name}: ${error}`);
  }
}

describe('parseRevoked', () => {
  const line = (name: string): string =>
    publicRows.find((each) => each.name === name)?.line.trim() ?? assert.fail(name);

  it('reads a key revocation list', () => {
    const krl = row('keys, explicit');
    assert.ok(isKrl(krl));
    assert.deepEqual(parseRevoked(krl), parseKrl(krl));
  });

  it('reads a public key in each line, of a host or an authority', () => {
    const list = parseRevoked(utf8(`\ufeff# revoked\r\n\r\n  ${line('ed25519')} comment\r\n${line('ecdsa521')}`));
    assert.equal(why(list, 'ed25519'), 'key');
    assert.equal(why(list, 'cert-5'), 'authority');
    assert.equal(why(list, 'cert-of-key'), 'key');
    assert.equal(why(list, 'ecdsa256'), undefined);
    assert.equal(why(parseRevoked(none), 'ed25519'), undefined);
  });

  it('takes a certificate for the key in it', () => {
    const blob = subject('cert-of-key').blob;
    const list = parseRevoked(utf8(formatPublicKeyLine(blob)));
    assert.equal(why(list, 'cert-of-key'), 'key');
    assert.equal(revocationOf(crypto, list, shownKey(subject('cert-of-key').key))?.what, 'key');
    assert.equal(why(list, 'cert-5'), undefined);
  });

  it('compares keys of types that are not known as they are', () => {
    const blob = new Writer().string('ssh-unknown').string('key').finish();
    const list = parseRevoked(utf8(formatPublicKeyLine(blob)));
    assert.equal(
      revocationOf(crypto, list, { ...subject('ed25519'), key: { ...subject('ed25519').key, blob } })?.what,
      'key',
    );
  });

  it('misses no line that it cannot read', () => {
    for (const wrong of [
      'nonsense',
      'ssh-ed25519 ????',
      'ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIA==',
      'ssh-ed25519 AAAA',
      line('ed25519').slice(0, 50),
      line('ed25519').replace(/^(\S+ \S+).*$/, '$1AAAA'),
      formatPublicKeyLine(subject('cert-5').blob.subarray(0, 200)),
      '@revoked x y',
    ]) {
      assert.throws(() => parseRevoked(utf8(`${line('ed25519')}\n${wrong}\n`)), sshError('decode', /Line 2/), wrong);
    }
  });
});

const skip = noKeygen || (isThorough ? false : 'tried in Node 24');

describe('ssh-keygen -k and -Q', () => {
  it('agree about a list of two thousand serial numbers, ranges and key ids', { skip }, () =>
    inScratch((path) => {
      const names = ['ed25519', ...[...subjects.keys()].filter((name) => name.startsWith('cert-'))];
      for (const name of names) writeFileSync(path(`${name}.pub`), `${subject(name).type} ${file.subjects[name]}\n`);
      const numbers = Array.from({ length: 2000 }, (_, i) => (i * i * 7919) % 100_003).filter((each) => each > 0);
      const spec = [...numbers.map((each) => `serial: ${each}`), 'serial: 999-1001', 'id: id 9', 'id: id 77'];
      writeFileSync(path('spec'), `${spec.join('\n')}\n`);
      output('ssh-keygen', ['-q', '-k', '-f', path('krl'), '-s', path('ed25519.pub'), path('spec')]);
      const { stdout } = run('ssh-keygen', ['-Q', '-f', path('krl'), ...names.map((name) => path(`${name}.pub`))]);
      const krl = parseKrl(readFileSync(path('krl')));
      const theirs = names.filter(
        (name) => stdout.includes(`${path(`${name}.pub`)}`) && isRevokedIn(stdout, path(`${name}.pub`)),
      );
      assert.deepEqual(
        names.filter((name) => why(krl, name) !== undefined),
        theirs,
      );
      assert.ok(theirs.length > 2, stdout);
    }),
  );
});

function isRevokedIn(stdout: string, path: string): boolean {
  return stdout.split('\n').some((line) => line.startsWith(path) && line.endsWith(': REVOKED'));
}
