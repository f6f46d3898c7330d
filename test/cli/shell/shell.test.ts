/** The commands of the shell, at our server in memory, with files of a scratch directory on this side. */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { runBatch, withoutMarks } from '../../../src/cli/shell/batch.ts';
import { runLine } from '../../../src/cli/shell/commands.ts';
import { Shell, type ShellOutput } from '../../../src/cli/shell/session.ts';
import { SshError } from '../../../src/errors.ts';
import { type MemoryFiles, memoryFiles } from '../../../src/sftp/server/memory_fs.ts';
import { nodeFiles } from '../../../src/transports/node_files.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { withMemory } from '../../support/sftp_memory.ts';
import { scratch } from '../spawn_cli.ts';

const never = new AbortController().signal;

interface Bench {
  readonly files: MemoryFiles;
  readonly shell: Shell;
  /** The local directory. */
  readonly here: string;
  /** Runs lines, and gives what they wrote to standard output. */
  run(...lines: string[]): Promise<string>;
  /** What was said on standard error since the last time. */
  said(): string[];
}

async function bench(
  content: Readonly<Record<string, string>>,
  use: (bench: Bench) => Promise<void>,
  own: Partial<ShellOutput> = {},
): Promise<void> {
  const owner = { uid: 1000, gid: 100, user: 'ada', group: 'us\u001bers' };
  const files = memoryFiles({ home: '/home', files: content, owner });
  const here = scratch();
  await withMemory(
    files,
    async ({ sftp }) => {
      let text = '';
      const said: string[] = [];
      const write = async (data: string | Uint8Array): Promise<void> => {
        text += typeof data === 'string' ? data : new TextDecoder().decode(data);
      };
      const shell = await Shell.open(sftp, { write, say: (line) => said.push(line), ...own }, here);
      const run = async (...lines: string[]): Promise<string> => {
        text = '';
        for (const line of lines) await runLine(shell, line, never);
        return text;
      };
      await use({ files, shell, here, run, said: () => said.splice(0) });
    },
    { localFiles: nodeFiles },
  );
}

const tree = { '/home/a.txt': 'hello', '/home/b.txt': 'b', '/home/.hid': '', '/home/d/x': 'xx', '/home/d/e/y': 'yyy' };

describe('shell: looking', () => {
  it('ls lists names, hidden ones with -a, in the order that is asked for', () =>
    bench(tree, async ({ run, files }) => {
      files.setstat('/home/a.txt', { atime: 1, mtime: 1 });
      files.setstat('/home/b.txt', { atime: 3, mtime: 3 });
      files.setstat('/home/d', { atime: 2, mtime: 2 });
      assert.equal(await run('ls'), 'a.txt\nb.txt\nd\n');
      assert.equal(await run('ls -a'), '.\n..\n.hid\na.txt\nb.txt\nd\n');
      assert.equal(await run('ls -t'), 'b.txt\nd\na.txt\n');
      assert.equal(await run('ls -tr'), 'a.txt\nd\nb.txt\n');
      assert.match(await run('ls -S'), /a\.txt\nb\.txt\n/);
      assert.match(await run('ls -ln a.txt'), /^-rw-r--r-- .* 5 {2}1970-01-01 00:00 {2}a\.txt\n$/);
      assert.match(await run('ls -lhn d'), /^drwxr-xr-x .* e\n-rw-r--r-- .* 2 {2}.* x\n$/);
    }));

  it('ls shows what a pattern matches, and a file that is called so first', () =>
    bench({ ...tree, '/home/*.md': '', '/home/z.md': '' }, async ({ run }) => {
      assert.equal(await run('ls *.txt'), 'a.txt\nb.txt\n');
      assert.equal(await run('ls *.md'), '*.md\n');
      assert.equal(await run("ls '*.md' z.md"), '*.md\nz.md\n');
      assert.equal(await run('ls ~/d'), 'e\nx\n');
      assert.equal(await run('ls d/* a.txt'), 'a.txt\nd/e\nd/x\n');
      assert.equal(await run('ls d d/e'), '/home/d:\ne\nx\n/home/d/e:\ny\n');
      await rejectsWith(run('ls *.none'), 'sftp-status');
    }));

  it('ls is in columns on a terminal, with control characters made visible', () =>
    bench(
      { '/home/a': '', '/home/bb': '', '/home/c\u001b[31m': '' },
      async ({ run }) => {
        assert.equal(await run('ls'), 'a          c\\x1b[31m\nbb\n');
        assert.equal(await run('ls -1'), 'a\nbb\nc\\x1b[31m\n');
      },
      { columns: 24 },
    ));

  it('pwd, cd, stat, cat, df, version and help', () =>
    bench(tree, async ({ run, files }) => {
      assert.equal(await run('pwd', 'cd d', 'pwd', 'cd ..', 'cd', 'pwd'), '/home\n/home/d\n/home\n');
      const error = await rejectsWith(run('cd a.txt'), 'sftp-status');
      assert.equal(error.message, '/home/a.txt is no directory');
      await rejectsWith(run('cd *.txt'), 'bad-argument');
      files.setstat('/home/a.txt', { permissions: 0o640, atime: 0, mtime: 1700000000 });
      files.symlink('a.txt', '/home/l');
      const facts = await run('stat a.txt');
      for (const line of ['path:        /home/a.txt', 'size:        5', 'modified:    2023-11-14T22:13:20Z']) {
        assert.ok(facts.split('\n').includes(line), facts);
      }
      assert.match(facts, /permissions: 0640 -rw-r-----\n/);
      assert.match(await run('stat l'), /type: +symlink\ntarget: +a\.txt\n/);
      assert.equal(await run('cat a.txt d/x'), 'helloxx');
      assert.match(await run('df -h'), /Size +Used +Available +Capacity\n +\S+ +\S+ +\S+ +\d+%\n$/);
      assert.match(await run('version'), /^puressh .*\nSFTP 3\n {2}posix-rename@openssh\.com 1\n/);
      const help = await run('help');
      for (const name of ['get', 'put', 'ls', 'rm', '!']) assert.match(help, new RegExp(`^${name} `, 'm'));
      assert.match(await run('help mv'), /^rename from to\n.*\nAlso: mv\n$/s);
    }));

  it('cat shows a terminal no control characters', () =>
    bench(
      { '/home/evil': 'a\u001b[2Jb\n\u0007é' },
      async ({ run }) => {
        assert.equal(await run('cat evil'), 'a\\x1b[2Jb\n\\x07é');
      },
      { columns: 80 },
    ));
});

