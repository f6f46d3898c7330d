/**
 * Both providers against Wycheproof: valid rows pass, invalid rows are refused. What is `acceptable`:
 * - X25519 with a point of small order, which leads to an all-zero secret, is refused; every other odd public value is
 *   taken, as RFC 7748 §5 demands;
 * - compressed points are refused: SSH peers send uncompressed ones (RFC 5656 §3.1 leaves the choice);
 * - PKCS#1 signatures whose DigestInfo lacks the NULL are refused (RFC 8017 §9.2 demands it).
 * Every count is literal, so that no filter can leave a file untested.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chacha20 as ietfChacha20 } from '@noble/ciphers/chacha.js';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import type { AeadName, CbcName, CryptoProvider, CurveName, HashName, MacName } from '../../src/crypto/provider.ts';
import { poly1305 } from '../../src/crypto/pure/chacha.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { NO_SHARED_VECTORS } from '../support/vectors.ts';
import { assertEach, isRefused, providers, reads } from './tools.ts';
import { type Flat, p1363, type Verdict, wycheproof } from './wycheproof.ts';

interface Outcome {
  readonly tcId: number;
  readonly result: Verdict;
}

const LIMIT = 120_000; // P-521 takes seconds in plain JavaScript, more on a busy machine

/** One test for one file and provider: all rows that are not valid, and every nth that is. */
function check<Row extends Outcome>(
  name: string,
  provider: CryptoProvider,
  rows: readonly Row[] | undefined,
  count: number,
  holds: (row: Row) => boolean | Promise<boolean>,
  nth = 1,
): void {
  it(`${name}, ${provider.name}`, { skip: rows === undefined && NO_SHARED_VECTORS, timeout: LIMIT }, async () => {
    assert.equal(rows?.length, count);
    const tried = rows.filter((row) => row.result !== 'valid' || row.tcId % nth === 0);
    await assertEach(tried, (row) => row.tcId, holds);
  });
}

interface AeadGroup {
  readonly ivSize: number;
  readonly keySize: number;
  readonly tagSize: number;
}
type AeadRow = Readonly<Record<'key' | 'iv' | 'aad' | 'msg' | 'ct' | 'tag', string>>;

// SSH has 12-byte nonces and keys of 128 and 256 bits (RFC 5647 §7.1); the other groups are not expressible.
const gcm = wycheproof<AeadGroup, AeadRow>('aes_gcm', (group) => group.ivSize === 96 && group.keySize !== 192);

function gcmHolds(provider: CryptoProvider, row: Flat<AeadGroup, AeadRow>): boolean {
  const aead = provider.aeads[`aes${row.keySize}-gcm` as AeadName].create(fromHex(row.key));
  const [iv, aad] = [fromHex(row.iv), fromHex(row.aad)];
  const opened = aead.open(iv, aad, fromHex(row.ct + row.tag));
  if (row.result === 'invalid') return opened === undefined;
  return reads(opened, row.msg) && reads(concat(...aead.seal(iv, aad, fromHex(row.msg))), row.ct + row.tag);
}

type CbcRow = Readonly<Record<'key' | 'iv' | 'msg' | 'ct', string>>;

const cbc = wycheproof<{ keySize: number }, CbcRow>('aes_cbc_pkcs5');

/** Padding (RFC 5652 §6.3) is not ours, so it is looked at here. */
function cbcHolds(provider: CryptoProvider, row: Flat<{ keySize: number }, CbcRow>): boolean {
  const primitive = provider.cbc[`aes${row.keySize}-cbc` as CbcName];
  const create = (direction: 'encrypt' | 'decrypt') => primitive.create(fromHex(row.key), fromHex(row.iv), direction);
  const ciphertext = fromHex(row.ct);
  if (ciphertext.length === 0 || ciphertext.length % 16 !== 0) return row.result === 'invalid';
  const padded = create('decrypt').apply(ciphertext);
  const count = padded.at(-1) as number;
  const isPadded = count > 0 && count <= 16 && padded.subarray(padded.length - count).every((byte) => byte === count);
  if (row.result !== 'valid') return !isPadded;
  const plain = padded.slice(0, padded.length - count);
  return isPadded && reads(plain, row.msg) && reads(create('encrypt').apply(padded), row.ct);
}

