/**
 * `npm test`: lint, type check, and the whole suite in every runtime.
 *
 *   npm test                        everything
 *   npm test -- node deno           only these steps: lint, typecheck, node, node24, deno, bun
 *   npm test -- --only sftp         only test files whose path contains `sftp` (may be given more than once)
 *   npm test -- --limit 60          seconds that one test file may take; default 600
 *   npm test -- --jobs 1            test files at a time; default: one more than there are processors, 3 at most
 *
 * `node` is the Node at hand, which runs JavaScript compiled into `build/`; `node24`, `deno` and `bun` run the source
 * as it is. The last line is `N passed, N failed, N skipped`, summed over the runtimes; a step that fails as a whole
 * counts as one failure. The exit code is 0 only if nothing failed and something passed. What failed in a file, and why, is
 * printed before the output of that file and again at the end, so that it stands in a log that was cut.
 *
 * What a test file may use, so that it means the same in all four:
 * - `describe`, `it`, `test`, `before`, `after`, `beforeEach`, `afterEach` of `node:test`, with `{ skip, timeout }`
 *   on tests. `skip` on a `describe` is not reported by Bun: put it on the tests. No nested `t.test`, no `t.mock`, no
 *   snapshots, no `.only`. Bun ignores what is asserted after a test has ended; only Node notices.
 * - Names must not contain ` > `, which separates groups in reports.
 * - Every runtime must see the same number of tests in a file: what cannot run somewhere is declared with `skip`. The
 *   runner compares, since Deno drops the tests below a top-level exception without a word.
 * - Each file is its own process and must end by itself; whatever still runs at its end is killed.
 */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { failureAgain, failureText } from './support/failure_text.mjs';
import { execute, killAll, runFile } from './support/run_file.mjs';
import { installRuntimes, programOf, root, runtimes, toolOf, versionOf } from './support/runtimes.mjs';

const FILE_LIMIT_SECONDS = 600; // the interoperability matrix takes minutes with pure cryptography
const TOOL_LIMIT_SECONDS = 300;
const MOST_JOBS = 3; // much of a test is waiting for a server; more at once make time limits too short
const TOLD_AGAIN = 30; // failed files told in full at the end: when more fail, it is for one reason
const steps = ['lint', 'typecheck', ...runtimes.map((each) => each.name)];

const { values, positionals } = commandLine();
const unknown = positionals.find((name) => !steps.includes(name));
if (unknown !== undefined) fatal(`no step ${unknown}; there are ${steps.join(', ')}`);
const limitSeconds = positive('--limit', values.limit);
const jobs = positive('--jobs', values.jobs);
const selected = new Set(positionals.length === 0 ? steps : positionals);

