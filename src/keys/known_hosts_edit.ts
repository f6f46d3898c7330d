/**
 * Changes of known_hosts files: text in, text out, and every byte that is not about the change stays. Finds, removes and hashes the
 * lines that `ssh-keygen -F`, `-R` and `-H` do. Must not know where files are.
 */

import { equalBytes } from '../bytes/bytes.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { lowerAscii } from './host_pattern.ts';
import {
  formatHashedName,
  formatKnownHostsLine,
  knownHostsName,
  MAX_LINE,
  matchNames,
  parseKnownHostsLine,
  parseNames,
} from './known_hosts.ts';

/** A line about a host. */
export interface FoundLine {
  /** From 1. */
  readonly line: number;
  readonly marker: 'none' | 'revoked' | 'cert-authority';
  /** Without its line feed. */
  readonly text: string;
}

/** Fields of a line, whatever its key is; with what is between them they make up the line again. */
interface Fields {
  readonly marker: FoundLine['marker'];
  readonly before: string;
  readonly hosts: string;
  readonly after: string;
}

const markerNames = { '@revoked': 'revoked', '@cert-authority': 'cert-authority' } as const;

/** Lines with their ends. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function withoutEnd(line: string): string {
  return line.replace(/\r?\n$/, '');
}

/** Nothing for comments, blanks, keys of SSH 1, and lines that have no hosts or no key. */
function fieldsOf(line: string): Fields | undefined {
  if (line.length > MAX_LINE) return undefined;
  const found =
    /^(\ufeff?[ \t]*(?:(@\S+)[ \t]+)?)([^\s#@][^ \t\r\n]*)([ \t]+(?![0-9]+[ \t])[^\s#]\S*[ \t]+[^\s#].*)$/s.exec(line);
  if (found === null) return undefined;
  const [, before = '', mark, hosts = '', after = ''] = found;
  const marker = mark === undefined ? 'none' : markerNames[mark as keyof typeof markerNames];
  return marker && { marker, before, hosts, after };
}

function isAbout(crypto: Pick<CryptoProvider, 'macs'>, { hosts }: Fields, name: string): boolean {
  const names = parseNames(hosts);
  return names !== undefined && matchNames(crypto, names, name);
}

/** The lines about a host, whatever their marker and key: those of `ssh-keygen -F`. Throws `bad-argument` for what is no host. */
export function findHost(crypto: Pick<CryptoProvider, 'macs'>, text: string, host: string, port: number): FoundLine[] {
  const name = knownHostsName(host, port);
  return linesOf(text).flatMap((line, index) => {
    const fields = fieldsOf(line);
    if (fields === undefined || !isAbout(crypto, fields, name)) return [];
    return [{ line: index + 1, marker: fields.marker, text: line.replace(/\n$/, '') }];
  });
}

/** What `ssh-keygen -F` prints about lines that were found. */
export function formatFoundLines(host: string, port: number, found: readonly FoundLine[]): string {
  const name = knownHostsName(host, port);
  const marks = { none: '', revoked: 'REVOKED', 'cert-authority': 'CA' };
  return found
    .map(({ line, marker, text }) => `# Host ${name} found: line ${line} ${marks[marker]}\n${text}\n`)
    .join('');
}

/**
 * The text without the keys of a host, and the numbers of the lines that have gone, as `ssh-keygen -R` does it: a line goes whole,
 * also if it names other hosts too; lines of authorities and revocations stay. Throws `bad-argument`.
 */
export function removeHost(
  crypto: Pick<CryptoProvider, 'macs'>,
  text: string,
  host: string,
  port: number,
): { readonly text: string; readonly removed: readonly number[] } {
  const found = findHost(crypto, text, host, port).filter(({ marker }) => marker === 'none');
  const removed = found.map(({ line }) => line);
  const gone = new Set(removed);
  const kept = linesOf(text).filter((_, index) => !gone.has(index + 1));
  return { text: kept.join(''), removed };
}

/**
 * The text with the names of hosts hashed, as `ssh-keygen -H` does it: each name of a line gets one of its own. Names with wildcards
 * and those of authorities and revocations cannot be hashed: `left` has the numbers of their lines.
 */
export function hashHosts(
  crypto: Pick<CryptoProvider, 'macs' | 'random'>,
  text: string,
): { readonly text: string; readonly left: readonly number[] } {
  const left: number[] = [];
  const lines = linesOf(text).map((line, index) => {
    const fields = fieldsOf(line);
    if (fields === undefined || fields.hosts.startsWith('|')) return line;
    if (fields.marker !== 'none' || isPattern(fields.hosts)) {
      left.push(index + 1);
      return line;
    }
    const names = fields.hosts.split(',').filter((name) => name !== '');
    const rest = fields.after.trimStart();
    const end = rest.endsWith('\n') ? '' : '\n';
    const hashed = names.map((name) => `${formatHashedName(crypto, lowerAscii(name))} ${rest}`);
    return hashed.join(end);
  });
  return { text: lines.join(''), left };
}

function isPattern(hosts: string): boolean {
  return /[*?!]/.test(hosts);
}

/** The text with a line for the key of a host at its end. With `hashWith` the name is hashed. Throws `bad-argument`. */
export function addHost(
  text: string | undefined,
  host: string,
  port: number,
  blob: Uint8Array,
  hashWith?: Pick<CryptoProvider, 'macs' | 'random'>,
): string {
  return addLine(text ?? '', formatKnownHostsLine(host, port, blob, hashWith));
}

function addLine(text: string, line: string): string {
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`;
}

/** What is to become of the keys of a host. Blobs of keys. */
export interface KeyReplacement {
  /** The key that the host has proved itself with: nothing is changed if the text does not know it by itself. */
  readonly used: Uint8Array;
  /** All keys of the host: lines with others go. */
  readonly all: readonly Uint8Array[];
  /** Those of them that are new. */
  readonly added: readonly Uint8Array[];
}

/**
 * The text with the keys of a host replaced; `undefined` if there is nothing to change. Only lines without a marker that name the
 * host at this port, and no pattern, count: where none of them has the used key nothing is changed. A line with other hosts too
 * loses the one name. New names are hashed if those of the host are.
 */
export function replaceKeys(
  crypto: Pick<CryptoProvider, 'macs' | 'random'>,
  text: string,
  host: string,
  port: number,
  { used, all, added }: KeyReplacement,
): string | undefined {
  const name = knownHostsName(host, port);
  const lines = linesOf(text).map((line) => ({ line, key: ownKey(crypto, line, name) }));
  const own = lines.filter(({ key }) => key !== undefined) as { line: string; key: Uint8Array }[];
  const holds = (blob: Uint8Array): boolean => own.some(({ key }) => equalBytes(key, blob));
  if (!holds(used)) return undefined;
  const keeps = [used, ...all];
  const isStale = (key: Uint8Array | undefined): boolean =>
    key !== undefined && !keeps.some((blob) => equalBytes(blob, key));
  const kept = lines.map(({ line, key }) => (isStale(key) ? withoutName(line, name) : line)).join('');
  const hashWith = own.some(({ line }) => fieldsOf(line)?.hosts.startsWith('|')) ? crypto : undefined;
  const fresh = added.filter((blob) => !holds(blob));
  const changed = fresh.reduce((sum, blob) => addHost(sum, host, port, blob, hashWith), kept);
  return changed === text ? undefined : changed;
}

/** The key of a line that names the host itself and is not about others by a pattern. */
function ownKey(crypto: Pick<CryptoProvider, 'macs'>, line: string, name: string): Uint8Array | undefined {
  const entry = parseKnownHostsLine(withoutEnd(line));
  if (typeof entry !== 'object' || entry.marker !== 'none') return undefined;
  if (entry.names.form === 'patterns' && isPattern(entry.names.list)) return undefined;
  return matchNames(crypto, entry.names, name) ? entry.blob : undefined;
}

/** The line without one of its names; nothing is left of it if that is the only one. */
function withoutName(line: string, name: string): string {
  const fields = fieldsOf(line);
  const others = fields?.hosts.split(',').filter((each) => lowerAscii(each) !== name) ?? [];
  if (fields === undefined || fields.hosts.startsWith('|') || others.length === 0) return '';
  return `${fields.before}${others.join(',')}${fields.after}`;
}
