/** That docs/algorithms.md names what is offered, in its order. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { defaultAlgorithms, legacyAlgorithms } from '../../src/core/algorithms/lists.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { root } from '../support/root.ts';

const text = readFileSync(new URL('docs/algorithms.md', root), 'utf8');
const names = (cell: string): string[] => [...cell.matchAll(/`([^`…]+)`/g)].map(([, name]) => name as string);

describe('docs/algorithms.md', () => {
  const defaults = defaultAlgorithms(pureProvider);
  for (const category of ['kex', 'hostKeys', 'ciphers', 'macs'] as const) {
    it(`lists ${category} as they are offered`, () => {
      const row = text.split('\n').find((line) => line.startsWith(`| \`${category}\` |`));
      const [, , standard = '', legacy = ''] = (row ?? '').split('|');
      const plain = defaults[category].filter((name) => !name.includes('-cert-'));
      assert.deepEqual(names(standard), plain);
      assert.deepEqual(names(legacy), legacyAlgorithms[category]);
    });
  }
});
