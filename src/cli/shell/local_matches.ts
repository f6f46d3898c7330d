/** From words to local paths. */

import type { Shell } from './session.ts';
import type { Word } from './words.ts';

/** The local files that a word names. */
export async function localMatches(_shell: Shell, { text }: Word): Promise<string[]> {
  return [text];
}
