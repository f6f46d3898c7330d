/**
 * The server core of SFTP 3 (draft-ietf-secsh-filexfer-02): the version handshake, and requests in the order in which they come,
 * checked and typed. Bytes in, bytes and calls out; knows no stream, no promise, no files. What the frame allows to answer is
 * answered: a body that has not its shape with BAD_MESSAGE, an unknown type with OP_UNSUPPORTED; anything else ends the stream.
 */

import { uint32At } from '../../bytes/bytes.ts';
import { DecodeError } from '../../bytes/reader.ts';
import { protocolError, SshError } from '../../errors.ts';
import { type Attributes, decodeAttributes } from './attrs.ts';
import { Framer } from './framer.ts';
import {
  decodeBulk,
  decodePacket,
  encodePacket,
  encodePairs,
  packetName,
  packets,
  SFTP_VERSION,
  WRITE_HEADER,
} from './packets.ts';
import { statusReply } from './replies.ts';
import { Status } from './status.ts';

/** What a request asks for. Bytes are views of received chunks, which nobody else uses. */
export type RequestBody =
  | { readonly kind: 'open'; readonly path: Uint8Array; readonly flags: number; readonly attrs: Attributes }
  | { readonly kind: 'close' | 'fstat' | 'readdir'; readonly handle: Uint8Array }
  | { readonly kind: 'fsetstat'; readonly handle: Uint8Array; readonly attrs: Attributes }
  | { readonly kind: 'setstat' | 'mkdir'; readonly path: Uint8Array; readonly attrs: Attributes }
  | { readonly kind: PathRequest; readonly path: Uint8Array }
  | { readonly kind: 'rename'; readonly from: Uint8Array; readonly to: Uint8Array }
  | { readonly kind: 'symlink'; readonly first: Uint8Array; readonly second: Uint8Array }
  | { readonly kind: 'extended'; readonly request: string; readonly body: Uint8Array };

/** Requests with a path and nothing else. */
export type PathRequest = 'lstat' | 'stat' | 'opendir' | 'remove' | 'rmdir' | 'realpath' | 'readlink';

/** Where a responder delivers; in the order of the stream. */
export interface ResponderEvents {
  /** Sends the pieces in order; they are never touched again. */
  send(pieces: readonly Uint8Array[]): void;
  /** READ. The handle is a view that is valid during the call. Offsets are exact up to 2^53 − 1. */
  read(id: number, handle: Uint8Array, offset: number, length: number): void;
  /** WRITE of `length` bytes, which are `pieces`. */
  write(id: number, handle: Uint8Array, offset: number, length: number, pieces: readonly Uint8Array[]): void;
  /** Any other request; `size` are the bytes of its packet. */
  request(id: number, body: RequestBody, size: number): void;
  /** Whether to keep what comes for now; `resume` goes on. */
  holds(): boolean;
}

export interface ResponderOptions {
  /** What VERSION announces: extended requests and their versions. */
  readonly extensions?: readonly { readonly name: string; readonly value: string }[];
  /** Longest packet taken, see `MAX_PACKET`. */
  readonly maxPacket?: number;
}

export class Responder {
  readonly #events: ResponderEvents;
  readonly #extensions: Uint8Array;
  readonly #framer: Framer;
  #state: 'init' | 'open' | 'failed' = 'init';

