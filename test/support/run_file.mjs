/**
 * One test file in one runtime: a process of its own, with a limit, and the counts from the JUnit report that every
 * runtime can write. A process that ends badly without a failed test in its report counts as one failure.
 */

import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const running = new Set();

/** Signals a child and everything in its process group; false when nothing is left of it. */
function signal(child, name) {
  try {
    if (process.platform === 'win32') return child.kill(name);
    return process.kill(-child.pid, name);
  } catch {
    return false;
  }
}

/** Kills whatever still runs; for when the runner itself is told to stop. */
export function killAll() {
  for (const child of running) signal(child, 'SIGKILL');
}

/** Waits until what a test left behind has ended by itself, which servers do when their starter is gone; then kills it. */
async function clear(child) {
  for (let tries = 0; process.platform !== 'win32' && tries < 40 && signal(child, 0); tries++) await sleep(25);
  signal(child, 'SIGKILL');
  running.delete(child);
}

/** Runs a command to its end: its exit code (`undefined` when it was killed at the limit) and its whole output. */
export async function execute(program, args, { cwd, env, limitSeconds }) {
  // Detached: a process group of its own, so that what a test leaves behind can be killed with it.
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let output = '';
  let timedOut = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text) => {
      output += text;
    });
  }
  const timer = setTimeout(() => {
    timedOut = true;
    signal(child, 'SIGKILL');
  }, limitSeconds * 1000);
  const closed = new Promise((resolve) => child.on('close', resolve));
  const code = await new Promise((resolve) => {
    child.on('exit', (status) => resolve(status ?? 1));
    child.on('error', (error) => {
      output += `${error.message}\n`;
      resolve(127);
    });
  });
  clearTimeout(timer);
  await clear(child);
  // A process that left the group may hold the pipes open for ever, so the wait for the last output has an end.
  await Promise.race([closed, sleep(1000, undefined, { ref: false })]);
  return { code: timedOut ? undefined : code, output };
}

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const plain = (text) =>
  text.replace(/&(?:#(\d+)|(\w+));/g, (_, code, name) => (code ? String.fromCodePoint(code) : (entities[name] ?? '')));

const attributes = String.raw`((?:\s+[\w:.-]+="[^"]*")*)\s*`;
const caseElement = new RegExp(`<testcase\\b${attributes}(?:/>|>([\\s\\S]*?)</testcase>)`, 'g');
const failureElement = new RegExp(`<(?:failure|error)\\b${attributes}(?:/>|>([\\s\\S]*?)</(?:failure|error)>)`);
const nodeError = /^\[Error \[ERR_TEST_FAILURE\][\s\S]*?\n {2}cause: ([\s\S]*?)\n\}$/;

/** The error in the body of a failed case. Node wraps it in one of its own, and gives none where a hook failed. */
function errorIn(body) {
  const [, given = '', text = ''] = failureElement.exec(body) ?? [];
  if (/\stype="cancelledByParent"/.test(given)) return '';
  const error = plain(text).trim() || plain(/\smessage="([^"]*)"/.exec(given)?.[1] ?? '').trim();
  return nodeError.exec(error)?.[1].replace(/^ {2}/gm, '') ?? error;
}

/**
 * The test cases of a JUnit report: name, outcome, the reason of a skipped one, the error of a failed one as far as it is
 * there. Deno lists a `describe` as a case beside its tests, whose names then begin with `group > `; those are taken out,
 * so that all runtimes count the same things.
 */
export function readReport(xml) {
  const cases = [];
  for (const match of xml.matchAll(caseElement)) {
    const name = plain(/\sname="([^"]*)"/.exec(match[1])?.[1] ?? '');
    const body = match[2] ?? '';
    const outcome = /<(failure|error)\b/.test(body) ? 'failed' : /<skipped\b/.test(body) ? 'skipped' : 'passed';
    const reason = plain(/<skipped\b[^>]*?\smessage="([^"]*)"/.exec(body)?.[1] ?? '');
    const error = outcome === 'failed' ? errorIn(body) : '';
    cases.push({ name, outcome, reason: reason === 'true' ? '' : reason, error });
  }
  const groups = new Set();
  for (const { name } of cases) {
    for (let at = name.indexOf(' > '); at >= 0; at = name.indexOf(' > ', at + 1)) groups.add(name.slice(0, at));
  }
  // A failed group whose tests all passed stays: a hook of it failed.
  const failed = cases.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
  const stays = (group) => failed.includes(group) && !failed.some((name) => name.startsWith(`${group} > `));
  return cases.filter(({ name }) => !groups.has(name) || stays(name));
}

/** Runs a file; resolves to its counts, its skipped and its failed tests, all its output and, when it failed, why. */
export async function runFile({ program, args, report, ...options }) {
  const started = performance.now();
  const { code, output } = await execute(program, args, options);
  let cases = [];
  let hasReport = true;
  try {
    cases = readReport(readFileSync(report, 'utf8'));
  } catch {
    hasReport = false;
  }
  rmSync(report, { force: true });
  const those = (outcome) => cases.filter((each) => each.outcome === outcome);
  const failures = those('failed');
  const result = {
    passed: those('passed').length,
    failed: failures.length,
    skipped: those('skipped'),
    failures,
    seconds: (performance.now() - started) / 1000,
    output,
    reason: undefined,
  };
  if (code === undefined) result.reason = `did not end within ${options.limitSeconds} seconds and was killed`;
  else if (result.failed > 0) result.reason = `${result.failed} failed`;
  else if (code !== 0) result.reason = `ended with exit code ${code}`;
  else if (!hasReport || cases.length === 0) result.reason = 'holds no test';
  if (result.reason !== undefined && result.failed === 0) result.failed = 1;
  return result;
}
