/** What a suite is: cases of one question, run in turn. */

import type { Plan } from '../plan.ts';
import type { Program, Work } from '../program.ts';
import type { Case } from '../runner.ts';
import type { Stage } from '../stage.ts';

export interface Bench {
  readonly plan: Plan;
  readonly stage: Stage;
  /** puressh, by runtime; the Node at hand first. */
  readonly own: readonly Program[];
  readonly others: readonly Program[];
}

export interface Suite {
  readonly name: string;
  /** A heading. */
  readonly title: string;
  /** What has to be known to read its tables. */
  readonly text: string;
  /** The most rounds that make sense; absent: as many as asked. */
  readonly rounds?: number;
  cases(bench: Bench): readonly Case[];
}

/** Those that can do a work. */
export function able(programs: readonly Program[], work: Work): readonly Program[] {
  return programs.filter(({ works }) => works.includes(work));
}

/** The delays that were asked for, or else these. */
export function delaysOf({ plan }: Bench, usual: readonly number[], quick: readonly number[]): readonly number[] {
  return plan.delays ?? (plan.quick ? quick : usual);
}
