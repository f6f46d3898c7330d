/**
 * The client core of SFTP 3 (draft-ietf-secsh-filexfer-02): the version handshake, request ids, and the table that
 * matches replies to requests, in whatever order they come (§3). Bytes in, bytes and calls out; knows no stream, no
 * promise, no time.
 */

import { uint32At } from '../../bytes/bytes.ts';
import { latin1 } from '../../bytes/text.ts';
import { protocolError, SshError } from '../../errors.ts';
import { Framer } from './framer.ts';
import {
  decodePacket,
  encodePacket,
  encodeRead,
  type PacketOf,
  type PacketRow,
  packetName,
  packets,
  readPairs,
  SFTP_VERSION,
  writeHeader,
} from './packets.ts';
import { readStatusText, Status } from './status.ts';

/** What waits for one reply. The request is out of the table when `status`, `packet` or `dataEnd` is called. */
export interface ReplyHandler {
  /** Type of the reply, other than a STATUS that refuses, which answers the request; STATUS when nothing else does. */
  readonly expects: number;
  /** A STATUS: a refusal, or success where `expects` is STATUS. */
  status(code: number, message: string): void;
  /** The expected reply, from its type byte on; a view that is valid during the call. */
  packet?(packet: Uint8Array): void;
  /** The expected DATA, in pieces that the handler may keep. Throws when `length` is more than was asked. */
  dataStart?(length: number): void;
  data?(bytes: Uint8Array): void;
  dataEnd?(): void;
  /** The connection ended first. */
  failed(cause: SshError): void;
}

/** Extended-request names that the server advertised, with their versions as text. */
export type ServerExtensions = ReadonlyMap<string, string>;

export interface RequesterEvents {
  /** Sends the pieces in order; they are never touched again. */
  send(pieces: readonly Uint8Array[]): void;
  /** VERSION came: requests may be sent. */
  ready(extensions: ServerExtensions): void;
}

export interface RequesterOptions {
  /** Longest packet taken, see `MAX_PACKET`. */
  readonly maxPacket?: number;
  /** Id of the first request; they count up from it and wrap. Default: 0. */
  readonly firstId?: number;
  /** What becomes of requests before VERSION. Default: `refuse`. */
  readonly early?: Early | undefined;
}

/** Requests before VERSION are refused, kept until it has come, or sent right behind INIT. */
export type Early = 'refuse' | 'hold' | 'send';

type State =
  | { readonly name: 'greeting'; readonly early: Early }
  | { readonly name: 'open' }
  | { readonly name: 'failed'; readonly cause: SshError };

export class Requester {
  readonly #events: RequesterEvents;
  readonly #framer: Framer;
  readonly #pending = new Map<number, ReplyHandler>();
  #state: State;
  #nextId: number;
  /** What waits for VERSION. */
  #held: Uint8Array[] = [];
  /** The request whose DATA is coming in. */
  #receiving: ReplyHandler | undefined;
  #receivingId = 0;
  /** Whether a view of a packet was handed on since `takeKept`. */
  #shared = false;

