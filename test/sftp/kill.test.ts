/**
 * Transfers that are killed anywhere, and resumed: what stands under the target's name is whole or what was there before,
 * and little is moved again. Small parts, and a small span, in place of those of 64 MiB.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers';
import { equalBytes } from '../../src/bytes/bytes.ts';
import type { RandomSource } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { systemClock } from '../../src/io/clock.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import { get } from '../../src/sftp/get.ts';
import type { GetResult } from '../../src/sftp/get_options.ts';
import { greet } from '../../src/sftp/greet.ts';
import { Link } from '../../src/sftp/link.ts';
import { put } from '../../src/sftp/put.ts';
import type { PutResult } from '../../src/sftp/put_options.ts';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { serveSftp } from '../../src/sftp/server/server.ts';
import { drawBelow } from '../support/feed.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { seededRandom } from '../support/random.ts';
import { orders, patterned, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';

const ROUNDS = 100;
const SPAN = 30_000;
const SECONDS = 1_700_000_000;
const OLD = new Uint8Array([1, 2, 3]);
const dead = (): SshError => new SshError('connection-lost', 'killed', { fault: 'network' });

async function linkOver(pipe: BytePipe): Promise<Link> {
  const link = new Link(pipe, { clock: systemClock, stallTimeout: 0 });
  await greet(link, 0, undefined);
  return link;
}

/** How many bytes from the start are those of `whole`. */
function sameFrom(bytes: Uint8Array, whole: Uint8Array): number {
  let at = 0;
  while (at < bytes.length && bytes[at] === whole[at]) at++;
  return at;
}

/** One side of a transfer, as it survives a death. */
interface Store {
  names(): string[];
  content(path: string): Uint8Array | undefined;
}

/** What one way of transferring does, until it is done or killed after so many bytes or requests. */
interface World {
  readonly store: Store;
  /** The error where it was killed. */
  run(killAt: number): Promise<GetResult | PutResult | SshError>;
}

/** Kills again and again, and then lets it end. */
async function survives(seed: string, bytes: Uint8Array, world: World, killBelow: number): Promise<void> {
  const random = seededRandom(`kill ${seed}`);
  const { store } = world;
  let kills = 1 + drawBelow(random, 3);
  let sure = 0;
  let resumed: number | undefined;
  for (let result: unknown; ; ) {
    result = await world.run(kills-- > 0 ? drawBelow(random, killBelow) : Number.POSITIVE_INFINITY);
    const target = store.content('/f') as Uint8Array;
    if (!(result instanceof SshError)) {
      const { resumedFrom = 0, bytes: moved, warnings } = result as GetResult;
      assert.ok(equalBytes(target, bytes), 'whole');
      assert.equal(resumedFrom + moved, bytes.length);
      assert.ok(resumedFrom <= sure && resumedFrom >= sure - SPAN, `from ${resumedFrom} of ${sure}`);
      assert.deepEqual(warnings, []);
      resumed = resumedFrom;
      break;
    }
    assert.equal(result.code, 'connection-lost', result.message);
    assert.ok(equalBytes(target, OLD) || equalBytes(target, bytes), 'a target that is not whole');
    const part = store.names().find((name) => name.endsWith('.part'));
    const there = part === undefined ? undefined : store.content(part);
    sure = there === undefined ? 0 : sameFrom(there, bytes);
    if (part?.endsWith('.kept.part')) assert.equal(sure, there?.length, 'kept, and yet not whole');
  }
  assert.ok(resumed !== undefined);
  assert.deepEqual(
    store.names().filter((name) => name.endsWith('.part')),
    [],
    'parts that are left',
  );
}

/** Local files as they stand for the next process. */
function reborn(files: MemoryFiles): MemoryFiles {
  const next = new MemoryFiles();
  for (const [path, node] of files.nodes) next.nodes.set(path, { ...node, bytes: node.bytes.slice() });
  return next;
}

const localStore = (files: () => MemoryFiles): Store => ({
  names: () => [...files().nodes.keys()],
  content: (path) => files().nodes.get(path)?.bytes,
});

const sizeOf = (random: RandomSource): number => 60_000 + drawBelow(random, 60_000);
const options = { resume: true, requestSize: 3000, requests: 8 } as const;

/** A session with our server that ends once `killAt` bytes were delivered, both ways together. */
async function session(backend: ReturnType<typeof memoryFiles>, killAt: number, onDeath: () => void): Promise<Link> {
  let left = killAt;
  const [own, theirs] = memoryPipes({
    chunk: (bytes) => {
      if (left <= 0) return [];
      const piece = bytes.subarray(0, left);
      left -= bytes.length;
      if (left <= 0) {
        queueMicrotask(() => {
          onDeath();
          theirs.close(dead());
        });
      }
      return [piece];
    },
  });
  serveSftp(theirs, { backend }).catch(() => undefined);
  return linkOver(own);
}

