/** Rows of the connection protocol (RFC 4254), and its two bulk messages, coded by hand so that their data is never copied. */

import { putUint32, uint32At } from '../bytes/bytes.ts';
import { DecodeError } from '../bytes/reader.ts';

/** Messages 80–100. `CHANNEL_DATA` and `CHANNEL_EXTENDED_DATA` stand here for the table; code them with the functions below. */
export const connection = {
  globalRequest: {
    number: 80,
    name: 'SSH_MSG_GLOBAL_REQUEST',
    category: 'connection',
    fields: { request: 'name', wantReply: 'boolean', body: 'rest' },
  },
  requestSuccess: { number: 81, name: 'SSH_MSG_REQUEST_SUCCESS', category: 'connection', fields: { body: 'rest' } },
  requestFailure: { number: 82, name: 'SSH_MSG_REQUEST_FAILURE', category: 'connection', fields: {} },
  channelOpen: {
    number: 90,
    name: 'SSH_MSG_CHANNEL_OPEN',
    category: 'connection',
    fields: { kind: 'name', sender: 'uint32', window: 'uint32', maxPacket: 'uint32', body: 'rest' },
  },
  channelOpenConfirmation: {
    number: 91,
    name: 'SSH_MSG_CHANNEL_OPEN_CONFIRMATION',
    category: 'connection',
    fields: { recipient: 'uint32', sender: 'uint32', window: 'uint32', maxPacket: 'uint32', body: 'rest' },
  },
  channelOpenFailure: {
    number: 92,
    name: 'SSH_MSG_CHANNEL_OPEN_FAILURE',
    category: 'connection',
    fields: { recipient: 'uint32', reason: 'uint32', description: 'text', language: 'name' },
  },
  channelWindowAdjust: {
    number: 93,
    name: 'SSH_MSG_CHANNEL_WINDOW_ADJUST',
    category: 'connection',
    fields: { recipient: 'uint32', bytes: 'uint32' },
  },
  channelData: {
    number: 94,
    name: 'SSH_MSG_CHANNEL_DATA',
    category: 'connection',
    fields: { recipient: 'uint32', data: 'string' },
  },
  channelExtendedData: {
    number: 95,
    name: 'SSH_MSG_CHANNEL_EXTENDED_DATA',
    category: 'connection',
    fields: { recipient: 'uint32', kind: 'uint32', data: 'string' },
  },
  channelEof: { number: 96, name: 'SSH_MSG_CHANNEL_EOF', category: 'connection', fields: { recipient: 'uint32' } },
  channelClose: { number: 97, name: 'SSH_MSG_CHANNEL_CLOSE', category: 'connection', fields: { recipient: 'uint32' } },
  channelRequest: {
    number: 98,
    name: 'SSH_MSG_CHANNEL_REQUEST',
    category: 'connection',
    fields: { recipient: 'uint32', request: 'name', wantReply: 'boolean', body: 'rest' },
  },
  channelSuccess: {
    number: 99,
    name: 'SSH_MSG_CHANNEL_SUCCESS',
    category: 'connection',
    fields: { recipient: 'uint32' },
  },
  channelFailure: {
    number: 100,
    name: 'SSH_MSG_CHANNEL_FAILURE',
    category: 'connection',
    fields: { recipient: 'uint32' },
  },
} as const;

/** The only extended data type that RFC 4254 §5.2 defines. */
export const EXTENDED_DATA_STDERR = 1;

/** Bytes of CHANNEL_DATA before the data: number, recipient, length. */
export const CHANNEL_DATA_HEADER = 9;

/** The header of a CHANNEL_DATA that carries `length` bytes. */
export function channelDataHeader(recipient: number, length: number): Uint8Array {
  const header = new Uint8Array(CHANNEL_DATA_HEADER);
  header[0] = connection.channelData.number;
  putUint32(header, 1, recipient);
  putUint32(header, 5, length);
  return header;
}

/** The header of a CHANNEL_EXTENDED_DATA of `kind` that carries `length` bytes. */
export function channelExtendedDataHeader(recipient: number, kind: number, length: number): Uint8Array {
  const header = new Uint8Array(CHANNEL_DATA_HEADER + 4);
  header[0] = connection.channelExtendedData.number;
  putUint32(header, 1, recipient);
  putUint32(header, 5, kind);
  putUint32(header, 9, length);
  return header;
}

/** A CHANNEL_DATA (`kind` 0) or CHANNEL_EXTENDED_DATA, its data a view of the payload. */
export interface ChannelData {
  readonly recipient: number;
  readonly kind: number;
  readonly data: Uint8Array;
}

/** Decodes a payload whose number is 94 or 95. */
export function decodeChannelData(payload: Uint8Array): ChannelData {
  const extended = payload[0] === connection.channelExtendedData.number;
  const start = extended ? CHANNEL_DATA_HEADER + 4 : CHANNEL_DATA_HEADER;
  if (payload.length < start || uint32At(payload, start - 4) !== payload.length - start) {
    throw new DecodeError(`Channel data of ${payload.length} bytes does not hold the length it states`);
  }
  return { recipient: uint32At(payload, 1), kind: extended ? uint32At(payload, 5) : 0, data: payload.subarray(start) };
}
