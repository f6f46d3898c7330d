/**
 * A program that serves a file system in memory on its standard input and output, as sftp-server does a disk: for real clients
 * that start their server themselves. `--read-only` as its argument: nothing may be changed.
 */

import { SshError } from '../../src/errors.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { serveSftp } from '../../src/sftp/server/server.ts';

/** Unconsumed bytes at which reading pauses, and bytes not written yet at which `write` says stop. */
const HIGH = 1024 * 1024;

function ownStdio(): BytePipe {
  const { stdin, stdout } = process;
  let unconsumed = 0;
  let full = false;
  return {
    open(sink: PipeSink) {
      stdin.on('data', (bytes: Uint8Array) => {
        unconsumed += bytes.length;
        if (unconsumed > HIGH) stdin.pause();
        sink.data(bytes);
      });
      stdin.on('end', () => sink.end());
      stdout.on('drain', () => {
        if (!full) return;
        full = false;
        sink.drain();
      });
      stdout.on('error', (error) => {
        sink.closed(new SshError('connection-lost', error.message, { fault: 'network', cause: error }));
      });
    },
    write(pieces) {
      stdout.cork();
      for (const piece of pieces) stdout.write(piece);
      stdout.uncork();
      full ||= stdout.writableLength >= HIGH;
      return !full;
    },
    end: () => void stdout.end(),
    consumed(count) {
      unconsumed -= count;
      if (unconsumed <= HIGH / 2 && stdin.isPaused()) stdin.resume();
    },
    close: () => process.exit(1),
  };
}

const backend = memoryFiles({ files: { '/srv/hello.txt': 'hello\n' }, home: '/srv' });
await serveSftp(ownStdio(), {
  backend,
  readOnly: process.argv.includes('--read-only'),
  onError: (error) => console.error(error),
});
