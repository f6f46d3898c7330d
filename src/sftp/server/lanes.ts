/**
 * Order among requests (draft-ietf-secsh-filexfer-02 §3). Each open file or directory has a lane, and so have all paths
 * together: in a lane requests take effect and are answered in the order in which they came, one call to the backend at a
 * time; lanes do not wait for each other, and take turns. A request with a path waits for every earlier request that
 * changes an open file, so that what a client wrote is there when it renames. Knows no packets and no pipe.
 */

import { statusReply } from '../proto/replies.ts';
import { Status } from '../proto/status.ts';

/** What a lane does in turn. */
export interface Task {
  readonly kind: 'read' | 'write' | 'job';
  /** Id of the request. */
  readonly id: number;
  /** What it counts as while it is pending, in bytes. */
  readonly size: number;
  /** Requests with a path that come later wait for it. */
  readonly change?: Epoch | undefined;
}

/** Any request but READ and WRITE. */
export interface Job extends Task {
  readonly kind: 'job';
  /** Changes that have to be done first. */
  readonly after?: Epoch;
  /** Waits while the client does not take what was answered already, since the answer may be long. */
  readonly bulky?: boolean;
  /** Where it stands in two lanes: both, one of which is this one. */
  readonly lanes?: readonly Lane[];
  /** Gives the reply, a whole packet. What it throws becomes the STATUS. */
  run(): Uint8Array | Promise<Uint8Array>;
}

/** Changes of open files between two requests with a path: how many of them are not done yet. */
export interface Epoch {
  pending: number;
}

/** The answer to a request with a handle that is not open. */
export function unknownHandle(id: number): Uint8Array {
  return statusReply(id, Status.failure, 'there is no such handle');
}

/** What lanes need of their session. */
export interface LaneHost {
  /** Whether the client does not take what was answered already. */
  readonly full: boolean;
  /** Sends the pieces of replies in order; they are never touched again. */
  send(pieces: readonly Uint8Array[]): void;
  /** Memory to read into, of `READ_BATCH` bytes, if it can be used again. */
  memory(): Uint8Array | undefined;
  /** Gives such memory back: at once, or when all that was sent so far has left. */
  release(memory: Uint8Array, isSent: boolean): void;
  /** A request waits for its answer from now on. */
  taken(task: Task): void;
  /** A request has its answer. */
  answered(task: Task): void;
  /** The STATUS for what was thrown, whole; tells the server's owner what is unexpected. */
  failure(id: number, error: unknown): Uint8Array;
  /** Runs what came of a call, then the lanes, and sends all replies together. */
  turn(run: () => void): void;
}

/** A queue of tasks, done one after the other. */
export class Lane {
  readonly tasks: Task[] = [];
  /** The call that runs; it settles, and never rejects. */
  running: Promise<void> | undefined;
  /** Whether it is among the lanes that are about to run. */
  listed = false;
  /** Whether what it belongs to was closed: requests that came later know no such handle. */
  closed = false;
  readonly lanes: Lanes;

  constructor(lanes: Lanes) {
    this.lanes = lanes;
  }

  /** Does the first task, or begins to; there is one, and nothing runs. */
  step(): void {
    const job = this.tasks[0] as Job;
    const { host } = this.lanes;
    if (job.bulky && host.full) {
      this.lanes.park(this);
      return;
    }
    if (job.after !== undefined && job.after.pending > 0) return;
    const standing = job.lanes ?? [this];
    if (standing.some((lane) => lane.tasks[0] !== job || lane.running !== undefined)) return;
    let reply: Uint8Array | Promise<Uint8Array>;
    try {
      reply = job.run();
    } catch (error) {
      reply = host.failure(job.id, error);
    }
    if (reply instanceof Uint8Array) {
      this.#finish(job, standing, reply);
      return;
    }
    const running = reply.then(
      (packet) => this.#settled(job, standing, packet),
      (error) => this.#settled(job, standing, host.failure(job.id, error)),
    );
    for (const lane of standing) lane.running = running;
  }