// chacha20-poly1305 of RFC 8439 §2.8 is another construction than that of SSH; its rows hold edge cases of Poly1305.
const poly = wycheproof<AeadGroup, AeadRow>('chacha20_poly1305', (group) => group.ivSize === 96);

function padded16(bytes: Uint8Array): Uint8Array {
  return concat(bytes, new Uint8Array(-bytes.length & 15));
}

function polyHolds(row: Flat<AeadGroup, AeadRow>): boolean {
  const [aad, ciphertext] = [fromHex(row.aad), fromHex(row.ct)];
  const lengths = new DataView(new ArrayBuffer(16));
  lengths.setUint32(0, aad.length, true);
  lengths.setUint32(8, ciphertext.length, true);
  const key = ietfChacha20(fromHex(row.key), fromHex(row.iv), new Uint8Array(32));
  const message = concat(padded16(aad), padded16(ciphertext), new Uint8Array(lengths.buffer));
  return reads(poly1305(key, message, new Uint8Array(0)), row.tag) === (row.result === 'valid');
}

type MacRow = Readonly<Record<'key' | 'msg' | 'tag', string>>;

function macHolds(provider: CryptoProvider, name: MacName, row: Flat<{ tagSize: number }, MacRow>): boolean {
  const tag = provider.macs[name].create(fromHex(row.key)).compute(fromHex(row.msg), new Uint8Array(0));
  return equalBytes(tag.subarray(0, row.tagSize / 8), fromHex(row.tag)) === (row.result === 'valid');
}

type DhRow = Readonly<Record<'public' | 'private' | 'shared', string>> & { readonly flags: readonly string[] };

const x25519 = wycheproof<object, DhRow>('x25519');

async function x25519Holds(provider: CryptoProvider, row: Flat<object, DhRow>): Promise<boolean> {
  const finish = () => provider.agreements.x25519.finish(fromHex(row.private), fromHex(row.public));
  if (row.flags.includes('ZeroSharedSecret')) return isRefused(finish);
  return reads(await finish(), row.shared);
}

/** `digits` of a non-negative DER INTEGER body as `size` bytes. */
function scalar(digits: string, size: number): Uint8Array {
  return fromHex(digits.replace(/^(?:00)+/, '').padStart(2 * size, '0'));
}

async function ecdhHolds(provider: CryptoProvider, curve: CurveName, row: Flat<object, DhRow>): Promise<boolean> {
  const secret = scalar(row.private, provider.ecdsa[curve].size);
  const finish = () => provider.agreements[curve].finish(secret, fromHex(row.public));
  return row.result === 'valid' ? reads(await finish(), row.shared) : isRefused(finish);
}

type SignatureRow = Readonly<Record<'msg' | 'sig', string>>;
interface EcdsaGroup {
  readonly publicKey: { readonly uncompressed: string };
}

async function ecdsaHolds(
  provider: CryptoProvider,
  curve: CurveName,
  row: Flat<EcdsaGroup, SignatureRow>,
): Promise<boolean> {
  const signature = p1363(fromHex(row.sig), provider.ecdsa[curve].size);
  if (signature === undefined) return row.result === 'invalid';
  const point = fromHex(row.publicKey.uncompressed);
  return (await provider.ecdsa[curve].verify(point, fromHex(row.msg), signature)) === (row.result === 'valid');
}

const ed25519 = wycheproof<{ publicKey: { pk: string } }, SignatureRow>('ed25519');

interface RsaGroup {
  readonly publicKey: { readonly modulus: string; readonly publicExponent: string };
}

async function rsaHolds(provider: CryptoProvider, hash: HashName, row: Flat<RsaGroup, SignatureRow>): Promise<boolean> {
  const key = { modulus: fromHex(row.publicKey.modulus), exponent: fromHex(row.publicKey.publicExponent) };
  return (await provider.rsa.verify(key, hash, fromHex(row.msg), fromHex(row.sig))) === (row.result === 'valid');
}

