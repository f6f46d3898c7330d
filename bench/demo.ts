/**
 * `npm run demo`: downloads a file over SFTP from a real server, with a progress bar, and says what it did. The server is a
 * throwaway OpenSSH `sshd` on loopback, with keys of its own, which is gone afterwards.
 *
 *   npm run demo                 256 MiB
 *   npm run demo -- --size 1024  MiB
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { ProgressMeter, progressLine } from '../src/cli/progress.ts';
import { formatBytes } from '../src/cli/units.ts';
import { connect, keyFile, knownHosts, type TransferStats } from '../src/node.ts';
import { available, startSshd } from '../test/support/peers/openssh.ts';
import type { Peer } from '../test/support/peers/peer.ts';
import { writeRandomFile } from './place.ts';

const MEBI = 1024 * 1024;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { size: { type: 'string', default: '256' } } });
  const size = Number(values.size) * MEBI;
  if (!(size > 0)) throw new Error(`--size takes a number of MiB, not ${values.size}`);
  const reason = available();
  if (reason !== undefined) {
    throw new Error(
      `${reason} here, and the demo needs OpenSSH's server (on Debian and Ubuntu: apt-get install openssh-server)`,
    );
  }
  const peer = await startSshd();
  try {
    console.log(`Started a throwaway OpenSSH server on ${peer.host}:${peer.port} (${peer.identification}).`);
    await download(peer, size);
  } finally {
    await peer.stop();
  }
}

async function download(peer: Peer, size: number): Promise<void> {
  const remote = join(peer.files, 'demo.bin');
  const local = join(peer.dir, 'demo.bin');
  writeRandomFile(remote, size);
  const ssh = await connect({
    host: peer.host,
    port: peer.port,
    username: peer.username,
    auth: [keyFile(peer.keys.ed25519.openssh)],
    hostKey: knownHosts(peer.knownHosts),
  });
  try {
    const sftp = await ssh.sftp();
    const progress = startProgress('demo.bin', size);
    const started = performance.now();
    const stats = await sftp.get(remote, local, { onProgress: ({ bytes }) => progress.update(bytes) });
    const seconds = (performance.now() - started) / 1000;
    progress.done();
    tell(stats, seconds);
    const { kex, hostKey, toClient } = ssh.info.algorithms;
    console.log(
      `Algorithms: ${kex}, host key ${hostKey}, ${toClient.cipher}${toClient.mac ? `, ${toClient.mac}` : ''}.`,
    );
  } finally {
    await ssh.close();
  }
  if ((await sha256(remote)) !== (await sha256(local))) throw new Error('the copy differs from the file');
  console.log(`The copy is identical (SHA-256 ${(await sha256(local)).slice(0, 16)}…).`);
}

function tell({ bytes, requests, maxRequestsInFlight, maxBytesInFlight }: TransferStats, seconds: number): void {
  console.log(`${formatBytes(bytes)} in ${seconds.toFixed(2)} s: ${formatBytes(bytes / seconds)}/s.`);
  const flight = `at most ${maxRequestsInFlight} of them, ${formatBytes(maxBytesInFlight)}, in flight at once`;
  console.log(`${requests} READ requests, ${flight}.`);
}

/** A progress bar on a terminal; elsewhere a line for every tenth. */
function startProgress(name: string, total: number): { update(bytes: number): void; done(): void } {
  if (process.stdout.isTTY) {
    const meter = new ProgressMeter(process.stdout, name);
    return { update: (bytes) => meter.update(bytes, total), done: () => meter.done(total) };
  }
  const started = performance.now();
  let tenths = 0;
  const update = (bytes: number): void => {
    if (Math.floor((10 * bytes) / total) <= tenths) return;
    tenths = Math.floor((10 * bytes) / total);
    const seconds = (performance.now() - started) / 1000;
    console.log(progressLine({ name, bytes, total, rate: bytes / seconds, seconds, done: bytes === total }));
  };
  return { update, done: () => update(total) };
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

await main().catch((error: unknown) => {
  console.error(`demo: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
});
