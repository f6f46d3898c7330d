/**
 * What a message row is, and how rows encode and decode. A row names a message once: its number, its RFC name, its
 * category for the phase table, and its fields. Bulk messages are coded by hand in `connection.ts`.
 */

import { Reader } from '../bytes/reader.ts';
import { type Layout, readFields, type ValueOf, writeFields } from '../bytes/schema.ts';
import { Writer } from '../bytes/writer.ts';

/**
 * Which rule of the phase table a message falls under: `disconnect` (1), `control` (2–4, legal at nearly any time),
 * `service-request` (5), `service-accept` (6), `ext-info` (7), `kexinit` (20), `newkeys` (21), `exchange` (30–49),
 * `auth-request` (50, 60–79 from the client), `auth-reply` (51, 52, 53, 60–79 from the server), `connection` (80–100),
 * `ping` (192, 193).
 */
export type Category =
  | 'disconnect'
  | 'control'
  | 'service-request'
  | 'service-accept'
  | 'ext-info'
  | 'kexinit'
  | 'newkeys'
  | 'exchange'
  | 'auth-request'
  | 'auth-reply'
  | 'connection'
  | 'ping';

/** One message: what the table says about it. */
export interface Row<L extends Layout = Layout> {
  readonly number: number;
  /** Its name in the RFC, such as `SSH_MSG_KEXINIT`. */
  readonly name: string;
  readonly category: Category;
  readonly fields: L;
}

/** The value that a row describes. */
export type MessageOf<R extends Row> = ValueOf<R['fields']>;

/** The payload of a packet: message number, then the fields. */
export function encode<R extends Row>(row: R, value: MessageOf<R>): Uint8Array {
  const writer = new Writer();
  writer.u8(row.number);
  writeFields(writer, row.fields, value as ValueOf<Layout>);
  return writer.finish();
}

/** The message in `payload`, whose number the caller has looked at; throws `decode` on any other shape. */
export function decode<R extends Row>(row: R, payload: Uint8Array): MessageOf<R> {
  const reader = new Reader(payload, 1);
  const value = readFields(reader, row.fields);
  reader.expectEnd(row.name);
  return value as MessageOf<R>;
}
