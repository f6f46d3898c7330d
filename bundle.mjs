/**
 * Makes the command of few files, in the folder that is named: `node bundle.mjs dist/cli`. To open its three hundred modules one by one
 * takes Node longer than to start and to log in. What belongs to other runtimes and to other subcommands stays apart, to be
 * loaded where it is needed. The library is not bundled: who uses it has a bundler of their own.
 */

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

await build({
  absWorkingDir: fileURLToPath(new URL('.', import.meta.url)),
  entryPoints: ['src/cli/main.ts'],
  outdir: process.argv[2],
  bundle: true,
  splitting: true,
  chunkNames: 'parts/[name]-[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
});
