/**
 * An SFTP server in memory whose answers a test can bend: late, short, out of order, wrong, or none. It is its own
 * client-side pipe. Its bytes come in chunks of the test's choice, in a macrotask each batch, so that requests pile up
 * as they do over a distance.
 */

import { setImmediate } from 'node:timers';
import { concat, putUint32 } from '../../src/bytes/bytes.ts';
import { decodeFields, encodeFields } from '../../src/bytes/schema.ts';
import { decodeLenient, latin1, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import type { RandomSource } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import type { SshError } from '../../src/errors.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';
import { type Attributes, decodeAttributes, encodeAttributes } from '../../src/sftp/proto/attrs.ts';
import { extensions } from '../../src/sftp/proto/extensions.ts';
import { Framer } from '../../src/sftp/proto/framer.ts';
import { encodeNames } from '../../src/sftp/proto/names.ts';
import {
  dataHeader,
  decodeBulk,
  decodePacket,
  encodePacket,
  encodePairs,
  packets,
} from '../../src/sftp/proto/packets.ts';
import { encodeStatusText } from '../../src/sftp/proto/status.ts';
import { type Chunking, cut, drawBelow } from './feed.ts';
import { seededRandom } from './random.ts';

export interface Node {
  bytes: Uint8Array;
  permissions: number | undefined;
  /** Seconds since 1970; both times. */
  modified?: number;
}

/** A READ or WRITE as a script sees it. */
export interface BulkAsk {
  /** Counts them from 0. */
  readonly index: number;
  /** READs that wait for an answer that will come, this one included. */
  readonly pending: number;
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

/** What a script says: bytes of DATA, a status code, nothing at all ever, or what an honest server says. */
export type BulkAnswer = Uint8Array | number | 'silence' | 'honest';

export interface Script {
  readonly chunking?: Chunking;
  readonly seed?: string;
  /** Advertised extended requests. Default: posix-rename and fsync. */
  readonly extensions?: readonly string[];
  /** Limits for limits@openssh.com, which is then advertised: packet, read, write, handles. */
  readonly limits?: readonly [number, number, number, number];
  /** The pipe's receive window. Credit comes back in steps of a sixteenth. A reply that does not fit is `overrun`. */
  readonly window?: number;
  /** Bytes that the pipe takes before `write` says stop; it drains in a macrotask. Default: no end. */
  readonly room?: number;
  readonly read?: (ask: BulkAsk, honest: Uint8Array | number) => BulkAnswer;
  readonly write?: (ask: BulkAsk) => BulkAnswer;
  /** Any request, by the name of its row: whole reply packets, a status code, silence, or honesty. */
  readonly request?: (
    name: string,
    id: number,
    packet: Uint8Array,
  ) => readonly Uint8Array[] | number | 'silence' | 'honest';
  /** What is sent in place of VERSION. */
  readonly greeting?: Uint8Array;
  /** Which of the replies that wait goes next: an index below `waiting`. Default: 0. */
  readonly order?: (waiting: number, random: RandomSource) => number;
  /** Replies are sent only when this many wait, or no more can come. */
  readonly gather?: number;
}

/** Whole replies. */
export const reply = {
  status: (id: number, code: number, message = ''): Uint8Array =>
    encodePacket(packets.status, { id, code, text: encodeStatusText(message) }),
  handle: (id: number, handle: Uint8Array): Uint8Array => encodePacket(packets.handle, { id, handle }),
  attrs: (id: number, attrs: Attributes): Uint8Array =>
    encodePacket(packets.attrs, { id, attrs: encodeAttributes(attrs) }),
  data: (id: number, bytes: Uint8Array): Uint8Array => concat(dataHeader(id, bytes.length), bytes),
  names: (id: number, names: readonly (string | Uint8Array)[]): Uint8Array =>
    encodePacket(packets.name, {
      id,
      count: names.length,
      entries: encodeNames(names.map((name) => ({ name, longname: name, attrs: {} }))),
    }),
};

export class ScriptedSftp implements BytePipe {
  readonly files: Map<string, Node>;
  /** Every request, such as `READ 0+32768` or `OPEN /a 1`. */
  readonly log: string[] = [];
  readonly openHandles: Map<string, string> = new Map();
  /** Most READs, and bytes of them, that waited for a reply at once. */
  maxReads: number = 0;
  maxReadBytes = 0;
  /** Replies that did not fit into the window when they were made: a server that blocks would hang there. */
  overruns = 0;
  /** Most bytes that were written before the pipe drained. */
  maxQueued = 0;
  /** Bytes that were delivered and not given back. */
  unconsumed = 0;
  readonly receiveWindow?: number;
  readonly #script: Script;
  readonly #random: RandomSource;
  readonly #framer: Framer;
  #sink: PipeSink | undefined;
  #cause: SshError | undefined;
  #replies: { readonly bytes: Uint8Array; readonly asked: number | undefined }[] = [];
  #scheduled = false;
  #queued = 0;
  #full = false;
  #reads = 0;
  #readBytes = 0;
  #readCount = 0;
  #writeCount = 0;
  #handles = 0;
  #granted: number;
  #owed = 0;

  /** `files`: those of another session, to be shared with it. */
  constructor(script: Script = {}, files: Map<string, Node> = new Map()) {
    this.files = files;
    this.#script = script;
    this.#random = seededRandom(script.seed ?? 'sftp');
    this.#granted = script.window ?? Number.POSITIVE_INFINITY;
    if (script.window !== undefined) this.receiveWindow = script.window;
    this.#framer = new Framer({ packet: (packet) => this.#request(packet.slice()) });
  }

  add(path: string, bytes: Uint8Array, permissions = 0o100644): this {
    this.files.set(path, { bytes, permissions });
    return this;
  }

  // The client's end of the pipe.

  open(sink: PipeSink): void {
    this.#sink = sink;
  }

  write(pieces: readonly Uint8Array[]): boolean {
    for (const piece of pieces) {
      this.#queued += piece.length;
      if (this.#sink !== undefined) this.#framer.push(piece.slice());
      piece.fill(0xee); // they belong to the pipe
    }
    this.maxQueued = Math.max(this.maxQueued, this.#queued);
    if (this.#queued < (this.#script.room ?? Number.POSITIVE_INFINITY)) return true;
    if (!this.#full) {
      this.#full = true;
      setImmediate(() => {
        this.#full = false;
        this.#queued = 0;
        this.#sink?.drain();
      });
    }
    return false;
  }

  end(): void {
    this.close();
  }

  consumed(count: number): void {
    this.unconsumed -= count;
    this.#owed += count;
    if (this.#owed < (this.#script.window ?? 0) / 16) return;
    this.#granted += this.#owed;
    this.#owed = 0;
  }

  close(cause?: SshError): void {
    const sink = this.#sink;
    this.#sink = undefined;
    this.#cause ??= cause;
    queueMicrotask(() => sink?.closed(this.#cause));
  }

  // The server.

  /** Sends raw bytes, in the test's chunks, in their turn; `asked`: they answer a READ of as many bytes. */
  say(bytes: Uint8Array, asked?: number): void {
    this.#replies.push({ bytes, asked });
    this.#schedule();
  }

  /** The connection is gone. */
  cut(cause: SshError | undefined): void {
    this.close(cause);
  }

  /** The server sends no more. */
  hangUp(): void {
    this.#sink?.end();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    const { order, gather = 0, chunking = 'whole' } = this.#script;
    // Requests that are answered only together are held until no more come: then the log stands still.
    if (this.#replies.length < gather && this.#lastLog !== this.log.length) {
      this.#lastLog = this.log.length;
      this.#schedule();
      return;
    }
    this.#lastLog = -1;
    const out: Uint8Array[] = [];
    while (this.#replies.length > 0) {
      const at = order === undefined ? 0 : order(this.#replies.length, this.#random);
      if (at < 0) break; // enough for this time
      for (const { bytes, asked } of this.#replies.splice(at, 1)) {
        out.push(bytes);
        if (asked === undefined) continue;
        this.#reads--;
        this.#readBytes -= asked;
      }
    }
    if (this.#replies.length > 0) this.#schedule();
    for (const chunk of cut(concat(...out), chunking, this.#random)) {
      if (this.#sink === undefined) return;
      this.unconsumed += chunk.length;
      this.#granted -= chunk.length;
      if (this.#granted < 0) this.overruns++;
      this.#sink.data(chunk);
    }
  }

  #lastLog = -1;

  #request(packet: Uint8Array): void {
    const type = packet[0] as number;
    if (type === packets.init.number) {
      this.log.push('INIT');
      this.say(this.#script.greeting ?? this.#version());
      return;
    }
    const row = Object.values(packets).find((each) => each.number === type);
    if (row === undefined) throw new Error(`The client sent packet type ${type}`);
    const name = row.name.replace('SSH_FXP_', '');
    const id = new DataView(packet.buffer, packet.byteOffset).getUint32(1);
    const bent = this.#script.request?.(name, id, packet) ?? 'honest';
    if (bent === 'silence') this.log.push(name);
    else if (typeof bent === 'number') {
      this.log.push(name);
      this.say(reply.status(id, bent));
    } else if (bent !== 'honest') {
      this.log.push(name);
      for (const bytes of bent) this.say(bytes);
    } else {
      const answer = this.#honest(type, id, packet);
      const asked = type === packets.read.number ? decodeBulk(packet).length : undefined;
      if (answer !== undefined) this.say(answer, asked);
    }
  }

  #version(): Uint8Array {
    const names = this.#script.extensions ?? [extensions.posixRename.request, extensions.fsync.request];
    const all = this.#script.limits === undefined ? names : [...names, extensions.limits.request];
    const pairs = encodePairs(all.map((name) => ({ name, value: '1' })));
    return encodePacket(packets.version, { version: 3, extensions: pairs });
  }

  #honest(type: number, id: number, packet: Uint8Array): Uint8Array | undefined {
    switch (type) {
      case packets.open.number:
        return this.#open(id, packet);
      case packets.close.number:
        return this.#close(id, packet);
      case packets.read.number:
        return this.#read(packet);
      case packets.write.number:
        return this.#write(packet);
      case packets.fstat.number: {
        const { handle } = decodePacket(packets.fstat, packet);
        this.log.push('FSTAT');
        return this.#attrs(id, this.openHandles.get(latin1(handle)) ?? '');
      }
      case packets.stat.number:
      case packets.lstat.number: {
        const path = decodeLenient(decodePacket(packets.stat, packet).path);
        this.log.push(`${type === packets.stat.number ? 'STAT' : 'LSTAT'} ${path}`);
        return this.#attrs(id, path);
      }
      case packets.fsetstat.number: {
        const { handle, attrs } = decodePacket(packets.fsetstat, packet);
        const set = decodeAttributes(attrs);
        this.log.push(`FSETSTAT ${JSON.stringify(set)}`);
        const node = this.files.get(this.openHandles.get(latin1(handle)) ?? '');
        if (node === undefined) return reply.status(id, 4);
        if (set.size !== undefined) node.bytes = lengthened(node.bytes.slice(0, set.size), set.size);
        if (set.mtime !== undefined) node.modified = set.mtime;
        return reply.status(id, 0);
      }
      case packets.setstat.number: {
        const { path, attrs } = decodePacket(packets.setstat, packet);
        this.log.push(`SETSTAT ${decodeLenient(path)} ${JSON.stringify(decodeAttributes(attrs))}`);
        return reply.status(id, 0);
      }
      case packets.rename.number: {
        const { from, to } = decodePacket(packets.rename, packet);
        this.log.push(`RENAME ${decodeLenient(from)} ${decodeLenient(to)}`);
        return this.#rename(id, decodeLenient(from), decodeLenient(to), false);
      }
      case packets.remove.number: {
        const path = decodeLenient(decodePacket(packets.remove, packet).path);
        this.log.push(`REMOVE ${path}`);
        return reply.status(id, this.files.delete(path) ? 0 : 2);
      }
      case packets.extended.number:
        return this.#extended(id, packet);
      default:
        this.log.push(`type ${type}`);
        return reply.status(id, 8);
    }
  }

  #attrs(id: number, path: string): Uint8Array {
    const node = this.files.get(path);
    if (node === undefined) return reply.status(id, 2);
    const { permissions, modified } = node;
    return reply.attrs(id, {
      size: node.bytes.length,
      ...(permissions === undefined ? {} : { permissions }),
      ...(modified === undefined ? {} : { atime: modified, mtime: modified }),
    });
  }

  #open(id: number, packet: Uint8Array): Uint8Array {
    const { path: bytes, flags, attrs } = decodePacket(packets.open, packet);
    const path = decodeLenient(bytes);
    const permissions = decodeAttributes(attrs).permissions;
    this.log.push(`OPEN ${path} ${flags}${permissions === undefined ? '' : ` ${permissions.toString(8)}`}`);
    const node = this.files.get(path);
    if (node === undefined && (flags & 8) === 0) return reply.status(id, 2);
    if (node !== undefined && (flags & 0x20) !== 0) return reply.status(id, 4);
    if (node === undefined) this.add(path, new Uint8Array(0), 0o100000 | (permissions ?? 0o644));
    else if ((flags & 0x10) !== 0) node.bytes = new Uint8Array(0);
    const handle = `h${this.#handles++}`;
    this.openHandles.set(handle, path);
    return reply.handle(id, utf8(handle));
  }

  #close(id: number, packet: Uint8Array): Uint8Array {
    const { handle } = decodePacket(packets.close, packet);
    this.log.push('CLOSE');
    return reply.status(id, this.openHandles.delete(latin1(handle)) ? 0 : 4);
  }

  #read(packet: Uint8Array): Uint8Array | undefined {
    const { id, handle, offset, length } = decodeBulk(packet);
    const path = this.openHandles.get(latin1(handle)) ?? '';
    this.log.push(`READ ${offset}+${length}`);
    this.#reads++;
    this.#readBytes += length;
    this.maxReads = Math.max(this.maxReads, this.#reads);
    this.maxReadBytes = Math.max(this.maxReadBytes, this.#readBytes);
    const node = this.files.get(path);
    const honest = node === undefined ? 4 : offset >= node.bytes.length ? 1 : node.bytes.slice(offset, offset + length);
    const ask = { index: this.#readCount++, pending: this.#reads, path, offset, length };
    let answer = this.#script.read?.(ask, honest) ?? 'honest';
    if (answer === 'silence') {
      this.#reads--;
      this.#readBytes -= length;
      return undefined;
    }
    if (answer === 'honest') answer = honest;
    return typeof answer === 'number' ? reply.status(id, answer, 'scripted') : reply.data(id, answer);
  }

  #write(packet: Uint8Array): Uint8Array | undefined {
    const { id, handle, offset, length, data } = decodeBulk(packet);
    const path = this.openHandles.get(latin1(handle)) ?? '';
    this.log.push(`WRITE ${offset}+${length}`);
    const answer =
      this.#script.write?.({ index: this.#writeCount++, pending: this.#reads, path, offset, length }) ?? 'honest';
    if (answer === 'silence') return undefined;
    if (typeof answer === 'number') return reply.status(id, answer, 'scripted');
    const node = this.files.get(path);
    if (node === undefined) return reply.status(id, 4);
    node.bytes = lengthened(node.bytes, offset + length);
    node.bytes.set(data, offset);
    return reply.status(id, 0);
  }

  #rename(id: number, from: string, to: string, replace: boolean): Uint8Array {
    const node = this.files.get(from);
    if (node === undefined) return reply.status(id, 2);
    if (this.files.has(to) && !replace) return reply.status(id, 4);
    this.files.delete(from);
    this.files.set(to, node);
    for (const [handle, path] of this.openHandles) if (path === from) this.openHandles.set(handle, to);
    return reply.status(id, 0);
  }

  #extended(id: number, packet: Uint8Array): Uint8Array {
    const { request, body } = decodePacket(packets.extended, packet);
    this.log.push(`EXTENDED ${request}`);
    const { limits } = this.#script;
    if (request === extensions.limits.request && limits !== undefined) {
      const [packet_, read, write, handles] = limits.map(BigInt) as [bigint, bigint, bigint, bigint];
      const value = { maxPacketLength: packet_, maxReadLength: read, maxWriteLength: write, maxOpenHandles: handles };
      return encodePacket(packets.extendedReply, { id, body: encodeFields(extensions.limits.reply, value) });
    }
    if (request === extensions.posixRename.request) {
      const view = new DataView(body.buffer, body.byteOffset);
      const length = view.getUint32(0);
      const from = decodeLenient(body.subarray(4, 4 + length));
      return this.#rename(id, from, decodeLenient(body.subarray(8 + length)), true);
    }
    if (request === extensions.checkFileHandle.request && this.#script.extensions?.includes(request)) {
      return this.#digests(id, decodeFields(extensions.checkFileHandle.fields, body));
    }
    return reply.status(id, request === extensions.fsync.request ? 0 : 8);
  }

  /** check-file with SHA-256, as ProFTPD (1.3.8) does it: `start` bytes too many at the end. */
  #digests(id: number, ask: { handle: Uint8Array; start: bigint; length: bigint; blockSize: number }): Uint8Array {
    const bytes = this.files.get(this.openHandles.get(latin1(ask.handle)) ?? '')?.bytes ?? new Uint8Array(0);
    const start = Number(ask.start);
    const range = bytes.subarray(start, ask.length === 0n ? undefined : 2 * start + Number(ask.length));
    const body = new Writer().string('sha256');
    for (let at = 0; at < range.length; at += ask.blockSize || range.length) {
      const end = ask.blockSize === 0 ? range.length : at + ask.blockSize;
      body.raw(pureProvider.hashes.sha256.digest(range.subarray(at, end)));
    }
    return encodePacket(packets.extendedReply, { id, body: body.finish() });
  }
}

/** Memory of files with room to grow into. */
const roomy = new WeakSet<ArrayBufferLike>();

/** `bytes` with zeros behind, up to `size` of them. */
function lengthened(bytes: Uint8Array, size: number): Uint8Array {
  if (bytes.length >= size) return bytes;
  if (roomy.has(bytes.buffer) && bytes.buffer.byteLength >= size) return new Uint8Array(bytes.buffer, 0, size);
  const memory = new ArrayBuffer(2 * size);
  roomy.add(memory);
  new Uint8Array(memory).set(bytes);
  return new Uint8Array(memory, 0, size);
}

/** Orders for `Script.order`. */
export const orders = {
  reverse: (waiting: number): number => waiting - 1,
  random: (waiting: number, random: RandomSource): number => drawBelow(random, waiting),
  /** A few at a time, in any order. */
  dribble: (waiting: number, random: RandomSource): number =>
    drawBelow(random, 4) === 0 ? -1 : drawBelow(random, waiting),
};

/** A file whose bytes tell their place. */
export function patterned(length: number, seed = 'file'): Uint8Array {
  const [a = 0, b = 0, c = 0, d = 0] = seededRandom(seed)(4);
  let state = (a << 24) | (b << 16) | (c << 8) | d | 1;
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}

/** A packet with a length that lies. */
export function withLength(packet: Uint8Array, length: number): Uint8Array {
  const bytes = packet.slice();
  putUint32(bytes, 0, length);
  return bytes;
}
