export async function writeDocs(_: unknown, tell: (line: string) => void): Promise<void> {
  tell('soon');
}
