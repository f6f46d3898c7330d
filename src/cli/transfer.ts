/** What the commands `get` and `put` share: the session, the progress line, the clock, the report and the status. */

import process from 'node:process';
import { DEFAULT_MAX_WINDOW, DEFAULT_WINDOW } from '../core/options.ts';
import { SshError } from '../errors.ts';
import type { SftpClient } from '../sftp/client.ts';
import { openEarly } from './connection.ts';
import { EXIT_FAILED, errorLine, noticeLine } from './exit.ts';
import { jsonLine } from './json_line.ts';
import type { Moving } from './move.ts';
import { print } from './output.ts';
import { ProgressMeter } from './progress.ts';
import { algorithmReport, transferReport } from './report.ts';
import type { Summary } from './summary.ts';
import type { HostTarget } from './target.ts';
import type { GetCommand, PutCommand } from './transfer_args.ts';

/** Connects, moves what is to be moved, and reports. Rejects with an `SshError` where that is one file, or all that is left. */
export async function transfer(
  command: GetCommand | PutCommand,
  host: HostTarget,
  name: string,
  signal: AbortSignal,
  move: (moving: Moving) => Promise<Summary>,
): Promise<number> {
  const { connection, move: choice } = command;
  const { ssh, clearer } = await openEarly(host, connection, signal);
  try {
    const sftp = await ssh.sftp({ signal, early: true });
    const meter = progressMeter(command, name);
    // requests may be on their way before anybody is logged in, and are not answered until then
    let started = performance.now();
    ssh.loggedIn.then(
      () => {
        started = performance.now();
      },
      () => {},
    );
    const summary = await move({ sftp, signal, choice, meter, local: (path) => path }).catch(async (error) => {
      meter?.clear();
      await lastWords(sftp, error);
      throw error;
    });
    const milliseconds = performance.now() - started;
    tell(summary);
    if (command.json) {
      const { window = DEFAULT_WINDOW } = connection;
      const { maxWindow = Math.max(window, DEFAULT_MAX_WINDOW) } = connection;
      const algorithms = algorithmReport(ssh.info.algorithms, command.name === 'get' ? 'toClient' : 'toServer');
      summary.roundTrip ??= ssh.stats.roundTrip;
      await print(`${jsonLine(transferReport(summary, { milliseconds, window, maxWindow }, algorithms))}\n`);
    }
    return summary.failedTotal > 0 ? EXIT_FAILED : 0;
  } catch (error) {
    throw clearer(error);
  } finally {
    await ssh.close();
  }
}

/** A line for everything that is not as it was asked for. */
export function tell(
  summary: Summary,
  say: (line: string) => void = (line) => process.stderr.write(`${line}\n`),
): void {
  for (const warning of summary.warnings) say(noticeLine(warning));
  for (const { path, why } of summary.skipped) say(noticeLine(`${path} ${why}: left out`));
  unlisted(summary.skippedTotal - summary.skipped.length, 'left out', say);
  for (const { error } of summary.failed) say(errorLine(error));
  unlisted(summary.failedTotal - summary.failed.length, 'failed', say);
}

function unlisted(count: number, what: string, say: (line: string) => void): void {
  if (count > 0) say(noticeLine(`${count} more ${what}`));
}

/** Milliseconds that a server which is silent may keep us after an interruption. */
const FAREWELL_TIME = 2000;

/**
 * After an interruption the request to remove what is half uploaded is still on its way. A round trip behind it makes sure
 * that it is not lost with the connection.
 */
async function lastWords(sftp: SftpClient, error: unknown): Promise<void> {
  if (!(error instanceof SshError) || error.code !== 'aborted') return;
  await sftp.realpath('.', { stallTimeout: FAREWELL_TIME }).catch(() => {});
}

/** None in a pipe, and none where the content itself goes to the terminal. */
function progressMeter(command: GetCommand | PutCommand, name: string): ProgressMeter | undefined {
  const { stderr, stdout } = process;
  const inTheWay = command.name === 'get' && command.local === '-' && stdout.isTTY;
  return stderr.isTTY && !command.quiet && !inTheWay ? new ProgressMeter(stderr, name) : undefined;
}
