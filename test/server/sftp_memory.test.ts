/**
 * A backend that reads into the memory that it is offered, which is used again and again: whatever the windows, however slowly
 * the client takes it, and with keys exchanged meanwhile, no byte is overwritten before it has left.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  connectOver,
  createServer,
  generateKey,
  insecureAcceptAny,
  memoryPipes,
  password,
  passwords,
  type SftpBackend,
} from '../../src/index.ts';

const SIZE = 3 * 1024 * 1024 + 4321;

/** The byte at an offset; neighbours of all distances differ sooner or later. */
function byteAt(offset: number): number {
  return (offset ^ (offset >>> 8) ^ (offset >>> 16)) & 0xff;
}

function fill(target: Uint8Array, offset: number): Uint8Array {
  for (let i = 0; i < target.length; i++) target[i] = byteAt(offset + i);
  return target;
}

for (const window of [64 * 1024, 2 * 1024 * 1024]) {
  for (const clamp of [Number.POSITIVE_INFINITY, 50_000]) {
    it(`a window of ${window} bytes, at most ${clamp} bytes a call`, { timeout: 60_000 }, async () => {
      const used = new Set<ArrayBufferLike>();
      let calls = 0;
      const backend: SftpBackend = {
        stat: () => ({ size: SIZE, permissions: 0o100644 }),
        open: () => ({
          async read(offset, length, memory) {
            await Promise.resolve();
            const count = Math.max(0, Math.min(length, clamp, SIZE - offset));
            calls++;
            const target = memory ?? new Uint8Array(length);
            if (memory !== undefined) used.add(memory.buffer);
            assert.equal(target.length, length);
            return fill(target.subarray(0, count), offset);
          },
          close() {},
        }),
      };
      const server = await createServer({
        crypto: 'pure',
        hostKeys: [generateKey()],
        auth: { password: passwords({ ada: 'x' }) },
        sftp: backend,
        rekey: { bytes: 700_000 },
      });
      const [left, right] = memoryPipes({ bound: 64 * 1024 });
      server.serve(right);
      await using ssh = await connectOver(left, {
        host: 'memory',
        username: 'ada',
        auth: [password('x')],
        hostKey: insecureAcceptAny(),
        window,
      });
      await using sftp = await ssh.sftp();
      let at = 0;
      for await (const chunk of sftp.chunks('/file')) {
        for (const byte of chunk) if (byte !== byteAt(at++)) assert.fail(`byte ${at - 1} is not what was read`);
        if (at % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      assert.equal(at, SIZE);
      assert.ok(used.size > 0 && used.size < calls / 1.5, `${calls} calls used ${used.size} pieces of memory`);
      await server.close();
    });
  }
}
