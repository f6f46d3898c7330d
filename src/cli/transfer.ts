/** What `get` and `put` share: the session, the progress line, the clock and the report. */

import process from 'node:process';
import { DEFAULT_WINDOW } from '../core/options.ts';
import { SshError } from '../errors.ts';
import type { SftpClient } from '../sftp/client.ts';
import type { TransferOptions, TransferStats } from '../sftp/options.ts';
import type { GetCommand, PutCommand } from './args.ts';
import { openConnection } from './connection.ts';
import { jsonLine } from './json_line.ts';
import { print } from './output.ts';
import { ProgressMeter } from './progress.ts';
import { algorithmReport, transferReport } from './report.ts';

/** One transfer, on a session that is open. */
export type Move<S extends TransferStats> = (sftp: SftpClient, options: TransferOptions) => Promise<S>;

/** Connects, moves one file, and reports. Rejects with an `SshError` unless every byte arrived. */
export async function transfer<S extends TransferStats>(
  command: GetCommand | PutCommand,
  name: string,
  signal: AbortSignal,
  move: Move<S>,
): Promise<S> {
  const ssh = await openConnection(command.remote, command.connection, signal);
  try {
    const sftp = await ssh.sftp({ signal });
    const meter = progressMeter(command, name);
    const started = performance.now();
    let stats: S;
    try {
      stats = await move(sftp, {
        signal,
        requests: command.requests,
        onProgress: meter && (({ bytes, total }) => meter.update(bytes, total)),
      });
    } catch (error) {
      meter?.clear();
      await lastWords(sftp, error);
      throw error;
    }
    const milliseconds = performance.now() - started;
    meter?.done(stats.bytes);
    if (command.json) {
      const direction = command.name === 'get' ? 'toClient' : 'toServer';
      const algorithms = algorithmReport(ssh.info.algorithms, direction);
      const report = transferReport({ ...stats, milliseconds, window: DEFAULT_WINDOW }, algorithms);
      await print(`${jsonLine(report)}\n`);
    }
    return stats;
  } finally {
    await ssh.close();
  }
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
