/** Private keys in PEM armour: which reader a label calls for, and decryption before it. */

import { wipe } from '../bytes/secret.ts';
import type { SshError } from '../errors.ts';
import { openDekInfo } from './dek_info.ts';
import { type Found, type KeyFile, type KeyFileFormat, keyOf, type Opening, publicBlobOf } from './key_file.ts';
import type { KeyFileErrors } from './key_file_errors.ts';
import { readOpensshKey } from './openssh_key.ts';
import { openPbes2 } from './pbes2.ts';
import type { PemBlock } from './pem.ts';
import { readPkcs1 } from './pkcs1.ts';
import { readPkcs8 } from './pkcs8.ts';
import { readSec1 } from './sec1.ts';

type Read = (content: Uint8Array, errors: KeyFileErrors) => Found;

/** Formats that are DER in a block of their own. */
const readers: Readonly<Record<string, readonly [KeyFileFormat, Read]>> = {
  'PRIVATE KEY': ['pkcs8', readPkcs8],
  'RSA PRIVATE KEY': ['pkcs1', readPkcs1],
  'EC PRIVATE KEY': ['sec1', readSec1],
};

/** The key in a block. Throws what `errors` makes, or `decode`. */
export function readPemKey(block: PemBlock, errors: KeyFileErrors): KeyFile {
  const { label, encryption } = block;
  if (label === 'OPENSSH PRIVATE KEY') return readOpensshKey(decoded(block, errors), errors);
  if (label === 'ENCRYPTED PRIVATE KEY') {
    const bytes = decoded(block, errors);
    return encrypted('pkcs8', readPkcs8, (opening) => openPbes2(bytes, opening));
  }
  const reader = Object.hasOwn(readers, label) ? readers[label] : undefined;
  if (reader === undefined) throw unsupported(label, errors);
  const [format, read] = reader;
  const bytes = decoded(block, errors);
  if (encryption !== undefined) return encrypted(format, read, (opening) => openDekInfo(bytes, encryption, opening));
  const found = read(bytes, errors);
  return { format, encrypted: false, publicBlob: publicBlobOf(found), open: (opening) => keyOf(found, opening) };
}

function encrypted(format: KeyFileFormat, read: Read, decrypt: (opening: Opening) => Uint8Array): KeyFile {
  return {
    format,
    encrypted: true,
    open(opening) {
      const plain = decrypt(opening);
      try {
        return keyOf(read(plain, opening.errors), opening);
      } finally {
        wipe(plain);
      }
    },
  };
}

function decoded({ bytes }: PemBlock, errors: KeyFileErrors): Uint8Array {
  if (bytes === undefined) throw errors.corrupt('what stands between BEGIN and END is not base64');
  return bytes;
}

function unsupported(label: string, errors: KeyFileErrors): SshError {
  if (label === 'DSA PRIVATE KEY') {
    return errors.unsupported('a DSA key', 'SSH no longer uses DSA: make an Ed25519 key');
  }
  const convert = `\`ssh-keygen -p -f ${errors.file}\` rewrites it in the format of OpenSSH`;
  if (label.endsWith('PRIVATE KEY')) return errors.unsupported(`a key with the label ${label}`, convert);
  if (label.endsWith('PUBLIC KEY')) return errors.givenPublic();
  return errors.unsupported(`a ${label}`, 'give the private key that belongs to it');
}
