/** What a command line asks for, and what is said about one that cannot be. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Command, parseCommand } from '../../src/cli/args.ts';
import type { SshError } from '../../src/errors.ts';

function parse(line: string): Command {
  return parseCommand(line.split(' ').filter((word) => word !== ''));
}

const connection = {
  configLines: [],
  compress: false,
  matchExec: false,
  identities: [],
  passwordStdin: false,
  trust: { kind: 'config' },
  crypto: 'auto',
  algorithms: {},
  legacy: false,
};

const move = {
  recursive: false,
  preserve: false,
  resume: false,
  sparse: false,
  overwrite: 'always',
  symlinks: 'skip',
  exclude: [],
};

describe('parseCommand', () => {
  it('reads get with everything left out', () => {
    assert.deepEqual(parse('get ada@host:/big.log'), {
      name: 'get',
      remotes: [{ username: 'ada', host: 'host', path: '/big.log' }],
      json: false,
      quiet: false,
      trustEof: false,
      move,
      connection,
    });
  });

  it('reads --legacy', () => {
    const command = parse('run --legacy x true');
    assert.ok('connection' in command && command.connection.legacy);
  });

  it('reads --compress', () => {
    for (const option of ['-C', '--compress']) {
      const command = parse(`ls ${option} host:x`);
      assert.ok('connection' in command && command.connection.compress);
    }
  });

  it('takes lists of algorithms that change the default ones as they are', () => {
    for (const text of ['+a,b', '-a*', '^a']) {
      const command = parse(`ls --kex=${text} --mac m,n host:x`);
      assert.ok('connection' in command);
      assert.deepEqual(command.connection.algorithms, { kex: text, mac: ['m', 'n'] });
    }
  });

  it('reads get with every option', () => {
    const line =
      'get -P 2222 -i one -i two -F cf -o User=eve --option Port_7 --match-exec -R 1 --known-hosts kh --accept-new --crypto pure --cipher aes128-ctr,aes256-ctr ' +
      '-C --kex k --mac m --host-key h --password-stdin --timeout 2.5 --json -q --trust-eof ' +
      '-r -p --overwrite newer --exclude *.o --exclude /tmp --symlinks copy --request-size 64k --window 1M ' +
      '--max-window 1G ada@[::1]:x y';
    assert.deepEqual(parseCommand(line.split(' ').map((word) => word.replace('_', ' '))), {
      name: 'get',
      remotes: [{ username: 'ada', host: '::1', path: 'x' }],
      local: 'y',
      json: true,
      quiet: true,
      trustEof: true,
      move: {
        requests: 1,
        requestSize: 65536,
        recursive: true,
        preserve: true,
        resume: false,
        sparse: false,
        overwrite: 'newer',
        symlinks: 'copy',
        exclude: ['*.o', '/tmp'],
      },
      connection: {
        port: 2222,
        config: 'cf',
        compress: true,
        configLines: ['User=eve', 'Port 7'],
        matchExec: true,
        identities: ['one', 'two'],
        passwordStdin: true,
        trust: { kind: 'known-hosts', acceptNew: true, file: 'kh' },
        crypto: 'pure',
        legacy: false,
        algorithms: { cipher: ['aes128-ctr', 'aes256-ctr'], kex: ['k'], mac: ['m'], hostKey: ['h'] },
        timeout: 2500,
        window: 1048576,
        maxWindow: 1073741824,
      },
    });
  });

  it('takes options after the operands', () => {
    const command = parse('get host:x y --json') as Command & { name: 'get' };
    assert.equal(command.local, 'y');
    assert.equal(command.json, true);
  });

  it('takes what follows -- as operands', () => {
    const command = parse('put -- -file host:x') as Command & { name: 'put' };
    assert.deepEqual(command.locals, ['-file']);
  });

  it('reads put', () => {
    const command = parse('put ./a:b host:dir/') as Command & { name: 'put' };
    assert.deepEqual(command.locals, ['./a:b']);
    assert.deepEqual(command.remote, { host: 'host', path: 'dir/' });
    assert.deepEqual([command.inPlace, command.append], [false, false]);
    assert.equal((parse('put --in-place x host:y') as typeof command).inPlace, true);
    assert.equal((parse('put --append x host:y') as typeof command).append, true);
    const { move: manner } = parse('put --lanes 4 --resume --verify hash x host:y') as typeof command;
    assert.deepEqual(manner, { ...move, lanes: 4, resume: true, verify: 'hash' });
    const other = (parse('put --resume-target --sparse x host:y') as typeof command).move;
    assert.deepEqual(other, { ...move, resume: 'target', sparse: true });
  });

  it('reads several sources, of which the last argument is the target', () => {
    const got = parse('get host:a host:b/c there') as Command & { name: 'get' };
    assert.deepEqual(
      got.remotes.map(({ path }) => path),
      ['a', 'b/c'],
    );
    assert.equal(got.local, 'there');
    const sent = parse('put a b c host:there') as Command & { name: 'put' };
    assert.deepEqual(sent.locals, ['a', 'b', 'c']);
    assert.equal(sent.remote.path, 'there');
  });

  it('reads sftp', () => {
    assert.deepEqual(parse('sftp ada@host'), {
      name: 'sftp',
      remote: { username: 'ada', host: 'host', path: '' },
      quiet: false,
      connection,
    });
    const target = (text: string) => (parse(`sftp ${text}`) as Command & { name: 'sftp' }).remote;
    assert.deepEqual(target('host:/srv'), { host: 'host', path: '/srv' });
    assert.deepEqual(target('ada@[::1]'), { username: 'ada', host: '::1', path: '' });
    assert.deepEqual(target('[::1]:x'), { host: '::1', path: 'x' });
    const batch = parse('sftp -q -b - --window 64k host') as Command & { name: 'sftp' };
    assert.deepEqual([batch.batch, batch.quiet, batch.connection.window], ['-', true, 65536]);
  });

  it('reads ls', () => {
    assert.deepEqual(parse('ls -l host:'), {
      name: 'ls',
      remote: { host: 'host', path: '' },
      long: true,
      json: false,
      connection,
    });
  });

  it('leaves everything after the host of run to the command', () => {
    const command = parse('run --crypto pure -P 7 ada@host ls -la --json -P 9 -- x') as Command & { name: 'run' };
    assert.equal(command.commandLine, 'ls -la --json -P 9 -- x');
    assert.equal(command.json, false);
    assert.equal(command.connection.port, 7);
    assert.equal(command.connection.crypto, 'pure');
    assert.deepEqual(command.target, { username: 'ada', host: 'host' });
  });

  it('keeps a command of one word as it was quoted', () => {
    const command = parseCommand(['run', 'host', "echo 'a  b' | cat"]) as Command & { name: 'run' };
    assert.equal(command.commandLine, "echo 'a  b' | cat");
  });

  it('reads pins and the insecure choice', () => {
    const trust = (line: string) => (parse(line) as Command & { name: 'ls' }).connection.trust;
    assert.deepEqual(trust('ls --pin SHA256:a --pin SHA256:b h:'), {
      kind: 'pin',
      fingerprints: ['SHA256:a', 'SHA256:b'],
    });
    assert.deepEqual(trust('ls --insecure-accept-any h:'), { kind: 'insecure-accept-any' });
    assert.deepEqual(trust('ls --accept-new h:'), { kind: 'known-hosts', acceptNew: true });
  });

  it('reads serve with everything left out', () => {
    assert.deepEqual(parse('serve'), {
      name: 'serve',
      host: '127.0.0.1',
      port: 2022,
      readOnly: false,
      passwordStdin: false,
      hostKeys: [],
      crypto: 'auto',
      json: false,
      quiet: false,
    });
    assert.deepEqual(parse('serve --memory'), parse('serve'));
  });

  it('reads serve with every option', () => {
    const line =
      'serve --host :: -P 0 --root /srv --read-only --user ada --password-stdin --authorized-keys keys ' +
      '--host-key one --host-key two --crypto pure --json -q';
    assert.deepEqual(parse(line), {
      name: 'serve',
      host: '::',
      port: 0,
      root: '/srv',
      readOnly: true,
      username: 'ada',
      passwordStdin: true,
      authorizedKeys: 'keys',
      hostKeys: ['one', 'two'],
      crypto: 'pure',
      json: true,
      quiet: true,
    });
    const { password } = parse('serve --password secret') as Command & { name: 'serve' };
    assert.equal(password, 'secret');
  });

  for (const [line, topic] of [
    ['--help', ''],
    ['-h', ''],
    ['help', ''],
    ['help put', 'put'],
    ['get --help', 'get'],
    ['run -h', 'run'],
    ['ls --help --json', 'ls'],
    ['serve --help', 'serve'],
  ] as const) {
    it(`shows help for: ${line}`, () => assert.deepEqual(parse(line), { name: 'help', topic }));
  }
  for (const line of ['--version', '-V', 'get --version']) {
    it(`shows the version for: ${line}`, () => assert.deepEqual(parse(line), { name: 'version' }));
  }
  it('does not take the help of a remote command for its own', () => {
    assert.equal(parse('run host ls --help').name, 'run');
  });
});

describe('parseCommand refuses', () => {
  const cases: [string, RegExp][] = [
    ['', /No command given/],
    ['fetch host:x', /no command fetch: write puressh get, put, ls, run, sftp, serve, keygen or keyscan/],
    ['constructor', /no command constructor/],
    ['--json get host:x', /--json stands before a command/],
    ['get', /missing: write puressh get \[user@\]host:path \.\.\. \[local\]/],
    ['get x', /names no server/],
    ['get host:', /names no file after the colon/],
    ['get host:x y z', /y has no colon and so names no server/],
    ['get host:x other:y z', /other:y is on another server than host:x/],
    ['get host:x ada@host:y z', /another server/],
    ['get host:x host:y', /The last argument is the local path, and host:y looks remote: end with \. or \.\/host:y/],
    ['get host:x host:y -', /Standard output takes one file/],
    ['get -r host:x -', /Standard output is no file that --recursive/],
    ['get --resume host:x -', /Standard output is no file that --resume/],
    ['put - x host:y', /cannot be one of several/],
    ['put --preserve - host:y', /Standard input is no file that --preserve/],
    ['put --append --resume x host:y', /--append and --resume contradict/],
    ['put -r --append x host:y', /--append and --recursive contradict/],
    ['get --resume --overwrite newer host:x', /--resume and --overwrite contradict/],
    ['get --overwrite no host:x', /--overwrite is always, never, newer or different, not 'no'/],
    ['get --verify host:x', /Something is missing/],
    ['get --verify md5 host:x', /--verify is size, hash or content, not 'md5'/],
    ['put --in-place --resume x host:y', /--in-place and --resume contradict/],
    ['put --in-place --resume-target x host:y', /--in-place and --resume-target contradict/],
    ['get --resume-target --overwrite never host:x', /--resume-target and --overwrite contradict/],
    ['get --exclude *.o host:x', /--exclude is for directories: give -r too/],
    ['get --symlinks copy host:x', /--symlinks is for directories: give -r too/],
    ['get -r --symlinks keep host:x', /--symlinks is skip, follow or copy, not 'keep'/],
    ['get --window 1k host:x', /--window takes bytes from 32768 to 4294967295, as .*, not '1k'/],
    ['get --window 8G host:x', /not '8G'/],
    ['get --window 2T host:x', /not '2T'/],
    ['get --window 4M --max-window 2M host:x', /--max-window 2M is less than --window 4M/],
    ['get --request-size 0 host:x', /--request-size takes bytes from 1/],
    ['get --lanes 4 host:x', /--lanes.*see puressh get --help/],
    ['put --lanes 0 x host:y', /--lanes takes a whole number from 1/],
    ['sftp', /Something is missing: write puressh sftp/],
    ['sftp host other', /One argument too many, other/],
    ['sftp --batch= host', /--batch needs the path of a file/],
    ['sftp --password-stdin host', /both read standard input/],
    ['sftp --password-stdin -b - host', /both read standard input/],
    ['put', /Something is missing/],
    ['put x', /Something is missing/],
    ['put host:x y', /y has no colon and so names no server/],
    ['put - host:', /no name of its own/],
    ['put - host:dir/', /no name of its own/],
    ['put - --password-stdin host:x', /both read standard input/],
    ['get --json host:x -', /both want standard output/],
    ['ls', /Something is missing/],
    ['ls host: other', /too many, other/],
    ['run', /Something is missing/],
    ['run host', /Something is missing/],
    ['run host:22 ls', /-P/],
    ['get --nope host:x', /'?--nope'?.*see puressh get --help/],
    ['ls -R 4 host:', /-R.*see puressh ls --help/],
    ['get -P host:x', /Something is missing/],
    ['get host:x -P', /-P.*see puressh get --help/],
    ['get --json=yes host:x', /--json.*see puressh get --help/],
    ['get -P 0 host:x', /-P takes a whole number from 1 to 65535, not '0'/],
    ['get -P 65536 host:x', /not '65536'/],
    ['get -P 22x host:x', /not '22x'/],
    ['get -P 1e3 host:x', /not '1e3'/],
    ['get -R 0 host:x', /-R takes a whole number from 1/],
    ['get -R=-1 host:x', /-R takes a whole number/],
    ['get -R 1.5 host:x', /not '1.5'/],
    ['get --timeout 0 host:x', /--timeout takes seconds/],
    ['get --timeout soon host:x', /not 'soon'/],
    ['get --crypto fast host:x', /--crypto is pure or auto, not fast/],
    ['get --cipher a,,b host:x', /list of names with commas between, not 'a,,b'/],
    ['get --known-hosts= host:x', /needs the path of a file/],
    ['get --config= host:x', /--config needs the path of a file, or none/],
    ['get -o Port host:x', /-o takes Keyword=value, not 'Port'/],
    ['get --pin SHA256:a --insecure-accept-any host:x', /--pin and --insecure-accept-any contradict/],
    ['get --pin SHA256:a --known-hosts f host:x', /--known-hosts and --pin contradict/],
    ['get --accept-new --insecure-accept-any host:x', /--accept-new and --insecure-accept-any contradict/],
    ['serve /srv', /too many, \/srv: write puressh serve --root DIR/],
    ['serve -P 65536', /-P takes a whole number from 0 to 65535, not '65536'/],
    ['serve --host=', /--host needs an address/],
    ['serve --root=', /--root needs the path of a directory/],
    ['serve --root x --memory', /--root and --memory contradict/],
    ['serve --read-only', /--read-only without --root leaves nothing to read/],
    ['serve --password=', /--password needs a password that is not empty/],
    ['serve --password x --password-stdin', /--password and --password-stdin contradict/],
    ['serve --authorized-keys=', /--authorized-keys needs the path of a file/],
    ['serve --host-key=', /--host-key needs the path of a private key/],
    ['serve --user=', /--user needs a name/],
    ['serve --user=-oProxyCommand', /--user takes a name as it can stand before @/],
    ['serve --user a:b', /not 'a:b'/],
    ['serve --user a/b', /not 'a\/b'/],
    ['serve --crypto fast', /--crypto is pure or auto, not fast/],
    ['serve --cipher aes128-ctr', /--cipher.*see puressh serve --help/],
  ];
  for (const [line, message] of cases) {
    it(line === '' ? 'nothing at all' : line, () => {
      assert.throws(
        () => parse(line),
        (error: SshError) => {
          assert.equal(error.code, 'bad-argument', String(error.stack));
          assert.match(error.message, message);
          assert.ok(!error.message.includes('\n'));
          return true;
        },
      );
    });
  }
  it('an empty local path', () => {
    assert.throws(() => parseCommand(['get', 'host:x', '']), /local path is empty/);
    assert.throws(() => parseCommand(['put', '', 'host:x']), /local path is empty/);
  });
});
