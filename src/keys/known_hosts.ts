/**
 * known_hosts files: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT. Text in, verdicts and text out. Decides as OpenSSH's
 * check_hostkeys_by_key_or_type does. Must not know where files are, nor what a program does with a verdict.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { base64, fromBase64, printable, utf8 } from '../bytes/text.ts';
import { whenReady } from '../crypto/maybe_promise.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { SSH_PORT } from '../wire/numbers.ts';
import { hostCertificateTypes, judgeHostCertificate } from './host_authority.ts';
import { lowerAscii, matchPatternList } from './host_pattern.ts';
import { fingerprint, parsePublicKey } from './public_key.ts';
import { formatPublicKeyLine } from './public_key_line.ts';
import { parseShownKey, type ShownKey, shownKey } from './shown_key.ts';

/** Bytes of a salt and of a hashed name: HMAC-SHA1. */
const HASH_SIZE = 20;

/** Longest line in characters: a key of 16384 bits and a long list of hosts have 20 000. */
export const MAX_LINE = 65_536;

/** The hosts that a line is about. */
export type HostNames =
  | { readonly form: 'patterns'; readonly list: string }
  | { readonly form: 'hashed'; readonly salt: Uint8Array; readonly hash: Uint8Array };

/** One line that holds a key. */
export interface KnownHostsEntry {
  /** Where the line is: what the caller called the file, and the line number, from 1. */
  readonly source: string;
  readonly line: number;
  readonly marker: 'none' | 'revoked' | 'cert-authority';
  readonly names: HostNames;
  readonly keyType: string;
  readonly blob: Uint8Array;
}

