/** Terminal modes: RFC 4254 §8. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex } from '../../src/bytes/text.ts';
import { MAX_MODES, readPtyModes } from '../../src/wire/pty_modes.ts';
import { seededRandom } from '../support/random.ts';

const modes = (text: string): [number, number][] => [...readPtyModes(fromHex(text))];

/** VINTR 3, ECHO 1, TTY_OP_ISPEED 38400, as RFC 4254 §8 numbers them. */
const usual = '01 00000003 35 00000001 80 00009600';
const read: [number, number][] = [
  [1, 3],
  [53, 1],
  [128, 38400],
];

describe('readPtyModes', () => {
  it('reads opcodes with their values, up to TTY_OP_END', () => {
    assert.deepEqual(modes(`${usual} 00`), read);
    assert.deepEqual(modes('00'), []);
    assert.deepEqual(modes('35 ffffffff 00'), [[53, 0xffffffff]]);
  });

  it('reads nothing behind the end', () => {
    assert.deepEqual(modes(`${usual} 00 02 00000004`), read);
  });

  it('takes a list without its end, or cut short in a mode, for what it holds', () => {
    assert.deepEqual(modes(usual), read);
    assert.deepEqual(modes(''), []);
    for (const rest of ['02', '02 00', '02 000000']) assert.deepEqual(modes(`${usual} ${rest}`), read);
  });

  it('stops at opcodes whose arguments are not defined: 160 to 255', () => {
    assert.deepEqual(modes(`${usual} a0 00000001 02 00000004 00`), read);
    assert.deepEqual(modes(`ff 00000001 ${usual}`), []);
    assert.deepEqual(modes('9f 00000001 00'), [[159, 1]]);
  });

  it('keeps the later value of one that is repeated', () => {
    assert.deepEqual(modes('35 00000001 35 00000000 00'), [[53, 0]]);
  });

  it('reads no more than its limit, whatever the list says', () => {
    const list = Array.from({ length: MAX_MODES }, () => '01 00000003').join('');
    assert.deepEqual(modes(`${list} 02 00000004 00`), [[1, 3]]);
    assert.deepEqual(modes(`${list.slice('01 00000003'.length)} 02 00000004 00`), [
      [1, 3],
      [2, 4],
    ]);
  });

  it('never throws, and never gives what has no place', () => {
    const random = seededRandom('terminal modes');
    for (let i = 0; i < 500; i++) {
      const [length = 0] = random(1);
      for (const [opcode, value] of readPtyModes(random(length))) {
        assert.ok(opcode > 0 && opcode < 160 && value >= 0 && value <= 0xffffffff);
      }
    }
  });
});
