/** The shell without a person: commands from a file, one a line, up to the first that fails. */

import { printable, printableLines } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import { runLine } from './commands.ts';
import type { Shell } from './session.ts';

/** What the marks before a command ask for, in any order: `-` goes on when it fails, `@` does not show it. */
interface Marked {
  readonly line: string;
  readonly mayFail: boolean;
  readonly isShown: boolean;
}

/** A line without its marks. */
export function withoutMarks(line: string): Marked {
  const marks = /^[-@\s]*/.exec(line)?.[0] ?? '';
  return { line: line.slice(marks.length), mayFail: marks.includes('-'), isShown: !marks.includes('@') };
}

/** Runs every line. Rejects with the error of the first command that fails, unless it was marked. `file`: where errors say they are. */
export async function runBatch(
  shell: Shell,
  lines: AsyncIterable<string> | Iterable<string>,
  signal: AbortSignal,
  failed: (error: unknown) => void,
  quiet = false,
  file?: string,
): Promise<void> {
  let number = 0;
  for await (const text of lines) {
    signal.throwIfAborted();
    number++;
    const { line, mayFail, isShown } = withoutMarks(text.replace(/\r$/, ''));
    const isEmpty = line === '' || line.startsWith('#');
    if (isEmpty) continue;
    if (isShown && !quiet) await shell.line(`sftp> ${printableLines(line)}`);
    try {
      await runLine(shell, line, signal);
    } catch (error) {
      // a session that is gone fails every command that follows
      if (!mayFail || signal.aborted || shell.sftp.cause !== undefined) throw placed(error, file, number);
      failed(placed(error, file, number));
    }
    if (shell.isOver) return;
  }
}

/** The error with the line that it happened in. */
function placed(error: unknown, file: string | undefined, number: number): unknown {
  if (!(error instanceof SshError) || file === undefined) return error;
  const { code, message, fault, status, operation, path, phase } = error;
  return new SshError(code, `${printable(file, 300)}:${number}: ${message}`, {
    fault,
    ...(status === undefined ? {} : { status }),
    ...(operation === undefined ? {} : { operation }),
    ...(path === undefined ? {} : { path }),
    ...(phase === undefined ? {} : { phase }),
    cause: error,
  });
}
