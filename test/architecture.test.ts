/**
 * The shape of the house, checked: who may import whom, what the inner ranks must not know, and how long things may
 * be. `docs/architecture.md` explains the ranks. Each rule is shown to fail on a small false tree first.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { root } from './support/root.ts';
import { blocksOf, importsOf, type Masked, mask as maskAnew } from './support/source.ts';

const FILE_LINES = 400;
const FUNCTION_LINES = 80;

/** Areas by rank. An area is a folder or a file of `src`; the longest that matches a path is its area. */
const ranks: Readonly<Record<string, number>> = {
  'errors.ts': 0,
  bytes: 0,
  wire: 1,
  crypto: 1,
  keys: 2,
  core: 3,
  config: 3,
  'sftp/proto': 3,
  compression: 3.5,
  io: 4,
  agent: 4.5,
  client: 5,
  server: 5,
  sftp: 5,
  transports: 6,
  conformance: 6,
  // Files of `src` itself join the areas to the public API.
  '.': 6,
  // The entries of the runtimes join a transport to everything else, so they stand above the others of rank 6.
  'node.ts': 6.5,
  'deno.ts': 6.5,
  'bun.ts': 6.5,
  'websocket.ts': 6.5,
  cli: 7,
};

/** Where the outside world may be touched. */
const OUTSIDE = /^(?:transports|crypto\/native|cli)\//;
const RUNTIME_ENTRY = /^(?:node|deno|bun)\.ts$/;

/** What breaks a rule all the same, and why it may. One that is not needed any more is a failure. */
const exceptions: readonly { readonly rule: string; readonly path: string; readonly reason: string }[] = [];

type Tree = ReadonlyMap<string, string>;
interface Violation {
  readonly path: string;
  readonly what: string;
}
type Check = (path: string, source: Masked, tree: Tree) => readonly string[];

const masked = new Map<string, Masked>();

function mask(text: string): Masked {
  const source = masked.get(text) ?? maskAnew(text);
  masked.set(text, source);
  return source;
}

function areaOf(path: string): string {
  const areas = Object.keys(ranks).filter((area) => path === area || path.startsWith(`${area}/`));
  return areas.sort((a, b) => b.length - a.length)[0] ?? (path.includes('/') ? path : '.');
}

/** `errors.ts` and `bytes` are one ground floor. */
function isOwn(from: string, to: string): boolean {
  return areaOf(from) === areaOf(to) || (areaOf(from) === 'bytes' && to === 'errors.ts');
}

/** Paths inside `src` that a file imports. */
function targets(path: string, source: Masked): string[] {
  const relative = importsOf(source).filter(({ specifier }) => specifier.startsWith('.'));
  return relative.map(({ specifier }) => new URL(specifier, `file:///${path}`).pathname.slice(1));
}

function bareImports(source: Masked): string[] {
  const all = importsOf(source).map(({ specifier }) => specifier);
  return all.filter((specifier) => !specifier.startsWith('.'));
}

/** Uses of global names; not members, keys or declarations of the same name. */
function uses(source: Masked, names: string): string[] {
  const pattern = new RegExp(`(?<![.\\w$#])(?:${names})\\b(?!\\s*\\??:)`, 'g');
  return [...new Set([...source.code.matchAll(pattern)].map((match) => match[0]))];
}

