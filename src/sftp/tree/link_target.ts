/**
 * Which symbolic links of a server may be made here. A link that leads out of the tree would have later writes, by this
 * program or the next, go elsewhere. Knows no files.
 */

import { CONTROL } from '../names.ts';

/** Parts of a path on Windows, which a link must not have there and which nobody needs elsewhere. */
const FOREIGN = /[\\]|^[A-Za-z]:/;

/**
 * Why a link that holds `target` must not be made in a directory that is `depth` levels below the root of the tree, as the end
 * of a sentence; `undefined` where it may.
 *
 * `..` is taken at the start only: the directories above the link are real ones, while those that come later in `target` may be
 * links themselves, and `..` behind a link leads anywhere. Without that, each link stays below where it begins.
 */
export function linkFault(target: string, depth: number): string | undefined {
  if (target === '') return 'holds nothing';
  if (target.startsWith('/')) return 'holds an absolute path';
  if (FOREIGN.test(target)) return 'holds a path of Windows';
  if (CONTROL.test(target)) return 'holds a control character';
  let up = 0;
  let down = false;
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') down = true;
    else if (down) return 'goes up again behind a name';
    else up++;
  }
  return up > depth ? 'leads out of the tree' : undefined;
}
