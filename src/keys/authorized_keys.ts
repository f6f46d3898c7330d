/**
 * authorized_keys files: sshd(8), AUTHORIZED_KEYS FILE FORMAT. Text in, keys out, and which of them lets a client in.
 * Decides as OpenSSH's sshd does; where it does not, it is the stricter, but for a byte order mark, which it skips, and
 * IPv4 addresses that are written as IPv6. Must not know where files are, a clock, or a time zone.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { decodeLenient, printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { type Certificate, judgeCertificate } from './certificate.ts';
import { type CertificateRights, certificateRights } from './certificate_options.ts';
import { type FromPattern, matchFromList } from './from_list.ts';
import { type KeyOptions, readKeyOptions, scanKeyOptions, type WrittenOption } from './key_options.ts';
import { type PublicKey, parsePublicKey } from './public_key.ts';
import { parsePublicKeyLine } from './public_key_line.ts';
import type { ShownKey } from './shown_key.ts';
import type { Presence } from './sk_signature.ts';

/** Longest line in characters. sshd(8) promises 8 kilobytes; long lists of `permitopen` and `environment` need more. */
export const MAX_LINE = 65_536;

/** Most lines that are neither blank nor comments. One account that serves many people has some ten thousand. */
export const MAX_ENTRIES = 65_536;

/** How private keys begin: in PEM, OpenSSH's own and PuTTY's files. */
const PRIVATE_KEY = /^-----BEGIN [A-Z0-9 ]*PRIVATE KEY|^PuTTY-User-Key-File-/;
const A_PRIVATE_KEY =
  'A private key, which has no place here: give the public one, as a rule in the file of the same name with .pub';

/** One line that lets a key in. */
export interface AuthorizedKey {
  /** The number of the line, from 1. */
  readonly line: number;
  readonly publicKey: PublicKey;
  /** Means nothing; text of whoever wrote the file. */
  readonly comment: string;
  readonly options: KeyOptions;
}

/** A line that is neither blank nor a comment and lets nobody in. */
export interface RefusedLine {
  readonly line: number;
  readonly reason: string;
}

/** What a file says. */
export interface AuthorizedKeys {
  /** In the order of the lines, which is the order in which they are tried. */
  readonly keys: readonly AuthorizedKey[];
  readonly refused: readonly RefusedLine[];
}

/** What the file itself does not say. */
export interface AuthorizedKeysOptions {
  /**
   * Minutes that the time zone of an `expiry-time` without `Z` is ahead of UTC; default 0. OpenSSH takes the time zone of
   * the system, which changes where there is a summer time: with `Z` there is no doubt.
   */
  readonly utcOffset?: number | undefined;
}

