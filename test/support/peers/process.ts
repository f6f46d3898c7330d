/**
 * A server as a child process that can't outlive the test: a small shell stands between, which kills the server when
 * its standard input ends, and that happens however the test process ends. A server's own standard input is empty.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostKeys, KeyName, UserKey } from './keys.ts';
import type { Peer } from './peer.ts';

const START_LIMIT_MS = 20_000; // Python on a busy machine needs seconds
const ATTEMPTS = 3; // another process may take the port between finding and using it

/** Arguments: directory, log file, command. Descriptor 3 is the pipe that ends with the test process. */
const SUPERVISOR = `
exec 3<&0
dir=$1 log=$2; shift 2
"$@" </dev/null 3<&- >"$log" 2>&1 &
pid=$!
( cat <&3 >/dev/null; kill "$pid"; sleep 0.2; rm -rf "$dir" ) >/dev/null 2>&1 &
wait "$pid"
`;

/** What a server module says about its server. */
export interface ServerPlan {
  readonly name: string;
  readonly username: string;
  readonly password: string | undefined;
  readonly keys: Readonly<Record<KeyName, UserKey>>;
  readonly hostKeys: HostKeys;
  /** Writes what the server needs into `dir` and names the command; called anew for every port that is tried. */
  command(dir: string, port: number): readonly string[];
}

/** Starts the server and waits until it identifies itself. Throws with its log when it does not. */
export async function startServer(plan: ServerPlan): Promise<Peer> {
  for (let attempt = 1; ; attempt++) {
    const dir = makeDirectory(plan.name);
    const port = await freePort();
    const logFile = join(dir, 'log');
    const child = supervise(dir, logFile, plan.command(dir, port));
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const identification = await identify(child, port);
    if (identification !== undefined) {
      return peerOf(plan, { child, ended, dir, port, logFile, identification });
    }
    const log = readLog(logFile);
    await end(child, ended, dir);
    if (attempt === ATTEMPTS || !/in use/i.test(log)) throw new Error(`${plan.name} did not start:\n${log}`);
  }
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  readonly dir: string;
  readonly port: number;
  readonly logFile: string;
  readonly identification: string;
}

function peerOf(plan: ServerPlan, running: Running): Peer {
  const { child, ended, dir, port, logFile, identification } = running;
  const files = join(dir, 'files');
  mkdirSync(files, { mode: 0o777 });
  chmodSync(files, 0o777); // whoever logs in may write; the umask has taken that away
  const knownHosts = join(dir, 'known_hosts');
  const lines = Object.values(plan.hostKeys).map((key) => `[127.0.0.1]:${port} ${key}\n`);
  writeFileSync(knownHosts, lines.join(''));
  let stopped: Promise<void> | undefined;
  let finalLog: string | undefined;
  return {
    host: '127.0.0.1',
    port,
    identification,
    username: plan.username,
    password: plan.password,
    keys: plan.keys,
    hostKeys: plan.hostKeys,
    knownHosts,
    dir,
    files,
    log: async () => finalLog ?? readLog(logFile),
    stop: () => {
      if (stopped === undefined) {
        finalLog = readLog(logFile);
        stopped = end(child, ended, dir);
      }
      return stopped;
    },
  };
}

function makeDirectory(name: string): string {
  const dir = mkdtempSync(join(tmpdir(), `puressh-${name}-`));
  chmodSync(dir, 0o755);
  return dir;
}

function supervise(dir: string, logFile: string, command: readonly string[]): ChildProcess {
  const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: dir, LC_ALL: 'C.UTF-8' };
  const child = spawn('/bin/sh', ['-c', SUPERVISOR, 'peer', dir, logFile, ...command], {
    env,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin.on('error', () => {}); // it ended first; `exit` says so
  // A peer must not keep a test process alive that is done.
  child.unref();
  (child.stdin as { unref?(): void }).unref?.();
  return child;
}

function readLog(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

async function end(child: ChildProcess, ended: Promise<void>, dir: string): Promise<void> {
  const running = child.exitCode === null && child.signalCode === null;
  if (running) child.ref();
  for (const pid of running ? descendants(child.pid as number) : []) kill(pid);
  child.stdin?.end();
  if (running) await ended;
  rmSync(dir, { recursive: true, force: true });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended in the meantime.
  }
}

/**
 * All processes below `pid`, where there is a `/proc`: sessions of a server leave its process group and survive it.
 * Elsewhere they end when their connections do.
 */
function descendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  let entries: string[] = [];
  try {
    entries = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  for (const entry of entries) {
    const stat = readLog(`/proc/${entry}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const found = [...(children.get(pid) ?? [])];
  for (let i = 0; i < found.length; i++) found.push(...(children.get(found[i] as number) ?? []));
  return found;
}

/** A port on loopback that nothing listens on at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/** The identification line of the server, or `undefined` when it ends or stays silent. */
async function identify(child: ChildProcess, port: number): Promise<string | undefined> {
  const limit = performance.now() + START_LIMIT_MS;
  while (performance.now() < limit && child.exitCode === null && child.signalCode === null) {
    const line = await firstLine(port);
    if (line?.startsWith('SSH-')) return line;
    await sleep(20);
  }
  return undefined;
}

/** First line that the port sends within two seconds. */
export function firstLine(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const done = (line: string | undefined): void => {
      socket.destroy();
      resolve(line);
    };
    socket.setTimeout(2000, () => done(undefined));
    socket.on('error', () => done(undefined));
    socket.on('close', () => done(undefined));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const lineEnd = text.indexOf('\n');
      if (lineEnd >= 0) done(text.slice(0, lineEnd).replace(/\r$/, ''));
    });
  });
}
