/**
 * Large files both ways with servers of seven makers and our own, near and far: with what is set by default, with one request
 * pending, and with a window that is large from the start. One runtime moves 64 MiB near and 8 far, the others less: Dropbear, with
 * its window of 24 KiB, takes minutes for 64 MiB far away. PURESSH_FULL=1 has all of it moved: half an hour.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type DelayProxy, startDelayProxy } from '../../bench/delay_proxy.ts';
import { api } from '../support/connect.ts';
import { tryOperations } from '../support/operations.ts';
import * as asyncssh from '../support/peers/asyncssh.ts';
import * as dropbear from '../support/peers/dropbear.ts';
import * as erlang from '../support/peers/erlang.ts';
import * as openssh from '../support/peers/openssh.ts';
import { usePeer } from '../support/peers/peer.ts';
import * as proftpd from '../support/peers/proftpd.ts';
import * as python from '../support/peers/python_server.ts';
import { isThorough } from '../support/thorough.ts';

const MEBI = 1024 * 1024;
const FAR = 50; // ms
/** Bytes, the last READ not being full. */
const isFull = process.env.PURESSH_FULL === '1';
const NEAR_SIZE = (isThorough || isFull ? 64 : 2) * MEBI + 12_345;
const FAR_SIZE = (isFull ? 64 : isThorough ? 8 : 1) * MEBI + 12_345;
/** The same where each request waits for the one before. */
const ONE_BY_ONE = (isFull ? 64 * MEBI : MEBI / 8) + 12_345;

/** Content that repeats nowhere near, made faster than random bytes. */
const content = new Uint8Array(NEAR_SIZE);
for (let i = 0, state = 1; i < NEAR_SIZE; i += 4) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  content[i] = state >>> 24;
  content[i + 1] = state >>> 16;
  content[i + 2] = i >>> 16;
  content[i + 3] = i >>> 8;
}

const modes: readonly { name: string; client: { window?: number }; transfer: { requests?: number } }[] = [
  { name: 'as it is', client: {}, transfer: {} },
  { name: 'one request at a time', client: {}, transfer: { requests: 1 } },
  { name: 'a window of 64 MiB', client: { window: 64 * MEBI }, transfer: {} },
];

const servers = [
  { name: 'OpenSSH', available: openssh.available(), start: () => openssh.startSshd() },
  { name: 'Dropbear', available: dropbear.sftpUnavailable(), start: () => dropbear.startDropbear() },
  { name: 'ProFTPD', available: proftpd.available(), start: () => proftpd.startProftpd() },
  { name: 'asyncssh', available: asyncssh.available(), start: () => asyncssh.startAsyncssh() },
  { name: 'Erlang', available: erlang.available(), start: () => erlang.startErlang() },
  ...[python.paramiko, python.conch].map((server) => ({
    name: server.name,
    available: python.available(server),
    start: () => python.startPythonServer(server),
  })),
];

/** A server that runs. */
interface Place {
  readonly port: number;
  readonly username: string;
  readonly auth: Parameters<typeof api.connect>[0]['auth'];
  /** A directory that can be written to from here and from there. */
  readonly files: string;
}

/** The same transfers with one server, near and far. */
function transfers(place: () => Place, skip: { readonly skip?: string }): void {
  let relay: DelayProxy | undefined;
  before(async () => {
    if (skip.skip === undefined) relay = await startDelayProxy(place().port, FAR);
  });
  after(() => relay?.stop());
  it('names, links, whole directories, copies and digests', { ...skip, timeout: 60_000 }, async () => {
    const { port, username, auth, files } = place();
    const hostKey = api.insecureAcceptAny();
    await using ssh = await api.connect({ host: '127.0.0.1', port, username, auth, hostKey });
    await using sftp = await ssh.sftp();
    await tryOperations(sftp, username, files);
  });
  for (const delay of [0, FAR]) {
    it(`${delay} ms away`, { ...skip, timeout: isFull ? 3_600_000 : 300_000 }, async () => {
      const { username, auth, files, ...near } = place();
      const port = delay === 0 ? near.port : (relay as DelayProxy).port;
      const whole = delay === 0 ? NEAR_SIZE : FAR_SIZE;
      for (const { name, client, transfer } of isThorough || delay === 0 ? modes : modes.slice(0, 1)) {
        const hostKey = api.insecureAcceptAny();
        await using ssh = await api.connect({ host: '127.0.0.1', port, username, auth, hostKey, ...client });
        await using sftp = await ssh.sftp();
        const expected = content.subarray(0, transfer.requests === 1 ? ONE_BY_ONE : whole);
        // not every server can replace a file
        for (const old of ['put', 'got']) await rm(`${files}/${old}`, { force: true });
        await writeFile(`${files}/source`, expected);
        await sftp.put(`${files}/source`, `${files}/put`, transfer);
        assert.equal(Buffer.compare(await readFile(`${files}/put`), expected), 0, `what was put, ${name}`);
        await sftp.get(`${files}/put`, `${files}/got`, transfer);
        assert.equal(Buffer.compare(await readFile(`${files}/got`), expected), 0, `what was got, ${name}`);
      }
    });
  }
}

for (const { name, available, start } of servers) {
  describe(name, () => {
    const shared = usePeer(available, start);
    const place = (): Place => {
      const { port, username, keys, files } = shared.peer;
      return { port, username, auth: [api.keyFile(keys.ed25519.openssh)], files };
    };
    transfers(place, shared.options);
  });
}

describe('puressh', () => {
  const files = mkdtempSync(join(tmpdir(), 'puressh-distance-'));
  let server: Awaited<ReturnType<typeof api.listen>>;
  before(async () => {
    server = await api.listen({
      port: 0,
      hostKeys: [api.generateKey()],
      auth: { password: api.passwords({ ada: 'secret' }) },
      sftp: api.directory('/'),
    });
  });
  after(async () => {
    await server.close();
    rmSync(files, { recursive: true });
  });
  const place = (): Place => ({
    port: server.address?.port ?? 0,
    username: 'ada',
    auth: [api.password('secret')],
    files,
  });
  transfers(place, {});
});