describe('a transfer with our server that is killed at any byte is resumed', () => {
  for (let round = 0; round < ROUNDS; round++) {
    it(`get, round ${round}`, async () => {
      const random = seededRandom(`get ${round}`);
      const bytes = patterned(sizeOf(random), `get ${round}`);
      const backend = memoryFiles({ files: { '/f': bytes }, now: () => SECONDS * 1000 });
      let files = new MemoryFiles().add('/f', OLD);
      const isProcess = drawBelow(random, 2) === 0;
      const run = async (killAt: number): Promise<GetResult | SshError> => {
        const mine = files;
        const onDeath = (): void => {
          if (isProcess) mine.fail = () => true;
        };
        try {
          const link = await session(backend, killAt, onDeath);
          return await get(link, '/f', '/f', files, options, { span: SPAN });
        } catch (error) {
          return error as SshError;
        } finally {
          files = reborn(mine);
        }
      };
      await survives(`get ${round}`, bytes, { store: localStore(() => files), run }, bytes.length + 4000);
    });

    it(`put, round ${round}`, async () => {
      const random = seededRandom(`put ${round}`);
      const bytes = patterned(sizeOf(random), `put ${round}`);
      const backend = memoryFiles({ files: { '/f': OLD } });
      const files = new MemoryFiles().add('src', bytes);
      const store: Store = {
        names: () => [...backend.list('/')].map(({ name }) => `/${String(name)}`),
        content: (path) => backend.get(path),
      };
      const run = async (killAt: number): Promise<PutResult | SshError> => {
        try {
          const link = await session(backend, killAt, () => undefined);
          return await put(link, 'src', '/f', files, options, { span: SPAN });
        } catch (error) {
          return error as SshError;
        }
      };
      await survives(`put ${round}`, bytes, { store, run }, bytes.length + 4000);
    });
  }
});

/** A server that answers in any order, loses a request here and there from the one with number `killAt` on, and soon dies. */
function dying(random: RandomSource, killAt: number, onDeath: () => void): { script: Script; server?: ScriptedSftp } {
  const world: { script: Script; server?: ScriptedSftp } = { script: {} };
  let isDying = false;
  const dieAfter = (turns: number): void => {
    if (turns > 0) setImmediate(() => dieAfter(turns - 1));
    else {
      onDeath();
      world.server?.cut(dead());
    }
  };
  const answer = ({ index }: { readonly index: number }): 'silence' | 'honest' => {
    if (index < killAt || (isDying && drawBelow(random, 6) > 0)) return 'honest';
    if (!isDying) dieAfter(2 + drawBelow(random, 25));
    isDying = true;
    return 'silence';
  };
  world.script = { order: orders.random, gather: drawBelow(random, 4), read: answer, write: answer };
  return world;
}

describe('a transfer with holes at its end that is killed is resumed', () => {
  for (let round = 0; round < ROUNDS / 2; round++) {
    it(`get, round ${round}`, async () => {
      const random = seededRandom(`get holes ${round}`);
      const bytes = patterned(sizeOf(random), `get ${round}`);
      let files = new MemoryFiles().add('/f', OLD);
      const run = async (killAt: number): Promise<GetResult | SshError> => {
        const mine = files;
        // the process dies, or only the line; or the disk refuses the cut that makes sure
        const fails = [
          () => true,
          () => false,
          ({ operation }: { readonly operation: string }) => operation === 'truncate',
        ];
        const fail = fails[drawBelow(random, 3)] as () => boolean;
        const world = dying(random, killAt, () => {
          mine.fail = fail;
        });
        world.server = new ScriptedSftp(world.script);
        world.server.files.set('/f', { bytes, permissions: 0o100644, modified: SECONDS });
        try {
          return await get(await linkOver(world.server), '/f', '/f', files, options, { span: SPAN });
        } catch (error) {
          return error as SshError;
        } finally {
          files = reborn(mine);
        }
      };
      const reads = Math.ceil(bytes.length / 3000);
      await survives(`get holes ${round}`, bytes, { store: localStore(() => files), run }, reads);
    });

    it(`put, round ${round}`, async () => {
      const random = seededRandom(`put holes ${round}`);
      const bytes = patterned(sizeOf(random), `put ${round}`);
      const files = new MemoryFiles().add('src', bytes);
      let server = new ScriptedSftp().add('/f', OLD);
      const store: Store = {
        names: () => [...server.files.keys()],
        content: (path) => server.files.get(path)?.bytes,
      };
      const run = async (killAt: number): Promise<PutResult | SshError> => {
        const world = dying(random, killAt, () => undefined);
        const next = new ScriptedSftp(world.script);
        for (const [path, node] of server.files) next.files.set(path, node);
        server = next;
        world.server = next;
        try {
          return await put(await linkOver(next), 'src', '/f', files, options, { span: SPAN });
        } catch (error) {
          return error as SshError;
        }
      };
      const writes = Math.ceil(bytes.length / 3000);
      await survives(`put holes ${round}`, bytes, { store, run }, writes);
    });
  }
});
