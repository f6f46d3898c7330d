/** The first line of a stream, for a password that is passed on standard input. */

import { SshError } from '../errors.ts';

const MAX_LENGTH = 65536; // far above any password; a large file piped in by mistake ends here
const LINE_FEED = 0x0a;

/** A stream that can be read and given up. */
export interface LineInput extends AsyncIterable<Uint8Array | string> {
  destroy(): unknown;
}

/** Reads up to the first line feed, which with a carriage return before it is dropped, and reads no more after. */
export async function readFirstLine(input: LineInput): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input) {
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;
    const end = bytes.indexOf(LINE_FEED);
    chunks.push(end < 0 ? bytes : bytes.subarray(0, end));
    length += bytes.length;
    if (end >= 0) break;
    if (length > MAX_LENGTH) throw new SshError('bad-argument', 'Standard input begins with no line to be a password');
  }
  input.destroy();
  const text = await new Blob(chunks as Uint8Array<ArrayBuffer>[]).text();
  return text.replace(/\r$/, '');
}
