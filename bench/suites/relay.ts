/** How much the relay itself carries, so that nobody takes its limit for somebody else's. */

import { fileURLToPath } from 'node:url';
import { root } from '../../test/support/root.ts';
import { scriptCase } from '../cases.ts';
import type { Suite } from './suite.ts';

const BYTES = 2e9;
const QUICK_BYTES = 5e8;

export const relay: Suite = {
  name: 'relay',
  title: 'The relay itself',
  text: 'One connection through it, as fast as both ends go.',
  cases({ plan }) {
    const script = fileURLToPath(new URL('build/bench/relay_load.js', root));
    const bytes = plan.quick ? QUICK_BYTES : BYTES;
    return [0, 100].map((delay) => {
      const command = [process.execPath, script, String(bytes), String(delay)];
      return scriptCase({ subject: 'relay', work: 'carry', delay, bytes }, { command });
    });
  },
};
