/** That results of a run are judged, put into tables and charts, and written down as they are. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { barChart, lineChart, type Specification } from '../../bench/charts.ts';
import { performanceDocument } from '../../bench/docs.ts';
import { type Goal, goals, growthOf, judge } from '../../bench/goals.ts';
import { picturesOf } from '../../bench/pictures.ts';
import { readPlan } from '../../bench/plan.ts';
import { newest, type SuiteResult } from '../../bench/report.ts';
import { type Case, memoryOf, type Row, rateOf, runAll, type Sample, secondsOf } from '../../bench/runner.ts';
import { markdownTable, show } from '../../bench/table.ts';
import { tablesOf } from '../../bench/tables.ts';
import { root } from '../support/root.ts';

const SFTP = 'sftp, aes128-gcm';
const NODE = 'Node 24.0.0';

/** A row of 100 MB, of which each run takes `seconds`. */
function row(subject: string, seconds: number, more: Partial<Row> = {}): Row {
  const runtime = subject.startsWith('puressh, ') ? { runtime: subject.slice('puressh, '.length) } : {};
  return { subject, ...runtime, work: 'get', delay: 0, bytes: 100e6, samples: [{ seconds }], ...more };
}

function result(name: string, rows: readonly Row[], more: Partial<SuiteResult> = {}): SuiteResult {
  const machine = { cpu: 'a processor', cores: 2, memory: 2 ** 34, system: 'Linux 6' };
  return {
    ...{ name, date: '2026-01-02T03:04:05.678Z', partial: false, rounds: 3, commit: 'abc', machine },
    ...{ server: 'SSH-2.0-OpenSSH_9.2', place: '/dev/shm', versions: { sftp: '9.2' }, missing: [], rows },
    ...more,
  };
}

function goalOf(results: readonly SuiteResult[], start: string): Goal {
  const found = goals(results).find(({ work }) => work.startsWith(start));
  assert.ok(found, `no goal ${start}`);
  return found;
}

describe('runAll', () => {
  const never = (): void => {};

  it('goes through all cases before it begins again', async () => {
    const order: string[] = [];
    const of = (subject: string): Case => ({
      ...{ subject, work: 'get', delay: 0, bytes: 1 },
      run: async () => ({ seconds: order.push(subject) }),
    });
    const rows = await runAll([of('a'), of('b')], 2, never);
    assert.equal(order.join(''), 'abab');
    assert.deepEqual(
      rows.map(({ samples }) => samples.map(({ seconds }) => seconds)),
      [
        [1, 3],
        [2, 4],
      ],
    );
    assert.ok(rows.every((each) => !('run' in each)));
  });

  it('keeps why a case failed, tries it no more, and goes on with the others', async () => {
    let tries = 0;
    const told: string[] = [];
    const sample: Sample = { seconds: 2 };
    const cases: Case[] = [
      {
        ...{ subject: 'a', work: 'get', delay: 0, bytes: 4e6 },
        run: async () => {
          tries++;
          if (tries === 2) throw new Error('cut off');
          return sample;
        },
      },
      { subject: 'b', work: 'get', delay: 7, bytes: 4e6, run: async () => sample },
    ];
    const [failed, whole] = (await runAll(cases, 3, (line) => told.push(line))) as [Row, Row];
    assert.equal(tries, 2);
    assert.deepEqual([failed.failure, secondsOf(failed), rateOf(failed)], ['cut off', Number.NaN, Number.NaN]);
    assert.deepEqual([whole.samples.length, rateOf(whole)], [3, 2]);
    assert.equal(told[0], 'round 1 of 3: a, get, 0 ms: 2.00 s, 2.0 MB/s');
    assert.ok(told.includes('round 2 of 3: a, get, 0 ms: failed: cut off'));
  });

  it('ends when it is interrupted', async () => {
    const controller = new AbortController();
    const run = async (): Promise<Sample> => {
      controller.abort(new Error('interrupted'));
      throw new Error('a consequence');
    };
    const cases = [{ subject: 'a', work: 'get', delay: 0, bytes: 1, run }];
    await assert.rejects(runAll(cases, 1, never, controller.signal), /interrupted/);
  });

  it('takes the highest memory of all runs', () => {
    const samples = [{ seconds: 1, peakMemory: 5 }, { seconds: 1, peakMemory: 9 }, { seconds: 1 }];
    assert.equal(memoryOf(row('a', 1, { samples })), 9);
    assert.ok(Number.isNaN(memoryOf(row('a', 1))));
  });
});

