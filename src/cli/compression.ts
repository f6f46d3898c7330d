/** What compresses: pako, which the command has in it and the library has not. Loaded only where somebody compresses. */

import { zlibFrom } from '../compression/zlib_from.ts';
import type { CompressionLibrary } from '../core/compression.ts';

export async function loadCompression(): Promise<CompressionLibrary> {
  return zlibFrom(await import('pako'));
}
