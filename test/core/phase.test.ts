/**
 * Every message number in every phase for both roles, against a table typed from RFC 4253 §7.1, §11, RFC 4252 §5, §6,
 * RFC 4254, RFC 8308 §2.4 and OpenSSH PROTOCOL §1.8, §1.9, not from the code.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Role } from '../../src/core/events.ts';
import { type Phase, type Verdict, verdictOn } from '../../src/core/phase.ts';

const phases: readonly Phase[] = ['kex', 'strict-kex', 'service', 'auth', 'open', 'early-rekey', 'rekey'];

const verdicts: Readonly<Record<string, Verdict>> = {
  A: 'accept',
  i: 'ignore',
  u: 'unimplemented',
  '-': 'disconnect',
};

/** From number, to number, and a letter for each phase in the order of `phases`. */
type Line = readonly [number, number, string];

/** What either side answers with UNIMPLEMENTED, except under strict key exchange: nobody has assigned it. */
const unassigned: readonly Line[] = [
  [0, 0, 'u-uuuuu'],
  [8, 19, 'u-uuuuu'],
  [22, 29, 'u-uuuuu'],
  [54, 59, 'u-uuuuu'],
  [83, 89, 'u-uuuuu'],
  [101, 191, 'u-uuuuu'],
  [194, 255, 'u-uuuuu'],
];

const both: readonly Line[] = [
  ...unassigned,
  [1, 1, 'AAAAAAA'], // DISCONNECT
  [2, 4, 'A-AAAAA'], // IGNORE, UNIMPLEMENTED, DEBUG
  [7, 7, '--AAi--'], // EXT_INFO
  [20, 20, 'AAAAA--'], // KEXINIT
  [21, 21, 'AA---AA'], // NEWKEYS
  [30, 49, 'AA---AA'], // key exchange method
  [80, 82, '----A-A'], // global requests and their replies
  [90, 100, '----A-A'], // channels; that they come in a rekey is the peer's fault, which OpenSSH forgives too
  [192, 193, '--AAA--'], // PING, PONG
];

const tables: Readonly<Record<Role, readonly Line[]>> = {
  client: [
    ...both,
    [5, 5, '-------'], // SERVICE_REQUEST comes from clients
    [6, 6, '--A----'], // SERVICE_ACCEPT
    [50, 50, '-------'], // USERAUTH_REQUEST comes from clients
    [51, 53, '---Ai--'], // FAILURE, SUCCESS, BANNER
    [60, 79, '---Ai--'], // method-specific, from the server
  ],
  server: [
    ...both,
    [5, 5, '--AA---'], // SERVICE_REQUEST, which paramiko repeats before each attempt
    [6, 6, '-------'], // SERVICE_ACCEPT comes from servers
    [50, 50, '---Ai--'], // RFC 4252 §5.1: requests after success are ignored
    [51, 53, '-------'], // come from servers; SUCCESS from a client was CVE-2018-10933
    [60, 79, '---Ai--'], // method-specific, from the client
  ],
};

for (const role of ['client', 'server'] as const) {
  describe(`verdictOn, as ${role},`, () => {
    const rows = new Map<number, string>();
    for (const [from, to, letters] of tables[role]) {
      for (let number = from; number <= to; number++) {
        assert.ok(!rows.has(number), `message ${number} stands twice in the table`);
        rows.set(number, letters);
      }
    }

    for (const [column, phase] of phases.entries()) {
      it(`${phase}: all of 0..255, as ${role}`, () => {
        for (let number = 0; number <= 255; number++) {
          const expected = verdicts[rows.get(number)?.[column] ?? ''];
          assert.ok(expected !== undefined, `message ${number} stands in the table`);
          assert.equal(verdictOn(phase, role, number), expected, `message ${number} in ${phase}`);
        }
      });
    }
  });
}