describe('judge', () => {
  const unit = String;
  for (const [values, bounds, verdict] of [
    [[2], { must: 1, aim: 2 }, 'aim reached'],
    [[1.5], { must: 1, aim: 2 }, 'reached'],
    [[0.9], { must: 1, aim: 2 }, 'missed'],
    [[3, 0.9], { must: 1, aim: 2 }, 'missed'],
    [[3], { must: 1 }, 'reached'],
    [[3], { aim: 4 }, 'missed'],
    [[0.4], { must: 0.5, aim: 0.4, most: true }, 'aim reached'],
    [[0.3, 0.45], { must: 0.5, aim: 0.4, most: true }, 'reached'],
    [[0.3, 0.6], { must: 0.5, aim: 0.4, most: true }, 'missed'],
    [[2, Number.NaN], { must: 1 }, 'missed'],
    [[Number.NaN], { must: 1 }, 'not measured'],
    [[], { must: 1 }, 'not measured'],
  ] as const) {
    it(`${values.join(', ') || 'nothing'} by ${JSON.stringify(bounds)}: ${verdict}`, () => {
      const found = judge(
        'x',
        values.map((value) => ({ runtime: NODE, value })),
        { ...bounds, unit },
      );
      assert.equal(found.verdict, verdict);
    });
  }

  it('leaves the decision to Node and tells about the others', () => {
    const values = [
      { runtime: NODE, value: 2 },
      { runtime: 'Bun 1.0.0', value: 0.5 },
    ];
    const found = judge('x', values, { must: 1, unit });
    assert.deepEqual([found.verdict, found.found, found.must], ['reached', 'Node 24.0.0 2, Bun 1.0.0 0.5', '≥ 1']);
  });
});

describe('goals', () => {
  it('compare puressh with the others in the same work at the same distance', () => {
    const rows = [
      row(`puressh, ${NODE}`, 2),
      row(SFTP, 3),
      row('ssh2', 20),
      row('ssh2, aes128-gcm', 10),
      row(`puressh, ${NODE}`, 4, { work: 'put' }),
      row(SFTP, 3, { work: 'put' }),
    ];
    const local = [result('local', rows)];
    assert.equal(goalOf(local, 'get, no delay, against sftp').found, `${NODE} 1.50×`);
    assert.equal(goalOf(local, 'get, no delay, against ssh2').found, `${NODE} 5.00×`);
    assert.deepEqual(goalOf(local, 'put, no delay, against sftp').verdict, 'missed');
    const far = [result('distance', [row(SFTP, 80, { delay: 100 }), row(`puressh, ${NODE}`, 8, { delay: 100 })])];
    assert.equal(goalOf(far, 'get at 100 ms against sftp').found, `${NODE} 10.00×`);
    assert.equal(goalOf(far, 'get at 80 ms').verdict, 'not measured');
    assert.equal(goalOf(far, 'put at 100 ms').verdict, 'not measured');
  });

  it('are not reached by who failed', () => {
    const rows = [row(SFTP, 3), row(`puressh, ${NODE}`, 1, { failure: 'cut off' }), row('puressh, Bun 1.0.0', 1)];
    assert.equal(goalOf([result('local', rows)], 'get, no delay, against sftp').verdict, 'missed');
  });

  it('count files, not bytes, where others move fewer', () => {
    const tree = (subject: string, seconds: number, count: number): Row =>
      row(subject, seconds, { work: 'get-tree', delay: 20, count, bytes: count * 4096 });
    const rows = [tree(`puressh, ${NODE}`, 2, 1000), tree(SFTP, 25, 250)];
    assert.equal(goalOf([result('trees', rows)], '1000 files of 4 KiB at 20 ms, get').found, `${NODE} 50.00×`);
  });

  it('take the highest memory of all suites with defaults, and none of the others', () => {
    const of = (peakMemory: number): Row => row(`puressh, ${NODE}`, 1, { samples: [{ seconds: 1, peakMemory }] });
    const found = [result('local', [of(90e6)]), result('distance', [of(150e6)]), result('window', [of(900e6)])];
    const goal = goalOf(found, 'resident memory');
    assert.deepEqual([goal.found, goal.verdict], [`${NODE} 150 MB`, 'reached']);
  });

  it('see memory that grows while a sink is slow, and a stall', () => {
    const of = (memory: readonly number[], longestPause: number): Row =>
      row(`puressh, ${NODE}`, 1, {
        parameter: { name: 'rate', value: 8e6 },
        samples: [{ seconds: 1, memory: memory.map((bytes, at) => [at, bytes * 1e6] as const), longestPause }],
      });
    assert.equal(growthOf(of([10, 80, 85, 90], 0)), 10e6); // the first quarter is the start
    const verdict = (each: Row): string => goalOf([result('sink', [each])], 'a sink of 8 MB/s').verdict;
    assert.equal(verdict(of([10, 80, 85, 90], 0.1)), 'reached');
    assert.equal(verdict(of([10, 80, 100, 130], 0.1)), 'missed');
    assert.equal(verdict(of([10, 80, 85, 90], 3)), 'missed');
    assert.equal(verdict({ ...of([10, 80, 85, 90], 0.1), failure: 'cut off' }), 'missed');
  });
});

