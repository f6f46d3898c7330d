/**
 * Makes the transcripts in `vectors/transcripts` anew: `node test/support/record_transcripts.ts --write`, with a Node that runs
 * TypeScript. Without `--write` it only says which ones would change. After that run `vectors/transcripts/check.py`.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { recorded } from './recorded.ts';
import { root } from './root.ts';
import { formatTranscript } from './transcript.ts';

const folder = new URL('vectors/transcripts/', root);
const write = process.argv.includes('--write');
if (write) mkdirSync(folder, { recursive: true });
for (const { name, record } of recorded) {
  const file = new URL(`${name}.json`, folder);
  const text = formatTranscript(await record());
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (write) writeFileSync(file, text);
  console.log(`${before === text ? 'same   ' : write ? 'written' : 'differs'} ${name}.json, ${text.length} bytes`);
}
