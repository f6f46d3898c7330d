/** The encoded terminal modes of a `pty-req`: RFC 4254 §8. */

import { DecodeError, Reader } from '../bytes/reader.ts';

/** TTY_OP_END. */
const END = 0;
/** From here on opcodes have arguments of unknown size: reading stops. */
const FIRST_UNDEFINED = 160;

/** The most modes that are kept. 128 opcodes have a meaning or could; a list that says more repeats itself. */
export const MAX_MODES = 256;

/**
 * Opcodes with their values, in order; of a repeated one the later value counts. A list without its end, or cut short in a
 * mode, is what it holds until there: clients send both.
 */
export function readPtyModes(bytes: Uint8Array): Map<number, number> {
  const modes = new Map<number, number>();
  const reader = new Reader(bytes);
  try {
    for (let count = 0; reader.remaining > 0 && count < MAX_MODES; count++) {
      const opcode = reader.u8();
      if (opcode === END || opcode >= FIRST_UNDEFINED) break;
      modes.set(opcode, reader.u32());
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
  }
  return modes;
}
