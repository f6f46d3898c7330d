/**
 * KEXINIT: building ours, reading the peer's, and finding what both accept (RFC 4253 §7.1), with the markers of RFC 8308 and
 * of strict key exchange (OpenSSH PROTOCOL §1.9), which stand among the method names and are never chosen.
 */

import { protocolError } from '../errors.ts';
import { decode, encode, type MessageOf } from '../wire/message.ts';
import { MARKER } from '../wire/numbers.ts';
import { transport } from '../wire/transport.ts';
import { ciphers } from './algorithms/ciphers.ts';
import type { AlgorithmCategory, AlgorithmLists } from './algorithms/lists.ts';
import type { DirectionAlgorithms, Negotiated, Role } from './events.ts';
import type { Limits } from './limits.ts';
import { noCommon } from './no_common.ts';

export type Kexinit = MessageOf<typeof transport.kexinit>;

/** What comparing the two KEXINITs gives. */
export interface Agreed {
  readonly negotiated: Negotiated;
  /** The peer has already sent a packet of a method that was not chosen: drop it. */
  readonly dropGuess: boolean;
}

/** What the peer's first KEXINIT says beside algorithms. */
export interface PeerMarkers {
  readonly strict: boolean;
  readonly extInfo: boolean;
}

/** Our KEXINIT. Markers go into the first one only, after the caller's list, whatever that list is. */
export function buildKexinit(role: Role, lists: AlgorithmLists, cookie: Uint8Array, first: boolean): Uint8Array {
  const markers =
    role === 'client' ? [MARKER.extInfoClient, MARKER.strictClient] : [MARKER.extInfoServer, MARKER.strictServer];
  return encode(transport.kexinit, {
    cookie,
    kex: first ? [...lists.kex, ...markers] : lists.kex,
    hostKey: lists.hostKeys,
    cipherToServer: lists.ciphers,
    cipherToClient: lists.ciphers,
    macToServer: lists.macs,
    macToClient: lists.macs,
    compressionToServer: lists.compression,
    compressionToClient: lists.compression,
    languageToServer: [],
    languageToClient: [],
    firstKexPacketFollows: false,
    reserved: 0,
  });
}

/** Decodes a KEXINIT from either side. */
export function readKexinit(payload: Uint8Array, limits: Limits): Kexinit {
  const message = decode(transport.kexinit, payload);
  for (const [field, value] of Object.entries(message)) {
    if (Array.isArray(value) && value.length > limits.namesInList) {
      throw protocolError(`KEXINIT names ${value.length} algorithms in ${field}; ${limits.namesInList} are allowed`);
    }
  }
  return message;
}

/** The markers in the peer's first KEXINIT. */
export function markersOf(peer: Kexinit, role: Role): PeerMarkers {
  return {
    strict: peer.kex.includes(role === 'client' ? MARKER.strictServer : MARKER.strictClient),
    extInfo: peer.kex.includes(role === 'client' ? MARKER.extInfoServer : MARKER.extInfoClient),
  };
}

const isMarker = (name: string): boolean => (Object.values(MARKER) as string[]).includes(name);

/** The first of the client's names that the server has too: RFC 4253 §7.1. */
function firstCommon(
  category: AlgorithmCategory,
  client: readonly string[],
  server: readonly string[],
  role: Role,
): string {
  const found = client.find((name) => server.includes(name) && !isMarker(name));
  if (found !== undefined) return found;
  const [ours, theirs] = (role === 'client' ? [client, server] : [server, client]).map((names) =>
    names.filter((name) => !isMarker(name)),
  ) as [string[], string[]];
  throw noCommon(category, ours, theirs, role);
}

/** Settles the algorithms; throws `no-common-algorithm`. */
export function agree(role: Role, ours: Kexinit, theirs: Kexinit): Agreed {
  const [client, server] = role === 'client' ? [ours, theirs] : [theirs, ours];
  const common = (category: AlgorithmCategory, key: ListField): string =>
    firstCommon(category, client[key], server[key], role);
  const direction = (suffix: 'ToServer' | 'ToClient'): DirectionAlgorithms => {
    const cipher = common('ciphers', `cipher${suffix}`);
    const compression = common('compression', `compression${suffix}`);
    if (ciphers.get(cipher)?.kind === 'aead') return { cipher, compression };
    return { cipher, mac: common('macs', `mac${suffix}`), compression };
  };
  return {
    negotiated: {
      kex: common('kex', 'kex'),
      hostKey: common('hostKeys', 'hostKey'),
      toServer: direction('ToServer'),
      toClient: direction('ToClient'),
    },
    dropGuess: theirs.firstKexPacketFollows && !guessIsRight(ours, theirs),
  };
}

type ListField = { [K in keyof Kexinit]: Kexinit[K] extends readonly string[] ? K : never }[keyof Kexinit];

/** RFC 4253 §7: the guess is right only if both sides' first method and first host key algorithm, as sent, agree. */
function guessIsRight(ours: Kexinit, theirs: Kexinit): boolean {
  return ours.kex[0] === theirs.kex[0] && ours.hostKey[0] === theirs.hostKey[0];
}
