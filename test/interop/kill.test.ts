/**
 * Processes that are killed while they move a file: the command, or the real server's side of the connection, at any moment. What
 * stands under the target's name is what was there before, or whole; `--resume` makes it whole and leaves nothing else behind.
 *
 * PURESSH_KILLS says how often each of the four is done; by itself it is few.
 */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { at, command, reaching, runCli, scratch } from '../cli/spawn_cli.ts';
import * as openssh from '../support/peers/openssh.ts';
import { type Peer, usePeer } from '../support/peers/peer.ts';
import { isThorough } from '../support/thorough.ts';

const ROUNDS = Number(process.env.PURESSH_KILLS ?? 1);
const SIZE = 48 * 1024 * 1024;
const OLD = Buffer.from('what was there before\n');
const directions = ['get', 'put'] as const;
const victims = ['client', 'server'] as const;
const onLinux = process.platform === 'linux' ? undefined : 'processes are found in /proc';
const elsewhere = isThorough ? {} : { skip: 'done in Node 24' };

/** The process that serves connections of the peer, and those that it started, oldest first. */
function processesOf(peer: Peer): number[] {
  const parents = new Map<number, number>();
  let root = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
      const line = readFileSync(`/proc/${name}/cmdline`, 'utf8');
      // the listener, whose title begins with its name; who guards it for the tests has the same arguments
      if (/^(?:[^\0]*\/)?sshd[:\0]/.test(line) && line.includes(join(peer.dir, 'sshd_config'))) root = Number(name);
    } catch {
      // it ended meanwhile
    }
  }
  const found = [root];
  for (const parent of found) for (const [pid, of] of parents) if (of === parent) found.push(pid);
  return root === 0 ? [] : found;
}

function killSession(peer: Peer): void {
  for (const pid of processesOf(peer).slice(1).reverse()) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it ended meanwhile
    }
  }
}

describe('a transfer whose processes are killed', () => {
  const shared = usePeer(openssh.available() ?? onLinux, () => openssh.startSshd());

  for (const direction of directions) {
    for (const victim of victims) {
      it(`${direction}, the ${victim} is killed`, {
        ...shared.options,
        ...elsewhere,
        timeout: 60_000 * ROUNDS,
      }, async () => {
        const { peer } = shared;
        const whole = Buffer.alloc(SIZE, `${direction} ${victim} `);
        const [near, far] = [scratch(), join(peer.files, `${direction}-${victim}`)];
        mkdirSync(far);
        const [source, folder] = direction === 'get' ? [join(far, 's'), near] : [join(near, 's'), far];
        const target = join(folder, 'target');
        writeFileSync(source, whole);
        const ends = direction === 'get' ? [`${at(peer)}:${source}`, target] : [source, `${at(peer)}:${target}`];
        const line = [direction, '-q', ...reaching(peer), '--resume', ...ends];
        const started = performance.now();
        assert.equal((await runCli(line)).status, 0);
        const usual = performance.now() - started;
        let interrupted = 0;
        for (let round = 0; round < ROUNDS; round++) {
          for (const name of readdirSync(folder)) if (join(folder, name) !== source) rmSync(join(folder, name));
          writeFileSync(target, OLD);
          const delay = usual * (0.2 + 0.8 * Math.random());
          const run = await runCli(line, {
            running: (child) => {
              setTimeout(() => {
                if (victim === 'server') killSession(peer);
                else if (child.exitCode === null && child.signalCode === null)
                  process.kill(child.pid as number, 'SIGKILL');
              }, delay);
            },
          });
          const about = `${command[0]}, killed after ${delay.toFixed(0)} of ${usual.toFixed(0)} ms: ${run.stderr}`;
          const left = readFileSync(target);
          assert.ok(left.equals(OLD) || left.equals(whole), `${about}: ${left.length} bytes under the target's name`);
          if (run.status === 0) assert.ok(left.equals(whole), `${about}: it called a file whole that is not`);
          else interrupted++;
          const again = await runCli(line);
          assert.equal(again.status, 0, `${about}, then ${again.stderr}`);
          assert.ok(readFileSync(target).equals(whole), `${about}: not whole after --resume`);
          const names = readdirSync(folder).filter((name) => join(folder, name) !== source);
          assert.deepEqual(names, ['target'], about);
        }
        if (ROUNDS >= 20) assert.ok(interrupted > 0, 'no run was interrupted');
      });
    }
  }
});