  /** Answers the first task of a lane that was closed. */
  refuse(): void {
    const task = this.tasks[0] as Task;
    this.lanes.host.send([unknownHandle(task.id)]);
    for (const lane of (task as Job).lanes ?? [this]) lane.tasks.splice(lane.tasks.indexOf(task), 1);
    this.lanes.done(task);
    for (const lane of (task as Job).lanes ?? [this]) this.lanes.wake(lane);
  }

  #settled(job: Job, standing: readonly Lane[], reply: Uint8Array): void {
    for (const lane of standing) lane.running = undefined;
    if (this.lanes.ended) return;
    this.lanes.host.turn(() => this.#finish(job, standing, reply));
  }

  #finish(job: Job, standing: readonly Lane[], reply: Uint8Array): void {
    this.lanes.host.send([reply]);
    for (const lane of standing) lane.tasks.shift();
    this.lanes.done(job);
    for (const lane of standing) this.lanes.wake(lane);
  }

  /** Takes a call whose result goes on with `done` or `failed`; made so that one call costs two closures, not each request. */
  protected wait<T>(call: T | PromiseLike<T>, done: (value: T) => void, failed: (error: unknown) => void): void {
    this.running = Promise.resolve(call).then(
      (value) => this.#resume(() => done(value)),
      (error) => this.#resume(() => failed(error)),
    );
  }

  #resume(run: () => void): void {
    this.running = undefined;
    if (this.lanes.ended) return;
    this.lanes.host.turn(() => {
      run();
      this.lanes.wake(this);
    });
  }
}

/** All lanes of a session. */
export class Lanes {
  readonly host: LaneHost;
  /** The lane of requests with a path. */
  readonly paths: Lane;
  /** Set when the session is over: nothing begins any more, and what comes of running calls is dropped. */
  ended = false;
  readonly #ready: Lane[] = [];
  readonly #parked = new Set<Lane>();
  #epoch: Epoch = { pending: 0 };

  constructor(host: LaneHost) {
    this.host = host;
    this.paths = new Lane(this);
  }

  /** Counts a change of an open file, for the `change` of its task. */
  change(): Epoch {
    this.#epoch.pending++;
    return this.#epoch;
  }

  /**
   * The changes that came so far, for the `after` of a request with a path. Those before an earlier such request need no
   * looking at, since it waited for them, and comes first.
   */
  after(): Epoch {
    const epoch = this.#epoch;
    this.#epoch = { pending: 0 };
    return epoch;
  }

  /** Appends a task to a lane, or to several at once. */
  add<T extends Task>(task: T, ...to: readonly Lane[]): void {
    this.host.taken(task);
    for (const lane of to) {
      lane.tasks.push(task);
      this.wake(lane);
    }
  }

  /** Has a lane run, if there is something to do. */
  wake(lane: Lane): void {
    if (lane.listed || lane.running !== undefined || lane.tasks.length === 0) return;
    lane.listed = true;
    this.#ready.push(lane);
  }

  /** Has a lane run once the client takes more. */
  park(lane: Lane): void {
    this.#parked.add(lane);
  }

  /** The client takes more. */
  unpark(): void {
    for (const lane of this.#parked) this.wake(lane);
    this.#parked.clear();
  }

  /** Runs lanes in turn until all wait for something. */
  run(): void {
    for (let lane = this.#ready.shift(); lane !== undefined && !this.ended; lane = this.#ready.shift()) {
      lane.listed = false;
      if (lane.running !== undefined || lane.tasks.length === 0) continue;
      if (lane.closed) lane.refuse();
      else lane.step();
    }
  }

  /** A task has its answer. */
  done(task: Task): void {
    if (task.change !== undefined && --task.change.pending === 0) this.wake(this.paths);
    this.host.answered(task);
  }
}
