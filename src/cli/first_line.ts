/** The first lines of a stream, for passwords that are passed on standard input. */

import { SshError } from '../errors.ts';

const MAX_LENGTH = 65536; // far above any password; a large file piped in by mistake ends here
const LINE_FEED = 0x0a;

/** A stream that can be read and given up. */
export interface LineInput extends AsyncIterable<Uint8Array | string> {
  destroy(): unknown;
}

/** Reads up to the first line feed, which with a carriage return before it is dropped, and reads no more after. */
export async function readFirstLine(input: LineInput): Promise<string> {
  return (await readLines(input, 1))[0] as string;
}

/** The same for the first `count` lines; of what ends before, there are fewer, but one at least. */
export async function readLines(input: LineInput, count: number): Promise<readonly string[]> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let found = 0;
  for await (const chunk of input) {
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;
    chunks.push(bytes);
    length += bytes.length;
    for (const byte of bytes) if (byte === LINE_FEED) found++;
    if (found >= count) break;
    if (length > MAX_LENGTH) throw new SshError('bad-argument', 'Standard input begins with no line to be a password');
  }
  input.destroy();
  const text = await new Blob(chunks as Uint8Array<ArrayBuffer>[]).text();
  const lines = text.split('\n').slice(0, count);
  return lines.map((line) => line.replace(/\r$/, ''));
}