/** Who wants in, and when. */
export interface LoginContext {
  /** The client's IP address. Without it no key with `from` lets anybody in. */
  readonly address?: string | undefined;
  /** The name of that address, if a look-up of the name leads back to it. Without it names in `from` match nothing. */
  readonly host?: string | undefined;
  /** As whom. Without it no certificate lets anybody in whose line has no `principals`. */
  readonly username?: string | undefined;
  /** What a security key says of the person at it, once there is a signature. */
  readonly presence?: Presence | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The lines of an authorized_keys file. Never throws: what cannot be used is reported in `refused`. */
export function parseAuthorizedKeys(text: string | Uint8Array, options: AuthorizedKeysOptions = {}): AuthorizedKeys {
  const keys: AuthorizedKey[] = [];
  const refused: RefusedLine[] = [];
  const content = (typeof text === 'string' ? text : decodeLenient(text)).replace(/^\ufeff/, '');
  /** Whether a private key has begun, of which nothing may be shown. */
  let isPrivate = false;
  let number = 0;
  for (const raw of content.split('\n')) {
    number++;
    const line = trimLine(raw);
    if (line === '' || line.startsWith('#')) continue;
    if (keys.length + refused.length === MAX_ENTRIES) {
      refused.push({ line: number, reason: `This line and all below it: more than ${MAX_ENTRIES} keys in one file` });
      break;
    }
    isPrivate ||= PRIVATE_KEY.test(line);
    const entry = parseLine(line, options.utcOffset ?? 0);
    if (typeof entry === 'string') refused.push({ line: number, reason: isPrivate ? A_PRIVATE_KEY : entry });
    else keys.push({ line: number, ...entry });
  }
  return { keys, refused };
}

/** Blanks of sshd are space and tab; the end of a line may be CRLF. */
function trimLine(raw: string): string {
  let start = 0;
  let end = raw.endsWith('\r') ? raw.length - 1 : raw.length;
  while (start < end && isBlank(raw[start])) start++;
  while (end > start && isBlank(raw[end - 1])) end--;
  return raw.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

type Entry = Omit<AuthorizedKey, 'line'>;

/** What a line says, or the reason why it says nothing. */
function parseLine(line: string, utcOffset: number): Entry | string {
  if (line.length > MAX_LINE) return `A line of ${line.length} characters; ${MAX_LINE} are read`;
  if (line.includes('\0')) return 'A null byte in the line; is the file UTF-16?';
  if (line.includes('\r')) return 'A carriage return within the line; lines end with LF or CRLF';
  // No name of a key type has these in it, and a try that fails takes time.
  const plain = /^[^ \t]*[,="]/.test(line) ? undefined : parseKey(line);
  if (typeof plain === 'object') return withOptions(plain, [], utcOffset);
  const scanned = scanKeyOptions(line);
  if (typeof scanned === 'string') return scanned;
  if (scanned.rest === '') return noKey(line);
  const key = parseKey(scanned.rest);
  // Where the line begins with the name of a key type, that key is damaged: the name is no option.
  if (typeof key === 'string') return plain !== undefined && /^(?:ssh|ecdsa|sk)-/.test(line) ? plain : key;
  const options = line.slice(0, line.length - scanned.rest.length);
  // Bytes that are not UTF-8 have become U+FFFD, and would be that in a command.
  if (options.includes('\ufffd')) return 'The options are not UTF-8';
  return withOptions(key, scanned.options, utcOffset);
}

function withOptions(key: Key, written: readonly WrittenOption[], utcOffset: number): Entry | string {
  const options = readKeyOptions(written, utcOffset);
  return typeof options === 'string' ? options : { ...key, options };
}

type Key = Pick<AuthorizedKey, 'publicKey' | 'comment'>;

/** The key in `type base64 comment`, or the reason why there is none. */
function parseKey(text: string): Key | string {
  const [, type, digits = '', comment = ''] = /^([^ \t]+)[ \t]+([^ \t]+)(?:[ \t]+(.*))?$/s.exec(text) ?? [];
  if (type === undefined) return noKey(text);
  try {
    const { blob } = parsePublicKeyLine(`${type} ${digits}`);
    if (digits.length % 4 !== 0) return `The base64 of the ${printable(type, 64)} key is cut`;
    return { publicKey: parsePublicKey(blob), comment };
  } catch (error) {
    if (error instanceof SshError) return error.message;
    throw error;
  }
}

function noKey(text: string): string {
  return `No key 'type base64' in '${printable(text, 60)}'`;
}

/** A line that lets somebody in, and with what rights. */
export interface Admission extends AuthorizedKey {
  /** What the certificate allows, where it was one: the line allows no more than that, and it no more than the line. */
  readonly rights?: CertificateRights;
}

/**
 * The first line that lets in who shows this key, or certificate, from there and then. A line with the key that refuses ends
 * nothing: the next one may have it too. That the client has the key is for its signature to prove, and that a certificate is
 * genuine has to be known.
 */
export function findAuthorizedKey(
  keys: readonly AuthorizedKey[],
  shown: ShownKey,
  context: LoginContext,
): Admission | undefined {
  for (const line of keys) {
    if (!isAbout(line, shown)) continue;
    const admission = admit(line, shown.certificate, context);
    if (typeof admission !== 'string') return admission;
  }
  return undefined;
}

/** Whether a line names what is shown: the key itself or, if it is `cert-authority`, who has signed the certificate. */
export function isAbout({ publicKey, options }: AuthorizedKey, { key, certificate }: ShownKey): boolean {
  if (options.certAuthority !== (certificate !== undefined)) return false;
  return equalBytes(publicKey.blob, (certificate?.authority ?? key).blob);
}

/**
 * Why a line lets nobody in from there and then who shows its key, or this certificate of it; `undefined` if it does. For logs,
 * not for the client.
 */
export function refusalOf(line: AuthorizedKey, context: LoginContext, certificate?: Certificate): string | undefined {
  const admission = admit(line, certificate, context);
  return typeof admission === 'string' ? admission : undefined;
}

function admit(line: AuthorizedKey, certificate: Certificate | undefined, context: LoginContext): Admission | string {
  const { expiryTime, from, verifyRequired, principals } = line.options;
  // As in OpenSSH the second of the expiry-time still counts. Written so that a time that is none refuses.
  if (expiryTime !== undefined && !(Math.floor(context.now / 1000) * 1000 <= expiryTime)) return 'expiry-time is past';
  const refusal = refusedFrom(from, 'from', context) ?? unverified(verifyRequired, context);
  if (refusal !== undefined) return refusal;
  if (certificate === undefined) return line;
  const names = principals ?? (context.username === undefined ? [] : [context.username]);
  const rights = admitCertificate(certificate, names, context);
  return typeof rights === 'string' ? rights : { ...line, rights };
}

/** What a genuine certificate of a trusted authority allows who is one of `names`, from there and then, or why it allows nothing. */
export function admitCertificate(
  certificate: Certificate,
  names: readonly string[],
  context: LoginContext,
): CertificateRights | string {
  const use = { kind: 'user', now: context.now, allowEmptyPrincipals: false } as const;
  const verdict = judgeCertificate(certificate, use);
  if (!verdict.ok) return `of the certificate: ${verdict.reason}`;
  if (!certificate.principals.some((name) => names.includes(name))) {
    return `the certificate is for ${shownNames(certificate.principals)}, not for ${shownNames(names)}`;
  }
  const rights = certificateRights(certificate);
  if (typeof rights === 'string') return `of the certificate: ${rights}`;
  return refusedFrom(rights.from, 'source-address', context) ?? unverified(rights.verifyRequired, context) ?? rights;
}

function shownNames(names: readonly string[]): string {
  return names.length === 0 ? 'nobody' : printable(names.join(', '), 120);
}

function refusedFrom(
  from: readonly FromPattern[] | undefined,
  what: string,
  { address, host }: LoginContext,
): string | undefined {
  if (from === undefined || matchFromList(from, address, host)) return undefined;
  return address === undefined
    ? `the address is not known, and '${what}' needs it`
    : `'${what}' does not allow ${printable(address, 60)}`;
}

/** A key that is only shown has signed nothing yet. */
function unverified(required: boolean, { presence }: LoginContext): string | undefined {
  if (!required || presence === undefined || presence.verified) return undefined;
  return 'the security key has not made sure who touched it, and verify-required wants that';
}
