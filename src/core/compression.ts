/**
 * Compression of payloads (RFC 4253 §6.2), and when it begins: `zlib` with the keys, `zlib@openssh.com` with the login
 * (draft-miller-secsh-compression-delayed). The library that does it is the caller's: nothing here imports one.
 */

import { SshError } from '../errors.ts';

/** One direction that leaves. */
export interface Deflater {
  /**
   * The payload, which is the parts one after the other, compressed and ended by a partial or sync flush, so that the peer can
   * decompress all of it. The parts are only read. The result is the receiver's.
   */
  deflate(parts: readonly Uint8Array[]): Uint8Array;
}

/** One direction that arrives. */
export interface Inflater {
  /**
   * The payload that `compressed`, which is not kept, holds; in memory of its own, which is the receiver's. Throws `limit` where it
   * has more than `most` bytes, `protocol` where it is damaged.
   */
  inflate(compressed: Uint8Array, most: number): Uint8Array;
}

/** A library that speaks zlib (RFC 1950). Each stream that it makes lives as long as the keys of one direction. */
export interface CompressionLibrary {
  deflater(): Deflater;
  inflater(): Inflater;
}

/** What takes the streams of both directions; `undefined` is none. */
export interface CompressionHost {
  compress(deflater: Deflater | undefined): void;
  decompress(inflater: Inflater | undefined): void;
}

/** One direction: without compression, with one that begins at the login, or with one that has begun. */
type State = 'none' | 'delayed' | 'on';

/** How far the compression of a connection is. Each direction has a fresh stream with each of its keys. */
export class Compression {
  readonly #library: CompressionLibrary | undefined;
  readonly #host: CompressionHost;
  #out: State = 'none';
  #in: State = 'none';
  #loggedIn = false;

  constructor(library: CompressionLibrary | undefined, host: CompressionHost) {
    this.#library = library;
    this.#host = host;
  }

  /**
   * Whether a direction waits for the login: what leaves before its end is known would be decompressed by a server that has
   * just granted it.
   */
  get delayed(): boolean {
    return this.#out === 'delayed' || this.#in === 'delayed';
  }

  /** Our NEWKEYS is sealed; `name` was negotiated for what follows it. */
  sealWith(name: string | undefined): void {
    this.#out = this.#stateOf(name);
    this.#host.compress(this.#out === 'on' ? this.#streams.deflater() : undefined);
  }

  /** The peer's NEWKEYS is there. */
  openWith(name: string | undefined): void {
    this.#in = this.#stateOf(name);
    this.#host.decompress(this.#in === 'on' ? this.#streams.inflater() : undefined);
  }

  /** USERAUTH_SUCCESS is sealed, or there. */
  loggedIn(): void {
    this.#loggedIn = true;
    if (this.#out === 'delayed') this.sealWith('zlib');
    if (this.#in === 'delayed') this.openWith('zlib');
  }

  #stateOf(name: string | undefined): State {
    if (name === undefined || name === 'none') return 'none';
    return name === 'zlib' || this.#loggedIn ? 'on' : 'delayed';
  }

  get #streams(): CompressionLibrary {
    if (this.#library !== undefined) return this.#library;
    throw new SshError('not-supported', 'Compression was negotiated without a library that does it');
  }
}
