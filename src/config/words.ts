/**
 * How ssh_config(5) lines are cut into words. OpenSSH does it in two ways, and so does this: the keyword and the conditions of
 * Match are words between which one `=` may stand; all other arguments are split as a shell does, with a comment at the end.
 */

/** A word and what follows it; `rest` is absent at the end of the text. */
export interface Word {
  readonly word: string;
  readonly rest?: string;
}

const BLANKS = ' \t\r\n';

/**
 * The word at the beginning of `text`, with the blanks behind it and one `=` taken away. Empty where the text begins with blanks
 * or `=`. `undefined`: a `"` that nothing closes.
 */
export function takeWord(text: string): Word | undefined {
  const end = text.search(/[ \t\r\n"=]/);
  if (end < 0) return { word: text };
  if (text[end] === '"') {
    const close = text.indexOf('"', end + 1);
    if (close < 0) return undefined;
    return { word: text.slice(0, end) + text.slice(end + 1, close), rest: withoutBlanks(text.slice(close + 1)) };
  }
  const rest = withoutBlanks(text.slice(end + 1));
  const behindEquals = text[end] !== '=' && rest.startsWith('=');
  return { word: text.slice(0, end), rest: behindEquals ? withoutBlanks(rest.slice(1)) : rest };
}

function withoutBlanks(text: string): string {
  let at = 0;
  while (at < text.length && BLANKS.includes(text[at] as string)) at++;
  return text.slice(at);
}

/**
 * Arguments between blanks, up to a `#` that begins one. Quotes of both kinds hold blanks together, and `\` stands before a
 * quote, a `\`, and outside quotes a blank, that is meant itself. `undefined`: a quote that nothing closes.
 */
export function splitArguments(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string;
    if (word === undefined) {
      if (char === ' ' || char === '\t') continue;
      if (char === '#') break;
      word = '';
    }
    const next = text[at + 1] ?? '';
    if (char === '\\' && next !== '' && (`'"\\`.includes(next) || (quote === '' && next === ' '))) {
      word += next;
      at++;
    } else if (quote === '' && (char === ' ' || char === '\t')) {
      words.push(word);
      word = undefined;
    } else if (quote === '' && (char === '"' || char === "'")) {
      quote = char;
    } else if (quote !== '' && char === quote) {
      quote = '';
    } else {
      word += char;
    }
  }
  if (quote !== '') return undefined;
  return word === undefined ? words : [...words, word];
}
