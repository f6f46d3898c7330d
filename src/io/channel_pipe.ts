/**
 * A channel of an SSH connection as a `BytePipe`, so that SFTP, or another SSH connection, can run on it (RFC 4254 §5). Its
 * credit is the channel's window: only bytes that were given back let the peer send more. Must not know what a session is.
 */

import { ChunkQueue } from '../bytes/chunks.ts';
import { DecodeError } from '../bytes/reader.ts';
import { recycle } from '../bytes/release.ts';
import { printable } from '../bytes/text.ts';
import type { ChannelStats, ChannelView } from '../core/channel.ts';
import { abortSignal, shownValue } from '../core/option_checks.ts';
import { protocolError, SshError } from '../errors.ts';
import { abortedBy, onAbort } from './abort.ts';
import type { ChannelEvent, ChannelOwner, Driver } from './driver.ts';
import type { BytePipe, PipeSink, PipeStats } from './pipe.ts';

/** What beside the bytes of the pipe comes over a channel. */
export interface ChannelExtras {
  /** A request of the peer. Returns whether it is granted: that is the answer, if one is wanted. Later ones wait for it. */
  request?(request: string, body: Uint8Array): boolean | Promise<boolean>;
  /** Extended data, such as stderr (kind 1); to be given back like the rest. Without this it is dropped. */
  extended?(kind: number, data: Uint8Array, channel: ChannelPipe): void;
  /** The channel has ended, and what comes next over the connection may count on it: `freed` resolves some time after. */
  freed?(): void;
}

/** How to open a channel. */
export interface ChannelOptions {
  /** What follows the fixed fields of CHANNEL_OPEN for this kind of channel. Default: nothing. */
  readonly body?: Uint8Array;
  readonly extras?: ChannelExtras;
  /**
   * Whether CLOSE follows by itself once both sides have sent EOF, as it should for a forwarded connection: OpenSSH's `ssh -W`
   * waits for it. A session waits for its program instead. Default: false.
   */
  readonly closesItself?: boolean;
  /** Gives up waiting for the peer's answer. */
  readonly signal?: AbortSignal | undefined;
  /** Whether not to wait for it where that can be done; a refusal then ends the pipe. Default: false. */
  readonly early?: boolean | undefined;
}

type AcceptOptions = Pick<ChannelOptions, 'extras' | 'closesItself'>;

type ChannelRequest = Extract<ChannelEvent, { type: 'channel-request' }>;

/** Requests of the peer that may wait for the answer to an earlier one; no client has as many in flight. */
const WAITING_REQUESTS = 64;

/** Of a channel on a connection that has ended before. */
const NOTHING_MOVED: ChannelStats = {
  window: 0,
  granted: 0,
  adjustments: 0,
  received: 0,
  sent: 0,
  peerWindow: 0,
  windowLimited: false,
  windowWaits: 0,
};

interface Waiting<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: SshError) => void;
}

export class ChannelPipe implements BytePipe {
  /** Resolves when `closed` has been or would be told. Never rejects. */
  readonly freed: Promise<void>;
  readonly #driver: Driver;
  readonly #extras: ChannelExtras;
  readonly #closesItself: boolean;
  readonly #replies = new Map<number, Waiting<boolean>>();
  #id = -1;
  /** The channel itself: what it has moved can be asked when it has ended. */
  #view: ChannelView | undefined;
  #resolveFreed: () => void = () => {};
  #opening: Waiting<ChannelPipe> | undefined;
  #sink: PipeSink | undefined;
  /** Requests of the peer that were not answered yet, and whether the first of them is being decided. */
  #requests: ChannelRequest[] = [];
  #deciding = false;
  /** What came before there was a sink: data, packed, because a peer may send byte by byte, and what came behind it. */
  readonly #earlyData = new ChunkQueue();
  readonly #early: ((sink: PipeSink) => void)[] = [];
  /** What the sink is being given, where nothing else is in its memory. */
  #delivering: Uint8Array | undefined;
  #closeCause: SshError | undefined;
  #ended = false;
  #inputEnded = false;
  /** `closing`: we closed, and the peer has not yet. */
  #state: 'opening' | 'open' | 'closing' | 'closed' = 'opening';

  private constructor(driver: Driver, options: AcceptOptions) {
    const { extras = {}, closesItself = false } = options;
    this.#driver = driver;
    this.#extras = extras;
    this.#closesItself = closesItself;
    this.freed = new Promise((resolve) => {
      this.#resolveFreed = resolve;
    });
  }

