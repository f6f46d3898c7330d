/**
 * Test vectors: our own in `vectors/`, and published ones in a folder beside the checkout that is never copied into it.
 * `PURESSH_VECTORS` names that folder; without it, it is `../shared/vectors` seen from the repository root. Tests of
 * published vectors are skipped where the folder is missing; where `CI` is set a missing file is a failure instead.
 */

import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { root } from './root.ts';

/** Rows of one source. */
export interface VectorGroup<Row> {
  readonly source: string;
  readonly section: string;
  readonly licence: string;
  readonly rows: readonly Row[];
}

/** The groups of a file in `vectors/`, such as `crypto/hmac.json`. */
export function ownVectors<Group extends VectorGroup<{ readonly id: string }>>(path: string): readonly Group[] {
  return JSON.parse(readFileSync(new URL(`vectors/${path}`, root), 'utf8')) as Group[];
}

const folder = process.env.PURESSH_VECTORS;
const shared = folder === undefined ? new URL('../shared/vectors/', root) : pathToFileURL(`${folder}/`);

/** For the `skip` option of tests whose vectors are missing. */
export const NO_SHARED_VECTORS = 'no published vectors: set PURESSH_VECTORS to their folder';

/** A published file; `undefined` where it is missing and may be. */
export function sharedFile(path: string): Uint8Array | undefined {
  const file = new URL(path, shared);
  if (existsSync(file)) return readFileSync(file);
  if (process.env.CI) throw new Error(`${file.href} is missing, and CI demands it`);
  return undefined;
}

/** A published JSON file, such as `wycheproof/x25519_test.json`; `undefined` where it is missing and may be. */
export function sharedVectors(path: string): unknown {
  const file = sharedFile(path);
  return file === undefined ? undefined : JSON.parse(new TextDecoder().decode(file));
}
