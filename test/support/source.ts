/**
 * TypeScript source as the architecture test sees it: comments and strings blanked out, the imports, and the blocks in
 * braces. A scanner over text, not a parser: it knows quotes, templates and comments, and tells a regular expression
 * from a division by what stands before it. It runs in every runtime without the compiler.
 */

/** One import of a file: the specifier as written. */
export interface Import {
  readonly specifier: string;
  readonly line: number;
}

/** A block in braces that holds statements. */
export interface Block {
  /** First line of its header. */
  readonly line: number;
  /** From the line of `{` to the line of `}`, both counted. */
  readonly lines: number;
  readonly header: string;
}

/** The text with comments blanked out, and with the contents of strings and regular expressions blanked out too. */
export interface Masked {
  readonly uncommented: string;
  readonly code: string;
}

const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+*%~^<>-]|\b(?:return|typeof|case|in|of|void|throw))\s*$/;

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}

/** End of the quoted thing that starts at `at`, behind its closing mark. */
function endOfQuoted(text: string, at: number, close: string): number {
  let inClass = false;
  for (let i = at + 1; i < text.length; i++) {
    const char = text[i];
    if (char === '\\') i++;
    else if (close === '/' && char === '[') inClass = true;
    else if (close === '/' && char === ']') inClass = false;
    else if (char === close && !inClass) return i + 1;
    else if (char === '\n' && close !== '`') return i;
  }
  return text.length;
}

/** End of a template's literal part that starts at `at`: behind the closing back quote, or behind `${`. */
function endOfTemplatePart(text: string, at: number): number {
  for (let i = at; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '`') return i + 1;
    else if (text[i] === '$' && text[i + 1] === '{') return i + 2;
  }
  return text.length;
}

/** Blanks out what is not code. Line breaks stay, so that offsets and line numbers stay. */
export function mask(text: string): Masked {
  let uncommented = '';
  let code = '';
  const templates: number[] = []; // depth of braces at which each open `${` began
  let depth = 0;
  const take = (end: number, kept: 'code' | 'string' | 'comment'): number => {
    const piece = text.slice(code.length, end);
    uncommented += kept === 'comment' ? blank(piece) : piece;
    code += kept === 'code' ? piece : kept === 'string' && piece.length > 1 ? quoted(piece) : blank(piece);
    return end;
  };
  for (let i = 0; i < text.length; ) {
    const char = text[i] as string;
    if (char === '/' && text[i + 1] === '/') i = take(indexOrEnd(text, '\n', i), 'comment');
    else if (char === '/' && text[i + 1] === '*') i = take(indexOrEnd(text, '*/', i + 2) + 2, 'comment');
    else if (char === "'" || char === '"') i = take(endOfQuoted(text, i, char), 'string');
    else if (char === '/' && BEFORE_REGEX.test(code.slice(-80))) i = take(endOfQuoted(text, i, '/'), 'string');
    else if (char === '`' || (char === '}' && templates.at(-1) === depth)) {
      if (char === '}') templates.pop();
      i = take(endOfTemplatePart(text, i + 1), 'string');
      if (text[i - 1] === '{') templates.push(depth);
    } else {
      if (char === '{') depth++;
      if (char === '}') depth--;
      i = take(i + 1, 'code');
    }
  }
  return { uncommented, code };
}

/** A string without its content; its marks stay, so that the code around it still looks like code. */
function quoted(piece: string): string {
  return `"${blank(piece.slice(1, -1))}"`;
}

function indexOrEnd(text: string, what: string, from: number): number {
  const at = text.indexOf(what, from);
  return at < 0 ? text.length : at;
}

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}

/** Every import, export-from and dynamic import with a literal specifier, types included. */
export function importsOf({ uncommented, code }: Masked): Import[] {
  const found: Import[] = [];
  const pattern = /(?:\bfrom|\bimport\s*\(?)\s*(['"])([^'"\n]*)\1/g;
  for (const match of uncommented.matchAll(pattern)) {
    // A look-alike inside a string is blank in `code`.
    if (!/^(?:from|import)/.test(code.slice(match.index))) continue;
    found.push({ specifier: match[2] as string, line: lineAt(uncommented, match.index) });
  }
  return found;
}

const NOT_STATEMENTS = /(?:^|[^=])=\s*$|[([,:?&|]\s*$|\b(?:return|default|const|extends)\s*$/;

/** The blocks that hold statements: what stands before `{` shows that it is no class, type or object literal. */
export function blocksOf({ code }: Masked): Block[] {
  const blocks: Block[] = [];
  const open: number[] = [];
  for (let i = 0; i < code.length; i++) {
    if (code[i] === '{') open.push(i);
    if (code[i] !== '}') continue;
    const start = open.pop();
    if (start === undefined) continue;
    const from =
      Math.max(code.lastIndexOf(';', start), code.lastIndexOf('{', start - 1), code.lastIndexOf('}', start)) + 1;
    const header = code.slice(from, start).trim();
    const isType = /\b(?:class|interface|type)\s+\w|\b(?:import|export)$/.test(header);
    if (isType || NOT_STATEMENTS.test(code.slice(Math.max(0, start - 40), start))) continue;
    blocks.push({
      line: lineAt(code, from + (code.slice(from).length - code.slice(from).trimStart().length)),
      lines: lineAt(code, i) - lineAt(code, start) + 1,
      header: header.replace(/\s+/g, ' ').slice(0, 80),
    });
  }
  return blocks;
}
