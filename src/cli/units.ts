/** Numbers as people read them: bytes in powers of ten, as rates are, and durations. */

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const;

/** `999 B`, `1.00 KB`, `12.3 MB`, `456 GB`: three digits, powers of 1000. */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  // 999.5 would be rounded to 1000 of the smaller unit.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** `0:04`, `12:34`, `1:02:03`; anything that is not a time is `-:--`. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '-:--';
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

const BINARY_UNITS = ['', 'K', 'M', 'G', 'T', 'P'] as const;

/** `999`, `1.0K`, `12K`, `3.4M`: powers of 1024, rounded up, as `ls -h` and `df -h` write them. */
export function formatBinary(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (Math.ceil(value) >= 1024 && unit < BINARY_UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  if (unit === 0) return String(value);
  const tenths = Math.ceil(value * 10) / 10;
  return `${tenths < 10 ? tenths.toFixed(1) : Math.ceil(value)}${BINARY_UNITS[unit]}`;
}