const macFiles = [
  ['hmac_sha1', 'hmac-sha1', 170] as const,
  ['hmac_sha256', 'hmac-sha256', 174] as const,
  ['hmac_sha512', 'hmac-sha512', 174] as const,
].map(([file, name, count]) => ({ file, name, count, rows: wycheproof<{ tagSize: number }, MacRow>(file) }));

const curveFiles = [
  ['p256', 'ecdh_secp256r1_ecpoint', 355, 'ecdsa_secp256r1_sha256', 484] as const,
  ['p384', 'ecdh_secp384r1_ecpoint', 790, 'ecdsa_secp384r1_sha384', 504] as const,
  ['p521', 'ecdh_secp521r1_ecpoint', 661, 'ecdsa_secp521r1_sha512', 542] as const,
].map(([curve, ecdhFile, ecdhCount, ecdsaFile, ecdsaCount]) => ({
  curve,
  ecdh: { file: ecdhFile, count: ecdhCount, rows: wycheproof<object, DhRow>(ecdhFile) },
  ecdsa: { file: ecdsaFile, count: ecdsaCount, rows: wycheproof<EcdsaGroup, SignatureRow>(ecdsaFile) },
}));

const rsaFiles = [
  ['rsa_signature_2048_sha256', 'sha256', 259] as const,
  ['rsa_signature_2048_sha512', 'sha512', 259] as const,
  ['rsa_signature_3072_sha256', 'sha256', 259] as const,
  ['rsa_signature_3072_sha512', 'sha512', 260] as const,
  ['rsa_signature_4096_sha256', 'sha256', 258] as const,
  ['rsa_signature_4096_sha512', 'sha512', 259] as const,
].map(([file, hash, count]) => ({ file, hash, count, rows: wycheproof<RsaGroup, SignatureRow>(file) }));

describe('wycheproof', () => {
  check('chacha20_poly1305, tags only', pureProvider, poly, 316, polyHolds);
  for (const provider of providers) {
    check('aes_gcm', provider, gcm, 133, (row) => gcmHolds(provider, row));
    check('aes_cbc_pkcs5', provider, cbc, 216, (row) => cbcHolds(provider, row));
    for (const { file, name, count, rows } of macFiles) {
      check(file, provider, rows, count, (row) => macHolds(provider, name, row));
    }
    check('x25519', provider, x25519, 518, (row) => x25519Holds(provider, row));
    for (const { curve, ecdh, ecdsa } of curveFiles) {
      // 700 operations on the long curves take plain JavaScript half a minute, so it gets a quarter of them.
      const nth = provider.name === 'pure' && curve !== 'p256' ? 4 : 1;
      check(ecdh.file, provider, ecdh.rows, ecdh.count, (row) => ecdhHolds(provider, curve, row), nth);
      check(ecdsa.file, provider, ecdsa.rows, ecdsa.count, (row) => ecdsaHolds(provider, curve, row), nth);
    }
    check('ed25519', provider, ed25519, 151, async (row) => {
      const verdict = await provider.ed25519.verify(fromHex(row.publicKey.pk), fromHex(row.msg), fromHex(row.sig));
      return verdict === (row.result === 'valid');
    });
    for (const { file, hash, count, rows } of rsaFiles) {
      check(file, provider, rows, count, (row) => rsaHolds(provider, hash, row));
    }
  }

  it('signatures in DER become r and s of full width, and nothing else does', () => {
    const right = fromHex('300602010102020080');
    assert.equal(hex(p1363(fromHex('3007020101 02020080'), 2) ?? new Uint8Array(0)), '00010080');
    const wrong = ['', '30', '3006020101020101ff', '3107020101 02020080', '3007020101 02020001', '3006020101 020180'];
    for (const der of [...wrong.map(fromHex), right, fromHex('300802020100 02020080').subarray(1)]) {
      assert.equal(p1363(der, 2), undefined);
    }
    assert.equal(p1363(fromHex('3009020301000002020080'), 2), undefined);
  });
});
