/** Sessions at a server: what a client may ask for, what a program gets, and how it ends. RFC 4254 §6. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { encodeFields } from '../../src/bytes/schema.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { password as passwordMethod } from '../../src/client/auth.ts';
import { SshError } from '../../src/errors.ts';
import type { Permissions } from '../../src/server/handlers.ts';
import type { Program, ProgramEnd, ServerSession, SessionHandlers } from '../../src/server/session.ts';
import { channelRequest } from '../../src/wire/requests.ts';
import { it } from '../support/limited.ts';
import { RawChannel } from '../support/raw_channel.ts';
import { rejectsWith } from '../support/rejects.ts';
import { Serving } from '../support/serving.ts';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** A server with these programs, for users with these permissions. */
function serve(session: SessionHandlers, permissions: Permissions = {}): Promise<Serving> {
  return Serving.start({ session, auth: { password: () => ({ permissions }) } });
}

/** A session on which nothing runs yet, opened by hand; `session` is what the program that then runs was given. */
async function opened(permissions: Permissions = {}) {
  const sessions: ServerSession[] = [];
  const program: Program = (session) => {
    sessions.push(session);
    return new Promise<void>((resolve) => session.signal.addEventListener('abort', () => resolve(), { once: true }));
  };
  const handlers = { exec: program, shell: program, subsystems: { sftp: program } };
  const serving = await serve(handlers, permissions);
  const raw = await serving.rawOpen();
  const channel = await RawChannel.open(raw);
  const session = (): ServerSession => sessions[0] ?? assert.fail('no program runs');
  return { serving, raw, channel, session, [Symbol.asyncDispose]: () => serving.close() };
}

const body = {
  exec: (command: string | Uint8Array) =>
    encodeFields(channelRequest.exec, { command: typeof command === 'string' ? utf8(command) : command }),
  subsystem: (name: string) => encodeFields(channelRequest.subsystem, { name }),
  env: (name: string, value: string) => encodeFields(channelRequest.env, { name, value }),
  signal: (signal: string) => encodeFields(channelRequest.signal, { signal }),
  size: (columns: number, rows: number, widthPixels = 0, heightPixels = 0) =>
    encodeFields(channelRequest['window-change'], { columns, rows, widthPixels, heightPixels }),
  pty: (term: string, modes: Uint8Array = new Uint8Array(0)) =>
    encodeFields(channelRequest['pty-req'], {
      term,
      columns: 80,
      rows: 24,
      widthPixels: 640,
      heightPixels: 480,
      modes,
    }),
};