const env = { ...process.env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' };
for (const name of ['FORCE_COLOR', 'NODE_TEST_CONTEXT']) delete env[name];

const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const countsOf = new Map(); // test file → runtime → number of tests, where the file did not fail

function commandLine() {
  const options = {
    only: { type: 'string', multiple: true, default: [] },
    limit: { type: 'string', default: String(FILE_LIMIT_SECONDS) },
    jobs: { type: 'string', default: String(Math.min(MOST_JOBS, availableParallelism() + 1)) },
  };
  try {
    return parseArgs({ allowPositionals: true, options });
  } catch (error) {
    const names = Object.keys(options).map((name) => `--${name}`);
    return fatal(`${error.message.split('. ')[0]}; write steps (${steps.join(', ')}), ${names.join(', ')}`);
  }
}

function fatal(message) {
  console.error(`test/run.mjs: ${message}`);
  process.exit(2);
}

function positive(option, text) {
  const value = Number(text);
  if (!(value > 0)) fatal(`${option} takes a number above zero, not ${text}`);
  return value;
}

function fail(what) {
  total.failed++;
  failures.push(what);
  console.log(`  FAILED ${what}`);
}

function title(name, detail = '') {
  console.log(`\n── ${name} ${detail}`.trimEnd());
}

const isLong = (path) => path.startsWith('test/interop/');

/** Test files, relative to the root, with forward slashes; those with real servers first, as they take longest. */
function testFiles() {
  const files = readdirSync(join(root, 'test'), { recursive: true })
    .map((path) => `test/${path.split(sep).join('/')}`)
    .filter((path) => path.endsWith('.test.ts') && !path.includes('/node_modules/'))
    .sort((a, b) => Number(isLong(b)) - Number(isLong(a)) || (a < b ? -1 : 1));
  return files.filter((path) => values.only.length === 0 || values.only.some((part) => path.includes(part)));
}

/** A step that is one command; it adds a failure, or nothing. */
async function tool(name, program, ...args) {
  title(name);
  const options = { cwd: root, env, limitSeconds: TOOL_LIMIT_SECONDS };
  const { code, output } = await execute(process.execPath, [program, ...args], options);
  if (code === 0) return console.log('  ok');
  console.log(output.trimEnd());
  fail(code === undefined ? `${name} did not end within ${TOOL_LIMIT_SECONDS} seconds` : name);
}

function tell(runtime, file, result) {
  const counts = `${result.passed} passed${result.skipped.length > 0 ? `, ${result.skipped.length} skipped` : ''}`;
  if (result.reason === undefined) {
    console.log(`  ok     ${file}: ${counts}, ${result.seconds.toFixed(1)} s`);
    for (const { name, reason } of result.skipped) console.log(`         skipped: ${name}${reason && ` (${reason})`}`);
    return;
  }
  console.log(`  FAILED ${file} in ${runtime.name}: ${result.reason}; ${counts}, ${result.seconds.toFixed(1)} s`);
  console.log(failureText(result));
  const again = failures.length < TOLD_AGAIN ? `\n${failureAgain(result)}` : '';
  failures.push(`${runtime.name}: ${file}: ${result.reason}${again}`);
}

/** The whole suite in one runtime, `jobs` files at a time. */
async function suite(runtime, files, scratch) {
  const program = programOf(runtime.name);
  if (program === undefined) {
    title(runtime.name);
    return fail(`${runtime.name} is not installed (test/runtimes); leave it out by naming the steps to run`);
  }
  title(runtime.name, `${versionOf(program)}${runtime.compiled ? ', compiled' : ''}`);
  const sum = { passed: 0, failed: 0, skipped: 0 };
  const started = performance.now();
  const queue = [...files];
  const worker = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const path = runtime.compiled ? `build/${file.replace(/\.ts$/, '.js')}` : file;
      const report = join(scratch, `${runtime.name}-${file.replaceAll('/', '-')}.xml`);
      const args = runtime.arguments(report, path);
      const result = await runFile({ program, args, report, cwd: root, env, limitSeconds });
      tell(runtime, file, result);
      sum.passed += result.passed;
      sum.failed += result.failed;
      sum.skipped += result.skipped.length;
      if (result.reason !== undefined) continue;
      if (!countsOf.has(file)) countsOf.set(file, new Map());
      countsOf.get(file).set(runtime.name, result.passed + result.skipped.length);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`  ${runtime.name}: ${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped in ${seconds} s`);
  if (sum.passed + sum.failed === 0) fail(`${runtime.name} ran no test`);
  for (const key of Object.keys(total)) total[key] += sum[key];
}

/** A file in which the runtimes saw different tests has lost some somewhere. */
function compareCounts() {
  for (const [file, counts] of countsOf) {
    if (new Set(counts.values()).size <= 1) continue;
    const list = [...counts].map(([name, count]) => `${name} ${count}`).join(', ');
    fail(`${file}: the runtimes see different numbers of tests: ${list}`);
  }
}

async function main() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) fatal(`Node 20.19 or newer is needed, this is ${process.version}`);
  if (!existsSync(join(root, 'node_modules', 'typescript'))) fatal('run `npm ci` first');
  const files = testFiles();
  const chosen = runtimes.filter((runtime) => selected.has(runtime.name));
  if (files.length === 0 && chosen.length > 0) fatal(`no test file matches ${values.only.join(', ') || 'test/**'}`);

  const tsc = toolOf('typescript', 'tsc');
  if (selected.has('lint')) await tool('lint', toolOf('@biomejs/biome', 'biome'), 'check', '.');
  if (selected.has('typecheck')) await tool('typecheck', tsc, '-p', 'tsconfig.json');
  if (chosen.some((runtime) => runtime.compiled)) {
    await tool('compile', tsc, '-p', 'tsconfig.test.json', '--noCheck');
    await tool('bundle', join(root, 'bundle.mjs'), 'build/command');
  }
  if (chosen.some((runtime) => runtime.name !== 'node')) {
    try {
      installRuntimes();
    } catch (error) {
      console.log(`  ${error.message}`); // each runtime that is missing then fails by name
    }
  }
  mkdirSync(join(root, 'build'), { recursive: true });
  const scratch = mkdtempSync(join(root, 'build', 'reports-'));
  try {
    for (const runtime of chosen) await suite(runtime, files, scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  compareCounts();
  if (failures.length > 0) console.log(`\nfailures:\n${failures.map((each) => `  ${each}`).join('\n')}`);
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exit(total.failed === 0 && (total.passed > 0 || chosen.length === 0) ? 0 : 1);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    killAll();
    process.exit(130);
  });
}
await main();
