/** Type and permissions as ls(1) shows them. */

import { type Attributes, type FileKind, fileKind } from './attrs.ts';

const LETTERS: Readonly<Record<Exclude<FileKind, 'unknown'>, string>> = {
  file: '-',
  directory: 'd',
  symlink: 'l',
  'block-device': 'b',
  'character-device': 'c',
  fifo: 'p',
  socket: 's',
};

/** Ten letters, such as `drwxr-sr-t`; dashes where nothing is known. `unknown` stands for a type that is not. */
export function modeText(attrs: Attributes, unknown: string): string {
  const mode = attrs.permissions ?? 0;
  const triple = (shift: number, special: number, letter: string): string => {
    const execute = (mode >> shift) & 1;
    const marked = (mode & special) !== 0;
    const last = marked ? (execute ? letter : letter.toUpperCase()) : execute ? 'x' : '-';
    return ((mode >> shift) & 4 ? 'r' : '-') + ((mode >> shift) & 2 ? 'w' : '-') + last;
  };
  const kind = fileKind(attrs);
  const type = kind === 'unknown' ? unknown : LETTERS[kind];
  return type + triple(6, 0o4000, 's') + triple(3, 0o2000, 's') + triple(0, 0o1000, 't');
}
