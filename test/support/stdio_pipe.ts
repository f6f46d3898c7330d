/** A child process as a byte pipe: what it prints is received, what is written is its input. */

import { spawn } from 'node:child_process';
import { SshError } from '../../src/errors.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';

/** Unconsumed bytes at which reading pauses, and queued bytes at which `write` says stop. */
const HIGH = 1024 * 1024;

export interface StdioPipe extends BytePipe {
  /** Ends the process without a word, as a crash would. */
  kill(): void;
  /** Resolves when the process has ended. */
  readonly exited: Promise<void>;
}

export function stdioPipe(command: string, args: readonly string[], cwd: string): StdioPipe {
  const child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'ignore'] });
  let sink: PipeSink | undefined;
  let unconsumed = 0;
  let queued = 0;
  let full = false;
  let cause: SshError | undefined;
  const finish = (): void => {
    const to = sink;
    sink = undefined;
    to?.closed(cause);
  };
  let onExit: () => void = () => undefined;
  const exited = new Promise<void>((resolve) => {
    onExit = resolve;
  });
  child.on('error', (error) => {
    cause ??= new SshError('connect-failed', error.message, { cause: error });
    onExit();
    finish();
  });
  child.on('close', () => {
    onExit();
    finish();
  });
  child.stdin.on('error', () => undefined); // EPIPE: the end of the output tells the same
  return {
    exited,
    kill: () => void child.kill('SIGKILL'),
    open(to) {
      sink = to;
      child.stdout.on('data', (bytes: Uint8Array) => {
        unconsumed += bytes.length;
        if (unconsumed > HIGH) child.stdout.pause();
        sink?.data(bytes);
      });
      child.stdout.on('end', () => sink?.end());
    },
    write(pieces) {
      if (sink === undefined) return true;
      let length = 0;
      for (const piece of pieces) length += piece.length;
      queued += length;
      child.stdin.cork();
      pieces.forEach((piece, i) => {
        if (i < pieces.length - 1) child.stdin.write(piece);
        else
          child.stdin.write(piece, () => {
            queued -= length;
            if (!full || queued > HIGH / 2) return;
            full = false;
            sink?.drain();
          });
      });
      child.stdin.uncork();
      full ||= queued >= HIGH;
      return !full;
    },
    end: () => void child.stdin.end(),
    consumed(count) {
      unconsumed -= count;
      if (unconsumed <= HIGH / 2 && child.stdout.isPaused()) child.stdout.resume();
    },
    close(reason) {
      cause ??= reason;
      child.stdin.destroy();
      child.stdout.destroy();
      child.kill('SIGKILL');
    },
  };
}
