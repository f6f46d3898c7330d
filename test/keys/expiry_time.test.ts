import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatTime, parseExpiryTime } from '../../src/keys/expiry_time.ts';

const text = (time: number, digits: number): string =>
  new Date(time)
    .toISOString()
    .replace(/[-T:]|\..*/g, '')
    .slice(0, digits);

describe('parseExpiryTime', () => {
  it('counts days, minutes and seconds as Date does', () => {
    const start = Date.UTC(1970, 0, 2);
    for (let day = 0; day < 200_000; day += day < 20_000 ? 1 : 37) {
      const time = start + day * 86_400_000 + (day % 86_400) * 1000;
      assert.equal(parseExpiryTime(`${text(time, 14)}Z`, 0), time);
      assert.equal(parseExpiryTime(`${text(time, 12)}Z`, 0), time - (time % 60_000));
      assert.equal(parseExpiryTime(`${text(time, 8)}Z`, 0), time - (time % 86_400_000));
    }
    assert.equal(parseExpiryTime('99991231235959Z', 0), Date.UTC(9999, 11, 31, 23, 59, 59));
  });

  it('takes what has no Z for the time of the zone, and what has one for UTC', () => {
    const noon = Date.UTC(2026, 6, 1, 12);
    for (const [offset, hour] of [
      [0, '1200'],
      [120, '1400'],
      [-480, '0400'],
      [345, '1745'],
    ] as const) {
      assert.equal(parseExpiryTime(`20260701${hour}`, offset), noon);
      assert.equal(parseExpiryTime('202607011200Z', offset), noon);
      assert.equal(parseExpiryTime('202607011200z', offset), noon);
      assert.equal(parseExpiryTime('202607011200UTC', offset), noon);
    }
    assert.equal(parseExpiryTime('20260701', 60), Date.UTC(2026, 5, 30, 23));
  });

  it('knows how long months are', () => {
    for (const year of [1996, 1999, 2000, 2024, 2100]) {
      for (let month = 1; month <= 12; month++) {
        const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
        const day = (number: number) => `${year}${String(month).padStart(2, '0')}${String(number).padStart(2, '0')}Z`;
        assert.equal(parseExpiryTime(day(days), 0), Date.UTC(year, month - 1, days));
        assert.equal(parseExpiryTime(day(days + 1), 0), undefined);
        assert.equal(parseExpiryTime(day(0), 0), undefined);
      }
    }
  });

  it('takes nothing else, and no time before 1970', () => {
    const others = ['', 'Z', '2026', '202607', '2026070', '2026070112', '202607011', '2026-07-01', '20260701T120000Z'];
    const fields = [
      '20261301',
      '20260001',
      '202607012400',
      '202607011260',
      '20260701120060',
      '２０２６０７０１',
      '20260701ZZ',
    ];
    const blanks = [
      ' 20260701',
      '20260701 ',
      '20260701 Z',
      '2026 7 1',
      '20260701\n',
      '-20260701',
      '+2026070',
      '20260701+01',
    ];
    const early = ['19700101', '19691231', '00000101', '197001010000Z'];
    for (const each of [...others, ...fields, ...blanks, ...early]) {
      assert.equal(parseExpiryTime(each, 0), undefined, JSON.stringify(each));
    }
    assert.equal(parseExpiryTime('19700101', 1), undefined);
    assert.equal(parseExpiryTime('19700101', -1), 60_000);
    assert.equal(parseExpiryTime('20260701', Number.NaN), undefined);
  });
});

describe('formatTime', () => {
  it('shows the days that Date shows, and what is too far as its number', () => {
    for (let day = 0; day < 2_932_897; day += day < 20_000 ? 1 : 97) {
      const time = day * 86_400 + ((day * 7919) % 86_400);
      assert.equal(formatTime(BigInt(time)), new Date(time * 1000).toISOString().replace('.000', ''));
    }
    assert.equal(formatTime(253_402_300_799n), '9999-12-31T23:59:59Z');
    assert.equal(formatTime(253_402_300_800n), 'second 253402300800 since 1970');
  });
});
