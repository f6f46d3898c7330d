/** A task of a program as a case of the runner: prepared, measured, and looked at. */

import { basename } from 'node:path';
import { type Invocation, measure, watchBusy } from './measure.ts';
import { mustBeEqual } from './place.ts';
import type { Program, Tuning, Work } from './program.ts';
import type { Case, Sample } from './runner.ts';
import { mustName, type Stage, TREE_FILE, treesMustBeEqual } from './stage.ts';

const LIMIT_SECONDS = 900; // of one task: a gibibyte at the slowest rate that anybody has over the longest delay

interface Task {
  readonly work: Work;
  readonly delay: number;
  readonly tuning?: Tuning;
  readonly parameter?: Case['parameter'];
  /** What the row is called, if not as the program. */
  readonly name?: string;
}

/** One file of `bytes`. */
export function fileCase(stage: Stage, program: Program, task: Task & { readonly bytes: number }): Case {
  return taskCase(stage, program, task, () => stage.file(task.bytes), mustBeEqual);
}

/** A tree of `count` files. */
export function treeCase(stage: Stage, program: Program, task: Task & { readonly count: number }): Case {
  const bytes = task.count * TREE_FILE;
  const check = (source: string, target: string): void => treesMustBeEqual(source, target, basename(source));
  return taskCase(stage, program, { ...task, bytes }, () => stage.tree(task.count), check);
}

/** The names in a directory of `count` entries. */
export function listCase(stage: Stage, program: Program, task: Task & { readonly count: number }): Case {
  const check = (_source: string, _target: string, stdout: string): void => mustName(stdout, task.count);
  return taskCase(stage, program, { ...task, bytes: 0 }, () => stage.directory(task.count), check);
}

function taskCase(
  stage: Stage,
  program: Program,
  task: Task & { readonly bytes: number; readonly count?: number },
  make: () => string,
  check: (source: string, target: string, stdout: string) => void,
): Case {
  const { work, delay, bytes, count, parameter, tuning } = task;
  return {
    subject: task.name ?? program.name,
    ...(program.runtime === undefined ? {} : { runtime: program.runtime }),
    ...{ work, delay, bytes },
    ...(count === undefined ? {} : { count }),
    ...(parameter === undefined ? {} : { parameter }),
    async run() {
      const source = make();
      const { target, peer } = stage;
      stage.clearTarget();
      const relay = await stage.relay(delay);
      const [remote, local] = work.startsWith('put') ? [target, source] : [source, target];
      const job = { work, port: relay?.port ?? peer.port, peer, remote, local, ...(tuning ? { tuning } : {}) };
      const { sample, stdout } = await sampleOf(program.invoke(job), () => relay?.usage()?.cpuSeconds);
      check(source, target, stdout);
      stage.clearTarget();
      const says = program.runtime !== undefined && stdout.startsWith('{') ? JSON.parse(stdout) : undefined;
      return { ...sample, report: says };
    },
  };
}

async function sampleOf(invocation: Invocation, relayTime: () => number | undefined) {
  const before = relayTime();
  const busy = watchBusy();
  const { seconds, cpuSeconds, peakMemory, stdout } = await measure(invocation, LIMIT_SECONDS);
  const after = relayTime();
  const relayCpuSeconds = before === undefined || after === undefined ? undefined : after - before;
  const sample: Sample = { seconds, cpuSeconds, peakMemory, relayCpuSeconds, busy: busy() };
  return { sample, stdout };
}

/** A program of the bench itself that prints a JSON object with `seconds`. */
export function scriptCase(subject: Omit<Case, 'run'>, invocation: Invocation): Case {
  return {
    ...subject,
    async run() {
      const { sample, stdout } = await sampleOf(invocation, () => undefined);
      const report = JSON.parse(stdout) as { readonly seconds: number };
      return { ...sample, seconds: report.seconds, report };
    },
  };
}
