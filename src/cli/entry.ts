/** The library as the runtime at hand needs it. Loaded late: `--help` and wrong use must not wait for cryptography. */

export type Library = typeof import('../node.ts');

export function loadLibrary(): Promise<Library> {
  return import('../node.ts');
}
