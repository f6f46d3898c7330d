/** Standard output as a place for content: waits for whoever reads it, and says when nobody does any more. */

import process from 'node:process';
import { SshError } from '../errors.ts';

/** The cause of an error: whoever read standard output has stopped, as `head` does. No failure of ours, and nobody to tell. */
class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}

/** Writes all bytes; resolves when there is room for more. */
export function writeOutput(stream: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => {
      if (error) reject(outputError(error));
      else resolve();
    });
  });
}

/** Standard output as a stream that a download can go to. */
export function outputStream(): WritableStream<Uint8Array> {
  return new WritableStream({ write: (bytes) => writeOutput(process.stdout, bytes) }, { highWaterMark: 2 });
}

/** Whether an error comes of `OutputClosed`. */
export function isOutputClosed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof OutputClosed || isOutputClosed(error.cause);
}

function outputError(error: Error): SshError {
  const closed = (error as { code?: unknown }).code === 'EPIPE';
  return new SshError('bad-local-file', `Cannot write to standard output: ${error.message}`, {
    operation: 'write',
    cause: closed ? new OutputClosed() : error,
  });
}

/** Writes text to standard output. */
export function print(text: string): Promise<void> {
  return writeOutput(process.stdout, new TextEncoder().encode(text));
}