  constructor(events: ResponderEvents, options: ResponderOptions = {}) {
    this.#events = events;
    this.#extensions = encodePairs(options.extensions ?? []);
    this.#framer = new Framer(
      {
        packet: (packet) => this.#packet(packet),
        write: (header, pieces) => this.#write(header, pieces),
        holds: () => this.#state === 'failed' || events.holds(),
      },
      {
        expectGreeting: true,
        peer: 'client',
        ...(options.maxPacket === undefined ? {} : { maxPacket: options.maxPacket }),
      },
    );
  }

  /** Takes the next bytes of the stream, which are its own. Throws an `SshError` after which the stream is of no use. */
  receive(chunk: Uint8Array): void {
    this.#guarded(() => this.#framer.push(chunk));
  }

  /** Goes on after `holds`; throws as `receive`. */
  resume(): void {
    this.#guarded(() => this.#framer.resume());
  }

  /** The client sends no more, and nothing is held: what was cut short, or `undefined` for an end in good order. */
  ended(): SshError | undefined {
    return this.#framer.end();
  }

  #guarded(run: () => void): void {
    if (this.#state === 'failed') return;
    try {
      run();
    } catch (error) {
      this.#state = 'failed';
      throw error;
    }
  }

  #packet(packet: Uint8Array): void {
    const type = packet[0] as number;
    if (this.#state !== 'open') {
      this.#init(type, packet);
      return;
    }
    if (type === packets.init.number) throw protocolError('SFTP: the client sent SSH_FXP_INIT twice');
    if (packet.length < 5) throw protocolError(`SFTP: ${packetName(type)} of ${packet.length} bytes has no request id`);
    const id = uint32At(packet, 1);
    try {
      this.#request(id, type, packet);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.#events.send([statusReply(id, Status.badMessage, error.message)]);
    }
  }

  #init(type: number, packet: Uint8Array): void {
    if (type !== packets.init.number) {
      throw protocolError(`SFTP: the client began with ${packetName(type)} instead of SSH_FXP_INIT`);
    }
    // What stands behind the version is of no use to us and no reason to refuse.
    if (packet.length < 5) throw protocolError('SFTP: SSH_FXP_INIT ends before its version');
    const version = uint32At(packet, 1);
    if (version < SFTP_VERSION) {
      throw new SshError(
        'not-supported',
        `The client speaks SFTP version ${version}, puressh version ${SFTP_VERSION}`,
        { fault: 'peer', operation: 'init' },
      );
    }
    this.#state = 'open';
    this.#events.send([encodePacket(packets.version, { version: SFTP_VERSION, extensions: this.#extensions })]);
  }

  #request(id: number, type: number, packet: Uint8Array): void {
    if (type === packets.read.number) {
      const { handle, offset, length } = decodeBulk(packet);
      this.#events.read(id, handle, offset, length);
      return;
    }
    const body = type === packets.write.number ? malformedWrite(packet) : bodyOf(type, packet);
    if (body !== undefined) this.#events.request(id, body, packet.length);
    else {
      const message = `${packetName(type)} is no request of SFTP version ${SFTP_VERSION}`;
      this.#events.send([statusReply(id, Status.opUnsupported, message)]);
    }
  }

  #write(header: Uint8Array, pieces: readonly Uint8Array[]): void {
    if (this.#state !== 'open') {
      this.#init(packets.write.number, header);
      return;
    }
    const length = header.length + 4 - WRITE_HEADER;
    const at = 9 + length;
    const offset = uint32At(header, at) * 2 ** 32 + uint32At(header, at + 4);
    this.#events.write(uint32At(header, 1), header.subarray(9, at), offset, uint32At(header, at + 8), pieces);
  }
}

/** The framer hands a WRITE on in pieces unless its lengths disagree, or its handle is longer than the draft allows. */
function malformedWrite(packet: Uint8Array): never {
  const { handle } = decodeBulk(packet);
  throw new DecodeError(`SSH_FXP_WRITE with a handle of ${handle.length} bytes, which no server gave`);
}

/** `undefined` for a type that is no request. */
function bodyOf(type: number, packet: Uint8Array): RequestBody | undefined {
  switch (type) {
    case packets.open.number: {
      const { path, flags, attrs } = decodePacket(packets.open, packet);
      return { kind: 'open', path, flags, attrs: decodeAttributes(attrs) };
    }
    case packets.close.number:
      return { kind: 'close', handle: decodePacket(packets.close, packet).handle };
    case packets.fstat.number:
      return { kind: 'fstat', handle: decodePacket(packets.fstat, packet).handle };
    case packets.readdir.number:
      return { kind: 'readdir', handle: decodePacket(packets.readdir, packet).handle };
    case packets.fsetstat.number: {
      const { handle, attrs } = decodePacket(packets.fsetstat, packet);
      return { kind: 'fsetstat', handle, attrs: decodeAttributes(attrs) };
    }
    case packets.setstat.number:
    case packets.mkdir.number: {
      const kind = type === packets.mkdir.number ? 'mkdir' : 'setstat';
      const { path, attrs } = decodePacket(packets[kind], packet);
      return { kind, path, attrs: decodeAttributes(attrs) };
    }
    case packets.rename.number: {
      const { from, to } = decodePacket(packets.rename, packet);
      return { kind: 'rename', from, to };
    }
    case packets.symlink.number: {
      const { first, second } = decodePacket(packets.symlink, packet);
      return { kind: 'symlink', first, second };
    }
    case packets.extended.number: {
      const { request, body } = decodePacket(packets.extended, packet);
      return { kind: 'extended', request, body };
    }
    default: {
      const kind = pathRequests.get(type);
      return kind === undefined ? undefined : { kind, path: decodePacket(packets[kind], packet).path };
    }
  }
}

const pathRequests: ReadonlyMap<number, PathRequest> = new Map(
  (['lstat', 'stat', 'opendir', 'remove', 'rmdir', 'realpath', 'readlink'] as const).map((kind) => [
    packets[kind].number,
    kind,
  ]),
);
