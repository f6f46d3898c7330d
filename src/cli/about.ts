/** `--help` and `--version`. */

import { SOFTWARE } from '../core/options.ts';
import type { CommandName } from './args.ts';
import { print } from './output.ts';
import { usage } from './usage.ts';

export async function printUsage(topic: CommandName | ''): Promise<number> {
  await print(`${usage[topic]}\n`);
  return 0;
}

export async function printVersion(): Promise<number> {
  await print(`${SOFTWARE.replace('_', ' ')}\n`);
  return 0;
}
