/** A file of 3 bytes: what the beginning and the end of everything cost in round trips. */

import { fileCase } from '../cases.ts';
import { able, delaysOf, type Suite } from './suite.ts';

const BYTES = 3;

export const small: Suite = {
  name: 'small',
  title: 'A file of 3 bytes',
  text: 'What start, login, one file and the end cost in round trips.',
  cases(bench) {
    const programs = [...bench.own, ...bench.others];
    return (['get', 'put'] as const).flatMap((work) =>
      delaysOf(bench, [100], [100]).flatMap((delay) =>
        able(programs, work).map((program) => fileCase(bench.stage, program, { work, delay, bytes: BYTES })),
      ),
    );
  },
};
