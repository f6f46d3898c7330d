/** EXT_INFO: RFC 8308 §2.3. Names of extensions are names, values are bytes; unknown ones are kept and mean nothing. */

import { copy } from '../bytes/bytes.ts';
import { Reader } from '../bytes/reader.ts';
import { latin1 } from '../bytes/text.ts';
import { Writer } from '../bytes/writer.ts';
import { protocolError } from '../errors.ts';
import { decode, encode } from '../wire/message.ts';
import { transport } from '../wire/transport.ts';
import type { Limits } from './limits.ts';
import type { Quirks } from './quirks.ts';

/** RFC 8332 §3. */
const RSA_SHA2 = ['rsa-sha2-512', 'rsa-sha2-256'];

/** Decodes an EXT_INFO. Of a repeated name the later value counts. */
export function readExtInfo(payload: Uint8Array, limits: Limits): Map<string, Uint8Array> {
  const { count, pairs } = decode(transport.extInfo, payload);
  if (count > limits.extensions) {
    throw protocolError(`EXT_INFO announces ${count} extensions; ${limits.extensions} are allowed`);
  }
  const reader = new Reader(pairs);
  const extensions = new Map<string, Uint8Array>();
  for (let i = 0; i < count; i++) extensions.set(reader.name(), copy(reader.string()));
  reader.expectEnd(transport.extInfo.name);
  return extensions;
}

/** Encodes an EXT_INFO. */
export function buildExtInfo(extensions: ReadonlyMap<string, string>): Uint8Array {
  const writer = new Writer();
  for (const [name, value] of extensions) writer.string(name).string(value);
  return encode(transport.extInfo, { count: extensions.size, pairs: writer.finish() });
}

/** The value of `server-sig-algs` (RFC 8308 §3.1), if it is there, with what the peer takes although it does not say so. */
export function serverSigAlgs(
  extensions: ReadonlyMap<string, Uint8Array>,
  quirks: Quirks,
): readonly string[] | undefined {
  const value = extensions.get('server-sig-algs');
  if (value === undefined) return undefined;
  const names = value.length === 0 ? [] : latin1(value).split(',');
  return quirks.takesRsaSha2Unsaid ? [...names, ...RSA_SHA2.filter((name) => !names.includes(name))] : names;
}
