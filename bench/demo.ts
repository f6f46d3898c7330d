/**
 * `npm run demo`: downloads a file over SFTP from a real OpenSSH server, and shows how that went. puressh has no server
 * of its own yet, so a throwaway `sshd` is started on loopback. Nothing of it stays.
 *
 *   npm run demo                  256 MiB
 *   npm run demo -- --size 1024   MiB
 */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ProgressMeter } from '../src/cli/progress.ts';
import { algorithmReport } from '../src/cli/report.ts';
import { formatBytes } from '../src/cli/units.ts';
import { connect, keyFile, knownHosts } from '../src/node.ts';
import { startSshd } from '../test/support/peers/openssh.ts';
import type { Peer } from '../test/support/peers/peer.ts';
import { needSshd } from './find_sshd.ts';
import { makePlace, mustBeEqual, writeRandomFile } from './place.ts';
import { table } from './table.ts';

const MEBI = 1024 * 1024;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A progress bar on a terminal, a line every quarter elsewhere. */
function progress(name: string, size: number): { update(bytes: number): void; done(bytes: number): void } {
  if (process.stdout.isTTY) {
    const meter = new ProgressMeter(process.stdout, name);
    return { update: (bytes) => meter.update(bytes, size), done: (bytes) => meter.done(bytes) };
  }
  let quarters = 0;
  const update = (bytes: number): void => {
    if (Math.floor((4 * bytes) / size) <= quarters) return;
    quarters = Math.floor((4 * bytes) / size);
    say(`  ${25 * quarters}%  ${formatBytes(bytes)}`);
  };
  return { update, done: update };
}

async function download(peer: Peer, place: string, size: number, signal: AbortSignal): Promise<void> {
  const [remote, local] = [join(place, 'remote.bin'), join(place, 'local.bin')];
  say(`writing ${size / MEBI} MiB of random bytes to ${remote}`);
  writeRandomFile(remote, size);
  await using ssh = await connect({
    host: peer.host,
    port: peer.port,
    username: peer.username,
    auth: [keyFile(peer.keys.ed25519.openssh)],
    hostKey: knownHosts(peer.knownHosts),
    signal,
  });
  await using sftp = await ssh.sftp();
  say(`downloading it to ${local}`);
  const bar = progress('local.bin', size);
  const started = performance.now();
  const stats = await sftp.get(remote, local, { signal, onProgress: ({ bytes }) => bar.update(bytes) });
  const seconds = (performance.now() - started) / 1000;
  bar.done(stats.bytes);
  mustBeEqual(remote, local);
  const { kex, hostKey, cipher, mac } = algorithmReport(ssh.info.algorithms, 'toClient');
  const rows = [
    [
      'rate',
      `${(stats.bytes / 1e6 / seconds).toFixed(1)} MB/s (${formatBytes(stats.bytes)} in ${seconds.toFixed(2)} s)`,
    ],
    ['in flight', `up to ${stats.maxRequestsInFlight} requests, ${formatBytes(stats.maxBytesInFlight)}`],
    ['server', ssh.info.identification],
    ['key exchange', `${kex}${ssh.info.strictKex ? ', strict' : ''}`],
    ['host key', `${hostKey}, ${ssh.info.hostKey.fingerprint}`],
    ['cipher', cipher],
    ['MAC', mac ?? 'none needed: the cipher authenticates'],
    ['check', 'every byte is the same'],
  ];
  say(`\n${table(rows, 'left')}`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { size: { type: 'string', default: '256' } } });
  const size = Math.floor(Number(values.size) * MEBI);
  if (!(size > 0)) throw new Error(`--size takes mebibytes, not ${values.size}`);
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => controller.abort());
  process.stdout.on('error', () => controller.abort()); // nobody reads any more: clean up, as for Ctrl-C
  needSshd(say);
  const peer = await startSshd({ hostKeys: ['ed25519'], config: ['LogLevel ERROR'] });
  say(`started a throwaway OpenSSH server on ${peer.host}:${peer.port}: ${peer.identification}`);
  const place = makePlace(2 * size);
  try {
    await download(peer, place, size, controller.signal);
  } finally {
    rmSync(place, { recursive: true, force: true });
    await peer.stop();
    say('the server and the files are gone again');
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`demo: ${(error as Error).message}\n`);
  process.exitCode = (error as { code?: unknown }).code === 'aborted' ? 130 : 1;
}
