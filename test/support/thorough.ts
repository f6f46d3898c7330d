/** Where tests that take long do all of it: in one of the four runtimes, Node 24. Elsewhere they do the same with less. */

const globals = globalThis as { readonly Deno?: unknown; readonly Bun?: unknown };
const [major = 0] = process.versions.node.split('.').map(Number);

export const isThorough: boolean = globals.Deno === undefined && globals.Bun === undefined && major >= 24;
