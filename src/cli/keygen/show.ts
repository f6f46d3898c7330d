/** What a certificate says, in the lines of `ssh-keygen -L`. */

import { Reader } from '../../bytes/reader.ts';
import { hex, printable } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import { type Certificate, FOREVER, isCertificateType, parseCertificate } from '../../keys/certificate.ts';
import { keyFingerprint } from '../../keys/fingerprint.ts';
import { keyTypeOf } from '../../keys/public_key.ts';
import { parsePublicKeyFile } from '../../keys/public_key_file.ts';
import { readKeyFile } from './files.ts';
import { shortType } from './public_half.ts';
import type { Tools } from './tools.ts';

const INDENT = ' '.repeat(8);
const DEEP = ' '.repeat(16);

/** Options whose value is a text. */
const TEXTS: readonly string[] = ['force-command', 'source-address'];
/** Options that only have to be there. */
const FLAGS: readonly string[] = [
  'permit-X11-forwarding',
  'permit-agent-forwarding',
  'permit-port-forwarding',
  'permit-pty',
  'permit-user-rc',
  'no-touch-required',
  'verify-required',
];

export async function show(file: string, { crypto }: Tools): Promise<string> {
  const { blob } = parsePublicKeyFile(await readKeyFile(file), file);
  if (!isCertificateType(keyTypeOf(blob))) {
    throw new SshError('key-format-unsupported', `${printable(file)} is a public key, and no certificate`);
  }
  const certificate = parseCertificate(blob, crypto);
  const { type, kind, key, authority, keyId, serial, principals, criticalOptions, extensions } = certificate;
  const signedWith = new Reader(certificate.signature).name();
  const lines = [
    `Type: ${type} ${kind} certificate`,
    `Public key: ${shortType(type)} ${keyFingerprint(crypto, key.blob)}`,
    `Signing CA: ${shortType(authority.type)} ${keyFingerprint(crypto, authority.blob)} (using ${printable(signedWith)})`,
    `Key ID: "${printable(keyId)}"`,
    `Serial: ${serial}`,
    `Valid: ${validity(certificate)}`,
    ...section(
      'Principals',
      principals.map((each) => printable(each)),
    ),
    ...section('Critical Options', [...criticalOptions].map(optionLine)),
    ...section('Extensions', [...extensions].map(optionLine)),
  ];
  return `${printable(file)}:\n${lines.map((line) => `${INDENT}${line}\n`).join('')}`;
}

function section(title: string, entries: readonly string[]): string[] {
  if (entries.length === 0) return [`${title}: (none)`];
  return [`${title}: `, ...entries.map((entry) => `${DEEP.slice(INDENT.length)}${entry}`)];
}

function optionLine([name, value]: readonly [string, Uint8Array]): string {
  if (FLAGS.includes(name)) return name;
  if (TEXTS.includes(name)) return `${name} ${printable(new Reader(value).string())}`;
  return `${printable(name)} UNKNOWN OPTION: ${hex(value)} (len ${value.length})`;
}

function validity({ validAfter, validBefore }: Certificate): string {
  if (validAfter === 0n && validBefore === FOREVER) return 'forever';
  if (validAfter === 0n) return `before ${localTime(validBefore)}`;
  if (validBefore === FOREVER) return `after ${localTime(validAfter)}`;
  return `from ${localTime(validAfter)} to ${localTime(validBefore)}`;
}

/** `2026-01-31T12:00:00`, as clocks here show it. */
function localTime(seconds: bigint): string {
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return `second ${seconds} since 1970`;
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day}T${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
}
