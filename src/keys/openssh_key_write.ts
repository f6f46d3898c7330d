/** Writes openssh-key-v1 (OpenSSH PROTOCOL.key), in the clear or under a passphrase. Must not know other formats. */

import { concat } from '../bytes/bytes.ts';
import { wipe } from '../bytes/secret.ts';
import { Writer } from '../bytes/writer.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import type { KeyCipher } from './key_cipher.ts';
import type { PrivateKey, PrivateKeySecret } from './key_pair.ts';
import { MAGIC, PLAIN_BLOCK } from './openssh_key.ts';
import { formatPem } from './pem.ts';
import { ecdsaCurves, type PublicKey } from './public_key.ts';

/** Characters of base64 in a line of OpenSSH. */
const WIDTH = 70;
const SALT = 16;

/** How a file is encrypted. */
export interface OpensshEncryption {
  readonly passphrase: Uint8Array;
  readonly rounds: number;
  readonly name: string;
  readonly cipher: KeyCipher;
}

/** The file's text. */
export function writeOpensshKey(
  crypto: CryptoProvider,
  key: PrivateKey,
  comment: string,
  encryption?: OpensshEncryption,
): string {
  const section = sectionOf(crypto, key, comment, encryption?.cipher.blockSize ?? PLAIN_BLOCK);
  const writer = new Writer().raw(MAGIC);
  if (encryption === undefined) {
    writer.string('none').string('none').string('');
    writer.u32(1).string(key.publicKey.blob).string(section);
  } else {
    const { passphrase, rounds, name, cipher } = encryption;
    const salt = Uint8Array.from(crypto.random(SALT));
    const derived = crypto.kdfs.bcrypt(passphrase, salt, rounds, cipher.keySize + cipher.vectorSize);
    const [secret, vector] = [derived.slice(0, cipher.keySize), derived.slice(cipher.keySize)];
    const sealed = concat(...cipher.encrypt(crypto, secret, vector, section));
    for (const bytes of [derived, secret, vector]) wipe(bytes);
    const ciphertext = sealed.subarray(0, section.length);
    writer.string(name).string('bcrypt').string(new Writer().string(salt).u32(rounds).finish());
    writer.u32(1).string(key.publicKey.blob).string(ciphertext).raw(sealed.subarray(section.length));
  }
  wipe(section);
  return formatPem('OPENSSH PRIVATE KEY', writer.finish(), WIDTH);
}

function sectionOf(crypto: CryptoProvider, key: PrivateKey, comment: string, blockSize: number): Uint8Array {
  const check = crypto.random(4).slice();
  const writer = new Writer(4096).raw(check).raw(check).string(key.publicKey.type);
  writeNumbers(writer, key.publicKey, key.secret());
  writer.string(comment);
  for (let i = 1; writer.length % blockSize !== 0; i++) writer.u8(i);
  return writer.finish();
}

function writeNumbers(writer: Writer, publicKey: PublicKey, secret: PrivateKeySecret): void {
  if (secret.type === 'ssh-ed25519' && publicKey.type === 'ssh-ed25519') {
    writer.string(publicKey.publicKey).string(concat(secret.seed, publicKey.publicKey));
  } else if (secret.type === 'ssh-rsa') {
    const { modulus, exponent, privateExponent, prime1, prime2, coefficient } = secret.key;
    for (const number of [modulus, exponent, privateExponent, coefficient, prime1, prime2]) writer.mpint(number);
  } else if (secret.type !== 'ssh-ed25519' && 'point' in publicKey) {
    writer.string(ecdsaCurves[secret.type].name).string(publicKey.point).mpint(secret.scalar);
  }
}
