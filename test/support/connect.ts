/** The public API of the runtime that runs the tests, each by its own entry. */

export type Api = typeof import('../../src/node.ts');

const globals = globalThis as { readonly Deno?: unknown; readonly Bun?: unknown };

/** `connect`, `knownHosts` and everything else that a program imports. */
export const api: Api =
  globals.Bun !== undefined
    ? await import('../../src/bun.ts')
    : globals.Deno !== undefined
      ? await import('../../src/deno.ts')
      : await import('../../src/node.ts');