  /**
   * Opens a channel. Rejects with `channel-open-failed` when the peer refuses, `aborted` when `signal` fires before the
   * answer, `limit` when too many are open, or with what ended the connection.
   */
  static connect(driver: Driver, kind: string, options: ChannelOptions): Promise<ChannelPipe> {
    const { signal } = options;
    if (signal !== undefined && !abortSignal.fits(signal)) {
      const message = `signal must be ${abortSignal.expected}, not ${shownValue(signal)}`;
      return Promise.reject(new SshError('bad-argument', message));
    }
    if (signal?.aborted) return Promise.reject(abortedBy(signal));
    const channel = new ChannelPipe(driver, options);
    const opened = new Promise<ChannelPipe>((resolve, reject) => {
      channel.#opening = { resolve, reject };
      channel.#id = driver.openChannel(kind, options.body ?? new Uint8Array(0), channel.#owner(), options.early);
      channel.#view = driver.connection.channel(channel.#id);
    });
    if (signal === undefined) return opened;
    const off = onAbort(signal, (error) => channel.close(error));
    return opened.finally(off);
  }

  /** Confirms a channel that the peer asked for. */
  static accept(driver: Driver, id: number, options: AcceptOptions): ChannelPipe {
    const channel = new ChannelPipe(driver, options);
    channel.#id = id;
    channel.#view = driver.connection.channel(id);
    channel.#state = 'open';
    driver.attach(id, channel.#owner());
    driver.connection.acceptChannel(id);
    driver.wake();
    return channel;
  }

  open(sink: PipeSink): void {
    if (this.#early.length === 0 && this.#earlyData.length === 0) {
      this.#sink = sink;
      return;
    }
    // not from inside this call; what comes until then, or meanwhile, queues up behind
    queueMicrotask(() => {
      while (this.#early.length > 0 || this.#earlyData.length > 0) {
        const bytes = this.#earlyData.takeSome(Number.MAX_SAFE_INTEGER);
        if (bytes === undefined) this.#early.shift()?.(sink);
        else sink.data(bytes);
      }
      this.#sink = sink;
    });
  }

  /** `kind` 1 is stderr (RFC 4254 §5.2). */
  write(pieces: readonly Uint8Array[], kind = 0): boolean {
    if (this.#state !== 'open') return true;
    const room = this.#driver.connection.write(this.#id, pieces, kind);
    this.#driver.wake();
    return room;
  }

  /** Bytes that the peer may have on the way to us; it grows up to `maxWindow`. */
  get receiveWindow(): number {
    return this.#view?.window ?? 0;
  }

  get stats(): PipeStats {
    const { roundTrip } = this.#driver.connection.stats;
    return { ...(roundTrip === undefined ? {} : { roundTrip }), ...(this.#view?.stats ?? NOTHING_MOVED) };
  }

  get unsent(): number {
    return this.#state === 'closed' ? 0 : this.#driver.connection.queued(this.#id);
  }

  /** EOF, after what was written. */
  end(): void {
    if (this.#state !== 'open') return;
    this.#ended = true;
    this.#driver.connection.endChannel(this.#id);
    this.#driver.wake();
    this.#closeIfDone();
  }

  /** EOF, a last request, and CLOSE, after what was written, however long the peer takes for it. `closed` follows. */
  finish(request: string, body: Uint8Array): void {
    if (this.#state !== 'open') return;
    this.#driver.connection.finishChannel(this.#id, request, body);
    this.#driver.wake();
  }

  consumed(count: number): void {
    // a number that is free again may belong to another channel by now
    if (this.#state !== 'open') return;
    this.#driver.connection.consumed(this.#id, count);
    this.#driver.wake();
  }

  spent(kept: number): void {
    if (kept === 0 && this.#delivering !== undefined) recycle(this.#delivering);
    this.#delivering = undefined;
  }

  /**
   * CLOSE: at once, or, if `end` came before it and there is no `cause`, after what was written. `closed` follows when the peer has closed too,
   * which OpenSSH does only when the program on the channel has ended, or has had its time (`timeouts.channelClose`).
   */
  close(cause?: SshError): void {
    if (this.#state === 'closed') return;
    // an abort overtakes a close that still waits for what was written
    if (this.#state === 'closing') {
      if (cause !== undefined && this.#closeCause === undefined) this.#sendClose(true);
      return;
    }
    if (this.#state === 'open') this.#sendClose(cause !== undefined);
    this.#state = 'closing';
    this.#closeCause = cause;
    this.#requests = [];
    this.#failPending(cause ?? new SshError('channel-closed', 'This side closed the channel'));
  }

  /**
   * Sends a request that wants a reply; resolves with whether it succeeded, rejects when the channel ends before. `starts`: it
   * starts a program, which may take what is written before it has answered.
   */
  request(name: string, body: Uint8Array = new Uint8Array(0), starts = false): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#state !== 'open') {
        reject(this.#driver.endedBy ?? new SshError('channel-closed', `The channel is closed: no ${name} request`));
        return;
      }
      const id = this.#driver.connection.requestChannel(this.#id, name, body, true, starts);
      this.#replies.set(id, { resolve, reject });
      this.#driver.wake();
    });
  }

  /** Sends a request that wants no reply. */
  notify(name: string, body: Uint8Array = new Uint8Array(0)): void {
    if (this.#state !== 'open') return;
    this.#driver.connection.requestChannel(this.#id, name, body, false);
    this.#driver.wake();
  }

  #owner(): ChannelOwner {
    return {
      event: (event) => this.#handle(event),
      lost: (cause) =>
        this.#finish(this.#state === 'open' && this.#view?.confirmed === false ? withoutAnswer(cause) : cause),
    };
  }

  #handle(event: ChannelEvent): void {
    switch (event.type) {
      case 'channel-opened':
        this.#opened();
        return;
      case 'channel-refused':
        this.#finish(event.error);
        return;
      case 'channel-data':
        this.#data(event);
        return;
      case 'channel-drain':
        if (this.#state === 'open') this.#tell((sink) => sink.drain());
        return;
      case 'channel-eof':
        if (this.#state !== 'open') return;
        this.#inputEnded = true;
        this.#tell((sink) => sink.end());
        this.#closeIfDone();
        return;
      case 'channel-request':
        if (this.#state !== 'open') return;
        this.#requests.push(event);
        this.#answerRequests();
        return;
      case 'channel-reply':
        this.#replies.get(event.id)?.resolve(event.ok);
        this.#replies.delete(event.id);
        return;
      case 'channel-closed':
        this.#finish(undefined);
    }
  }

  #answerRequests(): void {
    while (!this.#deciding) {
      const event = this.#requests.shift();
      if (event === undefined) return;
      const granted = this.#request(event.request, event.body);
      if (granted instanceof Promise) this.#answerLater(event, granted);
      else this.#answer(event, granted);
    }
    if (this.#requests.length <= WAITING_REQUESTS) return;
    this.close(new SshError('limit', `More than ${WAITING_REQUESTS} requests wait on one channel`, { fault: 'peer' }));
  }

  #answerLater(event: ChannelRequest, granted: Promise<boolean>): void {
    this.#deciding = true;
    const answer = (ok: boolean): void => {
      this.#deciding = false;
      this.#answer(event, ok);
      this.#answerRequests();
      this.#driver.wake();
    };
    granted.then(answer, () => answer(false));
  }

  #answer(event: ChannelRequest, ok: boolean): void {
    if (event.wantReply && this.#state === 'open') this.#driver.connection.replyChannelRequest(this.#id, ok);
  }

  /** A request whose body has not its shape costs the peer this channel and nothing else. */
  #request(name: string, body: Uint8Array): boolean | Promise<boolean> {
    try {
      return this.#extras.request?.(name, body) ?? false;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.close(
        protocolError(`The peer's ${printable(name, 64)} request is malformed: ${error.message}`, { cause: error }),
      );
      return false;
    }
  }

  #opened(): void {
    if (this.#state === 'closing') {
      this.#sendClose(true);
      return;
    }
    this.#state = 'open';
    this.#opening?.resolve(this);
    this.#opening = undefined;
  }

  #data({ kind, data, exclusive }: Extract<ChannelEvent, { type: 'channel-data' }>): void {
    if (this.#state !== 'open') return;
    if (kind !== 0) {
      if (this.#extras.extended === undefined) this.consumed(data.length);
      else this.#extras.extended(kind, data, this);
    } else if (this.#sink === undefined) {
      this.#earlyData.push(data);
    } else {
      this.#delivering = exclusive === true ? data : undefined;
      this.#sink.data(data);
      this.#delivering = undefined;
    }
  }

  #tell(notice: (sink: PipeSink) => void): void {
    if (this.#sink === undefined) this.#early.push(notice);
    else notice(this.#sink);
  }

  #closeIfDone(): void {
    if (this.#closesItself && this.#ended && this.#inputEnded) this.close();
  }

  #sendClose(abandon: boolean): void {
    this.#driver.connection.closeChannel(this.#id, abandon);
    this.#driver.wake();
  }

  /** The terminal state; `cause` is `undefined` when both sides closed in good order. */
  #finish(cause: SshError | undefined): void {
    this.#state = 'closed';
    this.#requests = [];
    this.#failPending(cause ?? new SshError('channel-closed', 'The peer closed the channel', { fault: 'peer' }));
    this.#tell((sink) => sink.closed(this.#closeCause ?? cause));
    this.#extras.freed?.();
    this.#resolveFreed();
  }

  #failPending(error: SshError): void {
    this.#opening?.reject(error);
    this.#opening = undefined;
    for (const waiting of this.#replies.values()) waiting.reject(error);
    this.#replies.clear();
  }
}

/** OpenSSH ends the connection over what follows a channel that it refuses, and the refusal may be lost with it. */
function withoutAnswer(cause: SshError): SshError {
  const { code, fault, phase } = cause;
  if (code !== 'connection-lost' && code !== 'disconnected') return cause;
  const message =
    `${cause.message}; the server had not confirmed a channel that was used all the same: if it refused it, as servers do ` +
    'that give no sessions (MaxSessions), it says so where early is not set';
  return new SshError(code, message, { fault, ...(phase === undefined ? {} : { phase }), cause });
}
