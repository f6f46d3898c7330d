/** The runner's own judgement: what it counts in the reports of the runtimes, and what it calls a failure. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from './support/root.ts';

interface Case {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly reason: string;
  readonly error: string;
}

interface Result {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly Case[];
  readonly failures: readonly Pick<Case, 'name' | 'error'>[];
  readonly output: string;
  readonly reason: string | undefined;
}

interface Runner {
  readReport(xml: string): Case[];
  runFile(plan: Readonly<Record<string, unknown>>): Promise<Result>;
}

type Failed = Pick<Result, 'failures' | 'output'>;

interface Words {
  shortened(text: string, size: { readonly head: number; readonly tail: number }): string;
  failureText(result: Failed): string;
  failureAgain(result: Failed): string;
}

const { readReport, runFile } = (await import(new URL('test/support/run_file.mjs', root).href)) as Runner;
const words = (await import(new URL('test/support/failure_text.mjs', root).href)) as Words;

const brief = (cases: readonly Case[]): string[] => cases.map(({ name, outcome }) => `${outcome} ${name}`);

describe('readReport', () => {
  it('reads what Node writes, with text that looks like XML', () => {
    const xml = `<testsuites>
      <testcase name="adds > 1" time="0.001" classname="test" file="/a"/>
      <testcase name="later" time="0.0"><skipped type="skipped" message="no sshd &amp; no ssh"/></testcase>
      <testsuite name="group" tests="2">
        <testcase name="breaks" classname="group" failure="a &lt;failure> b"><failure type="x" message="1 !== 2">
          Error: &lt;/testcase>
        </failure></testcase>
        <testcase name="in order" time="0.0" failure="none"/>
      </testsuite>
    </testsuites>`;
    const cases = readReport(xml);
    assert.deepEqual(brief(cases), ['passed adds > 1', 'skipped later', 'failed breaks', 'passed in order']);
    assert.equal(cases[1]?.reason, 'no sshd & no ssh');
  });

  it('does not count the groups that Deno lists as cases, unless one failed by itself', () => {
    const deno = (group: string, inner: string): string => `<testsuites><testsuite name="./a">
      <testcase name="single" classname="./a" line="3"></testcase>
      <testcase name="group" classname="./a">${group}</testcase></testsuite><testsuite name="ext">
      <testcase name="group &gt; nested" classname="ext">${group}</testcase>
      <testcase name="group &gt; nested &gt; deep" classname="ext">${inner}</testcase></testsuite></testsuites>`;
    const failure = '<failure message="Uncaught">Error</failure>';
    const deep = 'group > nested > deep';
    assert.deepEqual(brief(readReport(deno('', ''))), ['passed single', `passed ${deep}`]);
    assert.deepEqual(brief(readReport(deno('', '<skipped/>'))), ['passed single', `skipped ${deep}`]);
    assert.deepEqual(brief(readReport(deno(failure, failure))), ['passed single', `failed ${deep}`]);
    // A hook failed: the innermost group says so.
    assert.deepEqual(brief(readReport(deno(failure, ''))), [
      'passed single',
      'failed group > nested',
      `passed ${deep}`,
    ]);
  });

  it('reads what Bun writes', () => {
    const xml = `<testsuites name="bun test" tests="3"><testsuite name="a.test.ts" tests="3">
      <testcase name="one" classname="" time="0.001" file="a" line="3" assertions="0" />
      <testcase name="two" classname="" time="0" assertions="0"><skipped message="TODO" /></testcase>
      <testcase name="three" classname="g"><failure type="AssertionError" message="1 &gt; 2&#10;">x</failure></testcase>
    </testsuite></testsuites>`;
    assert.deepEqual(brief(readReport(xml)), ['passed one', 'skipped two', 'failed three']);
  });

  it('gives the error of a failed test as each runtime writes it', () => {
    const errorOf = (failure: string): string =>
      readReport(`<testcase name="a">${failure}</testcase>`)[0]?.error ?? 'none';
    const node = `<failure type="testCodeFailure" message="1 > 2">
      [Error [ERR_TEST_FAILURE]: 1 > 2\n] {\n  code: 'ERR_TEST_FAILURE',\n  cause: AssertionError: 1 > 2
      at a &lt;b>\n    actual: {\n    }\n  }\n}
      </failure>`;
    assert.equal(errorOf(node), 'AssertionError: 1 > 2\n    at a <b>\n  actual: {\n  }\n}');
    assert.equal(
      errorOf('<failure message="Uncaught Error: x">Error: x\n  at y &amp; z</failure>'),
      'Error: x\n  at y & z',
    );
    assert.equal(
      errorOf('<failure type="Error" message="x">Error: x&#10;      at y&#10;</failure>'),
      'Error: x\n      at y',
    );
    assert.equal(errorOf('<failure message="a > b"/>'), 'a > b');
    assert.equal(errorOf('<failure/>'), '');
    assert.equal(errorOf('<failure type="cancelledByParent" message="m">[Error]</failure>'), '', 'a hook failed');
  });

  it('is empty for an empty report', () => assert.deepEqual(readReport('<testsuites></testsuites>'), []));
});

describe('what is printed of a failed file', () => {
  const passing = Array.from({ length: 5000 }, (_, i) => `test ${i} ... ok`).join('\n');
  const one = { name: 'group > adds', error: 'Error: 1 is not 2\n    at sum.ts:3' };

  it('leaves out the middle of a long text', () => {
    const size = { head: 2, tail: 1 };
    assert.equal(words.shortened('a\nb\nc\nd\n', size), 'a\nb\nc\nd');
    assert.equal(words.shortened('a\nb\nc\nd\ne\n', size), 'a\nb\n[… 2 lines …]\ne');
    assert.equal(words.shortened('a\nb\nc', { head: 0, tail: 1 }), '[… 2 lines …]\nc');
    assert.ok(words.shortened('x'.repeat(1_000_000), size).length < 1000);
  });

  it('begins with the test and its error, wherever the output has them', () => {
    const output = `${passing}\n${one.name} ... FAILED\n${passing}`;
    const lines = words.failureText({ failures: [one], output }).split('\n');
    const head = lines.slice(0, 3).map((line) => line.trim());
    assert.deepEqual(head, ['✗ group > adds', 'Error: 1 is not 2', 'at sum.ts:3']);
    assert.ok(
      lines.some((line) => line.endsWith('test 0 ... ok')) && lines.some((line) => line.endsWith('test 4999 ... ok')),
    );
    assert.ok(lines.length < 500);
    const again = words.failureAgain({ failures: [one], output }).split('\n');
    assert.deepEqual(
      again.map((line) => line.trim()),
      head,
    );
  });

  it('stays short whatever fails', () => {
    const failures = Array.from({ length: 300 }, (_, i) => ({ name: `name ${i}`, error: passing }));
    for (const text of [
      words.failureText({ failures, output: '' }),
      words.failureAgain({ failures, output: passing }),
    ]) {
      assert.match(text, /✗ name 0\n +test 0 \.{3} ok\n[\s\S]*test 4999 \.{3} ok\n *✗ name 1\n/);
      assert.match(text, /and 290 more$/);
      assert.ok(text.split('\n').length < 300);
    }
  });

  it('shows how the output ended where no error is known', () => {
    for (const failures of [[], [{ name: 'x', error: '' }], [one, { name: 'x', error: '' }]]) {
      const output = `${passing}\nhook broke\n`;
      const first = words.failureText({ failures, output }).split('all that it printed')[0] as string;
      for (const text of [first.trimEnd(), words.failureAgain({ failures, output })]) {
        assert.match(text, /test 4999 \.{3} ok\n +hook broke$/);
        assert.equal(text.includes('✗ x\n'), failures.length > 0);
        assert.ok(text.split('\n').length < 50);
      }
    }
    assert.match(words.failureText({ failures: [], output: ' \n' }), /printed nothing$/);
  });
});

describe('runFile', () => {
  const options = process.platform === 'win32' ? { skip: 'needs sh' } : { timeout: 60_000 };

  /** Runs a shell script as if it were a runtime; it finds the report's path in `$1`. */
  async function run(script: string, limitSeconds = 30): Promise<Result & { readonly folder: string }> {
    const folder = mkdtempSync(join(tmpdir(), 'puressh-run-'));
    const report = join(folder, 'report.xml');
    const args = ['-c', script, 'sh', report, folder];
    return { ...(await runFile({ program: '/bin/sh', args, report, cwd: folder, env: {}, limitSeconds })), folder };
  }

  const good = `printf '<testcase name="a"/><testcase name="b"><skipped/></testcase>' >"$1"`;
  const bad = `printf '<testcase name="a"/><testcase name="b"><failure message="why"/></testcase>' >"$1"`;

  it('counts, and finds nothing wrong', options, async () => {
    const { passed, failed, skipped, reason, output } = await run(`${good}; echo out; echo err >&2`);
    assert.deepEqual(
      { passed, failed, skipped: brief(skipped), reason },
      {
        passed: 1,
        failed: 0,
        skipped: ['skipped b'],
        reason: undefined,
      },
    );
    assert.deepEqual(output.trim().split('\n').sort(), ['err', 'out']);
  });

  it('fails for a failed test whatever the exit code is', options, async () => {
    const { passed, failed, reason, failures } = await run(`${bad}; exit 0`);
    assert.deepEqual({ passed, failed, reason }, { passed: 1, failed: 1, reason: '1 failed' });
    assert.deepEqual(
      failures.map(({ name, error }) => ({ name, error })),
      [{ name: 'b', error: 'why' }],
    );
  });

  it('fails for an exit code without a failed test', options, async () => {
    const { passed, failed, reason } = await run(`${good}; exit 3`);
    assert.deepEqual({ passed, failed, reason }, { passed: 1, failed: 1, reason: 'ended with exit code 3' });
  });

  it('fails for a file without a test, or without a report', options, async () => {
    for (const script of [`printf '<testsuites/>' >"$1"`, 'true']) {
      const { failed, reason } = await run(script);
      assert.deepEqual({ failed, reason }, { failed: 1, reason: 'holds no test' });
    }
  });

  it('kills what does not end in time', options, async () => {
    const { failed, reason } = await run(`${good}; sleep 600`, 1);
    assert.deepEqual({ failed, reason }, { failed: 1, reason: 'did not end within 1 seconds and was killed' });
  });

  it('kills what a test left behind', options, async () => {
    const { failed, folder } = await run(`${good}; while sleep 0.02; do echo >>"$2/beats"; done & sleep 0.2`);
    assert.equal(failed, 0);
    const beats = (): number => statSync(join(folder, 'beats')).size;
    const before = beats();
    await sleep(300);
    assert.equal(beats(), before);
    rmSync(folder, { recursive: true });
  });

  it('says when a program cannot be started', options, async () => {
    const result = await runFile({
      program: '/no/such',
      args: [],
      report: '/no/report',
      cwd: '/',
      env: {},
      limitSeconds: 5,
    });
    assert.deepEqual([result.failed, result.reason], [1, 'ended with exit code 127']);
    assert.match(result.output, /ENOENT/);
  });
});