  constructor(events: RequesterEvents, options: RequesterOptions = {}) {
    this.#events = events;
    this.#nextId = options.firstId ?? 0;
    this.#state = { name: 'greeting', early: options.early ?? 'refuse' };
    this.#framer = new Framer(
      {
        packet: (packet) => this.#packet(packet),
        dataStart: (id, length) => this.#dataStart(id, length),
        data: (bytes) => this.#receiving?.data?.(bytes),
        dataEnd: () => this.#dataEnd(),
      },
      { expectGreeting: true, ...(options.maxPacket === undefined ? {} : { maxPacket: options.maxPacket }) },
    );
  }

  /** How many requests wait for a reply. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Sends INIT. */
  start(): void {
    this.#events.send([encodePacket(packets.init, { version: SFTP_VERSION, extensions: new Uint8Array(0) })]);
  }

  /** Takes the next bytes of the stream. Throws an `SshError` after which the stream is of no use. */
  receive(chunk: Uint8Array): void {
    if (this.#state.name !== 'failed') this.#framer.push(chunk);
  }

  /**
   * How many of the bytes last received are still in use, apart from the content of DATA, which its handlers answer for;
   * `undefined` where views of packets were handed on since the last call.
   */
  takeKept(): number | undefined {
    const shared = this.#shared;
    this.#shared = false;
    return shared ? undefined : this.#framer.waiting;
  }

  /** The server sends no more: the error to fail with. */
  ended(): SshError {
    if (this.#state.name === 'failed') return this.#state.cause;
    const cut = this.#framer.end();
    if (this.#state.name === 'greeting') {
      return (
        cut ??
        new SshError('sftp-unavailable', 'The server closed the channel before it said a word of SFTP', {
          fault: 'peer',
          operation: 'init',
        })
      );
    }
    return cut ?? new SshError('channel-closed', 'The SFTP server closed the channel', { fault: 'peer' });
  }

  /** Enters the terminal state: everything pending fails with `cause`, and so does whatever is asked later. */
  fail(cause: SshError): void {
    if (this.#state.name === 'failed') return;
    this.#state = { name: 'failed', cause };
    const handlers = [...this.#pending.values()];
    this.#pending.clear();
    this.#held = [];
    this.#receiving = undefined;
    for (const handler of handlers) handler.failed(cause);
  }

  /** Sends a request; `value` has every field but the id. Returns whether it was sent: otherwise `failed` was called. */
  request<R extends PacketRow>(row: R, value: Omit<PacketOf<R>, 'id'>, handler: ReplyHandler): boolean {
    if (!this.#admit(handler)) return false;
    // Encoding may throw for a bad argument: before the id is taken.
    const packet = encodePacket(row, { id: this.#nextId, ...value } as unknown as PacketOf<R>);
    this.#enter(handler);
    if (this.#state.name === 'greeting' && this.#state.early === 'hold') this.#held.push(packet);
    else this.#events.send([packet]);
    return true;
  }

  /** Sends a READ. Returns as `request`. */
  read(handle: Uint8Array, offset: number, length: number, handler: ReplyHandler): boolean {
    if (!this.#admit(handler)) return false;
    this.#events.send([encodeRead(this.#enter(handler), handle, offset, length)]);
    return true;
  }

  /** Sends a WRITE of `length` bytes, which are `pieces`. Returns as `request`. */
  write(
    handle: Uint8Array,
    offset: number,
    length: number,
    pieces: readonly Uint8Array[],
    handler: ReplyHandler,
  ): boolean {
    if (!this.#admit(handler)) return false;
    this.#events.send([writeHeader(this.#enter(handler), handle, offset, length), ...pieces]);
    return true;
  }

  #admit(handler: ReplyHandler): boolean {
    const state = this.#state;
    if (state.name === 'open' || (state.name === 'greeting' && state.early !== 'refuse')) return true;
    handler.failed(
      state.name === 'failed' ? state.cause : new SshError('bad-argument', 'SFTP requests may follow VERSION only'),
    );
    return false;
  }

  #enter(handler: ReplyHandler): number {
    const id = this.#nextId;
    this.#pending.set(id, handler);
    // Ids wrap; one that is still waiting for its reply is passed over.
    do this.#nextId = (this.#nextId + 1) >>> 0;
    while (this.#pending.has(this.#nextId));
    return id;
  }

  #packet(packet: Uint8Array): void {
    this.#shared = true;
    const type = packet[0] as number;
    if (this.#state.name === 'greeting') {
      this.#version(type, packet);
      return;
    }
    if (this.#state.name === 'failed') return;
    if (packet.length < 5) throw protocolError(`SFTP: ${packetName(type)} of ${packet.length} bytes is too short`);
    const id = uint32At(packet, 1);
    const handler = this.#match(id, type);
    this.#pending.delete(id);
    if (type !== packets.status.number) {
      handler.packet?.(packet);
      return;
    }
    const { code, text } = decodePacket(packets.status, packet);
    if (code === Status.ok && handler.expects !== type) throw this.#unexpected(id, 'a STATUS of success', handler);
    handler.status(code, readStatusText(text));
  }

  #version(type: number, packet: Uint8Array): void {
    if (type !== packets.version.number) throw this.#notVersion(type);
    const { version, extensions: bytes } = decodePacket(packets.version, packet);
    // The lower of both sides' versions is in use (§4): a server that names a higher one speaks ours.
    if (version < SFTP_VERSION) {
      throw new SshError(
        'not-supported',
        `The server speaks SFTP version ${version}, puressh version ${SFTP_VERSION}`,
        {
          fault: 'peer',
          operation: 'init',
        },
      );
    }
    const extensions = new Map(readPairs(bytes).map(({ name, value }) => [name, latin1(value)]));
    this.#state = { name: 'open' };
    if (this.#held.length > 0) this.#events.send(this.#held);
    this.#held = [];
    this.#events.ready(extensions);
  }

  #match(id: number, type: number): ReplyHandler {
    const handler = this.#pending.get(id);
    if (handler === undefined)
      throw protocolError(`SFTP: ${packetName(type)} answers request ${id}, which nobody made`);
    if (type !== handler.expects && type !== packets.status.number) {
      throw this.#unexpected(id, packetName(type), handler);
    }
    return handler;
  }

  #unexpected(id: number, what: string, handler: ReplyHandler): SshError {
    return protocolError(`SFTP: ${what} answers request ${id}, which takes ${packetName(handler.expects)}`);
  }

  /** Until its last piece is here the request stays in the table: should the stream end first, it fails with the rest. */
  #dataStart(id: number, length: number): void {
    if (this.#state.name === 'failed') return;
    if (this.#state.name === 'greeting') throw this.#notVersion(packets.data.number);
    const handler = this.#match(id, packets.data.number);
    handler.dataStart?.(length);
    this.#receiving = handler;
    this.#receivingId = id;
  }

  #dataEnd(): void {
    const handler = this.#receiving;
    if (handler === undefined) return;
    this.#receiving = undefined;
    this.#pending.delete(this.#receivingId);
    handler.dataEnd?.();
  }

  #notVersion(type: number): SshError {
    return protocolError(`SFTP: the server began with ${packetName(type)} instead of SSH_FXP_VERSION`);
  }
}
