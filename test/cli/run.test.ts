/** `puressh run` against OpenSSH's sshd, and the command without a server. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as openssh from '../support/peers/openssh.ts';
import { usePeer } from '../support/peers/peer.ts';
import { at, type Ended, interrupt, onlyLine, type RunOptions, reaching, runCli } from './spawn_cli.ts';

describe('puressh run', () => {
  const sshd = usePeer(openssh.available(), () => openssh.startSshd());
  const options = { ...sshd.options, timeout: 60_000 };
  const run = (words: readonly string[], own: readonly string[] = [], how: RunOptions = {}): Promise<Ended> =>
    runCli(['run', ...own, ...reaching(sshd.peer), at(sshd.peer), ...words], how);

  it('passes both outputs through and ends with the status of the command', options, async () => {
    const ended = await run(['echo out; echo err >&2; exit 7']);
    assert.deepEqual([ended.status, ended.stdout.toString(), ended.stderr], [7, 'out\n', 'err\n']);
  });

  it('ends with 0 for a command that succeeds, and leaves its options to it', options, async () => {
    const ended = await run(['printf', '%s.', '-l', '--json', '-P', '9']);
    assert.deepEqual([ended.status, ended.stdout.toString()], [0, '-l.--json.-P.9.']);
  });

  it('feeds standard input', options, async () => {
    const input = 'x'.repeat(1_000_000);
    const ended = await run(['wc', '-c'], [], { input });
    assert.deepEqual([ended.status, ended.stdout.toString().trim()], [0, '1000000']);
  });

  it('gives an empty standard input with -n', options, async () => {
    const ended = await run(['wc', '-c'], ['-n'], { input: 'not read' });
    assert.deepEqual([ended.status, ended.stdout.toString().trim()], [0, '0']);
  });

  it('passes large output through whole', options, async () => {
    const ended = await run(['head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2']);
    assert.deepEqual([ended.status, ended.stdout.length, ended.stderr.length], [0, 5_000_000, 3_000_000]);
  });

  for (const [signal, status] of [
    ['TERM', 143],
    ['KILL', 137],
  ] as const) {
    it(`ends with ${status} when signal ${signal} ended the command`, options, async () => {
      const ended = await run([`kill -${signal} $$`]);
      assert.equal(ended.status, status);
      assert.match(onlyLine(ended), new RegExp(`was ended by signal ${signal}`));
    });
  }

  it('collects everything into one JSON object', options, async () => {
    const ended = await run(['echo out; echo err >&2; exit 3'], ['--json']);
    assert.equal(ended.status, 3);
    assert.equal(ended.stderr, '');
    const { seconds, algorithms, ...rest } = JSON.parse(ended.stdout.toString());
    assert.deepEqual(rest, { code: 3, signal: null, stdout: 'out\n', stderr: 'err\n' });
    assert.ok(seconds > 0);
    assert.deepEqual(Object.keys(algorithms), ['kex', 'hostKey', 'cipher', 'mac', 'compression']);
  });

  it('ends with 255 when the command cannot be run at all', options, async () => {
    const ended = await runCli(['run', '-P', '1', '--insecure-accept-any', 'nobody@127.0.0.1', 'true']);
    assert.equal(ended.status, 255);
    assert.match(onlyLine(ended), /nothing listens there.*\(connect-failed\)$/);
    assert.equal((await runCli(['run', '--nope', 'h', 'true'])).status, 255);
  });

  it('ends with 2 for an algorithm that it does not know, naming the option', options, async () => {
    const ended = await runCli(['ls', '--cipher', 'rot13', ...reaching(sshd.peer), `${at(sshd.peer)}:`]);
    assert.equal(ended.status, 2);
    assert.match(onlyLine(ended), /^--cipher names "rot13", which puressh does not know.*aes128-gcm@openssh\.com/);
  });

  it('stops quietly when nobody reads its output', options, async () => {
    const ended = await run(['yes'], [], {
      running: (child) => child.stdout?.once('data', () => child.stdout?.destroy()),
    });
    assert.deepEqual([ended.status, ended.stderr], [141, '']);
  });

  it('is ended by SIGINT with 130', options, async () => {
    const ended = await run(['echo ready; sleep 30'], [], {
      running: (child) => child.stdout?.once('data', () => interrupt(child)),
    });
    assert.equal(ended.status, 130);
    assert.match(onlyLine(ended), /\(aborted\)$/);
  });
});

describe('puressh', () => {
  const options = { timeout: 60_000 };

  it('prints help', options, async () => {
    const ended = await runCli(['--help']);
    assert.deepEqual([ended.status, ended.stderr], [0, '']);
    assert.match(ended.stdout.toString(), /^Usage: puressh <command>/);
    for (const name of ['get', 'put', 'ls', 'run']) {
      const own = await runCli([name, '--help']);
      assert.equal(own.status, 0);
      assert.match(own.stdout.toString(), new RegExp(`^Usage: puressh ${name} \\[options\\]`));
      for (const line of own.stdout.toString().split('\n')) assert.ok(line.length <= 120, line);
    }
  });

  it('prints its version', options, async () => {
    const ended = await runCli(['--version']);
    assert.deepEqual([ended.status, ended.stderr], [0, '']);
    assert.match(ended.stdout.toString(), /^puressh \d+\.\d+\.\d+\n$/);
  });

  it('ends with 2 and one line when it is used wrong', options, async () => {
    for (const args of [[], ['fetch'], ['get'], ['get', 'host:x', '--nope'], ['get', '-P', 'x', 'host:x']]) {
      const ended = await runCli(args);
      assert.equal(ended.status, 2, args.join(' '));
      assert.match(onlyLine(ended), /\(bad-argument\)$/);
      assert.equal(ended.stdout.length, 0);
    }
  });
});
