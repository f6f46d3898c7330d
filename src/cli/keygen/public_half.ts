/** The public half of whatever key file it is, and the line that `ssh-keygen -l` has for it. */

import { equalBytes } from '../../bytes/bytes.ts';
import { bitLength } from '../../bytes/mpint.ts';
import { printable } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import { isCertificateType } from '../../keys/certificate.ts';
import { keyFingerprint } from '../../keys/fingerprint.ts';
import { parsePrivateKey, peekPrivateKey } from '../../keys/private_key.ts';
import { isEcdsaType, keyTypeOf, type PublicKey } from '../../keys/public_key.ts';
import { type PublicKeyFile, parsePublicKeyFile } from '../../keys/public_key_file.ts';
import { parseShownKey } from '../../keys/shown_key.ts';
import { readIfThere, readKeyFile } from './files.ts';
import type { Tools } from './tools.ts';

/** Of a private key without its passphrase, where the file, or the one beside it, tells the public half. */
export async function publicOf(file: string, tools: Tools): Promise<PublicKeyFile> {
  const content = await readKeyFile(file);
  const asPublic = ifPublic(() => parsePublicKeyFile(content, file));
  const beside = await readIfThere(`${file}.pub`);
  if (asPublic !== undefined) return withComment(asPublic, beside);
  const { publicBlob, comment = '' } = peekPrivateKey(content, file);
  if (publicBlob !== undefined) return withComment({ blob: publicBlob, comment }, beside);
  const known = beside && ifPublic(() => parsePublicKeyFile(beside));
  if (known !== undefined) return known;
  const key = await tools.passphrases.opening(file, (passphrase) =>
    parsePrivateKey(content, tools.crypto, { name: file, ...(passphrase === undefined ? {} : { passphrase }) }),
  );
  return { blob: key.publicKey.blob, comment: key.comment };
}

function ifPublic(read: () => PublicKeyFile): PublicKeyFile | undefined {
  try {
    return read();
  } catch (error) {
    const codes = ['key-format-unsupported', 'key-passphrase-needed', 'key-cipher-unsupported'];
    if (error instanceof SshError && codes.includes(error.code)) return undefined;
    throw error;
  }
}

/** A private key's own comment may be out of reach: the public key beside it, if it is that, has one. */
function withComment(key: PublicKeyFile, beside: Uint8Array | undefined): PublicKeyFile {
  if (key.comment !== '' || beside === undefined) return key;
  const other = ifPublic(() => parsePublicKeyFile(beside));
  return other !== undefined && equalBytes(other.blob, key.blob) ? other : key;
}

/** `256 SHA256:… comment (ED25519)`. */
export async function fingerprintLine(file: string, hash: 'sha256' | 'md5', tools: Tools): Promise<string> {
  const { blob, comment } = await publicOf(file, tools);
  const { key } = parseShownKey(blob);
  const said = comment === '' ? 'no comment' : printable(comment);
  return `${bitsOf(key)} ${keyFingerprint(tools.crypto, blob, hash)} ${said} (${shortType(keyTypeOf(blob))})`;
}

/** The size of a key, as OpenSSH counts it. */
function bitsOf(key: PublicKey): number {
  if (key.type === 'ssh-rsa') return bitLength(key.key.modulus);
  if (isEcdsaType(key.type)) return Number(/\d+$/.exec(key.type)?.[0]);
  return 256;
}

/** `ED25519`, `ECDSA-SK-CERT` and so on, as OpenSSH shows types. */
export function shortType(type: string): string {
  const plain = type.replace(/-cert-v01@openssh\.com$/, '').replace(/@openssh\.com$/, '');
  const name = plain.includes('ed25519') ? 'ED25519' : plain.includes('ecdsa') ? 'ECDSA' : 'RSA';
  return `${name}${plain.startsWith('sk-') ? '-SK' : ''}${isCertificateType(type) ? '-CERT' : ''}`;
}
