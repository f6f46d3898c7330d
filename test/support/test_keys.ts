/** One key of every type, the same in every run. They are public, and guard nothing. */

import { readFileSync } from 'node:fs';
import { keyPairOf, type PrivateKey, type PrivateKeySecret } from '../../src/keys/key_pair.ts';
import { parsePrivateKey, signerOf } from '../../src/keys/private_key.ts';
import { ecdsaCurves, isEcdsaType } from '../../src/keys/public_key.ts';
import { type Signer, signatureAlgorithms } from '../../src/keys/signature.ts';
import { memoCrypto } from './memo_crypto.ts';
import { seededRandom } from './random.ts';
import { root } from './root.ts';

/** The RSA key of the vectors, 2048 bits: made by OpenSSL, as primes of our own would take long to find. */
const RSA = 'openssl-rsa2048';

function rsaFile(): string {
  const { rows } = JSON.parse(readFileSync(new URL('vectors/keys/private_keys.json', root), 'utf8'));
  return rows.find(({ name }: { readonly name: string }) => name === RSA).pkcs8;
}

/** Types of the keys that we can hold. */
export type TestKeyType = PrivateKeySecret['type'];

/** Every algorithm that these keys sign with unless SHA-1 is asked for. */
export const testAlgorithms: readonly string[] = [...signatureAlgorithms.values()]
  .filter((row) => row.sign !== undefined && row.legacy !== true)
  .map((row) => row.name);

/** The key of `type` for one use, such as `host` or `user`: other uses have other keys, except of RSA. */
export function testKey(type: TestKeyType, use: string): PrivateKey {
  const random = seededRandom(`key of ${use}, ${type}`);
  if (type === 'ssh-rsa') return parsePrivateKey(rsaFile(), memoCrypto);
  if (!isEcdsaType(type)) return keyPairOf(memoCrypto, { type, seed: random(32) });
  const { curve, size } = ecdsaCurves[type];
  const scalar = random(size);
  // below the order of any of the curves, whose top bytes are 0xff or 0x01ff
  scalar[0] = type === 'ecdsa-sha2-nistp521' ? 0 : 0x7f;
  return keyPairOf(memoCrypto, { type, curve, scalar });
}

const signers = new Map<string, Signer>();

/** What signs with the key for `algorithm`, with that algorithm and no other. */
export function testSigner(algorithm: string, use: string): Signer {
  const name = `${algorithm}, ${use}`;
  let signer = signers.get(name);
  if (signer === undefined) {
    const row = signatureAlgorithms.get(algorithm);
    if (row === undefined) throw new Error(`no signature algorithm ${algorithm}`);
    signer = { ...signerOf(memoCrypto, testKey(row.keyType as TestKeyType, use)), algorithms: [algorithm] };
    signers.set(name, signer);
  }
  return signer;
}
