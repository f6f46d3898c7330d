/**
 * The replies of a server: draft-ietf-secsh-filexfer-02 §7. Whole packets, length field included; a DATA is `dataHeader` and its
 * payload, which is not copied. Knows no requests.
 */

import { putUint32 } from '../../bytes/bytes.ts';
import { type Attributes, encodeAttributes } from './attrs.ts';
import { encodeNames } from './names.ts';
import { encodePacket, packets } from './packets.ts';
import { encodeStatusText, Status, statusMeaning } from './status.ts';

/** STATUS. `message` is for people; without one, what the code means. */
export function statusReply(id: number, code: number, message: string = statusMeaning(code)): Uint8Array {
  return encodePacket(packets.status, { id, code, text: encodeStatusText(message) });
}

/** A STATUS of success: of these a server sends one for each WRITE. */
export function okReply(id: number): Uint8Array {
  const packet = OK.slice();
  putUint32(packet, 5, id);
  return packet;
}

const OK = statusReply(0, Status.ok);

/** HANDLE. */
export function handleReply(id: number, handle: Uint8Array): Uint8Array {
  return encodePacket(packets.handle, { id, handle });
}

/** ATTRS. Times that no uint32 holds become the nearest that one does. */
export function attrsReply(id: number, attrs: Attributes): Uint8Array {
  return encodePacket(packets.attrs, { id, attrs: encodeAttributes(attrs, 'clamp') });
}

/** NAME of `count` entries, whose bytes are `entries`, see `encodeNames`. */
export function namesReply(id: number, count: number, entries: Uint8Array): Uint8Array {
  return encodePacket(packets.name, { id, count, entries });
}

/** The NAME that answers REALPATH and READLINK: one name, which says nothing of a file (§6.10, §6.11). */
export function pathReply(id: number, path: Uint8Array): Uint8Array {
  return namesReply(id, 1, encodeNames([{ name: path, longname: path, attrs: {} }]));
}

/** EXTENDED_REPLY. */
export function extendedReply(id: number, body: Uint8Array): Uint8Array {
  return encodePacket(packets.extendedReply, { id, body });
}