describe('starting a program', () => {
  it('tells it what was asked for', async () => {
    const started: unknown[] = [];
    const program: Program = ({ start, asked, command, login, terminal }) => {
      started.push([start, asked, command, login.username, terminal]);
    };
    await using serving = await serve({ exec: program, shell: program, subsystems: { 'x@y': program } });
    const ssh = await serving.connect();
    await ssh.run('ls -l "a b"');
    await (await ssh.shell()).exit;
    await (await ssh.subsystem('x@y')).exit;
    const kinds = [{ kind: 'exec', command: 'ls -l "a b"' }, { kind: 'shell' }, { kind: 'subsystem', name: 'x@y' }];
    assert.deepEqual(
      started,
      kinds.map((start) => [start, start, start.command, 'ada', undefined]),
    );
  });

  it('is refused where there is no function for it', async () => {
    await using serving = await serve({ subsystems: { sftp: () => 0 } });
    const ssh = await serving.connect();
    await rejectsWith(ssh.run('x'), 'request-failed');
    await rejectsWith(ssh.shell(), 'request-failed');
    for (const name of ['SFTP', 'sft', '', 'constructor', '__proto__', 'toString', 'hasOwnProperty']) {
      await rejectsWith(ssh.subsystem(name), 'request-failed');
    }
    assert.equal((await (await ssh.subsystem('sftp')).exit).code, 0);
  });

  it('calls functions as the methods that they are', async () => {
    class Programs implements SessionHandlers {
      readonly #code = 7;
      exec(): number {
        return this.#code;
      }
      async shell(): Promise<number> {
        return this.#code;
      }
    }
    await using serving = await serve(new Programs());
    const ssh = await serving.connect();
    assert.equal((await ssh.run('x')).code, 7);
    assert.equal((await (await ssh.shell()).exit).code, 7);
    assert.deepEqual(serving.takeFailures(), []);
  });

  it('happens once in a session', async () => {
    await using parts = await opened();
    const { channel, session } = parts;
    assert.equal(await channel.request('exec', body.exec('first')), true);
    for (const [name, again] of [
      ['exec', body.exec('second')],
      ['shell', new Uint8Array(0)],
      ['subsystem', body.subsystem('sftp')],
    ] as const) {
      assert.equal(await channel.request(name, again), false, name);
    }
    assert.equal(session().command, 'first');
  });

  it('may be tried again when it was refused', async () => {
    await using parts = await opened();
    assert.equal(await parts.channel.request('subsystem', body.subsystem('none')), false);
    assert.equal(await parts.channel.request('exec', body.exec('x')), true);
    assert.deepEqual(parts.session().asked, { kind: 'exec', command: 'x' });
  });

  it('takes a command that is not UTF-8 for what it can be read as', async () => {
    await using parts = await opened();
    await parts.channel.request('exec', body.exec(Uint8Array.of(0x61, 0xff, 0xc3, 0xa4)));
    assert.equal(parts.session().command, 'a\ufffd\u00e4');
  });

  it('gives who is bound to a command that command, whatever is asked for', async () => {
    const started: unknown[] = [];
    const program: Program = ({ start, asked, command }) => {
      started.push([start, asked, command]);
    };
    await using serving = await serve(
      { exec: program, shell: program, subsystems: { sftp: () => assert.fail('no way around it') } },
      { command: 'backup --all' },
    );
    const ssh = await serving.connect();
    await ssh.run('rm -rf /');
    await (await ssh.shell()).exit;
    await (await ssh.subsystem('sftp')).exit;
    await (await ssh.subsystem('none')).exit;
    const bound = { kind: 'exec', command: 'backup --all' };
    assert.deepEqual(started, [
      [bound, { kind: 'exec', command: 'rm -rf /' }, 'backup --all'],
      [bound, { kind: 'shell' }, 'backup --all'],
      [bound, { kind: 'subsystem', name: 'sftp' }, 'backup --all'],
      [bound, { kind: 'subsystem', name: 'none' }, 'backup --all'],
    ]);
  });

  it('refuses all to who is bound to a command where there are none', async () => {
    await using serving = await serve({ shell: () => 0, subsystems: { sftp: () => 0 } }, { command: 'backup' });
    const ssh = await serving.connect();
    await rejectsWith(ssh.shell(), 'request-failed');
    await rejectsWith(ssh.subsystem('sftp'), 'request-failed');
  });
});

describe('variables', () => {
  it('reach the program, those of the key too, which the client cannot change', async () => {
    await using parts = await opened({ environment: { HOME: '/srv', SHELL: '' } });
    const { channel, session } = parts;
    const asked: readonly (readonly [name: string, value: string, granted: boolean])[] = [
      ['LANG', 'sv_SE.UTF-8', true],
      ['EMPTY', '', true],
      ['LANG', 'C', true],
      ['\u00e5', '=\n', true],
      ['HOME', '/root', false],
      ['SHELL', '/bin/sh', false],
      ['', 'x', false],
      ['A=B', 'x', false],
      ['N\0', 'x', false],
      ['N', 'a\0b', false],
      ['__proto__', 'x', true],
    ];
    for (const [name, value, granted] of asked) {
      assert.equal(await channel.request('env', body.env(name, value)), granted, `${name}=${value}`);
    }
    await channel.request('shell');
    assert.deepEqual(Object.fromEntries(session().environment), {
      HOME: '/srv',
      SHELL: '',
      LANG: 'C',
      EMPTY: '',
      '\u00e5': '=\n',
      ['__proto__']: 'x',
    });
    assert.equal(await channel.request('env', body.env('LATE', 'x')), false, 'too late');
    assert.equal(session().environment.has('LATE'), false);
  });

  it('are bounded in number and in bytes', async () => {
    await using many = await opened();
    let granted = 0;
    for (let i = 0; i < 200; i++) {
      if (await many.channel.request('env', body.env(`V${i}`, 'x'))) granted++;
    }
    assert.equal(granted, 128);
    await using long = await opened();
    assert.equal(await long.channel.request('env', body.env('A', 'x'.repeat(30_000))), true);
    assert.equal(await long.channel.request('env', body.env('B', 'x'.repeat(30_000))), true);
    assert.equal(await long.channel.request('env', body.env('C', 'x'.repeat(30_000))), false);
    assert.equal(await long.channel.request('env', body.env('C', 'x')), true);
  });
});

