/** Cryptography in JavaScript only, against what that cryptography gives by itself in the same runtime. */

import { fileURLToPath } from 'node:url';
import { root } from '../../test/support/root.ts';
import { fileCase, scriptCase } from '../cases.ts';
import type { Case } from '../runner.ts';
import type { Suite } from './suite.ts';

/** What the row of noble alone is called. */
export const NOBLE = 'noble alone';

const NOBLE_BYTES = 256 * 1024 * 1024; // two to three seconds

export const pure: Suite = {
  name: 'pure',
  title: 'Cryptography in JavaScript only',
  text: '`--crypto pure`: chacha20-poly1305 by noble. What noble opens alone, in packets of 16 KiB, as sshd sends them, in the same runtime, is the most that a download could get.',
  cases({ plan, stage, own }) {
    const script = fileURLToPath(new URL('build/bench/noble_rate.js', root));
    return own.flatMap((program): Case[] => {
      const { runtime, launcher } = program;
      if (runtime === undefined || launcher === undefined) return [];
      const bytes = Math.min(plan.bytes, NOBLE_BYTES);
      const command = [...launcher, script, String(bytes)];
      return [
        scriptCase({ subject: `${NOBLE}, ${runtime}`, runtime, work: 'open', delay: 0, bytes }, { command }),
        ...(['get', 'put'] as const).map((work) =>
          fileCase(stage, program, { work, delay: 0, bytes: plan.bytes, tuning: { crypto: 'pure' } }),
        ),
      ];
    });
  },
};
