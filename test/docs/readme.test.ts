/** That what the documents show is so: every example runs or is read by the command, every script exists. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseCommand } from '../../src/cli/args.ts';
import { usage } from '../../src/cli/usage.ts';
import * as openssh from '../support/peers/openssh.ts';
import { peerTest } from '../support/peers/peer.ts';
import { root } from '../support/root.ts';

const documents = ['README.md', 'CHANGELOG.md', 'bench/README.md'].concat(
  readdirSync(new URL('docs/', root)).map((name) => `docs/${name}`),
);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

interface Block {
  readonly document: string;
  readonly language: string;
  readonly text: string;
}

const blocks: readonly Block[] = documents.flatMap((document) =>
  [...read(document).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
    document,
    language: language as string,
    text: text as string,
  })),
);

/** An example of README.md as a file here: with the import that works inside the repository. */
const inside = (text: string): string => text.replace("'puressh/node'", "'../../src/node.ts'");

describe('documents', () => {
  it('have only blocks that something here checks', () => {
    const checked = ['ts', 'sh', 'text', ''];
    for (const { document, language } of blocks) assert.ok(checked.includes(language), `${document}: ${language}`);
    const programs = blocks.filter(({ language }) => language === 'ts').map(({ document }) => document);
    assert.deepEqual(programs, ['README.md']);
  });

  it('link to files that are there', () => {
    for (const document of documents) {
      for (const [, target] of read(document).matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
        assert.ok(existsSync(new URL(target as string, new URL(document, root))), `${document}: ${target}`);
      }
    }
  });

  it('show commands that the command understands, and scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json'));
    let seen = 0;
    for (const { document, text } of blocks.filter(({ language }) => language === 'sh')) {
      for (const line of text.split('\n').map((each) => each.replace(/\s+#.*$/, '').trim())) {
        for (const command of line.split(' && ').filter((each) => each !== '')) {
          const [program, ...words] = command.split(/\s+/) as [string, ...string[]];
          if (program === 'puressh') checkCommand(words, document);
          else if (program !== 'npm') assert.fail(`${document}: ${command}`);
          else if (words[0] === 'run') assert.ok((words[1] as string) in scripts, `${document}: ${command}`);
          else assert.ok(['ci', 'test'].includes(words[0] as string), `${document}: ${command}`);
          seen++;
        }
      }
    }
    assert.ok(seen >= 12, `${seen} commands`);
  });

  it('name in docs/cli.md every option of the help texts', () => {
    const help = Object.values(usage).join('\n');
    const explained = read('docs/cli.md');
    const options = new Set(help.match(/(?<=[\s,])--?[a-zA-Z][a-z-]*/g));
    for (const general of ['--help', '--version', '-P', '-R']) options.delete(general);
    for (const long of ['--port', '--identity', '--requests', '--quiet', '--long', '--no-stdin']) options.delete(long);
    assert.ok(options.size > 15);
    for (const option of options) assert.ok(explained.includes(option), option);
  });

  it('explain in docs/errors.md every code of SshError, in order, and no other', () => {
    const [, union] = read('src/errors.ts').match(/type SshErrorCode =([^;]*);/) as [string, string];
    const codes = [...union.matchAll(/\| '([a-z-]+)'/g)].map(([, code]) => code);
    const explained = [...read('docs/errors.md').matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, code]) => code);
    assert.ok(codes.length > 30);
    assert.deepEqual(explained.slice(explained.indexOf(codes[0])), codes.sort());
  });
});

/** A form such as `get [options] [user@]host:path [local]` is compared with the help, anything else is parsed. */
function checkCommand(words: readonly string[], document: string): void {
  const name = words[0] as keyof typeof usage;
  if (words.includes('[options]')) {
    const form = usage[name].split('\n')[0] as string;
    assert.equal(`Usage: puressh ${words.join(' ')}`, form.replace(/\s+/g, ' '), document);
  } else {
    assert.equal(parseCommand(words).name, name, document);
  }
}

describe('the example of README.md', () => {
  const file = new URL(`readme_example.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

  it('is the program that is type-checked and run here', () => {
    const [shown] = blocks.filter(({ language }) => language === 'ts');
    const [, program] = read('test/docs/readme_example.ts').split(/^\/\/.*\n/) as [string, string];
    assert.equal(inside((shown as Block).text), program);
    assert.ok((shown as Block).text.trim().split('\n').length <= 20);
  });

  it('does what it shows', { ...peerTest(openssh.available()), timeout: 60_000 }, async () => {
    const peer = await openssh.startSshd();
    // Inside the repository, since Deno looks for packages from where the program is.
    mkdirSync(new URL('build/', root), { recursive: true });
    const folder = mkdtempSync(fileURLToPath(new URL('build/readme-', root)));
    try {
      const big = join(peer.files, 'big.log');
      writeFileSync(big, 'x'.repeat(100_000));
      mkdirSync(join(peer.files, 'srv'));
      writeFileSync(join(peer.files, 'srv', 'entry'), 'four');
      const replacements: [string, string][] = [
        ["'../../src/node", `'${new URL('../../src/node', import.meta.url).href}`],
        ["host: 'example.org'", `host: '${peer.host}', port: ${peer.port}`],
        ["'ada'", `'${peer.username}'`],
        ["'~/.ssh/id_ed25519'", `'${peer.keys.ed25519.openssh}'`],
        ['knownHosts()', `knownHosts('${peer.knownHosts}')`],
        ["'/var/log/big.log'", `'${big}'`],
        ["'/srv'", `'${join(peer.files, 'srv')}'`],
      ];
      let text = readFileSync(file, 'utf8');
      for (const [from, to] of replacements) {
        assert.ok(text.includes(from), from);
        text = text.replace(from, to);
      }
      const program = join(folder, file.pathname.endsWith('.ts') ? 'example.ts' : 'example.mjs');
      writeFileSync(program, text);
      const before = 'Deno' in globalThis ? ['run', '-A', '--no-lock', '--no-check'] : [];
      const options = { cwd: folder, encoding: 'utf8', timeout: 50_000 } as const;
      const { status, stdout, stderr } = spawnSync(process.execPath, [...before, program], options);
      assert.equal(status, 0, stderr);
      const lines = stdout.trim().split('\n');
      assert.match(lines[0] as string, /^0 \w+$/);
      assert.equal(lines.at(-2), '100000 100000');
      assert.equal(lines.at(-1), 'entry 4');
      assert.equal(readFileSync(join(folder, 'big.log'), 'utf8').length, 100_000);
    } finally {
      rmSync(folder, { recursive: true, force: true });
      await peer.stop();
    }
  });
});