describe('a terminal', () => {
  it('is what the client says, and changes its size', async () => {
    await using parts = await opened();
    const { channel, session } = parts;
    assert.equal(await channel.request('window-change', body.size(1, 1)), false, 'there is none yet');
    const modes = Uint8Array.of(53, 0, 0, 0, 1, 128, 0, 0, 0x96, 0, 0);
    assert.equal(await channel.request('pty-req', body.pty('xterm\x1b-256', modes)), true);
    assert.equal(await channel.request('pty-req', body.pty('vt100')), false, 'one is enough');
    await channel.request('shell');
    const terminal = {
      term: 'xterm\\x1b-256',
      columns: 80,
      rows: 24,
      widthPixels: 640,
      heightPixels: 480,
      modes: new Map([
        [53, 1],
        [128, 38400],
      ]),
    };
    assert.deepEqual(session().terminal, terminal);
    const sizes: unknown[] = [];
    session().onResize = (changed) => void sizes.push(changed);
    assert.equal(await channel.request('window-change', body.size(132, 43, 1, 2)), true);
    const changed = { ...terminal, columns: 132, rows: 43, widthPixels: 1, heightPixels: 2 };
    assert.deepEqual([sizes, session().terminal], [[changed], changed]);
    assert.equal(await channel.request('pty-req', body.pty('vt100')), false, 'too late');
  });

  it('changes its size before the program runs', async () => {
    await using parts = await opened();
    await parts.channel.request('pty-req', body.pty('vt100'));
    await parts.channel.request('window-change', body.size(5, 6));
    await parts.channel.request('shell');
    assert.deepEqual([parts.session().terminal?.columns, parts.session().terminal?.rows], [5, 6]);
  });

  it('is not for who may have none', async () => {
    await using parts = await opened({ pty: false });
    assert.equal(await parts.channel.request('pty-req', body.pty('vt100')), false);
    assert.equal(await parts.channel.request('shell'), true);
    assert.equal(parts.session().terminal, undefined);
  });

  it('may come with any list of modes (T53)', async () => {
    const many = new Uint8Array(300 * 5);
    for (let i = 0; i < 300; i++) many.set([1 + (i % 150), 0, 0, 0, i & 0xff], 5 * i);
    for (const modes of [many, Uint8Array.of(1, 0, 0), Uint8Array.of(200, 1), new Uint8Array(40_000).fill(255)]) {
      await using parts = await opened();
      assert.equal(await parts.channel.request('pty-req', body.pty('vt100', modes)), true);
      await parts.channel.request('shell');
      assert.ok((parts.session().terminal?.modes.size ?? 999) <= 256);
    }
  });
});

