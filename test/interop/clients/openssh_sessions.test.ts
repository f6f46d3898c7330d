/** Sessions of OpenSSH's client on puressh's server: terminals, variables, how programs end, and many over one connection. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sftpBatch, sshCommand, unavailable } from '../../support/clients/openssh.ts';
import { type OwnServer, useOwnServer } from '../../support/clients/own_server.ts';
import { run, type Started, start } from '../../support/clients/process.ts';

const LIMIT = { timeout: 60_000 };

/** `ssh` with further options, and a command. */
function command(server: OwnServer, more: readonly string[], ...words: readonly string[]): string[] {
  return ['ssh', ...more, ...sshCommand(server, 'key', ...words).slice(1)];
}

/** Waits for something that the server does by itself. */
async function until(what: string, check: () => boolean): Promise<void> {
  for (let waited = 0; !check(); waited += 20) {
    assert.ok(waited < 20_000, `${what} has not come about`);
    await sleep(20);
  }
}

describe('a session with OpenSSH', () => {
  const clients = useOwnServer(unavailable());
  const options = { ...clients.options, ...LIMIT };

  it('goes on after the end of input', options, async () => {
    const words = 'cat; echo more; echo less >&2; exit 3';
    const { code, stdout, stderr } = await run(sshCommand(clients.server, 'key', words), { input: 'in ' });
    assert.deepEqual([code, stdout.toString(), stderr], [3, 'in more\n', 'less\n']);
  });

  it('ends while the client still has input to give', options, async () => {
    const input = Buffer.alloc(4 * 1024 * 1024, 'x');
    const { code, stdout } = await run(sshCommand(clients.server, 'key', 'head -c 5; exit 4'), { input });
    assert.deepEqual([code, stdout.toString()], [4, 'xxxxx']);
  });

  it('carries both outputs, large, and in order each', options, async () => {
    const words = 'seq 1 100000; seq 1 100000 >&2';
    const { code, stdout, stderr } = await run(sshCommand(clients.server, 'key', words));
    const expected = `${Array.from({ length: 100_000 }, (_, i) => i + 1).join('\n')}\n`;
    assert.equal(code, 0);
    assert.ok(stdout.toString() === expected, 'stdout differs');
    assert.ok(stderr === expected, 'stderr differs');
  });

  it('runs a shell', options, async () => {
    const { code, stdout } = await run(sshCommand(clients.server, 'key'), { input: 'echo 1 and 2\nexit 9\n' });
    assert.deepEqual([code, stdout.toString()], [9, '1 and 2\n']);
  });

  it('has no subsystem that nobody made', options, async () => {
    const { code, stderr } = await run(command(clients.server, ['-s'], 'netconf'));
    assert.equal(code, 255);
    assert.match(stderr, /subsystem request failed/);
  });

  it('a program that a signal ended has no exit code', options, async () => {
    const { code, stdout } = await run(sshCommand(clients.server, 'key', 'echo soon; kill -TERM $$'));
    assert.deepEqual([code, stdout.toString()], [255, 'soon\n']);
  });

  it('has the variables that the client sends', options, async () => {
    const more = ['-o', 'SendEnv=LC_SENT', '-o', 'SetEnv=LC_SET="two words"'];
    for (const [name, value] of [
      ['LC_SENT', 'grün'],
      ['LC_SET', 'two words'],
    ] as const) {
      const ended = await run(command(clients.server, more, `:variable ${name}`), { env: { LC_SENT: 'grün' } });
      assert.equal(ended.stdout.toString(), `${value}\n`, ended.stderr);
    }
  });

  it('runs although the client wants an agent and X11 forwarded, which nobody offers', options, async () => {
    const { code, stdout, stderr } = await run(command(clients.server, ['-A', '-X'], 'echo here'), {
      env: { DISPLAY: ':9', SSH_AUTH_SOCK: '/nonexistent' },
    });
    assert.deepEqual([code, stdout.toString()], [0, 'here\n'], stderr);
  });

  it('knows the terminal and its changes of size', options, async () => {
    const { server } = clients;
    const changed = join(server.local, 'changed');
    const wait = `while [ ! -e ${changed} ]; do sleep 0.05; done`;
    const inner = command(server, ['-tt', '-e', 'none'], ':terminal').join(' ');
    const script = `stty rows 30 cols 100; (${wait}; stty -F /dev/tty rows 40 cols 120) & ${inner}`;
    // `script` gives it a terminal of its own
    const session = start(['script', '-qec', script, '/dev/null'], { interactive: true, env: { TERM: 'vt220' } });
    try {
      await session.until(/vt220 100x30/);
      writeFileSync(changed, '');
      await session.until(/vt220 120x40/);
      session.child.stdin.write('q');
      assert.equal((await session.ended).code, 0);
    } finally {
      session.kill();
    }
  });

  it('a client without a terminal gets none unless it insists', options, async () => {
    const without = await run(sshCommand(clients.server, 'key', ':terminal'));
    assert.deepEqual([without.code, without.stdout.toString()], [1, 'no terminal\n']);
    const insisting = await run(command(clients.server, ['-tt'], ':terminal'), { input: 'q', env: { TERM: 'dumb' } });
    assert.deepEqual([insisting.code, insisting.stdout.toString()], [0, 'dumb 0x0\r\n']);
  });

  it('is given up when its client dies', options, async () => {
    const { server } = clients;
    await until('the end of earlier connections', () => server.ssh.connections.size === 0);
    const session = start(sshCommand(server, 'key', 'echo $$; cat'), { interactive: true });
    const pid = Number((await session.until(/\d+\n/)).trim());
    assert.equal(server.ssh.connections.size, 1);
    process.kill(pid, 0); // it runs
    session.kill('SIGKILL');
    await session.ended;
    await until('the end of the connection', () => server.ssh.connections.size === 0);
    await until('the end of the program', () => findProcess(pid) === undefined);
  });
});