/** A line that is neither empty, nor a comment, nor usable. It takes no part in any verdict. */
export interface IgnoredLine {
  readonly source: string;
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

/** What a file says. */
export interface KnownHosts {
  readonly entries: readonly KnownHostsEntry[];
  readonly ignored: readonly IgnoredLine[];
}

/** A key that a host is known under, and where that stands. */
export interface KnownKey {
  readonly type: string;
  readonly fingerprint: string;
  readonly source: string;
  readonly line: number;
}

/** What the files say about a host and the key that it showed. */
export type HostKeyVerdict =
  | { readonly state: 'known'; readonly source: string; readonly line: number }
  /** An authority that is known for the host vouches for the key. */
  | { readonly state: 'certified'; readonly source: string; readonly line: number; readonly keyId: string }
  | { readonly state: 'unknown' }
  | { readonly state: 'changed'; readonly known: readonly KnownKey[] }
  | {
      readonly state: 'revoked';
      readonly what: 'key' | 'authority';
      readonly source: string;
      readonly line: number;
    }
  /** A known authority vouches, but not for this host, time or use, and no key is known for the host. */
  | { readonly state: 'bad-certificate'; readonly reason: string; readonly source: string; readonly line: number };

/** The lines of a known_hosts file. Never throws: what cannot be used is reported in `ignored`. */
export function parseKnownHosts(text: string, source = 'known_hosts'): KnownHosts {
  const entries: KnownHostsEntry[] = [];
  const ignored: IgnoredLine[] = [];
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  lines.forEach((raw, index) => {
    const found = parseKnownHostsLine(raw);
    if (found === undefined) return;
    if (typeof found === 'string') ignored.push({ source, line: index + 1, text: raw, reason: found });
    else entries.push({ source, line: index + 1, ...found });
  });
  return { entries, ignored };
}

/** What a line says: an entry, or the reason why it is none; nothing for a comment or a blank. */
export function parseKnownHostsLine(raw: string): Omit<KnownHostsEntry, 'source' | 'line'> | string | undefined {
  if (raw.length > MAX_LINE) return `A line of more than ${MAX_LINE} characters`;
  const fields = raw.split(/[ \t\r]+/).filter((field) => field !== '');
  if (fields.length === 0 || fields[0]?.startsWith('#')) return undefined;
  return parseLine(fields);
}

const markers: Readonly<Record<string, KnownHostsEntry['marker']>> = {
  '@revoked': 'revoked',
  '@cert-authority': 'cert-authority',
};

/** The entry, or the reason why there is none. */
function parseLine(fields: readonly string[]): Omit<KnownHostsEntry, 'source' | 'line'> | string {
  const first = fields[0] as string;
  const marked = first.startsWith('@');
  const marker = marked ? markers[first] : 'none';
  if (marker === undefined) return `Unknown marker ${printable(first, 40)}`;
  const [hosts, type, digits] = marked ? fields.slice(1) : fields;
  if (hosts === undefined || type === undefined || digits === undefined) return 'Fewer than three fields';
  if (hosts.startsWith('@')) return 'More than one marker';
  const names = parseNames(hosts);
  if (names === undefined) return 'A hashed host name that is not |1|salt|hash';
  if (/^[0-9]+$/.test(type)) return 'A key of SSH 1';
  const blob = fromBase64(digits);
  if (blob === undefined) return 'The key is not base64';
  try {
    // a certificate that is revoked stands for the key in it, as in OpenSSH: what is meant to be revoked must not be missed
    const shown = marker === 'revoked' ? parseShownKey(blob) : shownKey(parsePublicKey(blob));
    if (shown.type !== type) return `A key of type ${shown.type} under the name of ${printable(type, 64)}`;
    return { marker, names, keyType: type, blob: shown.key.blob };
  } catch (error) {
    if (error instanceof SshError) return error.message;
    throw error;
  }
}

/** The hosts field of a line; `undefined` if it is a hashed name that is damaged. */
export function parseNames(hosts: string): HostNames | undefined {
  if (!hosts.startsWith('|')) return { form: 'patterns', list: hosts };
  const [, salt, hash] = /^\|1\|([^|]+)\|([^|]+)$/.exec(hosts)?.map(fromBase64) ?? [];
  if (salt?.length !== HASH_SIZE || hash?.length !== HASH_SIZE) return undefined;
  return { form: 'hashed', salt, hash };
}

/** The name that lines give a host: as it is for port 22, `[host]:port` for any other. Throws `bad-argument`. */
export function knownHostsName(host: string, port: number): string {
  if (host === '') throw new SshError('bad-argument', 'The host name is empty');
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw new SshError('bad-argument', `Not a port: ${port}`);
  const name = lowerAscii(host);
  return port === SSH_PORT ? name : `[${name}]:${port}`;
}

/** The entries about a host at a port, in order, whatever their marker. `host` may be an address. */
export function matchKnownHosts(
  crypto: Pick<CryptoProvider, 'macs'>,
  entries: readonly KnownHostsEntry[],
  host: string,
  port: number,
): KnownHostsEntry[] {
  const name = knownHostsName(host, port);
  return entries.filter(({ names }) => matchNames(crypto, names, name));
}

/** Whether a line is about `name`, which is as `knownHostsName` gives it. */
export function matchNames(crypto: Pick<CryptoProvider, 'macs'>, names: HostNames, name: string): boolean {
  if (names.form === 'patterns') return matchPatternList(name, names.list);
  return equalBytes(hashName(crypto, names.salt, utf8(name)), names.hash);
}

/** A name hashed under a fresh salt, as it stands in a line. */
export function formatHashedName(crypto: Pick<CryptoProvider, 'macs' | 'random'>, name: string): string {
  const salt = crypto.random(HASH_SIZE);
  return `|1|${base64(salt)}|${base64(hashName(crypto, salt, utf8(name)))}`;
}

function hashName(crypto: Pick<CryptoProvider, 'macs'>, salt: Uint8Array, name: Uint8Array): Uint8Array {
  return crypto.macs['hmac-sha1'].create(salt).compute(name, new Uint8Array(0));
}

/**
 * The entries under `[host]:port`, and those under the plain name, which OpenSSH asks too before it calls a key unknown:
 * a host that is known at port 22 has the same key behind another port.
 */
function bothNames(
  crypto: Pick<CryptoProvider, 'macs'>,
  entries: readonly KnownHostsEntry[],
  host: string,
  port: number,
): { readonly exact: KnownHostsEntry[]; readonly plain: KnownHostsEntry[] } {
  const exact = matchKnownHosts(crypto, entries, host, port);
  return { exact, plain: port === SSH_PORT ? [] : matchKnownHosts(crypto, entries, host, SSH_PORT) };
}

/** Whether a line says that its key is the host's own. */
function isKey({ marker }: KnownHostsEntry): boolean {
  return marker === 'none';
}

/** Whether a line says that its key certifies hosts. */
function isAuthority({ marker }: KnownHostsEntry): boolean {
  return marker === 'cert-authority';
}

/** The lines that name an authority for a host, also those under its plain name. */
export function knownAuthorities(
  crypto: Pick<CryptoProvider, 'macs'>,
  entries: readonly KnownHostsEntry[],
  host: string,
  port: number,
): KnownHostsEntry[] {
  const { exact, plain } = bothNames(crypto, entries, host, port);
  return [...exact, ...plain].filter(isAuthority);
}

/**
 * What `entries` say about a key, or a certificate, at `now` (milliseconds since 1970). As in OpenSSH, a host that is known under
 * other keys only is `changed` even when those are of another type, lines under the plain name can make a key at another port
 * `known`, but not `changed`, and a certificate that no known authority vouches for counts as its key. Stricter than OpenSSH in two
 * points: a revocation under the plain name always counts, and what a known authority vouches for wrongly is never `unknown`.
 */
export function checkHostKey(
  crypto: CryptoProvider,
  entries: readonly KnownHostsEntry[],
  host: string,
  port: number,
  shown: ShownKey,
  now: number,
): MaybePromise<HostKeyVerdict> {
  const { exact, plain } = bothNames(crypto, entries, host, port);
  const both = [...exact, ...plain];
  const { key, certificate } = shown;
  const revoked = findRevoked(both, key.blob, 'key') ?? findRevoked(both, certificate?.authority.blob, 'authority');
  if (revoked !== undefined) return revoked;
  if (certificate === undefined) return checkPlainKey(crypto, exact, plain, key.blob);
  const authorities = both.filter(isAuthority);
  return whenReady(judgeHostCertificate(crypto, authorities, host, certificate, now), (judged) => {
    if (judged?.state === 'certified') return judged;
    const verdict = checkPlainKey(crypto, exact, plain, key.blob);
    return verdict.state === 'unknown' ? (judged ?? verdict) : verdict;
  });
}

function findRevoked(
  entries: readonly KnownHostsEntry[],
  blob: Uint8Array | undefined,
  what: 'key' | 'authority',
): HostKeyVerdict | undefined {
  if (blob === undefined) return undefined;
  const found = entries.find((entry) => entry.marker === 'revoked' && equalBytes(entry.blob, blob));
  return found && { state: 'revoked', what, source: found.source, line: found.line };
}

function checkPlainKey(
  crypto: Pick<CryptoProvider, 'hashes'>,
  exact: readonly KnownHostsEntry[],
  plain: readonly KnownHostsEntry[],
  blob: Uint8Array,
): HostKeyVerdict {
  const exactKeys = exact.filter(isKey);
  const keys = exactKeys.length > 0 ? exactKeys : plain.filter(isKey);
  const known = keys.find((entry) => equalBytes(entry.blob, blob));
  if (known !== undefined) return { state: 'known', source: known.source, line: known.line };
  if (exactKeys.length === 0) return { state: 'unknown' };
  return {
    state: 'changed',
    known: exactKeys.map(({ keyType, blob: other, source, line }) => {
      return { type: keyType, fingerprint: fingerprint(crypto, other), source, line };
    }),
  };
}

/**
 * The types of the keys that a host is known under, each once, in the order of the lines; before them those of all certificates
 * where an authority is known for the host. Asking for these first in negotiation keeps a known host from showing a key that is
 * not known.
 */
export function knownKeyTypes(
  crypto: Pick<CryptoProvider, 'macs'>,
  entries: readonly KnownHostsEntry[],
  host: string,
  port: number,
): string[] {
  const { exact, plain } = bothNames(crypto, entries, host, port);
  const types = (found: KnownHostsEntry[]) => found.filter(isKey).map(({ keyType }) => keyType);
  const certificates = [...exact, ...plain].some(isAuthority) ? hostCertificateTypes() : [];
  return [...new Set([...certificates, ...(exact.some(isKey) ? types(exact) : types(plain))])];
}

/**
 * The line for a key, without an end of line. With `hashWith` the name is hashed under a fresh salt. Throws `bad-argument`
 * for a host name that cannot stand in the file without meaning something else, `decode` for a blob without a type.
 */
export function formatKnownHostsLine(
  host: string,
  port: number,
  blob: Uint8Array,
  hashWith?: Pick<CryptoProvider, 'macs' | 'random'>,
): string {
  if (/[\s,*?!|#@[\]]/.test(host) || printable(host, host.length) !== host) {
    throw new SshError('bad-argument', `'${printable(host)}' is not a host name that can stand in a known_hosts file`);
  }
  const name = knownHostsName(host, port);
  return `${hashWith === undefined ? name : formatHashedName(hashWith, name)} ${formatPublicKeyLine(blob)}`;
}
