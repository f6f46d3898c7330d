/**
 * The list of `from="…"` in authorized_keys (sshd(8)): host names, addresses and networks, with `*`, `?` and `!`. Decides as
 * OpenSSH's match_host_and_ip does, and refuses when the list is read what OpenSSH lets stand without ever matching it:
 * behind a `!` that would let in whom it was to keep out. Must not look up names.
 */

import { printable } from '../bytes/text.ts';
import { lowerAscii, MAX_PATTERN, matchPattern } from './host_pattern.ts';
import { formatIpAddress, type IpNetwork, inNetwork, parseIpAddress, parseIpNetwork } from './ip_address.ts';

/** One item of a list. */
export type FromPattern = { readonly negated: boolean } & (
  | { readonly form: 'network'; readonly network: IpNetwork }
  | { readonly form: 'wildcard'; readonly pattern: string }
);

/** The items of a list, or the reason why it is none. */
export function parseFromList(list: string): FromPattern[] | string {
  const patterns: FromPattern[] = [];
  for (const item of list.split(',')) {
    const negated = item.startsWith('!');
    const pattern = parseItem(negated ? item.slice(1) : item);
    if (typeof pattern === 'string') return pattern;
    patterns.push({ negated, ...pattern });
  }
  return patterns;
}

type Item<T> = T extends unknown ? Omit<T, 'negated'> : never;

function parseItem(text: string): Item<FromPattern> | string {
  const shown = printable(text, 60);
  if (text === '') return 'an item is empty';
  if (text.length > MAX_PATTERN) return `'${shown}' is longer than ${MAX_PATTERN} characters`;
  if (/\s/.test(text)) return `'${shown}' has a blank in it; items are separated by commas alone`;
  if (text.includes('%')) return `'${shown}' has a zone, which cannot be compared`;
  const network = parseIpNetwork(text);
  if (typeof network !== 'string') return { form: 'network', network };
  const isPattern = /[*?]/.test(text);
  if (text.includes('/') || (!isPattern && looksLikeAddress(text))) return `'${shown}' is no network: ${network}`;
  return { form: 'wildcard', pattern: lowerAscii(text) };
}

/** Whether a text cannot be a host name: it has a colon or a bracket, or the last of its labels is a number. */
function looksLikeAddress(text: string): boolean {
  return /[:[\]]/.test(text) || /(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/i.test(text);
}

/**
 * Whether at least one item matches and none that is negated does. `host` is the name of `address`, and only true if it
 * leads back to the address; without it items that are names match nothing. Without an address nothing matches.
 */
export function matchFromList(patterns: readonly FromPattern[], address: string | undefined, host?: string): boolean {
  const bytes = address === undefined ? undefined : parseIpAddress(address);
  if (bytes === undefined) return false;
  const text = formatIpAddress(bytes);
  const name = host === undefined ? undefined : lowerAscii(host);
  let matched = false;
  for (const item of patterns) {
    if (item.form === 'network' ? !inNetwork(bytes, item.network) : !matchesText(item, text, name)) continue;
    if (item.negated) return false;
    matched = true;
  }
  return matched;
}

/**
 * `10.0.0.*` is meant for addresses. Whoever owns `10.0.0.1.example` does not get in by it, unlike with OpenSSH, but does
 * get kept out.
 */
function matchesText(
  { negated, pattern }: { negated: boolean; pattern: string },
  text: string,
  name?: string,
): boolean {
  if (matchPattern(text, pattern)) return true;
  return name !== undefined && (negated || isForNames(pattern)) && matchPattern(name, pattern);
}

function isForNames(pattern: string): boolean {
  return !pattern.includes(':') && /[^\d.*?]/.test(pattern);
}
