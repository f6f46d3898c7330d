/** Two transfers that resume one file at the same time: one of them fails, and what appears under the name is whole. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import type { LocalFile, LocalFiles } from '../../src/io/local_files.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { TransferOptions } from '../../src/sftp/options.ts';
import type { SftpBackend } from '../../src/sftp/server/backend.ts';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { serveSftp } from '../../src/sftp/server/server.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned } from '../support/scripted_sftp.ts';
import { bent } from '../support/sftp_memory.ts';

const BYTES = patterned(4_000_000);
/** Beyond what a part may have holes in, so that there is something to go on from. */
const LATE = 2_700_000;
const EARLY = 300_000;
/** What stands before the gate is there then. */
const IN_ORDER = { requests: 1 };
const TORN = '/.f.4000000-1700000000.part';

/** Local files that stop at a byte until they are let go. */
interface Gate {
  readonly files: LocalFiles;
  readonly reached: Promise<void>;
  go(): void;
}

function gated(files: MemoryFiles, access: 'read' | 'write', at: number): Gate {
  let go = (): void => {};
  let reach = (): void => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const pass = async (end: number): Promise<void> => {
    if (end <= at) return;
    reach();
    await gate;
  };
  const open: LocalFiles['open'] = async (path, options): Promise<LocalFile> => {
    const file = await files.open(path, options);
    if (options.access !== access) return file;
    return {
      ...file,
      read: async (target, position) => {
        await pass(position + target.length);
        return file.read(target, position);
      },
      write: async (pieces, position) => {
        await pass(pieces.reduce((end, { length }) => end + length, position));
        await file.write(pieces, position);
      },
    };
  };
  const bound = new Proxy(files as LocalFiles, {
    get: (_, key) => {
      const value = Reflect.get(files, key);
      return key === 'open' ? open : typeof value === 'function' ? value.bind(files) : value;
    },
  });
  return { files: bound, reached, go };
}

/** One of the two directions: `moves` with the local files of one side; what is there after is the same for both. */
interface Direction {
  readonly name: string;
  readonly access: 'read' | 'write';
  /** Starts one transfer. */
  move(local: LocalFiles, options?: TransferOptions): Promise<unknown>;
  /** The files around the target, by name. */
  there(): Map<string, Uint8Array>;
  readonly local: MemoryFiles;
  readonly torn: string;
  readonly end: () => Promise<void>;
}

function download(): Direction {
  const server = memoryFiles({ files: { '/f': BYTES }, now: () => 1_600_000_000_000 });
  const local = new MemoryFiles();
  const { connect, end } = sessions(server);
  return {
    name: 'get',
    access: 'write',
    local,
    torn: '.f.4000000-1600000000.part',
    move: async (files, options) => (await connect(files)).get('/f', 'f', { resume: true, ...options }),
    there: () => new Map([...local.nodes].map(([name, { bytes }]) => [name, bytes])),
    end,
  };
}

function upload(): Direction {
  const server = memoryFiles();
  const local = new MemoryFiles().add('f', BYTES);
  const { connect, end } = sessions(server);
  return {
    name: 'put',
    access: 'read',
    local,
    torn: '.f.4000000-1700000000.part',
    move: async (files, options) => (await connect(files)).put('f', '/f', { resume: true, ...options }),
    there: () =>
      new Map([...server.list('/')].map(({ name }) => [String(name), server.get(`/${name}`) ?? new Uint8Array(0)])),
    end,
  };
}

function sessions(backend: SftpBackend): {
  connect: (localFiles: LocalFiles) => Promise<SftpClient>;
  end: () => Promise<void>;
} {
  const clients: SftpClient[] = [];
  const served: Promise<unknown>[] = [];
  const connect = async (localFiles: LocalFiles): Promise<SftpClient> => {
    const [own, theirs] = memoryPipes();
    served.push(serveSftp(theirs, { backend }).catch(() => undefined));
    const client = await SftpClient.open(own, { localFiles });
    clients.push(client);
    return client;
  };
  const end = async (): Promise<void> => {
    for (const client of clients) await client.close();
    await Promise.all(served);
  };
  return { connect, end };
}