const rules: Readonly<Record<string, Check>> = {
  'a file imports lower ranks or its own folder'(path, source) {
    const rank = ranks[areaOf(path)];
    if (rank === undefined) return ['has no rank: add its folder to the ranks'];
    const higher = targets(path, source).filter((to) => !isOwn(path, to) && !((ranks[areaOf(to)] ?? 99) < rank));
    return higher.map((to) => `rank ${rank} imports ${to}`);
  },
  'imports lead to files of src and form no cycle'(path, source, tree) {
    const missing = targets(path, source).filter((to) => !tree.has(to));
    if (missing.length > 0) return missing.map((to) => `imports ${to}, which does not exist`);
    const seen = new Set<string>();
    const queue = targets(path, source);
    for (let to = queue.pop(); to !== undefined; to = queue.pop()) {
      if (to === path) return ['reaches itself through its imports'];
      if (!seen.has(to)) queue.push(...targets(to, mask(tree.get(to) ?? '')));
      seen.add(to);
    }
    return [];
  },
  'only entries, transports and the command know native crypto'(path, source) {
    if (OUTSIDE.test(path) || RUNTIME_ENTRY.test(path)) return [];
    return targets(path, source).filter((to) => to.startsWith('crypto/native/'));
  },
  'only entries, native crypto and the command know pure crypto'(path, source) {
    if (/^(?:crypto\/(?:pure|native)|cli)\//.test(path) || /^(?:index|node|deno|bun|websocket)\.ts$/.test(path))
      return [];
    return targets(path, source).filter((to) => to.startsWith('crypto/pure/'));
  },
  'packages are the noble ones'(path, source) {
    return bareImports(source).filter(
      (name) =>
        !(
          name.startsWith('@noble/') ||
          (name.startsWith('node:') && OUTSIDE.test(path)) ||
          (name === 'pako' && path === 'cli/compression.ts') // bundled with the command
        ),
    );
  },
  'noble is known to crypto only'(path, source) {
    return path.startsWith('crypto/') ? [] : bareImports(source).filter((name) => name.startsWith('@noble/'));
  },
  'runtimes are known to transports, native crypto and the command only'(path, source) {
    return OUTSIDE.test(path) ? [] : uses(source, 'Buffer|process|Deno|Bun|require|global|__dirname|__filename');
  },
  'only the command starts processes'(path, source) {
    if (path.startsWith('cli/')) return [];
    const programs = /\b(?:Deno|deno\s*\(\s*\))\s*\.\s*Command\b|\bBun\s*\.\s*spawn(?:Sync)?\b/g;
    return [
      ...bareImports(source).filter((name) => /^(?:node:)?(?:child_process|cluster|worker_threads)$/.test(name)),
      ...(source.code.match(programs) ?? []),
    ];
  },
  'ranks 0 to 3 know no clock, no randomness and no network'(path, source) {
    if ((ranks[areaOf(path)] ?? 0) > 3 || /^crypto\/(?:native\/|pure\/random\.ts$)/.test(path)) return [];
    const clocks = 'setTimeout|setInterval|setImmediate|clearTimeout|clearInterval|Date|performance|Temporal';
    return [
      ...uses(source, `${clocks}|fetch|WebSocket|navigator|document|console`),
      ...(source.code.match(/\bMath\s*\.\s*random\b|\bgetRandomValues\b|\brandomUUID\b/g) ?? []),
    ];
  },
  'names are lower case words joined with _'(path) {
    return path.split('/').every((part) => /^[a-z0-9]+(?:_[a-z0-9]+)*(?:\.ts)?$/.test(part))
      ? []
      : ['is named otherwise'];
  },
  'a file opens with what it does'(path, _source, tree) {
    return /^(?:#!.*\n)?\/\*\* ?\S|^(?:#!.*\n)?\/\*\*\n \* \S/.test(tree.get(path) ?? '')
      ? []
      : ['has no opening comment'];
  },
  [`a file has at most ${FILE_LINES} lines`](path, _source, tree) {
    const lines = (tree.get(path) ?? '').trimEnd().split('\n').length;
    return lines <= FILE_LINES ? [] : [`has ${lines} lines`];
  },
  [`a function has at most ${FUNCTION_LINES} lines`](_path, source) {
    const long = blocksOf(source).filter(({ lines }) => lines > FUNCTION_LINES);
    return long.map(({ line, lines, header }) => `line ${line}: ${lines} lines: ${header}`);
  },
};

function violations(rule: string, tree: Tree): Violation[] {
  const check = rules[rule] as Check;
  return [...tree].flatMap(([path, text]) => check(path, mask(text), tree).map((what) => ({ path, what })));
}

function readTree(): Tree {
  const src = new URL('src/', root);
  const names = readdirSync(src, { recursive: true }).map((name) => String(name).replaceAll('\\', '/'));
  const files = names.filter((name) => name.endsWith('.ts')).sort();
  return new Map(files.map((name) => [name, readFileSync(new URL(name, src), 'utf8')]));
}

const lines = (count: number): string => 'a;\n'.repeat(count);

/** For each rule a tree that keeps it, by a hair where there is a hair, and one that breaks it in the named files. */
const falseTrees: readonly [rule: string, good: Record<string, string>, bad: Record<string, string>][] = [
  [
    'a file imports lower ranks or its own folder',
    {
      'bytes/a.ts': "import { e } from '../errors.ts';",
      'core/auth/a.ts': "import '../b.ts'; import type { K } from '../../keys/k.ts';",
      'sftp/get.ts': "export * from './proto/packets.ts'; // import '../cli/x.ts'",
      'node.ts': "import './transports/node.ts'; export * from './index.ts';",
      'index.ts': "export { connect } from './connect.ts';",
      'io/s.ts': 'const text = "import \'../cli/main.ts\'";',
    },
    {
      'wire/a.ts': "import type { P } from '../crypto/provider.ts';",
      'errors.ts': "import './bytes/text.ts';",
      'sftp/proto/a.ts': "export { x } from '../get.ts';",
      'client/a.ts': "const sftp = await import('../sftp/client.ts');",
      'index.ts': "import './transports/node.ts';",
      'helpers/a.ts': '',
    },
  ],
  [
    'imports lead to files of src and form no cycle',
    { 'a.ts': "import './b.ts'; import './c.ts';", 'b.ts': "import './c.ts';", 'c.ts': '' },
    {
      'a.ts': "import './b.ts';",
      'b.ts': "import type { C } from './c.ts';",
      'c.ts': "import './a.ts';",
      'd.ts': "import './e.ts';",
    },
  ],
  [
    'only entries, transports and the command know native crypto',
    { 'node.ts': "import './crypto/native/p.ts';", 'cli/a.ts': "import '../crypto/native/p.ts';" },
    { 'core/a.ts': "import '../crypto/native/p.ts';", 'index.ts': "import './crypto/native/p.ts';" },
  ],
  [
    'only entries, native crypto and the command know pure crypto',
    { 'index.ts': "import './crypto/pure/p.ts';", 'crypto/native/a.ts': "import '../pure/p.ts';" },
    { 'keys/a.ts': "import '../crypto/pure/p.ts';", 'transports/a.ts': "import '../crypto/pure/p.ts';" },
  ],
  [
    'packages are the noble ones',
    { 'crypto/a.ts': "import '@noble/hashes/sha2.js';", 'cli/a.ts': "import { parseArgs } from 'node:util';" },
    { 'io/a.ts': "import 'node:stream';", 'cli/a.ts': "import chalk from 'chalk';", 'core/a.ts': "import 'ws';" },
  ],
  [
    'noble is known to crypto only',
    { 'crypto/pure/a.ts': "import '@noble/ciphers/aes.js';" },
    { 'core/a.ts': "import '@noble/ciphers/aes.js';" },
  ],
  [
    'runtimes are known to transports, native crypto and the command only',
    {
      'transports/node.ts': 'process.exit();',
      'core/a.ts': "job.process(); /* Buffer */ const t = 'Deno'; const o = { process: 1 }; const r = /Bun/;",
    },
    { 'io/a.ts': 'Buffer.from(x)', 'core/b.ts': `const v = \`\${process.pid}\`;`, 'node.ts': 'new Bun.Socket()' },
  ],
  [
    'only the command starts processes',
    { 'cli/a.ts': "import { spawn } from 'node:child_process';", 'transports/a.ts': "import 'node:net'; a.Command;" },
    {
      'transports/a.ts': "import { spawn } from 'node:child_process';",
      'transports/b.ts': "new Deno.Command('x')",
      'transports/c.ts': "new (deno().Command)('x')",
      'transports/d.ts': "Bun.spawnSync(['x'])",
    },
  ],
  [
    'ranks 0 to 3 know no clock, no randomness and no network',
    {
      'io/clock.ts': 'setTimeout(f); Date.now();',
      'crypto/pure/random.ts': 'crypto.getRandomValues(b)',
      'core/a.ts': 'x.Date',
    },
    {
      'core/a.ts': 'Date.now()',
      'wire/a.ts': 'crypto.getRandomValues(b)',
      'keys/a.ts': 'Math.random()',
      'bytes/a.ts': 'setTimeout(f)',
    },
  ],
  ['names are lower case words joined with _', { 'core/ext_info.ts': '' }, { 'core/extInfo.ts': '', 'Core/a.ts': '' }],
  [
    'a file opens with what it does',
    { 'a.ts': '/** It. */\n', 'b.ts': '/**\n * It.\n */', 'c.ts': '#!/usr/bin/env node\n/** It. */' },
    { 'd.ts': "import './a.ts';\n/** Late. */", 'e.ts': '/**\n */' },
  ],
  [`a file has at most ${FILE_LINES} lines`, { 'a.ts': lines(FILE_LINES) }, { 'b.ts': lines(FILE_LINES + 1) }],
  [
    `a function has at most ${FUNCTION_LINES} lines`,
    {
      'a.ts': `function f(): void {\n${lines(FUNCTION_LINES - 2)}}\nclass C extends D {\n${lines(200)}}\n`,
      'b.ts': `interface I {\n${lines(90)}}\nconst o = {\n${lines(90)}};\nf({\n${lines(90)}});\nconst s = '{';\n${lines(90)}`,
    },
    {
      'c.ts': `function f(): { a: number } {\n${lines(FUNCTION_LINES - 1)}}\n`,
      'd.ts': `class C {\n  async *m<T>(\n    a = {},\n  ): Promise<T> {\n${lines(80)}  }\n}\n`,
      'e.ts': `const f = (): void => {\n${lines(80)}};\n`,
      'f.ts': `const o = {\n  m() {\n    const t = \`\${x.map((y) => { return y; })} {\`;\n${lines(80)}  },\n};\n`,
      'g.ts': `class C {\n  get x(): number {\n    const r = a.replace(/[/{]/g, '');\n${lines(80)}  }\n}\n`,
    },
  ],
];

describe('architecture', () => {
  const tree = readTree();

  it('sees the whole of src', () => {
    assert.ok(tree.size > 80, `${tree.size} files`);
    assert.ok(tree.has('core/connection.ts') && tree.has('errors.ts'));
  });

  for (const rule of Object.keys(rules)) {
    it(rule, () => {
      const allowed = exceptions.filter((each) => each.rule === rule).map(({ path }) => path);
      const found = violations(rule, tree).filter(({ path }) => !allowed.includes(path));
      assert.deepEqual(
        found.map(({ path, what }) => `src/${path}: ${what}`),
        [],
      );
    });
  }

  for (const [rule, good, bad] of falseTrees) {
    it(`can fail: ${rule}`, () => {
      assert.deepEqual(violations(rule, new Map(Object.entries(good))), []);
      const broken = new Set(violations(rule, new Map(Object.entries(bad))).map(({ path }) => path));
      assert.deepEqual([...broken].sort(), Object.keys(bad).sort());
    });
  }

  it('shows of every rule that it can fail', () => {
    assert.deepEqual(
      falseTrees.map(([rule]) => rule),
      Object.keys(rules),
    );
  });

  it('lists no exception that is not needed', () => {
    const needed = exceptions.filter(({ rule, path }) => violations(rule, tree).some((each) => each.path === path));
    assert.deepEqual(
      exceptions.filter((each) => !needed.includes(each)),
      [],
    );
  });
});
