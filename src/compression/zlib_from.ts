/**
 * zlib (RFC 1950) for SSH out of a library that has it in the shape of pako 3. The library is passed in, so that nothing is
 * imported where nobody compresses: `import * as pako from 'pako'; zlibFrom(pako)`.
 */

import { equalBytes, join } from '../bytes/bytes.ts';
import { utf8 } from '../bytes/text.ts';
import type { CompressionLibrary, Deflater, Inflater } from '../core/compression.ts';
import { checkTable, integer, type OptionTable } from '../core/option_checks.ts';
import { protocolError, SshError } from '../errors.ts';
import { DisconnectReason } from '../wire/numbers.ts';

/** A stream of pako, as far as it is used. */
export interface PakoStream {
  readonly err: number;
  readonly msg: string;
  push(data: Uint8Array, flush: 0 | 1 | 2): boolean;
  onData(chunk: Uint8Array): void;
}

/** The part of pako that is used: what `import * as pako from 'pako'` gives. */
export interface PakoLike {
  readonly Deflate: new (options: { level: number; windowBits: number; chunkSize: number }) => PakoStream;
  readonly Inflate: new (options: {
    windowBits: number;
    chunkSize: number;
  }) => PakoStream & { readonly ended: boolean };
}

/** What can be set. */
export interface ZlibOptions {
  /** From 1, fast, to 9, small. Default: 6, as OpenSSH's. */
  readonly level?: number;
}

const zlibTable: OptionTable<ZlibOptions> = { level: integer(1, 9) };

/** Bytes of the chunks that pako makes: most payloads are smaller. */
const CHUNK = 16 * 1024;

/** A window of 32 KiB, and a zlib header: with more bits pako would take gzip too. */
const WINDOW_BITS = 15;

const NO_FLUSH = 0;
/** RFC 4253 §6.2. */
const PARTIAL_FLUSH = 1;
const SYNC_FLUSH = 2;

class ZlibDeflater implements Deflater {
  readonly #stream: PakoStream;
  #chunks: Uint8Array[] = [];

  constructor({ Deflate }: PakoLike, level: number) {
    this.#stream = new Deflate({ level, windowBits: WINDOW_BITS, chunkSize: CHUNK });
    this.#stream.onData = (chunk) => void this.#chunks.push(chunk);
  }

  deflate(parts: readonly Uint8Array[]): Uint8Array {
    const last = parts.length - 1;
    this.#chunks = [];
    for (const [i, part] of parts.entries()) this.#stream.push(part, i === last ? PARTIAL_FLUSH : NO_FLUSH);
    if (this.#stream.err !== 0) throw new SshError('bad-argument', `Compression failed: ${this.#stream.msg}`);
    return join(this.#chunks);
  }
}

class ZlibInflater implements Inflater {
  readonly #stream: PakoStream & { readonly ended: boolean };
  #chunks: Uint8Array[] = [];
  #size = 0;
  #most = 0;

  constructor({ Inflate }: PakoLike) {
    this.#stream = new Inflate({ windowBits: WINDOW_BITS, chunkSize: CHUNK });
    this.#stream.onData = (chunk) => this.#take(chunk);
  }

  inflate(compressed: Uint8Array, most: number): Uint8Array {
    this.#chunks = [];
    this.#size = 0;
    this.#most = most;
    this.#stream.push(compressed, SYNC_FLUSH);
    if (this.#stream.err !== 0) throw damaged(this.#stream.msg);
    if (this.#stream.ended) throw damaged('the stream ends');
    return join(this.#chunks);
  }

  /** Called from inside `push`, so that a payload that grows without end is given up in the middle. */
  #take(chunk: Uint8Array): void {
    this.#size += chunk.length;
    if (this.#size > this.#most) {
      throw new SshError('limit', `A compressed packet holds more than ${this.#most} bytes`, {
        fault: 'peer',
        disconnect: DisconnectReason.compressionError,
      });
    }
    this.#chunks.push(chunk);
  }
}

function damaged(why: string): SshError {
  return protocolError(`The peer's compressed data is damaged: ${why}`, {
    disconnect: DisconnectReason.compressionError,
  });
}

/** Throws `bad-argument` unless the library gives at each flush what it has: pako before version 3 does not. */
function tryOut(library: CompressionLibrary): void {
  const text = utf8('zlib');
  try {
    const [deflater, inflater] = [library.deflater(), library.inflater()];
    for (let i = 0; i < 2; i++) {
      const found = inflater.inflate(deflater.deflate([text.subarray(0, 1), text.subarray(1)]), text.length);
      if (!equalBytes(found, text)) throw new Error('what comes out is not what went in');
    }
  } catch (cause) {
    throw new SshError('bad-argument', 'zlibFrom needs pako 3: this is another library, or another version', { cause });
  }
}

/** A library to compress with, of the caller's import of pako. Throws `bad-argument` where it does not do what is needed. */
export function zlibFrom(pako: PakoLike, options: ZlibOptions = {}): CompressionLibrary {
  checkTable('zlibFrom', options, zlibTable);
  const { level = 6 } = options;
  const library: CompressionLibrary = {
    deflater: () => new ZlibDeflater(pako, level),
    inflater: () => new ZlibInflater(pako),
  };
  tryOut(library);
  return library;
}
