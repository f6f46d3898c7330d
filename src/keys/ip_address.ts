/**
 * IP addresses and networks as text: dotted decimal, RFC 4291 §2.2 and §2.3, RFC 4632 §3.1; written as RFC 5952 wants it.
 * An IPv4 address that is mapped into IPv6 is that IPv4 address: which of the two a socket shows depends on how it
 * listens. Must not know names, nor what an address is for.
 */

import { equalBytes } from '../bytes/bytes.ts';

/** Longest address in characters: six groups and a dotted IPv4 address. */
const MAX_ADDRESS = 45;

/** Bits of the prefix of IPv4-mapped addresses, `::ffff:0:0/96`: RFC 4291 §2.5.5.2. */
const MAPPED_BITS = 96;

/** All addresses that have their first `bits` bits in common with `address`; the others are zero there. */
export interface IpNetwork {
  /** 4 or 16 bytes. */
  readonly address: Uint8Array;
  readonly bits: number;
}

/**
 * The 4 or 16 bytes of an address, `undefined` for anything else. A zone such as `%eth0` is left out. Neither shorter nor
 * octal forms of IPv4 are addresses.
 */
export function parseIpAddress(text: string): Uint8Array | undefined {
  const zone = text.indexOf('%');
  const bytes = parseBytes(zone < 0 ? text : text.slice(0, zone));
  if (bytes === undefined || (zone >= 0 && bytes.length === 4)) return undefined;
  return isMapped(bytes) ? bytes.slice(12) : bytes;
}

/** The network `address/bits`, or `address` alone, which is a network of one; otherwise the reason why it is none. */
export function parseIpNetwork(text: string): IpNetwork | string {
  const slash = text.indexOf('/');
  const bytes = parseBytes(slash < 0 ? text : text.slice(0, slash));
  if (bytes === undefined) return 'it is no IP address';
  const digits = slash < 0 ? String(bytes.length * 8) : text.slice(slash + 1);
  const bits = /^\d{1,3}$/.test(digits) ? Number(digits) : Number.NaN;
  if (!(bits <= bytes.length * 8)) return `it needs 0 to ${bytes.length * 8} bits behind the slash`;
  if (!equalBytes(bytes, withoutHost(bytes, bits))) return `it has bits set after the first ${bits}`;
  return isMapped(bytes) ? { address: bytes.slice(12), bits: bits - MAPPED_BITS } : { address: bytes, bits };
}

/** Whether an address belongs to a network. No IPv4 address belongs to a network of IPv6, and the other way round. */
export function inNetwork(address: Uint8Array, network: IpNetwork): boolean {
  return equalBytes(withoutHost(address, network.bits), network.address);
}

/** The text of an address: lower case, the longest run of zero groups as `::`. */
export function formatIpAddress(address: Uint8Array): string {
  if (address.length === 4) return address.join('.');
  const groups = Array.from(
    { length: 8 },
    (_, i) => ((address[2 * i] as number) << 8) | (address[2 * i + 1] as number),
  );
  const { start, length } = longestZeros(groups);
  const text = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':');
  if (length < 2) return text(groups);
  return `${text(groups.slice(0, start))}::${text(groups.slice(start + length))}`;
}

function longestZeros(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  for (let at = 0; at < groups.length; at++) {
    let end = at;
    while (groups[end] === 0) end++;
    if (end - at > best.length) best = { start: at, length: end - at };
    at = Math.max(at, end - 1);
  }
  return best;
}

function withoutHost(address: Uint8Array, bits: number): Uint8Array {
  return address.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - 8 * i))));
}

function isMapped(bytes: Uint8Array): boolean {
  return bytes.length === 16 && bytes.every((byte, i) => i >= 12 || byte === (i < 10 ? 0 : 0xff));
}

function parseBytes(text: string): Uint8Array | undefined {
  if (text.length > MAX_ADDRESS) return undefined;
  const bytes = text.includes(':') ? parseV6(text) : parseV4(text);
  return bytes === undefined ? undefined : Uint8Array.from(bytes);
}

function parseV4(text: string): number[] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function parseV6(text: string): number[] | undefined {
  const halves = text.split('::');
  const [head, tail] = halves.map((half, i) => parseGroups(half, i === halves.length - 1));
  if (halves.length > 2 || head === undefined) return undefined;
  if (halves.length === 1) return head.length === 16 ? head : undefined;
  if (tail === undefined || head.length + tail.length > 14) return undefined; // `::` stands for one group at least
  return [...head, ...new Array<number>(16 - head.length - tail.length).fill(0), ...tail];
}

/** Groups between colons as bytes; the last of an address may be a dotted IPv4 address. */
function parseGroups(text: string, last: boolean): number[] | undefined {
  if (text === '') return [];
  const groups = text.split(':');
  const bytes: number[] = [];
  for (const [i, group] of groups.entries()) {
    if (last && i === groups.length - 1 && group.includes('.')) {
      const v4 = parseV4(group);
      if (v4 === undefined) return undefined;
      bytes.push(...v4);
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(group)) return undefined;
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    }
  }
  return bytes;
}
