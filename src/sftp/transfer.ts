/**
 * Starts the one engine: a read or a write of an open remote file, with limits, progress, abort and the error that
 * tells how far it came. Every way to move content goes through here.
 */

import { printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import { forgetAbort, listenToAbort } from '../io/abort.ts';
import { abortedError } from './call.ts';
import { type Counters, finalStats } from './counters.ts';
import type { Link } from './link.ts';
import { fstat, type OpenHandle } from './operations.ts';
import {
  DEFAULT_LANES,
  DEFAULT_REQUESTS,
  type RangeOptions,
  type RemotePath,
  type TransferOptions,
  type TransferStats,
} from './options.ts';
import { type Attributes, fileKind } from './proto/attrs.ts';
import { WRITE_HEADER } from './proto/packets.ts';
import { RateMeter } from './rate.ts';
import { ReadPump } from './read_pump.ts';
import { BASE_REQUEST, MAX_REQUEST } from './request_size.ts';
import type { ReadSink } from './sink.ts';
import type { WriteSource } from './source.ts';
import { WritePump } from './write_pump.ts';

/** A transfer that runs. */
export interface Running {
  /** Rejects with an `SshError` whose `transferred` says how many bytes from the start had come through. */
  readonly done: Promise<TransferStats>;
  /** Ends it now. */
  abort(error: SshError): void;
  /** Channels that it has gone over so far, at the most. */
  lanes(): number;
  /** Of an upload: where what was sent ends. */
  reached(): number;
}

/**
 * What to take for the size of the file: a number; `ask`: FSTAT goes out with the first READ; `unknown`: read
 * until the end comes.
 */
export type SizeHint = number | 'ask' | 'unknown';

/** The whole number in `value`, or `bad-argument`. */
export function whole(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new SshError('bad-argument', `${name} must be a whole number of at least ${least}, not ${String(value)}`);
}

/**
 * Reads `file` into `sink`. `early`: what STAT said, which lets READs up to there go out at once; what counts is `hint`.
 * Throws `bad-argument` for unusable options.
 */
export function startRead(
  file: OpenHandle,
  sink: ReadSink,
  options: RangeOptions,
  hint: SizeHint,
  early?: number,
): Running {
  const { link, handle, path } = file;
  const start = whole('start', options.start ?? 0, 0);
  const end = options.end === undefined ? Number.POSITIVE_INFINITY : whole('end', options.end, start);
  const wanted = options.requestSize === undefined ? undefined : whole('requestSize', options.requestSize, 1);
  const job = {
    link,
    handle,
    path,
    start,
    end,
    requests: whole('requests', options.requests ?? DEFAULT_REQUESTS, 1),
    maxRequest: () => readSize(link, wanted),
    trustEof: options.trustEof ?? false,
    stallTimeout: options.stallTimeout ?? link.stallTimeout,
  };
  let total = end === Number.POSITIVE_INFINITY ? undefined : end - start;
  return run(link, options, 'read', path, (progress, done) => {
    const pump = new ReadPump(job, sink, (bytes) => progress(bytes, total), done);
    const stated = (size: number | undefined): void => {
      if (size !== undefined) {
        total = Math.max(0, Math.min(size, end) - start);
        sink.expect?.(total);
      }
      link.turn(() => pump.stated(size ?? 'unknown'));
    };
    const begin = (): void => {
      if (hint === 'ask')
        fstat(file, options).then(
          (attrs) => stated(sizeHint(attrs)),
          () => stated(undefined),
        );
      pump.start();
      if (hint !== 'ask') pump.stated(hint);
      else if (early !== undefined) pump.stated(early);
    };
    return {
      begin,
      abort: (error) => pump.abort(error),
      counters: pump.counters,
      moved: () => sink.contiguous - start,
    };
  });
}

/**
 * Writes what `source` gives to `file`, from byte `start` on; never more than `span` bytes are sent beyond what is
 * acknowledged without a gap. `onSent` hears when all has been sent, see `WriteJob`. Throws `bad-argument` for unusable options.
 */
export function startWrite(
  file: OpenHandle,
  source: WriteSource,
  start: number,
  total: number | undefined,
  options: TransferOptions,
  span: number = Number.POSITIVE_INFINITY,
  onSent: (bytes: number) => void = () => undefined,
): Running {
  const { link, path } = file;
  const wanted = options.requestSize === undefined ? undefined : whole('requestSize', options.requestSize, 1);
  const job = {
    file,
    start: whole('position', start, 0),
    total,
    requests: whole('requests', options.requests ?? DEFAULT_REQUESTS, 1),
    requestSize: (handle: Uint8Array) => writeSize(link, handle, wanted),
    lanes: whole('lanes', options.lanes ?? DEFAULT_LANES, 1),
    span,
    onSent,
    stallTimeout: options.stallTimeout ?? link.stallTimeout,
  };
  return run(link, options, 'write', path, (progress, done) => {
    const pump = new WritePump(job, source, (bytes) => progress(bytes, total), done);
    return {
      begin: () => pump.start(),
      abort: (error) => pump.abort(error),
      counters: pump.counters,
      moved: () => pump.contiguous - start,
      reached: () => pump.sent,
    };
  });
}

/** A pump, seen from outside. */
interface Engine {
  begin(): void;
  abort(error: SshError): void;
  readonly counters: Counters;
  moved(): number;
  reached?(): number;
}

function run(
  link: Link,
  options: TransferOptions,
  operation: string,
  path: RemotePath,
  make: (
    progress: (bytes: number, total: number | undefined) => void,
    done: (failure: SshError | undefined) => void,
  ) => Engine,
): Running {
  const { signal, onProgress } = options;
  const startedAt = link.clock.now();
  const meter = onProgress === undefined ? undefined : new RateMeter(startedAt);
  let engine!: Engine;
  const abort = (error: SshError): void => link.turn(() => engine.abort(error));
  const done = new Promise<TransferStats>((resolve, reject) => {
    const onAbort = (): void => abort(abortedError(operation, path, signal as AbortSignal));
    const progress = (bytes: number, total: number | undefined): void => {
      if (onProgress === undefined || meter === undefined) return;
      try {
        const rate = meter.rate(bytes, link.clock.now());
        onProgress(total === undefined ? { bytes, rate } : { bytes, total, rate });
      } catch (error) {
        abort(toSshError(error, 'bad-argument', { operation: 'onProgress' }));
      }
    };
    engine = make(progress, (failure) => {
      if (signal !== undefined) forgetAbort(signal, onAbort);
      if (failure === undefined) resolve(finalStats(engine.counters, link, startedAt));
      else reject(partial(failure, operation, path, engine.moved()));
    });
    if (signal?.aborted) {
      reject(abortedError(operation, path, signal));
      return;
    }
    if (signal !== undefined) listenToAbort(signal, onAbort);
    link.turn(() => engine.begin());
  });
  return { done, abort, lanes: () => engine.counters.lanes, reached: () => engine.reached?.() ?? 0 };
}

/** The error of a transfer that came `transferred` bytes far. */
function partial(error: SshError, operation: string, path: RemotePath, transferred: number): SshError {
  return new SshError(error.code, `${error.message} (${transferred} bytes were through)`, {
    fault: error.fault,
    operation: error.operation ?? operation,
    path: error.path ?? printable(path, 1024),
    transferred,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.phase === undefined ? {} : { phase: error.phase }),
    cause: error,
  });
}

/** The size to expect; anything but a regular file is read one request at a time, as if it were of size 0. */
export function sizeHint(attrs: Attributes): number | undefined {
  const kind = fileKind(attrs);
  if (kind !== 'file' && kind !== 'unknown') return 0;
  return attrs.size !== undefined && Number.isSafeInteger(attrs.size) ? attrs.size : undefined;
}

function readSize(link: Link, wanted: number | undefined): number {
  const stated = link.limits.maxReadLength;
  const most = stated === undefined ? BASE_REQUEST : Math.min(stated, MAX_REQUEST);
  return wanted === undefined ? most : Math.min(wanted, most);
}

function writeSize(link: Link, handle: Uint8Array, wanted: number | undefined): number {
  const { maxWriteLength, maxPacketLength } = link.limits;
  const stated = Math.min(
    maxWriteLength ?? BASE_REQUEST,
    (maxPacketLength ?? Number.POSITIVE_INFINITY) - WRITE_HEADER - handle.length,
  );
  const most = Math.max(1, Math.min(stated, MAX_REQUEST));
  return wanted === undefined ? most : Math.min(wanted, most);
}
