/** Times of local files, where a system sets both or none. */

import type { LocalAttributes, LocalStat } from '../io/local_files.ts';

/** Access and modification time; what is not given stays as `stat` says. `undefined`: neither is to be set. */
export async function bothTimes(
  { accessed, modified }: LocalAttributes,
  stat: () => Promise<LocalStat>,
): Promise<[accessed: number, modified: number] | undefined> {
  if (accessed === undefined && modified === undefined) return undefined;
  if (accessed !== undefined && modified !== undefined) return [accessed, modified];
  const now = await stat();
  return [accessed ?? now.accessed ?? 0, modified ?? now.modified ?? 0];
}