describe('signals', () => {
  it('reach the program, and nobody before there is one', async () => {
    await using parts = await opened();
    const { channel, session } = parts;
    assert.equal(await channel.request('signal', body.signal('TERM')), false);
    await channel.request('exec', body.exec('x'));
    assert.equal(await channel.request('signal', body.signal('HUP')), true, 'though nobody listens');
    const heard: string[] = [];
    session().onSignal = (signal) => void heard.push(signal);
    await channel.request('signal', body.signal('INT'));
    await channel.request('signal', body.signal('sig@x\x1b'));
    assert.deepEqual(heard, ['INT', 'sig@x\\x1b']);
  });
});

describe('what a session calls', () => {
  for (const [how, fail] of [
    [
      'throws',
      () => {
        throw new Error('a mistake');
      },
    ],
    ['rejects', () => Promise.reject(new Error('a mistake'))],
  ] as const) {
    it(`and ${how} is told, and costs nothing`, async () => {
      await using parts = await opened();
      const { serving, channel, session } = parts;
      await channel.request('pty-req', body.pty('vt100'));
      await channel.request('shell');
      session().onSignal = fail;
      session().onResize = fail;
      assert.equal(await channel.request('signal', body.signal('INT')), true);
      assert.equal(await channel.request('window-change', body.size(1, 2)), true);
      assert.deepEqual(serving.takeFailures(), ['internal: a mistake', 'internal: a mistake']);
      assert.equal(session().signal.aborted, false);
    });
  }
});

