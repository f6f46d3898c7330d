/**
 * Times as OpenSSH writes them in `expiry-time` (sshd(8)): `YYYYMMDD[Z]` and `YYYYMMDDHHMM[SS][Z]`; and as messages show them.
 * Must not know a clock, nor a time zone: what is not UTC comes with an offset.
 */

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Days from 1 March of year 0 to 1 January 1970. */
const EPOCH_DAY = 719_468;

const FORMAT = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z|UTC)?$/i;

/**
 * Milliseconds since 1970 of a time; `undefined` if it is none or not after 1970 began. Without `Z` it is the time of a
 * zone that is `utcOffset` minutes ahead of UTC.
 */
export function parseExpiryTime(text: string, utcOffset: number): number | undefined {
  const match = FORMAT.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((digits) => Number(digits ?? 0)) as Fields;
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const local = dayNumber(year, month, day) * DAY + (hour * 60 + minute) * MINUTE + second * 1000;
  const time = match[7] === undefined ? local - utcOffset * MINUTE : local;
  return time > 0 ? time : undefined;
}

type Fields = [year: number, month: number, day: number, hour: number, minute: number, second: number];

function daysOf(year: number, month: number): number {
  return month === 12 ? 31 : dayNumber(year, month + 1, 1) - dayNumber(year, month, 1);
}

/** Days since 1 January 1970, Gregorian. Years begin in March here, so that a leap day is the last of its year. */
function dayNumber(year: number, month: number, day: number): number {
  const years = month > 2 ? year : year - 1;
  const months = (month + 9) % 12;
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  return years * 365 + leapDays + Math.floor((153 * months + 2) / 5) + day - 1 - EPOCH_DAY;
}

/** The last second of the year 9999. */
const LAST_SHOWN = 253_402_300_799n;

/** Seconds since 1970 in UTC, such as `2026-01-01T00:00:00Z`; their number behind the year 9999. */
export function formatTime(seconds: bigint): string {
  if (seconds > LAST_SHOWN) return `second ${seconds} since 1970`;
  const day = Math.floor(Number(seconds) / 86_400);
  const rest = Number(seconds) % 86_400;
  let year = 1970 + Math.floor(day / 366);
  while (dayNumber(year + 1, 1, 1) <= day) year++;
  let month = 1;
  while (month < 12 && dayNumber(year, month + 1, 1) <= day) month++;
  const date = [month, day - dayNumber(year, month, 1) + 1];
  const time = [Math.floor(rest / 3600), Math.floor(rest / 60) % 60, rest % 60];
  const two = (numbers: readonly number[], between: string): string =>
    numbers.map((number) => String(number).padStart(2, '0')).join(between);
  return `${String(year).padStart(4, '0')}-${two(date, '-')}T${two(time, ':')}Z`;
}