/** Lets everything run until so much of the first transfer is there. */
async function written(direction: Direction, least: number): Promise<void> {
  while ((direction.there().get(direction.torn)?.length ?? 0) < least) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

function assertWhole(direction: Direction): void {
  const there = direction.there();
  assert.deepEqual([...there.keys()], ['f']);
  assert.ok(equalBytes(there.get('f') as Uint8Array, BYTES));
}

describe('two transfers that resume the same file at once', () => {
  for (const make of [download, upload]) {
    const { name } = make();

    for (const [when, at] of [
      ['has just begun', EARLY],
      ['has come far', LATE],
    ] as const) {
      it(`${name}: beside one that ${when}, the second is whole and the first is told`, async () => {
        const direction = make();
        const gate = gated(direction.local, direction.access, at);
        const first = direction.move(gate.files, IN_ORDER).catch((error: unknown) => error);
        await gate.reached;
        if (at === LATE) await written(direction, 2_170_000);
        await direction.move(direction.local);
        assertWhole(direction);
        gate.go();
        const error = await first;
        assert.ok(error instanceof SshError);
        assert.match(error.message, /another transfer has taken \S*\.f\.4000000-\d+\.part/);
        assertWhole(direction);
        await direction.end();
      });
    }

    it(`${name}: the first, aborted when the second is through, cuts nothing`, async () => {
      const direction = make();
      const gate = gated(direction.local, direction.access, LATE);
      const controller = new AbortController();
      const first = direction
        .move(gate.files, { ...IN_ORDER, signal: controller.signal })
        .catch((error: unknown) => error);
      await gate.reached;
      await written(direction, 2_170_000);
      await direction.move(direction.local);
      controller.abort();
      gate.go();
      assert.equal(((await first) as SshError).code, 'aborted');
      assertWhole(direction);
      await direction.end();
    });
  }
});

describe('get with resume', () => {
  const start = async (open: (files: MemoryFiles) => LocalFiles['open']): Promise<Direction> => {
    const direction = download();
    direction.local.add(direction.torn, BYTES.slice(0, LATE));
    direction.local.open = open(direction.local);
    return direction;
  };

  it('does not go on in a new file where the part went away meanwhile', async () => {
    const direction = await start((files) => {
      const { open } = files;
      return (path, options) => {
        if (options.access === 'write') files.nodes.delete(path);
        return open.call(files, path, options);
      };
    });
    await rejectsWith(direction.move(direction.local), 'bad-local-file');
    assert.deepEqual([...direction.there().keys()], []);
    await direction.end();
  });

  it('leaves another file alone that stands in place of the part by the end', async () => {
    const direction = await start((files) => {
      const { open } = files;
      return async (path, options) => {
        const file = await open.call(files, path, options);
        if (options.access === 'read') return file;
        const close = async (): Promise<void> => {
          await file.close();
          files.add(path, BYTES.slice(0, 1000));
        };
        return { ...file, close };
      };
    });
    const error = await rejectsWith(direction.move(direction.local), 'bad-local-file');
    assert.match(error.message, /another transfer has taken/);
    assert.deepEqual([...direction.there()], [[direction.torn, BYTES.slice(0, 1000)]]);
    await direction.end();
  });

  it('gives the name to no other file that comes in its place in the last moment', async () => {
    const direction = download();
    const { local, torn } = direction;
    const { rename } = local;
    local.rename = (from, to) => {
      if (from === torn) {
        local.nodes.delete(torn);
        local.add(torn, BYTES.slice(0, 1000));
        local.rename = rename;
      }
      return rename.call(local, from, to);
    };
    await rejectsWith(direction.move(local), 'bad-local-file');
    assert.deepEqual([...direction.there()], [[torn, BYTES.slice(0, 1000)]]);
    await direction.end();
  });
});

describe('put with resume', () => {
  it('leaves another file alone that stands in place of the part by the end', async () => {
    const server = memoryFiles();
    const backend = bent(server, {
      open: (path, request) => {
        const file = server.open(path, request);
        const close = async (): Promise<void> => {
          await file.close?.();
          server.put(TORN, BYTES.slice(0, 1000));
        };
        return new Proxy(file, {
          get: (_, key) => {
            const value = Reflect.get(file, key);
            return key === 'close' ? close : typeof value === 'function' ? value.bind(file) : value;
          },
        });
      },
    });
    const { connect, end } = sessions(backend);
    const client = await connect(new MemoryFiles().add('f', BYTES));
    const error = await rejectsWith(client.put('f', '/f', { resume: true }), 'target-exists');
    assert.match(error.message, /another transfer has taken/);
    assert.deepEqual(
      [...server.list('/')].map((entry) => entry.name),
      [TORN.slice(1)],
    );
    assert.equal(server.get(TORN)?.length, 1000);
    await end();
  });

  it('does not say that a part stays which went away as it was to get its name', async () => {
    const server = memoryFiles();
    const posixRename = (from: string): void => {
      server.remove(from);
      throw new Error('too late');
    };
    const { connect, end } = sessions(bent(server, { posixRename }));
    const client = await connect(new MemoryFiles().add('f', BYTES));
    const error = await rejectsWith(client.put('f', '/f', { resume: true }), 'sftp-status');
    assert.doesNotMatch(error.message, /stays as/);
    assert.deepEqual([...server.list('/')], []);
    await end();
  });
});
