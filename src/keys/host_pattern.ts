/**
 * Host patterns of OpenSSH (ssh_config(5), PATTERNS): comma lists with `*`, `?` and `!`. Time grows with the product of
 * the two lengths at worst, whatever the pattern. Must not know which file a pattern comes from.
 */

/** Longest pattern in characters; OpenSSH's match_pattern_list gives up on longer ones, and so does this. */
export const MAX_PATTERN = 1023;

/** `text` with A–Z in lower case and nothing else changed: host names compare in ASCII (RFC 4343). */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (run) => run.toLowerCase());
}

/**
 * Whether `name` matches at least one pattern of `list` and none of those that begin with `!`. Upper and lower case are
 * the same.
 */
export function matchPatternList(name: string, list: string): boolean {
  const wanted = lowerAscii(name);
  let matched = false;
  for (const item of lowerAscii(list).split(',')) {
    const negated = item.startsWith('!');
    const pattern = negated ? item.slice(1) : item;
    if (pattern.length > MAX_PATTERN) return false;
    if (!matchPattern(wanted, pattern)) continue;
    if (negated) return false;
    matched = true;
  }
  return matched;
}

/**
 * Whether `pattern` matches all of `name`. Only the last `*` is ever tried again: an earlier one can give nothing that a
 * later one cannot.
 */
export function matchPattern(name: string, pattern: string): boolean {
  let at = 0;
  let patternAt = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    const wanted = pattern[patternAt];
    if (wanted === '*') {
      star = patternAt++;
      starAt = at;
    } else if (wanted === '?' || wanted === name[at]) {
      patternAt++;
      at++;
    } else if (star >= 0) {
      patternAt = star + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  while (pattern[patternAt] === '*') patternAt++;
  return patternAt === pattern.length;
}
