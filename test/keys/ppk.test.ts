import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { base64, fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { parsePrivateKey, peekPrivateKey } from '../../src/keys/private_key.ts';
import { parsePublicKeyFile } from '../../src/keys/public_key_file.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { blobOf, certifiedRows, keyFileRow, keyFileRows, opening, outcome } from './key_files.ts';
import { bytes, sshError } from './tools.ts';

const crypto = nodeProvider();
const row = keyFileRow('ppk3-ed25519');
const flipped = (text: string) =>
  text.replace(/(Private-MAC: )(.)/, (_, name, digit) => `${name}${digit === '0' ? '1' : '0'}`);

describe('PPK', () => {
  for (const id of ['ppk3-ed25519', 'ppk2-rsa1024', 'ppk3-ecdsa521', 'ppk3-ed25519-argon2d']) {
    it(`has four outcomes: right, wrong passphrase, unknown key derivation, damaged (${id})`, () => {
      const each = keyFileRow(id);
      const unknown = each.file
        .replace(/Key-Derivation: \w+/, 'Key-Derivation: Argon3')
        .replace('aes256-cbc', (name) => (id.startsWith('ppk2') ? 'aes512-cbc' : name));
      assert.equal(outcome(each.file, crypto, opening(each)), hex(blobOf(each)));
      assert.equal(outcome(each.file, crypto, { passphrase: 'wrong' }), 'key-passphrase-wrong');
      assert.equal(outcome(unknown, crypto, opening(each)), 'key-cipher-unsupported');
      assert.equal(outcome(flipped(each.file), crypto, opening(each)), 'key-corrupt');
      assert.equal(outcome(flipped(each.file), crypto, { passphrase: 'wrong' }), 'key-passphrase-wrong');
    });
  }

  it('is protected by its MAC: no line can be changed, of a plain file neither', () => {
    for (const { id, file, passphrase } of keyFileRows.filter(({ format }) => format === 'ppk')) {
      const options = passphrase === undefined ? {} : { passphrase };
      const comment = file.replace(/^Comment: /m, 'Comment: x');
      assert.throws(() => parsePrivateKey(comment, crypto, options), sshError('key-corrupt', /MAC/), id);
      assert.equal(outcome(flipped(file), crypto, options), 'key-corrupt', id);
    }
  });

  /** A plain file with other parts, and the MAC that they have. */
  function remade(change: { readonly comment?: Uint8Array; readonly privateBlob?: Uint8Array }): Uint8Array {
    const { file } = keyFileRow('ppk3-ed25519-plain');
    const [, publicDigits = '', privateDigits = ''] =
      /Public-Lines: 2\n([\s\S]+)Private-Lines: 1\n(.+)\n/.exec(file) ?? [];
    const { comment = utf8('mine'), privateBlob = bytes(privateDigits) } = change;
    const covered = new Writer().string('ssh-ed25519').string('none').string(comment);
    covered.string(bytes(publicDigits)).string(privateBlob);
    const mac = crypto.macs['hmac-sha256'].create(new Uint8Array(0)).compute(covered.finish(), new Uint8Array(0));
    const [before = '', after = ''] = file.split(/^Comment: .*\n/m);
    const end = after
      .replace(privateDigits, base64(privateBlob))
      .replace(/Private-MAC: .*/, `Private-MAC: ${hex(mac)}`);
    return concat(utf8(`${before}Comment: `), comment, utf8(`\n${end}`));
  }

  it('covers a comment in whatever encoding, with spaces around it', () => {
    for (const comment of [utf8('€ '), fromHex('e4f6fc'), utf8('  two spaces before'), new Uint8Array(0)]) {
      assert.equal(outcome(remade({ comment }), crypto, {}), hex(blobOf(row)), hex(comment));
    }
  });

  it('is damaged if its halves do not belong together, or its private part is too long, whatever its MAC says', () => {
    const seed = new Writer().string(new Uint8Array(32).fill(7)).finish();
    const cases: [Uint8Array, RegExp][] = [
      [seed, /do not belong together/],
      [concat(seed, new Uint8Array(16)), /too long/],
      [new Writer().string(new Uint8Array(33)).finish(), /seed has 33 bytes/],
    ];
    for (const [privateBlob, message] of cases) {
      assert.throws(() => parsePrivateKey(remade({ privateBlob }), crypto), sshError('key-corrupt', message));
    }
  });

  it('may have a certificate in place of its public key, which is told beside the key', () => {
    for (const each of certifiedRows) {
      const { blob } = parsePublicKeyLine(each.certificate);
      const { publicBlob, certificate } = peekPrivateKey(each.file);
      assert.deepEqual([publicBlob, certificate], [blobOf(each), blob]);
      assert.deepEqual(parsePublicKeyFile(each.file), { blob, comment: each.comment });
      assert.equal(outcome(each.file, crypto, opening(each)), hex(blobOf(each)));
      assert.equal(outcome(flipped(each.file), crypto, opening(each)), 'key-corrupt');
      const plainly = each.file.replace('-cert-v01@openssh.com', '');
      assert.equal(outcome(plainly, crypto, opening(each)), 'key-corrupt');
    }
  });

  it('says what is wrong with its lines', () => {
    const change = (from: string | RegExp, to: string) => row.file.replace(from, to);
    const cases: [string, 'key-corrupt' | 'key-format-unsupported' | 'key-cipher-unsupported', RegExp][] = [
      [change('File-3', 'File-1'), 'key-format-unsupported', /version 1; `puttygen/],
      [change('File-3', 'File-4'), 'key-format-unsupported', /version 4/],
      [change('File-3:', 'File-x:'), 'key-format-unsupported', /version unknown/],
      [change('Encryption: aes256-cbc', 'Encryption: 3des'), 'key-cipher-unsupported', /3des/],
      [change(/^Encryption/m, 'Encrypt'), 'key-corrupt', /no line Encryption/],
      [change(/^Key-Derivation.*\n/m, ''), 'key-corrupt', /no line Private-Lines/],
      [change(/^(Key-Derivation|Argon2).*\n/gm, ''), 'key-corrupt', /no line Key-Derivation/],
      [change('Public-Lines: 2', 'Public-Lines: two'), 'key-corrupt', /Public-Lines is no number/],
      [change('Public-Lines: 2', 'Public-Lines: 9999999999'), 'key-corrupt', /more than it has/],
      [change('Private-Lines: 1', 'Private-Lines: 3'), 'key-corrupt', /ends before|base64/],
      [change(/(Argon2-Salt: )../, '$1zz'), 'key-corrupt', /not hex/],
      [change(/(Argon2-Salt: ).*/, '$1001122'), 'key-corrupt', /salt has 3 bytes/],
      [change('Argon2-Memory: 64', 'Argon2-Memory: 7'), 'key-corrupt', /memory is 7 KiB for 1 lanes/],
      [change('Argon2-Passes: 1', 'Argon2-Passes: 0'), 'key-corrupt', /passes are 0/],
      [change('Private-MAC', 'Private-Hash'), 'key-format-unsupported', /without MAC/],
      [`${row.file}more\n`, 'key-corrupt', /behind its MAC/],
      [change('File-3: ssh-ed25519', 'File-3: ssh-rsa'), 'key-corrupt', /not of its type/],
    ];
    for (const [text, code, message] of cases) {
      assert.throws(() => parsePrivateKey(text, crypto, opening(row)), sshError(code, message), text);
    }
  });

  it('computes no more than the limits say', () => {
    const cases: [string, string, RegExp][] = [
      ['Memory: 64', 'Memory: 262145', /262145 KiB of memory for Argon2; at most 262144 .*limits\.argon2Memory/],
      ['Memory: 64', 'Memory: 4294967295', /KiB of memory for Argon2/],
      ['Passes: 1', 'Passes: 65537', /memory × passes/],
      ['Parallelism: 1', 'Parallelism: 17', /17 lanes of Argon2; at most 16/],
    ];
    for (const [from, to, message] of cases) {
      const text = row.file.replace(`Argon2-${from}`, `Argon2-${to}`);
      assert.throws(() => parsePrivateKey(text, crypto, opening(row)), sshError('key-cipher-unsupported', message));
    }
    assert.equal(outcome(row.file, crypto, opening(row, { limits: { argon2Memory: 63 } })), 'key-cipher-unsupported');
  });
});
