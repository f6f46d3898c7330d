/** Writes the document and its charts where they are read. */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { root } from '../test/support/root.ts';
import type { Specification } from './charts.ts';
import { CHARTS, performanceDocument } from './docs.ts';
import { type Picture, picturesOf } from './pictures.ts';
import type { SuiteResult } from './report.ts';
import { installCompetitors } from './subjects.ts';
import { suites } from './suites/all.ts';

export async function writeDocs(results: readonly SuiteResult[], tell: (line: string) => void): Promise<void> {
  if (results.length === 0) throw new Error('There are no results yet: run npm run bench first');
  installCompetitors();
  const module = new URL('bench/render.mjs', root).href;
  const { toSvg } = (await import(module)) as { toSvg(specification: Specification): Promise<string> };
  const folder = new URL(`docs/${CHARTS}/`, root);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const pictures = new Map<string, readonly Picture[]>();
  for (const result of results) {
    const drawn = picturesOf(result);
    for (const { name, specification } of drawn) {
      writeFileSync(new URL(`${name}.svg`, folder), await toSvg(specification));
    }
    pictures.set(result.name, drawn);
  }
  const chapters = Object.fromEntries(suites.map(({ name, title, text }) => [name, { title, text }]));
  const path = new URL('docs/performance.md', root);
  const remarks = new URL('bench/remarks.md', root);
  const said = existsSync(remarks) ? readFileSync(remarks, 'utf8') : undefined;
  writeFileSync(path, performanceDocument(results, chapters, pictures, said));
  tell(`written to ${path.pathname}`);
  for (const { name, partial } of results) if (partial) tell(`${name}: not from a full run`);
}
