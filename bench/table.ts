/** Columns of text: the first to the left, the others to the right, or all to the left. */
export function table(rows: readonly (readonly string[])[], others: 'left' | 'right' = 'right'): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  const pad = (cell: string, column: number): string => {
    const width = widths[column] as number;
    return column === 0 || others === 'left' ? cell.padEnd(width) : cell.padStart(width);
  };
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}
