/**
 * A session as its server has it: what the client asked for, and the program that runs on it with its streams. RFC 4254 §6.
 * Must not know what programs do.
 */

import type { Bytes } from '../bytes/bytes.ts';
import { decodeFields, encodeFields } from '../bytes/schema.ts';
import { decodeLenient, printable, toBytes } from '../bytes/text.ts';
import type { MaybePromise } from '../crypto/provider.ts';
import { SshError, toSshError } from '../errors.ts';
import { ChannelPipe } from '../io/channel_pipe.ts';
import type { Driver } from '../io/driver.ts';
import type { BytePipe } from '../io/pipe.ts';
import { readPtyModes } from '../wire/pty_modes.ts';
import { AGENT_CHANNEL, AGENT_REQUEST, channelRequest } from '../wire/requests.ts';
import type { Login } from './handlers.ts';
import { ProgramStreams } from './program_streams.ts';

/** Variables that one session may set, and their bytes together: OpenSSH's limits are of that order. */
const MAX_VARIABLES = 128;
const MAX_VARIABLE_BYTES = 64 * 1024;

/** The terminal that a client has (RFC 4254 §6.2). Pixels of 0 are unknown. */
export interface Terminal {
  /** Its kind, as in TERM, sanitised. */
  readonly term: string;
  readonly columns: number;
  readonly rows: number;
  readonly widthPixels: number;
  readonly heightPixels: number;
  /** Terminal modes by opcode (RFC 4254 §8). */
  readonly modes: ReadonlyMap<number, number>;
}

/** What a client asked to have started. */
export type Start =
  | { readonly kind: 'exec'; readonly command: string }
  | { readonly kind: 'shell' }
  | { readonly kind: 'subsystem'; readonly name: string };

/** How a program ended: its code, or the signal that ended it, without `SIG`. Nothing is code 0. */
export type ProgramEnd =
  | number
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing has ended well
  | void
  | { readonly signal: string; readonly coreDumped?: boolean; readonly message?: string };

/** Runs a program on a session. What it throws is told to `onError`, and the client gets code 1. */
export type Program = (session: ServerSession) => MaybePromise<ProgramEnd>;

/** What users may start; what has no function is refused. */
export interface SessionHandlers {
  exec?: Program;
  shell?: Program;
  /** By name, such as `sftp`. */
  readonly subsystems?: Readonly<Record<string, Program>>;
}

/** Programs that run in one connection, and how many may. */
export interface Running {
  count: number;
  readonly most: number;
}

export interface SessionParts {
  readonly login: Login;
  readonly handlers: SessionHandlers;
  readonly programs: Running;
  /** What a program threw. */
  readonly failed: (error: SshError) => void;
  /** The session has ended. */
  readonly freed: () => void;
}

type State = 'waiting' | 'running' | 'ended';

/** A session, as its program has it. */
export class ServerSession {
  readonly login: Login;
  /** Called with a signal of the client, named without `SIG`. */
  onSignal: ((signal: string) => void) | undefined;
  /** Called when the client's terminal has another size, with `terminal` changed. */
  onResize: ((terminal: Terminal) => void) | undefined;
  readonly #driver: Driver;
  readonly #parts: SessionParts;
  readonly #abort = new AbortController();
  readonly #environment = new Map<string, string>();
  #environmentBytes = 0;
  #terminal: Terminal | undefined;
  #start: Start | undefined;
  #asked: Start | undefined;
  #state: State = 'waiting';
  #channel: ChannelPipe | undefined;
  #streams: ProgramStreams | undefined;
  #pipeTaken = false;
  #agentOffered = false;

  private constructor(driver: Driver, parts: SessionParts) {
    this.#driver = driver;
    this.#parts = parts;
    this.login = parts.login;
    const { environment = {} } = parts.login.permissions;
    for (const [name, value] of Object.entries(environment)) this.#environment.set(name, value);
  }

