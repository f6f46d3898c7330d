/** When a certificate holds, as `ssh-keygen -V` takes it. Text in, a value out; which second that is depends on when it is asked. */

import { printable } from '../../bytes/text.ts';
import { bad } from '../arg_values.ts';

/** An end of the interval: a second since 1970, or one counted from now. */
type Moment = { readonly at: bigint } | { readonly fromNow: number };

export interface Validity {
  /** Absent: now, a minute earlier for clocks that differ. */
  readonly from?: Moment;
  readonly to: Moment;
}

/** As `FOREVER` of certificates, which help texts need not wait for. */
const FOREVER = 0xffffffffffffffffn;

const UNITS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** `from:to`, or `to` alone: `+52w`, `-1d:+1h30m`, `20260101:20270101`, `202601011200Z`, `always`, `forever`. Throws `bad-argument`. */
export function parseValidity(text: string): Validity {
  const [first, second, more] = text.split(':') as [string, string?, string?];
  if (more !== undefined) throw wrong(text);
  if (second === undefined) return { to: moment(first, text) };
  return { from: moment(first, text), to: moment(second, text) };
}

/** The seconds for a certificate that is made now. Throws `bad-argument` for an interval without a second in it. */
export function secondsOf({ from, to }: Validity, now: number): { validAfter: bigint; validBefore: bigint } {
  const second = (each: Moment): bigint => ('at' in each ? each.at : BigInt(Math.floor(now / 1000) + each.fromNow));
  const validAfter = from === undefined ? BigInt(Math.floor((now / 1000 - 59) / 60) * 60) : second(from);
  const validBefore = second(to);
  if (validAfter < 0n || validBefore <= validAfter) throw bad('--valid ends before it begins');
  return { validAfter, validBefore };
}

function moment(text: string, whole: string): Moment {
  if (text === 'always') return { at: 0n };
  if (text === 'forever') return { at: FOREVER };
  if (/^0x[0-9a-f]{1,16}$/i.test(text)) return { at: BigInt(text) };
  const relative = /^([-+])(?=\d)((?:\d{1,9}[smhdw])*(?:\d{1,9})?)$/i.exec(text);
  if (relative !== null) {
    const parts = [...(relative[2] as string).matchAll(/(\d+)([smhdw]?)/gi)];
    const seconds = parts.map(([, digits, unit]) => Number(digits) * (UNITS[(unit as string).toLowerCase()] as number));
    const sum = seconds.reduce((total, each) => total + each, 0);
    return { fromNow: relative[1] === '-' ? -sum : sum };
  }
  const at = dateOf(text);
  if (at === undefined) throw wrong(whole);
  return { at };
}

/** YYYYMMDD, with HHMM and SS behind it or not, in local time, or with `Z` in UTC. */
function dateOf(text: string): bigint | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z?)$/.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const utc = Date.UTC(year, month - 1, day, hour, minute, second);
  const written = new Date(utc);
  const isDate = written.getUTCMonth() === month - 1 && written.getUTCDate() === day && hour < 24 && minute < 60;
  if (!isDate || second >= 60) return undefined;
  const time = match[7] === 'Z' ? utc : new Date(year, month - 1, day, hour, minute, second).getTime();
  return BigInt(time / 1000);
}

function wrong(text: string): Error {
  return bad(
    `--valid takes an interval such as +52w, -1d:+1h, 20260101:20270101 or always:forever, not '${printable(text)}'`,
  );
}