describe('newest', () => {
  it('takes of every suite the last, and a full one before a partial one', () => {
    const report = (name: string, date: string, partial: boolean) => ({
      form: 3 as const,
      suites: [result(name, [], { date, partial })],
    });
    const found = newest([
      ...[report('a', '1', false), report('a', '2', false), report('a', '3', true)],
      ...[report('b', '1', true), report('b', '2', true)],
    ]);
    assert.deepEqual(
      found.map(({ name, date }) => name + date),
      ['a2', 'b2'],
    );
  });
});

describe('readPlan', () => {
  it('calls a run full only when nothing is smaller or fewer', () => {
    assert.equal(readPlan([]).partial, false);
    assert.equal(readPlan(['--suite', 'small']).partial, false);
    for (const args of [['--quick'], ['--size', '16'], ['--rounds', '1'], ['--only', 'x'], ['--delay', '5']]) {
      assert.equal(readPlan(args).partial, true, args.join(' '));
    }
  });

  it('says what is wrong with a number', () => {
    for (const args of [
      ['--size', ''],
      ['--delay', '-1'],
      ['--rounds', '0'],
      ['--rounds', '1.5'],
      ['--size', 'x'],
    ]) {
      assert.throws(
        () =>
          readPlan(
            args
              .map((each, at) => (at === 0 ? each : each))
              .join('=')
              .split(' '),
          ),
        /takes/,
      );
    }
  });
});

describe('tables', () => {
  it('show few digits, and a dash for what is not known', () => {
    assert.deepEqual(
      [1.234, 12.34, 123.4, Number.NaN].map((value) => show(value)),
      ['1.23', '12.3', '123', '-'],
    );
  });

  it('of a grid have the option down and the delays across', () => {
    const at = (value: number, delay: number, seconds: number): Row =>
      row(`puressh, ${NODE}`, seconds, { delay, parameter: { name: 'window', value } });
    const rows = [at(262144, 0, 1), at(2097152, 0, 2), at(262144, 100, 50), at(2097152, 100, 10)];
    assert.deepEqual(tablesOf(result('window', rows))[0]?.cells, [
      ['', '0 ms', '100 ms'],
      ['256 KiB', '100', '2.00'],
      ['2 MiB', '50.0', '10.0'],
    ]);
  });

  it('become Markdown with the bar escaped', () => {
    const cells = [
      ['a', 'b'],
      ['x|y', '1'],
    ];
    assert.equal(markdownTable(cells), '| a | b |\n|---|---:|\n| x\\|y | 1 |');
  });
});

describe('pictures', () => {
  it('leave out what failed, and are none when nothing is left', () => {
    const whole = row(`puressh, ${NODE}`, 1);
    const failed = row(SFTP, 1, { failure: 'cut off' });
    const [get, ...more] = picturesOf(result('distance', [whole, failed]));
    assert.deepEqual([get?.name, more.length], ['distance-get', 0]);
    assert.ok(!JSON.stringify(get?.specification).includes(SFTP));
    assert.deepEqual(picturesOf(result('distance', [failed])), []);
    assert.deepEqual(picturesOf(result('relay', [whole])), []);
  });

  it('draw puressh unbroken and the others dashed', () => {
    const points = [{ x: 0, y: 1 }];
    const series = [
      { name: 'puressh', isOwn: true, points },
      { name: 'sftp', isOwn: false, points },
    ];
    const scales = lineChart({ title: 't', x: 'x', y: 'y', series }).scales as { name: string; range: unknown }[];
    const dash = scales.find(({ name }) => name === 'dash');
    assert.deepEqual(dash?.range, [
      [1, 0],
      [4, 3],
    ]);
  });

  it('write the value behind a bar', () => {
    const chart = barChart({ title: 't', x: 'x', bars: [{ name: 'a', isOwn: true, value: 1234.4 }] });
    assert.equal((chart.data as { values: { label: string }[] }[])[0]?.values[0]?.label, '1234');
  });
});

