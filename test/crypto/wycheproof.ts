/** Wycheproof's files (C2SP/wycheproof, testvectors_v1) in the shapes that the tests need. */

import { sharedVectors } from '../support/vectors.ts';

export type Verdict = 'valid' | 'invalid' | 'acceptable';

interface File<Group, Row> {
  readonly testGroups: readonly (Group & { readonly tests: readonly Row[] })[];
}

/** A row with what its group says. */
export type Flat<Group, Row> = Group & Row & { readonly tcId: number; readonly result: Verdict };

/** All rows of a file; `undefined` where it is missing. `keep` picks the groups that the primitive can express. */
export function wycheproof<Group, Row>(
  name: string,
  keep: (group: Group) => boolean = () => true,
): readonly Flat<Group, Row>[] | undefined {
  const file = sharedVectors(`wycheproof/${name}_test.json`) as File<Group, Flat<Group, Row>> | undefined;
  return file?.testGroups.filter(keep).flatMap(({ tests, ...group }) => tests.map((test) => ({ ...group, ...test })));
}

/** A DER INTEGER at `at` that is minimal and not negative, and where it ends. */
function integer(der: Uint8Array, at: number): { readonly bytes: Uint8Array; readonly end: number } | undefined {
  const length = der[at + 1];
  if (der[at] !== 0x02 || length === undefined || length === 0 || length > 0x7f) return undefined;
  const end = at + 2 + length;
  const bytes = der.subarray(at + 2, end);
  const first = bytes[0] as number;
  if (bytes.length !== length || first > 0x7f) return undefined;
  if (length > 1 && first === 0 && (bytes[1] as number) < 0x80) return undefined;
  return { bytes: first === 0 ? bytes.subarray(1) : bytes, end };
}

/**
 * The ECDSA-Sig-Value in `der` as r ‖ s, each `size` bytes. `undefined` for what is not DER or does not fit, which SSH
 * cannot even express.
 */
export function p1363(der: Uint8Array, size: number): Uint8Array | undefined {
  const long = der[1] === 0x81;
  const length = long ? der[2] : der[1];
  const start = long ? 3 : 2;
  if (der[0] !== 0x30 || length === undefined || length > (long ? 0xff : 0x7f) || (long && length < 0x80))
    return undefined;
  if (der.length !== start + length) return undefined;
  const r = integer(der, start);
  const s = r && integer(der, r.end);
  if (r === undefined || s === undefined || s.end !== der.length) return undefined;
  if (r.bytes.length > size || s.bytes.length > size) return undefined;
  const signature = new Uint8Array(2 * size);
  signature.set(r.bytes, size - r.bytes.length);
  signature.set(s.bytes, 2 * size - s.bytes.length);
  return signature;
}
