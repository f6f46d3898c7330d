/**
 * Any requests, in any order, none of them waited for, over any pipe and with any backend: what each handle sees is what it would
 * see if its requests were done one after the other.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../../src/bytes/bytes.ts';
import type { RandomSource } from '../../../src/crypto/provider.ts';
import { OpenFlag } from '../../../src/sftp/proto/packets.ts';
import { Status } from '../../../src/sftp/proto/status.ts';
import type { SftpBackend } from '../../../src/sftp/server/backend.ts';
import type { MaybePromise } from '../../../src/sftp/server/maybe_promise.ts';
import type { MemoryFile } from '../../../src/sftp/server/memory_file.ts';
import { memoryFiles } from '../../../src/sftp/server/memory_fs.ts';
import { chunkings, drawBelow } from '../../support/feed.ts';
import { seededRandom } from '../../support/random.ts';
import { ask, RawSftp } from '../../support/sftp_raw.ts';

const FILES = 4;
const REQUESTS = 300;
const SPAN = 3000;

/** Calls that are done at once, soon, or after others had their turn; reads of any length from one byte on. */
function moody(random: RandomSource): { backend: SftpBackend; overlaps: () => number } {
  const memory = memoryFiles();
  let overlaps = 0;
  const wrap = (file: MemoryFile): ReturnType<NonNullable<SftpBackend['open']>> => {
    let running = 0;
    const call = <T>(run: () => T): MaybePromise<T> => {
      if (running > 0) overlaps++;
      const mood = drawBelow(random, 4);
      if (mood < 2) return run();
      running++;
      return (async () => {
        if (mood === 3) await new Promise((resolve) => setTimeout(resolve, 0));
        running--;
        return run();
      })();
    };
    return {
      read: (offset, length) => call(() => file.read(offset, 1 + drawBelow(random, length))),
      write: (offset, pieces) => call(() => file.write(offset, pieces)),
      stat: () => call(() => file.stat()),
      setstat: (attrs) => call(() => file.setstat(attrs)),
      close: () => call(() => file.close()),
    };
  };
  return { backend: { open: (path, request) => wrap(memory.open(path, request)) }, overlaps: () => overlaps };
}

/** A file as the requests on its one handle see it. */
class Model {
  bytes = new Uint8Array(0);

  resize(size: number): void {
    const resized = new Uint8Array(size);
    resized.set(this.bytes.subarray(0, size));
    this.bytes = resized;
  }

  write(offset: number, data: Uint8Array): void {
    if (data.length === 0) return;
    if (offset + data.length > this.bytes.length) this.resize(offset + data.length);
    this.bytes.set(data, offset);
  }
}

describe('serveSftp, with any requests', () => {
  for (const chunking of chunkings) {
    for (const bound of [64, 8192]) {
      it(`each handle has its order, fed ${chunking} through a pipe of ${bound} bytes`, async () => {
        const random = seededRandom(`property ${chunking} ${bound}`);
        const { backend, overlaps } = moody(random);
        const limits = { pendingRequests: 1 + drawBelow(random, 64), pendingBytes: 1 + drawBelow(random, 20_000) };
        const raw = await RawSftp.connect(backend, { chunking, pipes: { bound }, limits });
        const handles: Uint8Array[] = [];
        const models: Model[] = [];
        for (let i = 0; i < FILES; i++) {
          handles.push(await raw.open(i, `/${i}`, OpenFlag.read | OpenFlag.write | OpenFlag.create));
          models.push(new Model());
        }
        const expected = new Map<number, { readonly file: number; readonly what: Uint8Array | number | 'ok' }>();
        const packets: Uint8Array[] = [];
        const cursors = handles.map(() => 0);
        for (let id = 100; id < 100 + REQUESTS; id++) {
          const file = drawBelow(random, FILES);
          const handle = handles[file] as Uint8Array;
          const model = models[file] as Model;
          // half of the requests go on where the last one ended, so that they can be joined
          const offset = drawBelow(random, 2) === 0 ? (cursors[file] as number) : drawBelow(random, SPAN);
          const length = drawBelow(random, 200);
          cursors[file] = (offset + length) % SPAN;
          const choice = drawBelow(random, 10);
          if (choice < 4) {
            const data = random(length);
            packets.push(ask.write(id, handle, offset, data));
            model.write(offset, data);
            expected.set(id, { file, what: 'ok' });
          } else if (choice < 8) {
            packets.push(ask.read(id, handle, offset, length));
            const there = model.bytes.slice(offset, offset + length);
            expected.set(id, { file, what: there.length > 0 || length === 0 ? there : Status.eof });
          } else if (choice === 8) {
            packets.push(ask.handle('fstat', id, handle));
            expected.set(id, { file, what: -model.bytes.length });
          } else {
            packets.push(ask.fsetstat(id, handle, { size: offset }));
            model.resize(offset);
            expected.set(id, { file, what: 'ok' });
          }
        }
        raw.send(...packets);
        await raw.until(() => raw.replies.length === FILES + REQUESTS, 'all replies');
        for (const reply of raw.replies.slice(FILES)) {
          const what = expected.get(reply.id)?.what;
          if (what === 'ok') assert.equal(reply.code, Status.ok, String(reply.id));
          else if (what === Status.eof) assert.equal(reply.code, Status.eof, String(reply.id));
          else if (typeof what === 'number') assert.equal(reply.attrs.size, -what, String(reply.id));
          else assert.ok(equalBytes(reply.data, what as Uint8Array), String(reply.id));
        }
        for (let file = 0; file < FILES; file++) {
          const order = raw.order.filter((id) => expected.get(id)?.file === file);
          assert.deepEqual(
            order,
            [...order].sort((a, b) => a - b),
            'answered in order',
          );
        }
        assert.equal(overlaps(), 0);
        assert.equal(await raw.end(), undefined);
      });
    }
  }
});
