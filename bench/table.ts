/** Cells as columns of text. */

type Cells = readonly (readonly string[])[];

/** The first column to the left, the others to the right, or all to the left. */
export function table(rows: Cells, others: 'left' | 'right' = 'right'): string {
  const pad = padder(rows, others);
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}

/** The same as Markdown; the first row is the head. */
export function markdownTable(rows: Cells, others: 'left' | 'right' = 'right'): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const [head = [], ...body] = escaped;
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  const rule = head.map((_, column) => (column === 0 || others === 'left' ? '---' : '---:'));
  return [line(head), `|${rule.join('|')}|`, ...body.map(line)].join('\n');
}

function padder(rows: Cells, others: 'left' | 'right'): (cell: string, column: number) => string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  return (cell, column) => {
    const width = widths[column] as number;
    return column === 0 || others === 'left' ? cell.padEnd(width) : cell.padStart(width);
  };
}

/** A number with as many digits as say something; `-` for what is not known. */
export function show(value: number, digits: number = value < 10 ? 2 : value < 100 ? 1 : 0): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '-';
}
