/** `it`, with an end for whatever a test waits for. */

import * as node from 'node:test';

const LIMIT = 60_000;

export function it(name: string, run: () => void | Promise<void>): void {
  node.it(name, { timeout: LIMIT }, run);
}
