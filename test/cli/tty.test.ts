/** What only a terminal shows: the progress line, and the question for a password. The terminal is that of script(1). */

import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import * as openssh from '../support/peers/openssh.ts';
import { findProgram, type Peer, peerTest } from '../support/peers/peer.ts';
import { at, command, reaching, scratch } from './spawn_cli.ts';

const script = process.platform === 'linux' ? findProgram('script') : undefined;
const noScript = script === undefined ? 'there is no script(1) of util-linux' : undefined;

interface Shown {
  readonly status: number | null;
  readonly text: string;
}

/** Runs the command on a terminal; `watch` sees all that was shown so far, and may type. */
function onTerminal(
  args: readonly string[],
  watch: (text: string, child: ChildProcess) => void = () => {},
  term = 'dumb',
  home = scratch(),
): Promise<Shown> {
  const line = [...command, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  return new Promise((resolve, reject) => {
    // exec: a shell that waits for the command gets its Ctrl-C too, and some then end with 130 whatever the command did
    const child = spawn(script as string, ['-qec', `stty cols 100; exec ${line}`, '/dev/null'], {
      env: { ...process.env, SSH_AUTH_SOCK: undefined, SHELL: '/bin/sh', HOME: home, TERM: term },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let text = '';
    const limit = setTimeout(() => child.kill('SIGKILL'), 50_000);
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      watch(text, child);
    });
    child.stdin.on('error', () => {});
    child.on('error', reject);
    child.on('close', (status) => {
      clearTimeout(limit);
      child.stdin.end();
      resolve({ status, text });
    });
  });
}

async function withServer(options: openssh.SshdOptions, use: (peer: Peer) => Promise<void>): Promise<void> {
  const peer = await openssh.startSshd(options);
  try {
    await use(peer);
  } finally {
    await peer.stop();
  }
}

describe('on a terminal', () => {
  const options = { ...peerTest(openssh.available() ?? noScript), timeout: 60_000 };
  const passwordOptions = { ...peerTest(openssh.passwordUnavailable() ?? noScript), timeout: 60_000 };

  it('a transfer shows its progress on one line, and what it came to', options, () =>
    withServer({}, async (peer) => {
      const path = join(peer.files, 'big.log');
      writeFileSync(path, new Uint8Array(20_000_000));
      const { status, text } = await onTerminal([
        'get',
        ...reaching(peer),
        `${at(peer)}:${path}`,
        join(scratch(), 'x'),
      ]);
      assert.equal(status, 0, text);
      const states = text.split('\r').filter((state) => state.trim() !== '');
      assert.ok(states.length >= 2, text);
      assert.match(states[0] as string, /^big\.log +\d+% .* of 20\.0 MB .*\/s/);
      assert.match(states.at(-1) as string, /^big\.log {2}100% {2}20\.0 MB {2}[\d.]+ MB\/s {2}\d:\d\d *$/);
      assert.ok(text.endsWith('\r\n'));
    }),
  );

  it('a transfer shows none with -q', options, () =>
    withServer({}, async (peer) => {
      const path = join(peer.files, 'big.log');
      writeFileSync(path, new Uint8Array(2_000_000));
      const args = ['get', '-q', ...reaching(peer), `${at(peer)}:${path}`, join(scratch(), 'x')];
      assert.deepEqual(await onTerminal(args), { status: 0, text: '' });
    }),
  );

  it('an error takes the place of the progress', options, () =>
    withServer({}, async (peer) => {
      const { status, text } = await onTerminal([
        'get',
        ...reaching(peer),
        `${at(peer)}:/no/such`,
        join(scratch(), 'x'),
      ]);
      assert.equal(status, 1);
      assert.equal(text, 'puressh: open /no/such: no such file (sftp-status)\r\n');
    }),
  );

  const trust = (peer: Peer): string[] => ['-P', String(peer.port), '--known-hosts', peer.knownHosts];

  it('a host that is new and a passphrase are asked about, each once', options, () =>
    withServer({}, async (peer) => {
      const home = scratch();
      const key = join(home, 'key');
      copyFileSync(peer.keys.ed25519.openssh, key);
      chmodSync(key, 0o600);
      execFileSync('ssh-keygen', ['-q', '-p', '-a', '1', '-N', 'secret', '-f', key]);
      const answers = [
        ['yes, no, or the fingerprint)? ', 'maybe'],
        ['Type yes or no.\r\nTrust it and remember it (yes, no, or the fingerprint)? ', 'yes'],
        ['Passphrase for ', 'wrong'],
        [`${key}: \r\nPassphrase for ${key}: `, 'secret'],
      ] as const;
      let asked = 0;
      const { status, text } = await onTerminal(
        ['run', '-n', '-P', String(peer.port), '-i', key, at(peer), 'echo done'],
        (shown, child) => {
          const answer = answers[asked];
          if (answer === undefined || !shown.includes(answer[0])) return;
          asked++;
          child.stdin?.write(`${answer[1]}\r`);
        },
        'dumb',
        home,
      );
      assert.equal(status, 0, text);
      assert.equal(asked, 4, text);
      assert.match(text, /SHA256:\S+\r\n/);
      assert.match(text, /done\r\n$/);
      assert.doesNotMatch(text, /secret/);
      const known = readFileSync(join(home, '.ssh', 'known_hosts'), 'utf8');
      assert.equal(known.trimEnd().split('\n').length, 1);
    }),
  );

  it('a password is asked for, not shown, and asked for again when it was wrong', passwordOptions, () =>
    withServer({ password: true }, async (peer) => {
      let asked = 0;
      const { status, text } = await onTerminal(
        ['run', '-n', ...trust(peer), at(peer), 'echo done'],
        (shown, child) => {
          const prompts = shown.split(`${at(peer)}'s password: `).length - 1;
          for (; asked < prompts; asked++) child.stdin?.write(asked === 0 ? 'wrong-guess\r' : `${peer.password}\r`);
        },
      );
      assert.equal(status, 0, text);
      assert.equal(asked, 2);
      assert.match(text, /done\r\n$/);
      assert.doesNotMatch(text, /wrong-guess/);
      assert.ok(!text.includes(peer.password as string));
    }),
  );

  it('Ctrl-C at the question ends with 130', passwordOptions, () =>
    withServer({ password: true }, async (peer) => {
      let pressed = false;
      const { status, text } = await onTerminal(['run', '-n', ...trust(peer), at(peer), 'true'], (shown, child) => {
        if (!pressed && shown.includes('password: ')) child.stdin?.write('\u0003');
        pressed ||= shown.includes('password: ');
      });
      assert.equal(status, 130, text);
      assert.match(text, /\(aborted\)\r\n$/);
    }),
  );

  it('the shell completes, remembers, ends what runs at Ctrl-C, and gives the terminal to others', options, () =>
    withServer({}, async (peer) => {
      mkdirSync(join(peer.files, 'inner'));
      writeFileSync(join(peer.files, 'inner', 'some file'), 'content of it\n');
      // each is typed once the text before it has been shown behind what was typed last
      const steps: [string, string][] = [
        ['sftp> ', 'cd inn'],
        ['cd inn', '\t'],
        ['er/', '\r'],
        ['sftp> ', 'cat so'],
        ['so', '\t'],
        ['me\\ file ', '\r'],
        ['content of it', ''],
        ['sftp> ', "!echo its 'turn'; cat\r"],
        ['its turn', 'echoed\r'],
        ['echoed\r\nechoed', '\u0003'],
        ['sftp> ', 'lpwd'],
        ['lpwd', '\u0003'],
        ['sftp> ', '\u001b[A'],
        ['cat', '\u001b[A'],
        ['cat some\\ file ', '\r'],
        ['content of it', ''],
        ['sftp> ', '\u0003'],
        ['Ctrl-C again', ''],
        ['sftp> ', '\u0003'],
      ];
      let from = 0;
      const args = ['sftp', ...reaching(peer), `${at(peer)}:${peer.files}`];
      const watch = (shown: string, child: ChildProcess): void => {
        for (;;) {
          const [expected, typed] = steps[0] ?? [];
          const found = expected === undefined ? -1 : shown.indexOf(expected, from);
          if (found < 0) return;
          steps.shift();
          from = found + (expected as string).length;
          if (typed !== '') child.stdin?.write(typed as string);
        }
      };
      // a dumb terminal completes nothing
      const { status, text } = await onTerminal(args, watch, 'xterm');
      assert.deepEqual(steps, [], text);
      assert.equal(status, 0, text);
    }),
  );
});