// Vega lives under bench/package.json and is not there for every runtime
const isDrawn = !('Deno' in globalThis || 'Bun' in globalThis) && existsSync(new URL('bench/node_modules/vega', root));

describe('render.mjs', () => {
  const options = isDrawn ? {} : { skip: 'needs Node, and npm ci in bench' };
  const draw = async (specification: Specification): Promise<string> => {
    const module = new URL('bench/render.mjs', root).href;
    const { toSvg } = (await import(module)) as { toSvg(specification: Specification): Promise<string> };
    return toSvg(specification);
  };

  it('draws every line with its points, name and ticks', options, async () => {
    const points = [0.25, 2, 16].map((x) => ({ x, y: 10 * x }));
    const series = ['near', 'far'].map((name) => ({ name, isOwn: true, points }));
    const ticks = { 0.25: '256 KiB', 2: '2 MiB', 16: '16 MiB' };
    const chart = lineChart({
      title: 'by window',
      x: 'window',
      y: 'MB/s',
      series,
      xScale: 'log',
      yScale: 'log',
      ticks,
    });
    const svg = await draw(chart);
    for (const text of ['by window', 'window', 'MB/s', 'near', 'far', '256 KiB', '16 MiB']) {
      assert.ok(svg.includes(`>${text}</text>`), text);
    }
    assert.equal(svg.match(/mark-line/g)?.length, 2);
    assert.doesNotMatch(svg, /NaN|undefined/);
  });

  it('draws a bar for each', options, async () => {
    const bars = ['puressh', 'sftp'].map((name, at) => ({ name, isOwn: at === 0, value: 12.3 + at }));
    const svg = await draw(barChart({ title: 'rates', x: 'MB/s', bars }));
    for (const text of ['rates', 'puressh', 'sftp', '12.3', '13.3']) assert.ok(svg.includes(`>${text}</text>`), text);
    assert.doesNotMatch(svg, /NaN|undefined/);
  });
});

describe('performanceDocument', () => {
  const failed = row('curl', 1, { failure: 'curl ended\nwith 7' });
  const missing = [{ name: 'lftp', why: 'there is no lftp' }];
  const results = [result('local', [row(`puressh, ${NODE}`, 2), row(SFTP, 3), failed], { missing, partial: true })];
  const chapters = {
    distance: { title: 'Far', text: '' },
    local: { title: 'Near', text: 'How it is read.' },
  };
  const pictures = new Map([['local', [{ name: 'near', text: 'a chart', specification: {} }]]]);
  const text = performanceDocument(results, chapters, pictures, '## What bounds it\n\nThe moon.\n');

  it('says what was reached, by whom, where, and who was missing or failed', () => {
    for (const part of [
      '| get, no delay, against sftp with the same cipher | ≥ 1.00× | ≥ 1.30× | aim reached | Node 24.0.0 1.50× |',
      '| local | 2026-01-02 03:04 | 3, not a full run | abc | 2 × a processor, 16 GiB, Linux 6 | OpenSSH_9.2 |',
      '- lftp was missing: there is no lftp',
      '- curl, get, 0 ms failed: curl ended with 7',
      'Node 24.0.0 1.50× |\n',
      '\n\n## What bounds it\n\nThe moon.\n\n## Method\n',
      '## Near\n\nHow it is read.\n\n![a chart](performance/near.svg)',
      `| puressh, ${NODE} | 95 | 50.0 | 1.50 |`,
    ]) {
      assert.ok(text.includes(part), `${part}\n---\n${text}`);
    }
  });

  it('has no chapter about what was not measured', () => assert.doesNotMatch(text, /## Far/));
  it('has no number that is none', () => assert.doesNotMatch(text, /NaN|undefined|Infinity/));
});
