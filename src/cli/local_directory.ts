/** Whether a directory stands at a local path, links followed. */

import { stat } from 'node:fs/promises';

export async function isLocalDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