describe('how a program ends', () => {
  const ends: readonly (readonly [end: unknown, code: number | undefined, signal?: string])[] = [
    [undefined, 0],
    [0, 0],
    [3, 3],
    [255, 255],
    [-1, 0xffffffff],
    [0xffffffff, 0xffffffff],
    [{ signal: 'TERM' }, undefined, 'TERM'],
    [{ signal: 'SIGKILL' }, undefined, 'KILL'],
    [{ signal: 'x@example.org' }, undefined, 'x@example.org'],
  ];

  for (const [end, code, signal] of ends) {
    it(`is told: ${JSON.stringify(end) ?? 'nothing'}`, async () => {
      await using serving = await serve({ exec: () => end as ProgramEnd, shell: async () => end as ProgramEnd });
      const ssh = await serving.connect();
      for (const exit of [await ssh.run('x'), await (await ssh.shell()).exit]) {
        assert.deepEqual([exit.code, exit.signal], [code, signal]);
      }
      assert.deepEqual(serving.takeFailures(), []);
    });
  }

  it('is told with what there is to say about a signal', async () => {
    await using serving = await serve({
      exec: () => ({ signal: 'SEGV', coreDumped: true, message: 'null p\u00e5ge' }),
    });
    const ssh = await serving.connect();
    const { signal, coreDumped, message } = await ssh.run('x');
    assert.deepEqual([signal, coreDumped, message], ['SEGV', true, 'null p\u00e5ge']);
  });

  for (const end of [
    null,
    {},
    'text',
    true,
    Number.NaN,
    1.5,
    2 ** 32,
    { signal: 7 },
    { signal: '' },
    { signal: 'a b' },
    { signal: '\u20ac' },
    { code: 1 },
  ]) {
    it(`is code 1 for what is no end, and told to the server: ${typeof end === 'number' ? end : JSON.stringify(end)}`, async () => {
      await using serving = await serve({ exec: () => end as ProgramEnd });
      const ssh = await serving.connect();
      assert.equal((await ssh.run('x')).code, 1);
      const [failure, ...rest] = serving.takeFailures();
      assert.match(failure ?? '', /^bad-argument: A program ends with/);
      assert.deepEqual(rest, []);
    });
  }

  it('is code 1 for one that throws, which is told to the server and not to the client', async () => {
    await using serving = await serve({
      exec: () => {
        throw new Error('secret path');
      },
      shell: () => Promise.reject(new SshError('limit', 'too much')),
    });
    const ssh = await serving.connect();
    const { code, stdout, stderr } = await ssh.run('x');
    assert.deepEqual([code, text(stdout), text(stderr)], [1, '', '']);
    assert.equal((await (await ssh.shell()).exit).code, 1);
    assert.deepEqual(serving.takeFailures(), ['internal: secret path', 'limit: too much']);
  });

  it('is code 1 also where an onError throws, or rejects', async () => {
    const unwilling = [
      (): never => {
        throw new Error('the log is full');
      },
      (): void => Promise.reject(new Error('the log is full')) as unknown as undefined,
    ];
    for (const onError of unwilling) {
      const exec = (): never => {
        throw new Error('no');
      };
      const password = ({ password }: { password: string }): boolean => {
        if (password === 'secret') return true;
        throw new Error('no');
      };
      await using serving = await Serving.start({ session: { exec }, auth: { password }, onError });
      await rejectsWith(serving.connect({ auth: [passwordMethod('wrong')] }), 'auth-failed');
      const ssh = await serving.connect();
      assert.equal((await ssh.run('x')).code, 1);
      assert.equal((await ssh.run('x')).code, 1, 'the connection is not harmed');
    }
  });

  it('comes after all output: data, EOF, exit-status, CLOSE', async () => {
    await using serving = await serve({
      async exec(session) {
        await session.write('0123456789');
        await session.writeError('abcde');
        return 9;
      },
    });
    const raw = await serving.rawOpen();
    const channel = await RawChannel.open(raw, { window: 4 });
    await channel.request('exec', body.exec('x'));
    for (let i = 0; i < 4; i++) {
      await raw.quiet();
      channel.adjust(3);
    }
    await channel.closed();
    assert.deepEqual(channel.told, ['data', 'data', 'data', 'stderr', 'stderr', 'eof', 'exit-status 9', 'close']);
    assert.deepEqual([text(channel.stdout), text(channel.stderr)], ['0123456789', 'abcde']);
  });

  it('comes after output that nobody waited for', async () => {
    await using serving = await serve({
      exec(session) {
        for (let i = 0; i < 100; i++) session.write(`${i} `);
        session.writeError('and ');
        session.writeError('this');
        return 4;
      },
    });
    const ssh = await serving.connect();
    const { code, stdout, stderr } = await ssh.run('x');
    const all = Array.from({ length: 100 }, (_, i) => `${i} `).join('');
    assert.deepEqual([code, text(stdout), text(stderr)], [4, all, 'and this']);
    assert.deepEqual(serving.takeFailures(), []);
  });

  it('comes also where the program did nonsense with its streams', async () => {
    const nonsense: readonly Program[] = [
      async (session) => {
        await session.stdout.close();
        await session.write('more');
      },
      async (session) => {
        await session.stdout.getWriter().write('text' as unknown as Uint8Array);
      },
      async (session) => {
        session.stdout.getWriter();
        await session.write('locked');
      },
      async (session) => {
        await session.stdin.cancel();
        session.stdin.getReader();
        await session.write(7 as unknown as string);
      },
      async (session) => {
        void session.pipe;
        await session.write('both');
      },
      async (session) => {
        await session.write('both');
        void session.pipe;
      },
    ];
    await using serving = await serve({ exec: (session) => nonsense[Number(session.command)]?.(session) });
    const ssh = await serving.connect();
    for (const index of nonsense.keys()) {
      assert.equal((await ssh.run(String(index))).code, 1, `program ${index}`);
      assert.equal(serving.takeFailures().length, 1, `program ${index}`);
    }
  });

  it('does not wait for input that the program left, nor for what it still reads', async () => {
    const late: unknown[] = [];
    await using serving = await serve({
      async exec(session) {
        const read = async (): Promise<void> => {
          for await (const chunk of session.stdin) late.push(chunk);
          late.push('end');
        };
        if (session.command === 'reads') read();
        await session.write('done');
        return 0;
      },
    });
    const ssh = await serving.connect();
    for (const command of ['ignores', 'reads']) {
      const session = await ssh.exec(command);
      assert.equal((await session.exit).code, 0);
    }
    const big = await ssh.run('ignores', { stdin: new Uint8Array(8 * 1024 * 1024) });
    assert.equal(big.code, 0);
    await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual(late, ['end']);
  });
});