/** The process, if there is one that has not ended. */
function findProcess(pid: number): number | undefined {
  try {
    process.kill(pid, 0);
    return pid;
  } catch {
    return undefined;
  }
}

describe('sessions over one connection of OpenSSH', () => {
  const clients = useOwnServer(unavailable());
  const options = { ...clients.options, ...LIMIT };

  /** A connection that others use, as a master and a way to run something over it. */
  async function master(server: OwnServer): Promise<{ main: Started; over: readonly string[] }> {
    const socket = join(server.home, `control-${server.connections.length}`);
    const main = start(command(server, ['-M', '-N', '-S', socket]), { interactive: true });
    // should the master be no help, there is no way round it
    const over = ['-o', `ControlPath=${socket}`, '-o', 'ProxyCommand=false'];
    await until('the master', () => server.ssh.connections.size === 1);
    for (let tries = 0; (await run(['ssh', '-S', socket, '-O', 'check', server.host])).code !== 0; tries++) {
      assert.ok(tries < 100, 'the master does not listen');
      await sleep(50);
    }
    return { main, over };
  }

  it('run beside each other, and the eleventh at once is refused', options, async () => {
    const { server } = clients;
    const { main, over } = await master(server);
    const before = server.connections.length;
    const running: Started[] = [];
    try {
      for (let i = 0; i < 10; i++) {
        const session = start(command(server, over, `echo session ${i}; cat; exit ${i}`), { interactive: true });
        running.push(session);
        await session.until(new RegExp(`session ${i}`));
      }
      const refused = await run(command(server, over, 'echo no'));
      assert.equal(refused.code, 255);
      assert.match(refused.stderr, /Session open refused by peer/);
      await main.until(/open failed: resource shortage: no more than 10 sessions at once/);
      const ends = running.map(async (session, i) => {
        session.child.stdin.end(`to ${i}`);
        const { code, stdout } = await session.ended;
        assert.deepEqual([code, stdout.toString()], [i, `session ${i}\nto ${i}`]);
      });
      await Promise.all(ends);
      assert.equal((await run(command(server, over, 'echo again'))).stdout.toString(), 'again\n');
      assert.equal(server.connections.length, before, 'all of it went over one connection');
    } finally {
      for (const session of [main, ...running]) session.kill();
    }
    await main.ended;
    await until('the end of the connection', () => server.ssh.connections.size === 0);
  });

  it('carry files and commands together', options, async () => {
    const { server } = clients;
    const { main, over } = await master(server);
    try {
      const said = [1, 2, 3, 4].map((i) => run(command(server, over, `echo ${i}`)));
      const [listed, ...rest] = await Promise.all([sftpBatch(server, ['pwd'], 'key', over), ...said]);
      assert.match(listed.stdout.toString(), /Remote working directory: \//, listed.stderr);
      assert.equal(rest.map(({ stdout }) => stdout).join(''), '1\n2\n3\n4\n');
    } finally {
      main.kill();
      await main.ended;
    }
  });
});

describe('connections that do not log in', () => {
  const SILENT = 5;
  const clients = useOwnServer(unavailable(), { capacity: { unauthenticated: SILENT } });
  const options = { ...clients.options, ...LIMIT };

  it('keep others out when there are too many, and nobody when there are fewer', options, async () => {
    const { server } = clients;
    const silent = await Promise.all(Array.from({ length: SILENT }, () => halfOpen(server.port)));
    await until('all connections', () => server.ssh.connections.size === SILENT);
    const refused = await run(sshCommand(server, 'key', 'true'));
    assert.equal(refused.code, 255);
    assert.match(refused.stderr, /closed|reset/i);
    silent[0]?.socket.destroy();
    await until('the end of one', () => server.ssh.connections.size === SILENT - 1);
    const { code, stderr } = await run(sshCommand(server, 'key', 'true'));
    assert.equal(code, 0, stderr);
    for (const { socket } of silent) socket.destroy();
    await until('the end of all', () => server.ssh.connections.size === 0);
  });

  const strict = useOwnServer(unavailable(), { timeouts: { identification: 500 } });

  it('are ended when their time is up', { ...strict.options, ...LIMIT }, async () => {
    const { server } = strict;
    const silent = await Promise.all(Array.from({ length: SILENT }, () => halfOpen(server.port)));
    await Promise.all(silent.map(({ closed }) => closed));
    await until('the end of all', () => server.ssh.connections.size === 0);
    const { code, stderr } = await run(sshCommand(server, 'key', 'true'));
    assert.equal(code, 0, stderr);
  });
});

/** A client that says nothing, and keeps its half open. */
async function halfOpen(port: number): Promise<{ socket: Socket; closed: Promise<unknown> }> {
  const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {}); // a reset is an end like others
  const closed = once(socket, 'close');
  socket.on('end', () => socket.end());
  socket.resume();
  await once(socket, 'connect');
  return { socket, closed };
}
