/**
 * SFTP sessions of one server that is far away, in virtual time: each a pipe whose peer has a window, which comes back a
 * round trip after what filled it was sent. All share the files.
 */

import { join } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import type { Clock } from '../../src/io/clock.ts';
import type { BytePipe, PipeSink, PipeStats } from '../../src/io/pipe.ts';
import { type Node, type Script, ScriptedSftp } from './scripted_sftp.ts';

export interface Far {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly roundTrip: number;
  /** The window of the peer of each session, in bytes. */
  readonly window: number;
  /** Whether the pipes have measured the round trip. Default: true. */
  readonly measured?: boolean;
}

export class FarSessions {
  readonly files: Map<string, Node> = new Map();
  /** The first is the client's own. */
  readonly sessions: FarPipe[] = [];
  /** How often a further one was asked for. */
  asked = 0;
  /** What happens to the session with that number; the first has 0. */
  script: (session: number) => Script | 'refused' = () => ({});
  /** Which files the session with that number has. */
  filesOf: (session: number) => Map<string, Node> = () => this.files;
  readonly #far: Far;

  constructor(far: Far) {
    this.#far = far;
  }

  /** Another session. Rejects where the script refuses it. */
  readonly open = async (): Promise<FarPipe> => {
    const number = this.asked++;
    const script = this.script(number);
    await new Promise<void>((resolve) => this.#far.clock.after(this.#far.roundTrip, resolve));
    if (script === 'refused') throw new SshError('channel-open-failed', 'one channel too many', { fault: 'peer' });
    const pipe = new FarPipe(new ScriptedSftp(script, this.filesOf(number)), this.#far);
    this.sessions.push(pipe);
    return pipe;
  };

  /** How many sessions are open now. */
  get count(): number {
    return this.sessions.filter(({ isOpen }) => isOpen).length;
  }

  /** Handles that are open, over all of them. */
  get handles(): number {
    return this.sessions.reduce((sum, { server, isOpen }) => sum + (isOpen ? server.openHandles.size : 0), 0);
  }
}

export class FarPipe implements BytePipe {
  readonly server: ScriptedSftp;
  isOpen = true;
  readonly #far: Far;
  #sink: PipeSink | undefined;
  #queue: Uint8Array[] = [];
  #queued = 0;
  #window: number;
  #full = false;
  #waits = 0;
  #sent = 0;

  constructor(server: ScriptedSftp, far: Far) {
    this.server = server;
    this.#far = far;
    this.#window = far.window;
  }

  get stats(): PipeStats {
    const { roundTrip, window, measured = true } = this.#far;
    return {
      ...(measured ? { roundTrip } : {}),
      window: 0,
      granted: 0,
      adjustments: 0,
      received: 0,
      sent: this.#sent,
      peerWindow: window,
      windowLimited: this.#queued > 0 && this.#window === 0,
      windowWaits: this.#waits,
    };
  }

  open(sink: PipeSink): void {
    this.#sink = sink;
    this.server.open({
      data: (bytes) => this.#later(() => this.isOpen && sink.data(bytes)),
      end: () => this.#later(() => this.isOpen && sink.end()),
      drain: () => undefined,
      closed: (cause) => this.#ended(cause),
    });
  }

  write(pieces: readonly Uint8Array[]): boolean {
    for (const piece of pieces) {
      this.#queue.push(piece.slice());
      this.#queued += piece.length;
      piece.fill(0xee); // they belong to the pipe
    }
    this.#send();
    this.#full = this.#queued > this.#far.window / 2;
    return !this.#full;
  }

  #send(): void {
    if (!this.isOpen || this.#queued === 0 || this.#window === 0) return;
    const all = join(this.#queue);
    const now = all.subarray(0, this.#window);
    this.#queue = now.length < all.length ? [all.subarray(now.length)] : [];
    this.#queued -= now.length;
    this.#window -= now.length;
    this.#sent += now.length;
    if (this.#queued > 0) this.#waits++;
    this.#later(() => {
      if (!this.isOpen) return;
      this.server.write([now]);
      this.#later(() => {
        this.#window += now.length;
        this.#send();
        if (!this.isOpen || !this.#full || this.#queued > this.#far.window / 4) return;
        this.#full = false;
        this.#sink?.drain();
      });
    });
  }

  #later(run: () => void): void {
    this.#far.clock.after(this.#far.roundTrip / 2, run);
  }

  end(): void {
    this.server.end();
  }

  consumed(count: number): void {
    this.server.consumed(count);
  }

  close(cause?: SshError): void {
    this.server.close(cause);
  }

  #ended(cause: SshError | undefined): void {
    this.isOpen = false;
    this.#sink?.closed(cause);
  }
}