describe('shell: changing', () => {
  it('mkdir, rmdir, rm, rename, ln, touch and chmod', () =>
    bench(tree, async ({ run, files }) => {
      await run('mkdir n', 'mkdir -p p/q/r', 'rmdir n', 'rename a.txt b.txt', 'rm -r d', 'touch new');
      assert.equal(await run('ls'), 'b.txt\nnew\np\n');
      assert.equal(await run('cat b.txt'), 'hello');
      await run('ln -s b.txt soft', 'ln b.txt hard', 'symlink /nowhere dangling', 'chmod 600 b.txt hard');
      assert.equal(files.readlink('/home/soft'), 'b.txt');
      assert.equal(files.readlink('/home/dangling'), '/nowhere');
      assert.equal((files.stat('/home/b.txt').permissions as number) & 0o777, 0o600);
      assert.equal(await run('cat hard'), 'hello');
      await run('rm -r *');
      assert.equal(await run('ls -a'), '.\n..\n.hid\n');
    }));

  it('chown and chgrp leave the other of the two, and ls -l names both as far as the server does', () =>
    bench(tree, async ({ run, files }) => {
      assert.match(await run('ls -l a.txt'), /^-rw-r--r-- {2}ada {2}us\\x1bers {2}5 /);
      await run('chown 7 a.txt', 'ln -s a.txt l', 'chgrp -h 8 l');
      assert.deepEqual([files.stat('/home/a.txt').uid, files.stat('/home/a.txt').gid], [7, 100]);
      assert.deepEqual([files.lstat('/home/l').uid, files.lstat('/home/l').gid], [1000, 8]);
      assert.match(await run('ls -ln a.txt'), /^-rw-r--r-- {2}7 {2}100 {2}5 /);
      assert.match(await run('ls -l a.txt'), /^-rw-r--r-- {2}7 {2}us/);
    }));

  it('touch leaves content alone, and sets the times', () =>
    bench(tree, async ({ run, files }) => {
      files.setstat('/home/a.txt', { atime: 1, mtime: 1 });
      await run('touch a.txt');
      assert.equal(await run('cat a.txt'), 'hello');
      assert.ok((files.stat('/home/a.txt').mtime as number) > 1_700_000_000);
    }));

  it('says how a command is written that is not', () =>
    bench(tree, async ({ run }) => {
      const cases: [string, RegExp][] = [
        ['frobnicate', /no command frobnicate: help lists them/],
        ['rename a', /rename needs more than that: write rename from to/],
        ['ls -q', /ls has no option -q: write ls \[-/],
        ['pwd now', /pwd does not take now: write pwd$/],
        ['chmod rwx a.txt', /octal permissions as 644, not 'rwx'/],
        ['chown ada a.txt', /chown takes a number, not 'ada'/],
        ["ls 'a", /A ' has no end/],
        ['help frobnicate', /no command frobnicate/],
        ['!ls', /only for a person/],
      ];
      for (const [line, message] of cases) {
        const error = await rejectsWith(run(line), 'bad-argument');
        assert.match(error.message, message);
      }
      assert.equal(await run('', '   ', '# nothing'), '');
    }));

  it('takes what follows -- as operands', () =>
    bench({ '/home/-r': 'x' }, async ({ run }) => {
      assert.equal(await run('ls -- -r'), '-r\n');
      await run('rm -- -r');
      assert.equal(await run('ls'), '');
    }));
});

describe('shell: moving', () => {
  it('get takes files, several, what matches, and directories', () =>
    bench(tree, async ({ run, here }) => {
      const local = (...parts: string[]) => readFileSync(join(here, ...parts), 'utf8');
      await run('get a.txt', 'get a.txt other', 'lmkdir into', 'get *.txt into', 'get -r d', 'get -r d into');
      assert.equal(local('a.txt'), 'hello');
      assert.equal(local('other'), 'hello');
      assert.deepEqual(readdirSync(join(here, 'into')).sort(), ['a.txt', 'b.txt', 'd']);
      assert.equal(local('d', 'e', 'y'), 'yyy');
      assert.equal(local('into', 'd', 'x'), 'xx');
      await run('get d/x d/e/y into');
      assert.equal(local('into', 'y'), 'yyy');
    }));

  it('get keeps permissions and times with -p, and goes on with -a', () =>
    bench(tree, async ({ run, here, files }) => {
      files.setstat('/home/a.txt', { permissions: 0o600, atime: 1000, mtime: 2000 });
      await run('get -p a.txt');
      const { mode, mtimeMs } = statSync(join(here, 'a.txt'));
      assert.deepEqual([mode & 0o777, mtimeMs], [0o600, 2_000_000]);
      writeFileSync(join(here, 'part'), 'hel');
      await run('reget a.txt part');
      assert.equal(readFileSync(join(here, 'part'), 'utf8'), 'hello');
    }));

  it('put takes files, several, what matches, and directories', () =>
    bench(tree, async ({ run, here, files }) => {
      const remote = (path: string) => new TextDecoder().decode(files.get(path));
      mkdirSync(join(here, 't', 'u'), { recursive: true });
      for (const name of ['1.c', '2.c', 't/3.c', 't/u/4.c']) writeFileSync(join(here, name), name);
      await run('put 1.c', 'put 1.c renamed', 'put *.c d', 'put -r t', 'put -r t d', 'put -r t new');
      assert.equal(remote('/home/1.c'), '1.c');
      assert.equal(remote('/home/renamed'), '1.c');
      assert.equal(remote('/home/d/2.c'), '2.c');
      assert.equal(remote('/home/t/u/4.c'), 't/u/4.c');
      assert.equal(remote('/home/d/t/3.c'), 't/3.c');
      assert.equal(remote('/home/new/3.c'), 't/3.c');
      await run('lcd t', 'put u/*.c ..', 'put 3.c /home/d/');
      assert.equal(remote('/4.c'), 't/u/4.c');
      assert.equal(remote('/home/d/3.c'), 't/3.c');
    }));

  it('one of several that fails does not end the rest, and is told', () =>
    bench(tree, async ({ run, said, here }) => {
      const error = await rejectsWith(run('get nope a.txt b.txt .'), 'sftp-status');
      assert.match(error.message, /^\/home\/nope was not moved$/);
      assert.deepEqual(said(), ['puressh: open /home/nope: no such file (sftp-status)']);
      assert.deepEqual(readdirSync(here).sort(), ['a.txt', 'b.txt']);
      await rejectsWith(run('get a.txt b.txt a.txt'), 'bad-local-file');
      await rejectsWith(run('put a.txt b.txt a.txt'), 'target-exists');
      await rejectsWith(run('get a.txt ~/a.txt .'), 'bad-argument');
      await rejectsWith(run('put *.none'), 'bad-local-file');
    }));

  it('names of a server that may not be used here are told, and the others come', () =>
    bench(
      { '/home/good': 'g', '/home/e\u001bvil': '', '/home/C:x': '', '/home/a\\b': '' },
      async ({ run, said, here }) => {
        const error = await rejectsWith(run('get *'), 'protocol');
        assert.match(error.message, /was not moved, and 2 more$/);
        assert.deepEqual(readdirSync(here), ['good']);
        const lines = said();
        assert.equal(lines.length, 3);
        assert.ok(
          lines.includes(
            'puressh: /home/e\\x1bvil gives no name to make a file under: it has a control character in it (protocol)',
          ),
        );
      },
    ));

  it('with -r one of several that is missing does not keep the others, and names that say nothing go no deeper', () =>
    bench(tree, async ({ run, said, here }) => {
      await rejectsWith(run('get -r nope d no*ne a.txt .'), 'sftp-status');
      assert.deepEqual(readdirSync(here).sort(), ['a.txt', 'd']);
      assert.equal(said().length, 2);
      mkdirSync(join(here, 'w'));
      await run('get -r . w', 'lcd w', 'get -r d/ v', 'get -r d/. v/w');
      assert.deepEqual(readdirSync(join(here, 'w')).sort(), ['.hid', 'a.txt', 'b.txt', 'd', 'v']);
      assert.deepEqual(readdirSync(join(here, 'w', 'v')).sort(), ['e', 'w', 'x']);
      await run('get -r d/ v');
      assert.deepEqual(readdirSync(join(here, 'w', 'v')).sort(), ['d', 'e', 'w', 'x']);
    }));

  it('a directory without -r is refused, by what it is', () =>
    bench(tree, async ({ run, here }) => {
      const error = await rejectsWith(run('get d'), 'sftp-status');
      assert.match(error.message, /is a directory/);
      mkdirSync(join(here, 'ld'));
      await rejectsWith(run('put ld'), 'bad-local-file');
    }));

  it('cp copies at the server, into a directory too', () =>
    bench(tree, async ({ run }) => {
      await run('cp a.txt c', 'cp a.txt d');
      assert.equal(await run('cat c d/a.txt'), 'hellohello');
      await rejectsWith(run('cp d x'), 'bad-argument');
      await rejectsWith(run('cp ?.txt d'), 'bad-argument');
      await rejectsWith(run('cp nope x'), 'sftp-status');
    }));

  it('lls, lpwd and lcd', () =>
    bench(tree, async ({ run, here, shell }) => {
      writeFileSync(join(here, 'f'), 'four');
      assert.equal(await run('lls', 'lpwd'), `f\n${here}\n`);
      assert.match(await run('lls -l f'), /^-rw.* 4 {2}.* f\n$/);
      await run('lcd');
      assert.equal(shell.localDirectory, homedir());
      await rejectsWith(run(`lcd ${join(here, 'f')}`), 'bad-local-file');
    }));
});

describe('shell: commands from a file', () => {
  const failed: string[] = [];
  const run = (shell: Shell, text: string, quiet = false): Promise<void> =>
    runBatch(shell, text.split('\n'), never, (error) => failed.push((error as SshError).code), quiet);

  it('shows each command but those with @, and ends at the first that fails', async () => {
    let text = '';
    const write = async (data: string | Uint8Array): Promise<void> => {
      text += data;
    };
    await bench(
      tree,
      async ({ shell, files }) => {
        await rejectsWith(
          run(shell, 'pwd\r\n\n# no command\n@cd d\n @ ls\n-rm nope\n-@rm nope\ncd nope\nrm x'),
          'sftp-status',
        );
        assert.equal(text, 'sftp> pwd\n/home\ne\nx\nsftp> rm nope\nsftp> cd nope\n');
        assert.deepEqual(failed.splice(0), ['sftp-status', 'sftp-status']);
        assert.equal(files.get('/home/d/x')?.length, 2);
        text = '';
        await run(shell, 'pwd\nbye\nrm x', true);
        assert.equal(text, '/home/d\n');
        assert.equal(files.get('/home/d/x')?.length, 2);
      },
      { write },
    );
  });

  it('ends where the session does, whatever its lines are marked with', () =>
    bench(tree, async ({ shell }) => {
      await shell.sftp.close();
      await rejectsWith(run(shell, '-ls\n-ls'), 'connection-closed');
    }));

  it('names the line that fails, where the commands are in a file', () =>
    bench(tree, async ({ shell }) => {
      const told: string[] = [];
      const note = (error: unknown): void => void told.push((error as SshError).message);
      const lines = ['# removes', '-rm nope', '', 'rm none', 'rm a.txt'];
      const error = await rejectsWith(runBatch(shell, lines, never, note, true, 'todo'), 'sftp-status');
      assert.match(error.message, /^todo:4: .*none/);
      assert.equal(told.length, 1);
      assert.match(told[0] as string, /^todo:2: .*nope/);
    }));

  it('ends when it is told to', () =>
    bench(tree, async ({ shell, files }) => {
      const controller = new AbortController();
      controller.abort(new SshError('aborted', 'enough'));
      await rejectsWith(
        runBatch(shell, ['rm a.txt'], controller.signal, () => {}),
        'aborted',
      );
      assert.equal(files.get('/home/a.txt')?.length, 5);
    }));

  it('withoutMarks takes them in any order', () => {
    for (const line of ['-@ls', '@-ls', ' - @ ls']) {
      assert.deepEqual(withoutMarks(line), { line: 'ls', mayFail: true, isShown: false });
    }
    assert.deepEqual(withoutMarks('ls -l'), { line: 'ls -l', mayFail: false, isShown: true });
  });
});
