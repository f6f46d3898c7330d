/** Writes PPK of version 3 (PuTTY manual, appendix C), in the clear or under a passphrase by Argon2id. Must not know other formats. */

import { wipe } from '../bytes/secret.ts';
import { base64, hex } from '../bytes/text.ts';
import { Writer } from '../bytes/writer.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { keyCipher } from './key_cipher.ts';
import type { PrivateKey, PrivateKeySecret } from './key_pair.ts';
import { wrapped } from './pem.ts';
import { PPK_HEADER, type PpkKeys, ppkKeys3, ppkMac } from './ppk.ts';

/** Characters of base64 in a line, and KiB of memory for Argon2, as puttygen has them. */
const WIDTH = 64;
const MEMORY = 8192;
const SALT = 16;
const BLOCK = 16;
const none = new Uint8Array(0);

/** The file's text. `passes` are those of Argon2id over 8 MiB. */
export function writePpk(
  crypto: CryptoProvider,
  key: PrivateKey,
  comment: string,
  encryption?: { readonly passphrase: Uint8Array; readonly passes: number },
): string {
  const { type, blob } = key.publicKey;
  const cipherName = encryption === undefined ? 'none' : 'aes256-cbc';
  let plain = numbersOf(key.secret());
  let keys: PpkKeys = { key: none, vector: none, macKey: none };
  let derivation = '';
  if (encryption !== undefined) {
    plain = padded(crypto, plain);
    const salt = Uint8Array.from(crypto.random(SALT));
    const cost = { memory: MEMORY, passes: encryption.passes, lanes: 1 };
    keys = ppkKeys3(crypto, 'id', encryption.passphrase, salt, cost);
    derivation =
      `Key-Derivation: Argon2id\nArgon2-Memory: ${cost.memory}\nArgon2-Passes: ${cost.passes}\n` +
      `Argon2-Parallelism: ${cost.lanes}\nArgon2-Salt: ${hex(salt)}\n`;
  }
  const mac = ppkMac(crypto, 3, keys, [type, cipherName, comment, blob, plain]);
  const [stored = none] =
    encryption === undefined ? [plain] : keyCipher('aes256-cbc').encrypt(crypto, keys.key, keys.vector, plain);
  const text =
    `${PPK_HEADER}3: ${type}\nEncryption: ${cipherName}\nComment: ${comment}\n` +
    `${lines('Public-Lines', blob)}${derivation}${lines('Private-Lines', stored)}Private-MAC: ${hex(mac)}\n`;
  for (const secret of [plain, keys.key, keys.vector, keys.macKey]) wipe(secret);
  return text;
}

function lines(name: string, bytes: Uint8Array): string {
  const digits = base64(bytes);
  return `${name}: ${Math.ceil(digits.length / WIDTH)}\n${wrapped(digits, WIDTH)}`;
}

function numbersOf(secret: PrivateKeySecret): Uint8Array {
  const writer = new Writer(4096);
  switch (secret.type) {
    case 'ssh-ed25519':
      return writer.string(secret.seed).finish();
    case 'ssh-rsa': {
      const { privateExponent, prime1, prime2, coefficient } = secret.key;
      return writer.mpint(privateExponent).mpint(prime1).mpint(prime2).mpint(coefficient).finish();
    }
    default:
      return writer.mpint(secret.scalar).finish();
  }
}

/** Whole blocks; what is missing is taken from a digest, since the last block must not tell what it holds. */
function padded(crypto: CryptoProvider, plain: Uint8Array): Uint8Array {
  const size = Math.ceil(plain.length / BLOCK) * BLOCK;
  const whole = new Uint8Array(size);
  whole.set(plain);
  whole.set(crypto.hashes.sha1.digest(plain).subarray(0, size - plain.length), plain.length);
  wipe(plain);
  return whole;
}
