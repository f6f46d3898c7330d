/** Comparing and wiping secrets. JavaScript promises no constant time; these loops at least do not branch on data. */

/** Whether `a` and `b` are equal; the time depends on their lengths only. */
export function equalSecret(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= (a[i] as number) ^ (b[i] as number);
  return difference === 0;
}

/** Whether every byte is zero; the time depends on the length only. */
export function isAllZero(bytes: Uint8Array): boolean {
  let seen = 0;
  for (let i = 0; i < bytes.length; i++) seen |= bytes[i] as number;
  return seen === 0;
}

/** Overwrites `bytes` with zeros. */
export function wipe(bytes: Uint8Array): void {
  bytes.fill(0);
}
