/** The shell without a person: commands from a file, one a line, up to the first that fails. */

import { printableLines } from '../../bytes/text.ts';
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

/** Runs every line. Rejects with the error of the first command that fails, unless it was marked. */
export async function runBatch(
  shell: Shell,
  lines: AsyncIterable<string> | Iterable<string>,
  signal: AbortSignal,
  failed: (error: unknown) => void,
  quiet = false,
): Promise<void> {
  for await (const text of lines) {
    signal.throwIfAborted();
    const { line, mayFail, isShown } = withoutMarks(text.replace(/\r$/, ''));
    const isEmpty = line === '' || line.startsWith('#');
    if (isEmpty) continue;
    if (isShown && !quiet) await shell.line(`sftp> ${printableLines(line)}`);
    try {
      await runLine(shell, line, signal);
    } catch (error) {
      // a session that is gone fails every command that follows
      if (!mayFail || signal.aborted || shell.sftp.cause !== undefined) throw error;
      failed(error);
    }
    if (shell.isOver) return;
  }
}
