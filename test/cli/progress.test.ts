/** Numbers for people, and the progress line. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProgressMeter, progressLine } from '../../src/cli/progress.ts';
import { formatBinary, formatBytes, formatDuration } from '../../src/cli/units.ts';

describe('formatBytes', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [1, '1 B'],
    [999, '999 B'],
    [1000, '1.00 KB'],
    [1024, '1.02 KB'],
    [9994, '9.99 KB'],
    [9995, '10.0 KB'],
    [99949, '99.9 KB'],
    [99950, '100 KB'],
    [999499, '999 KB'],
    [999500, '1.00 MB'],
    [1073741824, '1.07 GB'],
    [2 ** 53, '9.01 PB'],
  ];
  for (const [bytes, text] of cases) it(`writes ${bytes} as ${text}`, () => assert.equal(formatBytes(bytes), text));
});

describe('formatBinary', () => {
  const cases: [number, string][] = [
    [0, '0'],
    [1023, '1023'],
    [1024, '1.0K'],
    [1025, '1.1K'],
    [10240, '10K'],
    [10241, '11K'],
    [1048575, '1.0M'],
    [2 ** 40, '1.0T'],
  ];
  for (const [bytes, text] of cases) it(`writes ${bytes} as ${text}`, () => assert.equal(formatBinary(bytes), text));
});

describe('formatDuration', () => {
  const cases: [number, string][] = [
    [0, '0:00'],
    [3.6, '0:04'],
    [59.6, '1:00'],
    [754, '12:34'],
    [3723, '1:02:03'],
    [Number.NaN, '-:--'],
    [Number.POSITIVE_INFINITY, '-:--'],
    [-1, '-:--'],
  ];
  for (const [seconds, text] of cases)
    it(`writes ${seconds} as ${text}`, () => assert.equal(formatDuration(seconds), text));
});

describe('progressLine', () => {
  const state = { name: 'big.log', bytes: 451e6, total: 1073741824, rate: 224e6, seconds: 2, done: false };

  it('shows name, share, amount, rate and time left', () => {
    assert.equal(progressLine(state, 100), 'big.log   42%  451 MB of 1.07 GB  224 MB/s  0:03 left');
  });
  it('shows time taken when done', () => {
    const line = progressLine({ ...state, bytes: 1073741824, seconds: 4.8, done: true }, 100);
    assert.equal(line, 'big.log  100%  1.07 GB  224 MB/s  0:05');
  });
  it('shows how many files are through, and that there may be more', () => {
    const files = { done: 12, known: 340, all: true };
    const text = '12/340 files   42%  451 MB of 1.07 GB  224 MB/s  0:03 left';
    assert.equal(progressLine({ ...state, files }, 120), `big.log  ${text}`);
    assert.equal(
      progressLine({ ...state, files: { ...files, all: false } }, 120),
      'big.log  12/340+ files  451 MB  224 MB/s  0:02',
    );
    const end = { ...state, bytes: 1073741824, done: true, seconds: 4.8 };
    assert.equal(
      progressLine({ ...end, files: { done: 340, known: 340, all: true } }, 120),
      'big.log  340 files  100%  1.07 GB  224 MB/s  0:05',
    );
    assert.match(progressLine({ ...end, files: { done: 1, known: 1, all: true } }, 120), / 1 file /);
  });
  it('is never 100% before it is done', () => {
    assert.match(progressLine({ ...state, bytes: 1073741823 }, 100), / 99%/);
    assert.match(progressLine({ ...state, bytes: 2e9 }, 100), / 99%/);
  });
  it('leaves out the share where the size is unknown or 0, as for procfs', () => {
    assert.equal(progressLine({ ...state, total: undefined }, 100), 'big.log  451 MB  224 MB/s  0:02');
    assert.equal(progressLine({ ...state, total: 0 }, 100), 'big.log  451 MB  224 MB/s  0:02');
  });
  it('has no time left to show while nothing moves', () => {
    assert.match(progressLine({ ...state, bytes: 0, rate: 0 }, 100), /0 B\/s {2}-:-- left$/);
  });
  it('cuts a long name in its middle and fits every width', () => {
    const name = `a-${'long-'.repeat(40)}name.tar`;
    assert.match(progressLine({ ...state, name }, 80), /^a-long-long-lo…long-name\.tar {3}42%/);
    for (let columns = 1; columns <= 120; columns++) {
      assert.ok(progressLine({ ...state, name }, columns).length <= columns, `${columns} columns`);
    }
  });
  it('lets no control character of a name through', () => {
    assert.match(progressLine({ ...state, name: '\u001b[2Jx' }, 100), /^\\x1b\[2Jx /);
  });
});

describe('ProgressMeter', () => {
  function meter(columns = 80): { written: string[]; clock: { ms: number }; meter: ProgressMeter } {
    const written: string[] = [];
    const clock = { ms: 0 };
    const output = { write: (text: string) => written.push(text), columns };
    return { written, clock, meter: new ProgressMeter(output, 'f', () => clock.ms) };
  }

  it('draws at most ten times a second', () => {
    const it = meter();
    for (it.clock.ms = 1; it.clock.ms <= 1000; it.clock.ms++) it.meter.update(it.clock.ms * 1000, 2e6);
    assert.equal(it.written.length, 10);
    assert.ok(it.written.every((text) => text.startsWith('\r') && !text.includes('\n')));
  });
  it('smooths the rate', () => {
    const it = meter();
    for (it.clock.ms = 100; it.clock.ms <= 5000; it.clock.ms += 100) it.meter.update(it.clock.ms * 1000, 1e9);
    assert.match(it.written.at(-1) as string, / 1\.00 MB\/s /);
    it.meter.update(15e6, 1e9); // ten times as fast for one step
    assert.match(it.written.at(-1) as string, / 5\.\d\d MB\/s | 1\.\d\d MB\/s /);
  });
  it('ends with the whole amount at the average rate, on a line that stays', () => {
    const it = meter();
    it.clock.ms = 100;
    it.meter.update(5000, 10000);
    it.clock.ms = 2000;
    it.meter.done(10000);
    assert.match(it.written.at(-2) as string, /^\rf {2}100% {2}10\.0 KB {2}5\.00 KB\/s {2}0:02 *$/);
    assert.equal(it.written.at(-1), '\n');
  });
  it('covers what a longer line before left behind', () => {
    const it = meter();
    it.clock.ms = 100;
    it.meter.update(1, 1e9);
    const before = (it.written[0] as string).length;
    it.meter.done(1);
    assert.ok((it.written[1] as string).length >= before);
  });
  it('clears the line without a trace', () => {
    const it = meter();
    it.clock.ms = 100;
    it.meter.update(1, 2);
    const width = (it.written[0] as string).length - 1;
    it.meter.clear();
    assert.equal(it.written.at(-1), `\r${' '.repeat(width)}\r`);
    const count = it.written.length;
    it.meter.clear();
    assert.equal(it.written.length, count);
  });
  it('takes 80 columns where the terminal tells 0', () => {
    const it = meter(0);
    it.clock.ms = 100;
    it.meter.update(1, 2);
    assert.match(it.written[0] as string, /^\rf {3}50%/);
  });
});
