/**
 * The library for the runtime at hand: all three modules offer the same. Loaded late, since `--help` and wrong use must not
 * wait for cryptography.
 */

export type Library = typeof import('../node.ts');

export function loadLibrary(): Promise<Library> {
  if ('Deno' in globalThis) return import('../deno.ts');
  if ('Bun' in globalThis) return import('../bun.ts');
  return import('../node.ts');
}
