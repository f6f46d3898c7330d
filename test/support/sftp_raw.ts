/** A client that writes SFTP packets by hand, to a server in memory: for every order and every edge that no sound client makes. */

import assert from 'node:assert/strict';
import { join } from '../../src/bytes/bytes.ts';
import { encodeFields, type Layout, type ValueOf } from '../../src/bytes/schema.ts';
import { toBytes } from '../../src/bytes/text.ts';
import type { SshError } from '../../src/errors.ts';
import { type MemoryPipeOptions, memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';
import { type Attributes, decodeAttributes, encodeAttributes } from '../../src/sftp/proto/attrs.ts';
import { Framer } from '../../src/sftp/proto/framer.ts';
import { decodeNames, type NameEntry } from '../../src/sftp/proto/names.ts';
import { decodePacket, encodePacket, encodeRead, packets, writeHeader } from '../../src/sftp/proto/packets.ts';
import type { SftpBackend } from '../../src/sftp/server/backend.ts';
import { type SftpServerOptions, serveSftp } from '../../src/sftp/server/server.ts';
import { type Chunking, cut } from './feed.ts';
import { seededRandom } from './random.ts';

/** Longest wait for anything that has to come. */
const LIMIT = 20_000;

type Text = string | Uint8Array;
type PathRow = 'lstat' | 'stat' | 'opendir' | 'remove' | 'rmdir' | 'realpath' | 'readlink';
type HandleRow = 'close' | 'fstat' | 'readdir';

/** Whole requests. */
export const ask = {
  init: (version = 3): Uint8Array => encodePacket(packets.init, { version, extensions: new Uint8Array(0) }),
  open: (id: number, path: Text, flags: number, attrs: Attributes = {}): Uint8Array =>
    encodePacket(packets.open, { id, path: toBytes(path), flags, attrs: encodeAttributes(attrs) }),
  read: (id: number, handle: Uint8Array, offset: number, length: number): Uint8Array =>
    encodeRead(id, handle, offset, length),
  write: (id: number, handle: Uint8Array, offset: number, data: Text): Uint8Array => {
    const bytes = toBytes(data);
    return join([writeHeader(id, handle, offset, bytes.length), bytes]);
  },
  path: (row: PathRow, id: number, path: Text): Uint8Array => encodePacket(packets[row], { id, path: toBytes(path) }),
  handle: (row: HandleRow, id: number, handle: Uint8Array): Uint8Array => encodePacket(packets[row], { id, handle }),
  setstat: (id: number, path: Text, attrs: Attributes): Uint8Array =>
    encodePacket(packets.setstat, { id, path: toBytes(path), attrs: encodeAttributes(attrs) }),
  fsetstat: (id: number, handle: Uint8Array, attrs: Attributes): Uint8Array =>
    encodePacket(packets.fsetstat, { id, handle, attrs: encodeAttributes(attrs) }),
  mkdir: (id: number, path: Text, attrs: Attributes = {}): Uint8Array =>
    encodePacket(packets.mkdir, { id, path: toBytes(path), attrs: encodeAttributes(attrs) }),
  rename: (id: number, from: Text, to: Text): Uint8Array =>
    encodePacket(packets.rename, { id, from: toBytes(from), to: toBytes(to) }),
  symlink: (id: number, first: Text, second: Text): Uint8Array =>
    encodePacket(packets.symlink, { id, first: toBytes(first), second: toBytes(second) }),
  extended: <L extends Layout>(
    id: number,
    layout: { readonly request: string; readonly fields: L },
    value: ValueOf<L>,
  ): Uint8Array =>
    encodePacket(packets.extended, { id, request: layout.request, body: encodeFields(layout.fields, value) }),
};

/** A reply. Each getter demands that it is of its kind. */
export class Reply {
  readonly packet: Uint8Array;

  constructor(packet: Uint8Array) {
    this.packet = packet;
  }

  get type(): number {
    return this.packet[0] as number;
  }

  get id(): number {
    return new DataView(this.packet.buffer, this.packet.byteOffset).getUint32(1);
  }

  #is(row: { readonly number: number; readonly name: string }): void {
    const said = this.type === packets.status.number ? `STATUS ${JSON.stringify(this.said)}` : `type ${this.type}`;
    assert.equal(this.type, row.number, `${row.name} expected, ${said} came`);
  }

  get code(): number {
    this.#is(packets.status);
    return decodePacket(packets.status, this.packet).code;
  }

  /** Message of a STATUS, which must have its language tag, too. */
  get message(): string {
    this.#is(packets.status);
    return this.said[1] as string;
  }

  get said(): readonly [number, string] {
    const { code, text } = decodePacket(packets.status, this.packet);
    const length = new DataView(text.buffer, text.byteOffset).getUint32(0);
    const tag = new DataView(text.buffer, text.byteOffset).getUint32(4 + length);
    assert.equal(text.length, 8 + length + tag, 'message and language tag fill the packet');
    return [code, Buffer.from(text.subarray(4, 4 + length)).toString()];
  }

  get handle(): Uint8Array {
    this.#is(packets.handle);
    return decodePacket(packets.handle, this.packet).handle.slice();
  }

  get data(): Uint8Array {
    this.#is(packets.data);
    return decodePacket(packets.data, this.packet).data;
  }

  get text(): string {
    return Buffer.from(this.data).toString();
  }

  get attrs(): Attributes {
    this.#is(packets.attrs);
    return decodeAttributes(decodePacket(packets.attrs, this.packet).attrs);
  }

  get names(): NameEntry[] {
    this.#is(packets.name);
    const { count, entries } = decodePacket(packets.name, this.packet);
    return decodeNames(count, entries);
  }

  /** The one name of the reply to REALPATH or READLINK. */
  get name(): string {
    assert.equal(this.names.length, 1);
    return Buffer.from((this.names[0] as NameEntry).name).toString();
  }

  get body(): Uint8Array {
    this.#is(packets.extendedReply);
    return decodePacket(packets.extendedReply, this.packet).body;
  }
}

