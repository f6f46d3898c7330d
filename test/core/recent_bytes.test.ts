import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RecentBytes } from '../../src/core/recent_bytes.ts';
import { drawBelow } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';

describe('RecentBytes', () => {
  it('sums up what came within the span, and forgets the rest', () => {
    const recent = new RecentBytes();
    const sums = [0, 0, 12, 40, 99, 100, 112.5, 500, 5000].map((now) => recent.add(10, now, 100));
    assert.deepEqual(sums, [10, 20, 30, 40, 50, 30, 40, 10, 10]);
  });

  it('begins anew when the span changes', () => {
    const recent = new RecentBytes();
    recent.add(10, 50, 100);
    assert.deepEqual([recent.add(1, 50, 90), recent.add(2, 51, 90), recent.add(4, 51, 100)], [1, 3, 4]);
  });

  it('is never more than what came in the span, nor less than what came in seven eighths of it', () => {
    const random = seededRandom('recent');
    for (const span of [10, 100, 333.3]) {
      const recent = new RecentBytes();
      const came: [number, number][] = [];
      for (let now = 0, i = 0; i < 3000; i++) {
        now += drawBelow(random, 40) === 0 ? drawBelow(random, 3 * span) : drawBelow(random, 100) / 10;
        const count = drawBelow(random, 1000);
        came.push([now, count]);
        const sum = recent.add(count, now, span);
        const since = (from: number): number => {
          let all = 0;
          for (let at = came.length - 1; at >= 0 && (came[at] as [number, number])[0] > from; at--)
            all += (came[at] as [number, number])[1];
          return all;
        };
        assert.ok(sum <= since(now - span) && sum >= since(now - (span * 7) / 8), `${sum} at ${now}`);
      }
    }
  });
});
