/**
 * `npm run demo`: a server and a client of puressh in one process, over TCP on loopback. A file is uploaded over SFTP and
 * downloaded again, every byte is compared, and what that took is shown. The server serves a directory rather than
 * memory: that is the longer way, and the one that most servers go. Nothing of it stays.
 *
 *   npm run demo                  256 MiB
 *   npm run demo -- --size 1024   MiB
 */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Library, loadLibrary } from '../src/cli/entry.ts';
import { ProgressMeter } from '../src/cli/progress.ts';
import { algorithmReport } from '../src/cli/report.ts';
import { formatBytes } from '../src/cli/units.ts';
import type { SshServer } from '../src/serve.ts';
import type { TransferOptions, TransferStats } from '../src/sftp/options.ts';
import type { SshClient } from '../src/ssh_client.ts';
import { makePlace, mustBeEqual, writeRandomFile } from './place.ts';
import { table } from './table.ts';

const MEBI = 1024 * 1024;

/** What shells say of a program that Ctrl-C ended. */
const INTERRUPTED = 130;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A progress line on a terminal, a line every quarter elsewhere. */
interface Progress {
  update(bytes: number): void;
  done(bytes: number): void;
  clear(): void;
}

function progress(name: string, size: number): Progress {
  if (process.stdout.isTTY) {
    const meter = new ProgressMeter(process.stdout, name);
    return {
      update: (bytes) => meter.update(bytes, size),
      done: (bytes) => meter.done(bytes),
      clear: () => meter.clear(),
    };
  }
  let quarters = 0;
  const update = (bytes: number): void => {
    if (Math.floor((4 * bytes) / size) <= quarters) return;
    quarters = Math.floor((4 * bytes) / size);
    say(`${name}  ${25 * quarters}%  ${formatBytes(bytes)}`);
  };
  return { update, done: update, clear() {} };
}

/** A server that lets one key in, and a client that has it and trusts the key of the server. */
interface Pair {
  readonly server: SshServer;
  readonly ssh: SshClient;
}

async function connectPair(library: Library, files: string, signal: AbortSignal): Promise<Pair> {
  const { connect, directory, fingerprint, generateKey, key, listen, pin, pureProvider } = library;
  const [hostKey, userKey] = [generateKey('host'), generateKey('user')];
  const known = fingerprint(pureProvider, userKey.publicKey.blob);
  const server = await listen({
    port: 0,
    hostKeys: [hostKey],
    auth: { publickey: ({ username, key }) => username === 'demo' && key.fingerprint === known },
    sftp: directory(files),
    signal,
  });
  try {
    const { host, port } = server.address as { readonly host: string; readonly port: number };
    const auth = [key(userKey)];
    const ssh = await connect({ host, port, username: 'demo', auth, hostKey: pin(server.fingerprints), signal });
    say(`a server of puressh listens on ${host}:${port}, and a client has logged in with a key`);
    return { server, ssh };
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** Moves the file and says how fast, with all that was in flight. */
async function timed(
  name: string,
  size: number,
  move: (options: TransferOptions) => Promise<TransferStats>,
  signal: AbortSignal,
): Promise<string[]> {
  const bar = progress(name, size);
  const started = performance.now();
  let stats: TransferStats;
  try {
    stats = await move({ signal, onProgress: ({ bytes }) => bar.update(bytes) });
  } catch (error) {
    bar.clear();
    throw error;
  }
  const seconds = (performance.now() - started) / 1000;
  bar.done(stats.bytes);
  const rate = `${(stats.bytes / 1e6 / seconds).toFixed(1)} MB/s`;
  const flight = `up to ${stats.maxRequestsInFlight} requests and ${formatBytes(stats.maxBytesInFlight)} in flight`;
  return [name, `${rate} (${formatBytes(stats.bytes)} in ${seconds.toFixed(2)} s), ${flight}`];
}

async function demonstrate(library: Library, place: string, size: number, signal: AbortSignal): Promise<void> {
  const [local, files, back] = [join(place, 'local.bin'), join(place, 'served'), join(place, 'back.bin')];
  mkdirSync(files);
  say(`writing ${size / MEBI} MiB of random bytes to ${local}`);
  writeRandomFile(local, size);
  const { server, ssh } = await connectPair(library, files, signal);
  try {
    const sftp = await ssh.sftp({ signal });
    const upload = await timed('upload', size, (options) => sftp.put(local, '/remote.bin', options), signal);
    mustBeEqual(local, join(files, 'remote.bin'));
    rmSync(local); // so that two files need to have room, and not three
    const download = await timed('download', size, (options) => sftp.get('/remote.bin', back, options), signal);
    mustBeEqual(join(files, 'remote.bin'), back);
    const { kex, hostKey, cipher, mac } = algorithmReport(ssh.info.algorithms, 'toClient');
    const rows = [
      upload,
      download,
      ['key exchange', `${kex}${ssh.info.strictKex ? ', strict' : ''}`],
      ['host key', `${hostKey}, ${ssh.info.hostKey.fingerprint}`],
      ['cipher', cipher],
      ['MAC', mac ?? 'none needed: the cipher authenticates'],
      ['memory', `${formatBytes(process.resourceUsage().maxRSS * 1024)} at most, server and client together`],
      ['check', 'every byte is the same, there and back'],
    ];
    say(`\n${table(rows, 'left')}\n`);
  } finally {
    await ssh.close();
    await server.close();
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { size: { type: 'string', default: '256' } } });
  const size = Math.floor(Number(values.size) * MEBI);
  if (!(size > 0 && size < Number.MAX_SAFE_INTEGER)) throw new Error(`--size takes mebibytes, not ${values.size}`);
  const controller = new AbortController();
  let place: string | undefined;
  const clean = (): void => {
    if (place !== undefined) rmSync(place, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted) {
        clean();
        process.exit(INTERRUPTED);
      }
      process.exitCode = INTERRUPTED;
      controller.abort();
    });
  }
  process.stdout.on('error', () => controller.abort()); // nobody reads any more: clean up, as for Ctrl-C
  const library = await loadLibrary();
  place = makePlace(2 * size);
  try {
    await demonstrate(library, place, size, controller.signal);
  } finally {
    clean();
    say('the server and all files are gone again');
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`demo: ${(error as Error).message}\n`);
  process.exitCode ??= (error as { code?: unknown }).code === 'aborted' ? INTERRUPTED : 1;
}