  /** Confirms a channel that the client asked for, and serves a session on it. */
  static accept(driver: Driver, id: number, parts: SessionParts): void {
    const session = new ServerSession(driver, parts);
    const channel = ChannelPipe.accept(driver, id, {
      extras: { request: (name, body) => session.#request(name, body), freed: parts.freed },
    });
    session.#channel = channel;
    channel.freed.then(() => session.#lost());
  }

  /** What runs here: the command that the user is bound to, or what the client asked for. */
  get start(): Start {
    return this.#start as Start;
  }

  /** What the client asked for. */
  get asked(): Start {
    return this.#asked as Start;
  }

  /** The command of `exec`; `undefined` for a shell or a subsystem. */
  get command(): string | undefined {
    return this.#start?.kind === 'exec' ? this.#start.command : undefined;
  }

  /** Variables that the client wants set, and those of the user's key. They are the client's word: filter before use. */
  get environment(): ReadonlyMap<string, string> {
    return this.#environment;
  }

  /** The client's terminal, if it asked for one. */
  get terminal(): Terminal | undefined {
    return this.#terminal;
  }

  /** Fires when the client has closed the session, or is gone. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** What the client writes to the program; it ends with the client's end of input. Nobody is held up by an unread one but the client. */
  get stdin(): ReadableStream<Bytes> {
    return this.#open().stdin;
  }

  /** What the program writes. A write resolves once there is room. */
  get stdout(): WritableStream<Uint8Array> {
    return this.#open().stdout;
  }

  get stderr(): WritableStream<Uint8Array> {
    return this.#open().stderr;
  }

  /**
   * Writes text or bytes to stdout; resolves once there is room for more, rejects when the client is gone. What is not waited
   * for is written in order all the same, and all of it before the program's end is told.
   */
  write(data: string | Uint8Array): Promise<void> {
    return this.#open().write('stdout', toBytes(data));
  }

  /** The same for stderr. */
  writeError(data: string | Uint8Array): Promise<void> {
    return this.#open().write('stderr', toBytes(data));
  }

  /** The session as a pipe, in place of its streams: for programs that speak a protocol of their own. */
  get pipe(): BytePipe {
    if (this.#streams !== undefined) throw new SshError('bad-argument', 'The streams of this session are in use');
    this.#pipeTaken = true;
    return this.#channel as ChannelPipe;
  }

  /** Whether the client forwards an agent to this session, and the user may use it. */
  get hasAgent(): boolean {
    return this.#agentOffered;
  }

  /**
   * A connection to the client's agent, for `AgentClient` or a socket of the program. Rejects with `request-failed` where the client
   * forwards none to this session, `channel-open-failed` where it refuses.
   */
  async agent(): Promise<BytePipe> {
    if (this.#agentOffered && this.#state !== 'ended') {
      return await ChannelPipe.connect(this.#driver, AGENT_CHANNEL, { closesItself: true, signal: this.signal });
    }
    const message = this.#agentOffered ? 'The session has ended' : 'The client forwards no agent to this session';
    throw new SshError('request-failed', message, { fault: 'peer', phase: 'open' });
  }

  /** A request of the client: whether it is granted. */
  #request(name: string, body: Uint8Array): boolean {
    switch (name) {
      case 'env':
        return this.#setVariable(body);
      case 'pty-req':
        return this.#setTerminal(body);
      case 'exec': {
        const { command } = decodeFields(channelRequest.exec, body, name);
        return this.#run({ kind: 'exec', command: decodeLenient(command) });
      }
      case 'shell':
        decodeFields(channelRequest.shell, body, name);
        return this.#run({ kind: 'shell' });
      case 'subsystem':
        return this.#run({ kind: 'subsystem', name: decodeFields(channelRequest.subsystem, body, name).name });
      case AGENT_REQUEST:
        return this.#offerAgent(body);
      case 'window-change':
        return this.#resize(body);
      case 'signal': {
        const { signal } = decodeFields(channelRequest.signal, body, name);
        if (this.#state !== 'running') return false;
        this.#call(() => this.onSignal?.(printable(signal, 64)));
        return true;
      }
      default:
        return false;
    }
  }

  #setVariable(body: Uint8Array): boolean {
    const { name, value } = decodeFields(channelRequest.env, body, 'env');
    const size = name.length + value.length;
    if (this.#state !== 'waiting' || name === '' || /[=\0]/.test(name) || value.includes('\0')) return false;
    // the key's own variables are not the client's to change
    if (Object.hasOwn(this.login.permissions.environment ?? {}, name)) return false;
    const isFull = this.#environment.size >= MAX_VARIABLES || this.#environmentBytes + size > MAX_VARIABLE_BYTES;
    if (isFull) return false;
    this.#environmentBytes += size;
    this.#environment.set(name, value);
    return true;
  }

  #setTerminal(body: Uint8Array): boolean {
    const { term, modes, ...size } = decodeFields(channelRequest['pty-req'], body, 'pty-req');
    if (this.#state !== 'waiting' || this.#terminal !== undefined) return false;
    if (this.login.permissions.pty === false) return false;
    this.#terminal = { term: printable(term, 64), ...size, modes: readPtyModes(modes) };
    return true;
  }

  #offerAgent(body: Uint8Array): boolean {
    decodeFields(channelRequest[AGENT_REQUEST], body, AGENT_REQUEST);
    if (this.#state !== 'waiting' || this.login.permissions.agentForwarding === false) return false;
    this.#agentOffered = true;
    return true;
  }

  #resize(body: Uint8Array): boolean {
    const size = decodeFields(channelRequest['window-change'], body, 'window-change');
    if (this.#terminal === undefined) return false;
    const terminal = { ...this.#terminal, ...size };
    this.#terminal = terminal;
    this.#call(() => this.onResize?.(terminal));
    return true;
  }

  /** One program a session. A user who is bound to a command gets that, whatever was asked for. */
  #run(asked: Start): boolean {
    if (this.#state !== 'waiting') return false;
    const { command } = this.login.permissions;
    const start: Start = command === undefined ? asked : { kind: 'exec', command };
    const program = this.#programFor(start);
    const { programs } = this.#parts;
    if (program === undefined || programs.count >= programs.most) return false;
    programs.count++;
    this.#state = 'running';
    this.#start = start;
    this.#asked = asked;
    // the answer to the request leaves before anything that the program writes
    queueMicrotask(() => this.#execute(program));
    return true;
  }

  #programFor(start: Start): Program | undefined {
    const { handlers } = this.#parts;
    if (start.kind === 'exec') return handlers.exec?.bind(handlers);
    if (start.kind === 'shell') return handlers.shell?.bind(handlers);
    const { subsystems = {} } = handlers;
    return Object.hasOwn(subsystems, start.name) ? subsystems[start.name] : undefined;
  }

  async #execute(program: Program): Promise<void> {
    let end: ProgramEnd = 1;
    try {
      end = await program(this);
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#failed(error);
    }
    this.#parts.programs.count--;
    if (!this.#pipeTaken) await this.#open().written();
    this.#end(end);
  }

  #end(end: ProgramEnd): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    const channel = this.#channel as ChannelPipe;
    const told = endRequest(end);
    if (told === undefined) {
      this.#failed(
        new SshError('bad-argument', 'A program ends with a code of 32 bits, with { signal }, or with nothing'),
      );
      channel.finish(...(endRequest(1) as EndRequest));
    } else {
      channel.finish(...told);
    }
    this.#streams?.drop();
  }

  /** Calls a function of the program, whose failure is its own. */
  #call(work: () => unknown): void {
    try {
      const result = work();
      if (result instanceof Promise) result.catch((error) => this.#failed(error));
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#parts.failed(toSshError(error, 'internal', { phase: 'open' }));
  }

  #open(): ProgramStreams {
    if (this.#pipeTaken) throw new SshError('bad-argument', 'This session is in use as a pipe');
    this.#streams ??= new ProgramStreams(this.#channel as ChannelPipe);
    return this.#streams;
  }

  #lost(): void {
    this.#state = 'ended';
    this.#abort.abort(new SshError('channel-closed', 'The client closed the session', { fault: 'peer' }));
  }
}

type EndRequest = readonly [request: string, body: Uint8Array];

/** What tells the client how a program ended (RFC 4254 §6.10). Programs in plain JavaScript may give anything. */
function endRequest(end: unknown): EndRequest | undefined {
  if (end === undefined || isExitCode(end)) {
    // the RFC says uint32; a negative code is what its bits say
    return ['exit-status', encodeFields(channelRequest['exit-status'], { status: (end ?? 0) >>> 0 })];
  }
  if (typeof end !== 'object' || end === null || !('signal' in end)) return undefined;
  const { signal, coreDumped = false, message = '' } = end as Extract<ProgramEnd, object>;
  const name = String(signal).replace(/^SIG/, '');
  if (typeof signal !== 'string' || !/^[A-Za-z0-9@._-]+$/.test(name)) return undefined;
  const body = { signal: name, coreDumped, message: String(message), language: '' };
  return ['exit-signal', encodeFields(channelRequest['exit-signal'], body)];
}

function isExitCode(end: unknown): end is number {
  return Number.isInteger(end) && (end as number) >= -(2 ** 31) && (end as number) < 2 ** 32;
}
