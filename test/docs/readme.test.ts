/** That what the documents show is so: every example is a program that is tried or is read by the command, every script exists. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parseCommand } from '../../src/cli/args.ts';
import { commands } from '../../src/cli/shell/commands.ts';
import { usage } from '../../src/cli/usage.ts';
import { root } from '../support/root.ts';

const documents = ['README.md', 'CHANGELOG.md', 'bench/README.md'].concat(
  readdirSync(new URL('docs/', root))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
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

/** The programs, in the order of the documents; `examples.test.ts` tries them. */
const examples: Readonly<Record<string, string>> = {
  client: 'README.md',
  more: 'README.md',
  server: 'README.md',
  agent: 'docs/agent.md',
  algorithms: 'docs/algorithms.md',
  config: 'docs/config.md',
  keys: 'docs/keys.md',
  second_factor: 'docs/server.md',
  programs: 'docs/server.md',
  backend: 'docs/server.md',
  trust: 'docs/trust.md',
};

describe('documents', () => {
  it('have only blocks that something here checks', () => {
    const checked = ['ts', 'sh', 'text', ''];
    for (const { document, language } of blocks) assert.ok(checked.includes(language), `${document}: ${language}`);
  });

  it('show programs that are type-checked and tried, word for word', () => {
    const shown = blocks.filter(({ language }) => language === 'ts');
    assert.deepEqual(
      shown.map(({ document }) => document),
      Object.values(examples),
    );
    for (const [index, name] of Object.keys(examples).entries()) {
      const { text } = shown[index] as Block;
      const [, program] = read(`test/docs/examples/${name}.ts`).split(/^\/\/.*\n/) as [string, string];
      assert.equal(text.replace("'puressh/node'", "'../../../src/node.ts'"), program, name);
      assert.ok(text.trim().split('\n').length <= 36, name);
    }
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
    const longs = [
      'port',
      'identity',
      'config',
      'option',
      'requests',
      'quiet',
      'long',
      'no-stdin',
      'recursive',
      'preserve',
      'batch',
    ];
    for (const long of longs) options.delete(`--${long}`);
    assert.ok(options.size > 15);
    for (const option of options) assert.ok(explained.includes(option), option);
  });

  it('name in docs/cli.md every command of the shell', () => {
    const rows = read('docs/cli.md')
      .split('\n')
      .filter((line) => line.startsWith('|'));
    const explained = new Set(rows.flatMap((row) => [...row.matchAll(/`([a-z]+)[` ]/g)].map(([, name]) => name)));
    assert.ok(commands.length > 25);
    for (const { name, aliases = [] } of commands) {
      for (const each of [name, ...aliases]) assert.ok(explained.has(each) || each === '?' || each === 'dir', each);
    }
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
