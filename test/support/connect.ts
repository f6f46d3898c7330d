/** The public API of the runtime that runs the tests, each by its own entry, and how it dials. */

import type { Dial } from '../../src/io/dial.ts';

export type Api = typeof import('../../src/node.ts');

const globals = globalThis as { readonly Deno?: unknown; readonly Bun?: unknown };

/** `connect`, `knownHosts` and everything else that a program imports. */
export const api: Api =
  globals.Bun !== undefined
    ? await import('../../src/bun.ts')
    : globals.Deno !== undefined
      ? await import('../../src/deno.ts')
      : await import('../../src/node.ts');

/** A TCP connection of this runtime as a byte pipe. */
export const dial: Dial =
  globals.Bun !== undefined
    ? (await import('../../src/transports/bun_socket.ts')).dialBun
    : globals.Deno !== undefined
      ? (await import('../../src/transports/deno_socket.ts')).dialDeno
      : (await import('../../src/transports/node_socket.ts')).dialNode;
