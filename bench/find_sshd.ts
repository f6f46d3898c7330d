/**
 * Makes sure that there is an OpenSSH server to try puressh with. As root in a container with Debian's package manager it
 * is installed, and said so; anywhere else the machine is the user's, who is told what to type.
 */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { available } from '../test/support/peers/openssh.ts';
import { findProgram } from '../test/support/peers/peer.ts';

/** Returns when there is one; throws with what to do. */
export function needSshd(say: (line: string) => void): void {
  const reason = available();
  if (reason === undefined) return;
  const apt = findProgram('apt-get');
  // Where systemd runs, the package would also start a server for everybody, on port 22.
  const isOurs = process.getuid?.() === 0 && !existsSync('/run/systemd/system');
  if (apt === undefined || !isOurs) throw new Error(`${reason}. ${advice(apt)}`);
  say(`${reason}: installing it with apt-get install openssh-server`);
  if (!install(apt) && !(run(apt, ['update']) && install(apt))) {
    throw new Error(`apt-get could not install it. ${advice(apt)}`);
  }
  const still = available();
  if (still !== undefined) throw new Error(`openssh-server is installed, but ${still}`);
}

function install(apt: string): boolean {
  return run(apt, ['install', '-y', '--no-install-recommends', 'openssh-server']);
}

function run(program: string, args: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
}

function advice(apt: string | undefined): string {
  const how =
    apt !== undefined
      ? 'apt-get install openssh-server'
      : process.platform === 'darwin'
        ? 'it comes with macOS as /usr/sbin/sshd'
        : 'the package is called openssh-server or openssh';
  return `Install the OpenSSH server (${how}) and try again; it need not run, a throwaway one is started on loopback`;
}