export interface RawOptions extends Omit<SftpServerOptions, 'backend'> {
  /** How what the client writes is cut. Default: as it was written. */
  readonly chunking?: Chunking;
  readonly pipes?: MemoryPipeOptions;
  /** Whether what comes is given back at once. Default: true. */
  readonly consumes?: boolean;
}

export class RawSftp {
  readonly pipe: BytePipe;
  /** What the server's promise came to: `undefined` when it resolved. */
  readonly served: Promise<SshError | undefined>;
  /** Whether it has come to anything. */
  settled = false;
  /** Replies in the order in which they came; VERSION is not among them. */
  readonly replies: Reply[] = [];
  /** How many chunks came. */
  chunks = 0;
  received = 0;
  version: Uint8Array | undefined;
  ended = false;
  closedBy: { readonly cause: SshError | undefined } | undefined;
  consumes: boolean;
  #unconsumed = 0;
  readonly #chunking: Chunking;
  readonly #random = seededRandom('raw');
  readonly #framer: Framer;
  #waiting: (() => void)[] = [];

  constructor(backend: SftpBackend, options: RawOptions = {}) {
    const { chunking = 'whole', pipes = {}, consumes = true, ...server } = options;
    const [own, theirs] = memoryPipes(pipes);
    this.pipe = own;
    this.#chunking = chunking;
    this.consumes = consumes;
    this.#framer = new Framer({ packet: (packet) => this.#packet(packet.slice()) }, { maxPacket: 1 << 24 });
    this.served = serveSftp(theirs, { backend, ...server }).then(
      () => undefined,
      (cause: SshError) => cause,
    );
    this.served.then(() => {
      this.settled = true;
    });
    const sink: PipeSink = {
      data: (bytes) => this.#data(bytes),
      end: () => {
        this.ended = true;
        this.#wake();
      },
      drain: () => {},
      closed: (cause) => {
        this.closedBy = { cause };
        this.#wake();
      },
    };
    own.open(sink);
  }

  /** A client that has its VERSION. */
  static async connect(backend: SftpBackend, options: RawOptions = {}): Promise<RawSftp> {
    const raw = new RawSftp(backend, options);
    raw.send(ask.init());
    if (options.consumes !== false) await raw.until(() => raw.version !== undefined, 'VERSION');
    return raw;
  }

  /** Writes the packets at once, as one chunk or cut as the test wants. */
  send(...all: readonly Uint8Array[]): void {
    const bytes = join(all);
    this.pipe.write(cut(bytes, this.#chunking, this.#random));
  }

  /** The reply to a request, of which there must be one. */
  async reply(id: number): Promise<Reply> {
    const found = (): Reply[] => this.replies.filter((reply) => reply.id === id);
    await this.until(() => found().length > 0, `the reply to ${id}`);
    assert.equal(found().length, 1);
    return found()[0] as Reply;
  }

  /** Sends a request with id `id` and waits for its reply. */
  async request(packet: Uint8Array): Promise<Reply> {
    const id = new DataView(packet.buffer, packet.byteOffset).getUint32(5);
    this.send(packet);
    return this.reply(id);
  }

  /** Opens a file and gives its handle. */
  async open(id: number, path: Text, flags: number, attrs: Attributes = {}): Promise<Uint8Array> {
    return (await this.request(ask.open(id, path, flags, attrs))).handle;
  }

  /** Ids in the order of the replies. */
  get order(): number[] {
    return this.replies.map(({ id }) => id);
  }

  /** Ends in good order; gives what the server's promise came to. */
  async end(): Promise<SshError | undefined> {
    this.pipe.end();
    await this.until(() => this.settled, 'the end of the server');
    return this.served;
  }

  async until(holds: () => boolean, what: string): Promise<void> {
    const limit = performance.now() + LIMIT;
    while (!holds()) {
      if (performance.now() > limit) assert.fail(`${what} did not come within ${LIMIT} ms; replies: ${this.order}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 20);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Gives back what was kept. */
  consumeAll(): void {
    this.consumes = true;
    const count = this.#unconsumed;
    this.#unconsumed = 0;
    this.pipe.consumed(count);
  }

  #data(bytes: Uint8Array): void {
    this.chunks++;
    this.received += bytes.length;
    this.#framer.push(bytes.slice());
    if (this.consumes) this.pipe.consumed(bytes.length);
    else this.#unconsumed += bytes.length;
    this.#wake();
  }

  #packet(packet: Uint8Array): void {
    if (packet[0] === packets.version.number) this.version = packet;
    else this.replies.push(new Reply(packet));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Lets everything that is ready in memory run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve, 0));
}
