/** Whether a link that is followed leads back to a directory above it. Knows no files: paths are canonical ones, as text. */

/** A directory that is being gone through, and those through which it was reached. */
export interface Trail {
  readonly canonical: string;
  readonly above: Trail | undefined;
}

/** Whether `canonical` is on the trail: going there would never end. */
export function leadsBack(canonical: string, trail: Trail | undefined): boolean {
  for (let at = trail; at !== undefined; at = at.above) if (at.canonical === canonical) return true;
  return false;
}
