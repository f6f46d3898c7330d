/** Sessions and single requests against a server in memory. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { SshError } from '../../src/errors.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { joinPath } from '../../src/sftp/path.ts';
import { encodePacket, packets } from '../../src/sftp/proto/packets.ts';
import { chunkings } from '../support/feed.ts';
import { patterned, reply, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const failed = (promise: Promise<unknown>): Promise<SshError> =>
  promise.then(
    () => assert.fail('it resolved'),
    (error: SshError) => error,
  );

/** A client whose server answers the requests of `name` with `packets`. */
async function answering(
  name: string,
  replies: (id: number) => readonly Uint8Array[],
  script: Script = {},
): Promise<{ readonly client: SftpClient; readonly server: ScriptedSftp }> {
  const server = new ScriptedSftp({ ...script, request: (what, id) => (what === name ? replies(id) : 'honest') });
  return { client: await SftpClient.open(server), server };
}

describe('SftpClient.open', () => {
  for (const chunking of chunkings) {
    it(`quotes what a login shell printed: ${chunking} (T39)`, async () => {
      const error = await failed(SftpClient.open(new ScriptedSftp({ chunking, greeting: utf8('abc\n') })));
      assert.equal(error.code, 'sftp-unavailable');
      assert.match(error.message, /"abc\\x0a".*start-up file/);
    });
  }

  it('rejects at once when the channel ends before VERSION, with what was there', async () => {
    for (const [said, message] of [
      ['', /before it said a word/],
      ['no', /"no"/],
    ] as const) {
      const server = new ScriptedSftp({ greeting: utf8(said) });
      const opening = SftpClient.open(server);
      setTimeout(() => server.hangUp(), 5);
      const error = await failed(opening);
      assert.equal(error.code, 'sftp-unavailable');
      assert.match(error.message, message);
    }
  });

  it('rejects with what ended the pipe', async () => {
    const cause = new SshError('connection-lost', 'reset', { fault: 'network' });
    const server = new ScriptedSftp({ greeting: new Uint8Array(0) });
    const opening = SftpClient.open(server);
    server.cut(cause);
    assert.equal(await failed(opening), cause);
  });

  it('gives up when nothing comes, or the signal fires', async () => {
    const clock = new VirtualClock();
    const silent = SftpClient.open(new ScriptedSftp({ greeting: new Uint8Array(0) }), { clock, stallTimeout: 1000 });
    const timed = failed(silent);
    await clock.pass(1000);
    assert.match((await timed).message, /init: no answer for 1 s to SSH_FXP_INIT/);
    const controller = new AbortController();
    const aborted = SftpClient.open(new ScriptedSftp({ greeting: new Uint8Array(0) }), { signal: controller.signal });
    controller.abort();
    assert.equal((await failed(aborted)).code, 'aborted');
    assert.equal((await failed(SftpClient.open(new ScriptedSftp(), { signal: controller.signal }))).code, 'aborted');
    assert.equal(clock.timers, 0);
  });

  it('takes a server that refuses limits@openssh.com', async () => {
    const { client } = await answering('EXTENDED', (id) => [reply.status(id, 8)], { limits: [1, 1, 1, 1] });
    await client.stat('/').catch(() => undefined);
    assert.deepEqual(client.limits, {});
    await client.close();
  });

  it('leaves limits of 0 unstated', async () => {
    const client = await SftpClient.open(new ScriptedSftp({ limits: [262144, 0, 100, 0] }));
    await client.stat('/').catch(() => undefined);
    assert.deepEqual(client.limits, { maxPacketLength: 262144, maxWriteLength: 100 });
    await client.close();
  });
});

describe('SftpClient and the handles of a server', () => {
  /** A server that gives these handles in turn. */
  async function giving(...given: string[]): Promise<SftpClient> {
    const handles = given.values();
    const server = new ScriptedSftp({
      request: (name, id) => {
        if (name === 'OPEN' || name === 'OPENDIR') return [reply.handle(id, utf8(handles.next().value ?? ''))];
        return name === 'READDIR' ? 1 : name === 'CLOSE' ? 0 : 'honest';
      },
    });
    return SftpClient.open(server);
  }

  it('one that it gives for two files ends the session before their content is mixed', async () => {
    const client = await giving('0', '1', '1');
    await client.open('/a');
    await client.open('/b');
    const error = await failed(client.open('/c'));
    assert.equal(error.code, 'protocol');
    assert.match(error.message, /one handle for two files: \/b and \/c/);
    assert.equal(client.cause, error);
    const mixed = await giving('0', '0');
    await mixed.open('/a');
    assert.equal((await failed(mixed.list('/d').next())).code, 'protocol');
  });

  it('one that was closed may come again, and one that is its path, too', async () => {
    const client = await giving('0', '0', '/p', '/p', '0');
    await (await client.open('/a')).close();
    const file = await client.open('/b');
    await client.open('/p');
    await client.open('/p');
    await file.close();
    for await (const _ of client.list('/d'));
    assert.equal(client.cause, undefined);
    await client.close();
  });

  it('no more are asked for than it is known to bear: who wants another waits, or is told', async () => {
    const clock = new VirtualClock();
    let handles = 0;
    const server = new ScriptedSftp({
      request: (name, id) =>
        name === 'OPEN' ? [reply.handle(id, utf8(`${handles++}`))] : name === 'CLOSE' ? 0 : 'honest',
    });
    const opens = (): number => server.log.filter((line) => line === 'OPEN').length;
    const client = await SftpClient.open(server, { limits: { maxOpenHandles: 2 }, clock, stallTimeout: 1000 });
    const first = await client.open('/1');
    const second = await client.open('/2');
    const controller = new AbortController();
    const aborted = failed(client.open('/3', 'r', { signal: controller.signal }));
    const third = client.open('/4');
    const late = failed(client.open('/5'));
    controller.abort();
    assert.equal((await aborted).code, 'aborted');
    assert.equal((await failed(client.open('/6', 'r', { signal: controller.signal }))).code, 'aborted');
    assert.equal(opens(), 2);
    await first.close();
    await third;
    assert.equal(opens(), 3);
    await clock.pass(1000);
    assert.equal((await late).code, 'limit');
    const lost = failed(client.open('/7'));
    await client.close();
    assert.equal((await lost).code, 'connection-closed');
    assert.equal(opens(), 3);
    assert.equal(second.path, '/2');
    assert.equal(clock.timers, 0);
  });

  it('how many it bears may be known better than it says', async () => {
    const client = await SftpClient.open(new ScriptedSftp({ limits: [1000, 2000, 3000, 4000] }), {
      limits: { maxOpenHandles: 2 },
    });
    assert.deepEqual(client.limits, { maxOpenHandles: 2 });
    await client.stat('/').catch(() => undefined);
    assert.deepEqual(client.limits, {
      maxPacketLength: 1000,
      maxReadLength: 2000,
      maxWriteLength: 3000,
      maxOpenHandles: 2,
    });
    await client.close();
  });
});

describe('SftpClient.stats', () => {
  it('tells what is under way', async () => {
    const server = new ScriptedSftp({ read: () => 'silence' });
    server.add('/f', patterned(100_000));
    const client = await SftpClient.open(server);
    const idle = { requestsInFlight: 0, bytesAsked: 0, bytesHeld: 0, openHandles: 0 };
    assert.deepEqual(client.stats, idle);
    const controller = new AbortController();
    const file = await client.open('/f');
    const reading = failed(file.read(0, 1000, { signal: controller.signal }));
    assert.deepEqual(client.stats, { ...idle, requestsInFlight: 1, bytesAsked: 1013, openHandles: 1 });
    controller.abort();
    await reading;
    await file.close();
    assert.equal(client.stats.openHandles, 0);
    await client.close();
  });
});

describe('SftpClient requests', () => {
  const statuses: [string, string, string][] = [
    ['code only', '', 'stat /x: failure'],
    ['a message and no language', '000000024e6f', 'stat /x: failure (the server says: No)'],
    ['a language longer than the packet', '000000024e6f000000ff', 'stat /x: failure'],
  ];
  for (const chunking of chunkings) {
    for (const [name, text, message] of statuses) {
      it(`takes a STATUS of ${name}: ${chunking} (T40)`, async () => {
        const status = (id: number): Uint8Array => encodePacket(packets.status, { id, code: 4, text: fromHex(text) });
        const { client } = await answering('STAT', (id) => [status(id)], { chunking });
        const error = await failed(client.stat('/x'));
        assert.equal(error.message, message);
        assert.equal(error.status, 4);
        await client.close();
      });
    }

    it(`reads times unsigned: ${chunking} (T46)`, async () => {
      const attrs = (id: number): Uint8Array =>
        encodePacket(packets.attrs, { id, attrs: fromHex('00000008ffffffff96000000') });
      const { client } = await answering('STAT', (id) => [attrs(id)], { chunking });
      const { atime, mtime } = await client.stat('/x');
      assert.equal(new Date((atime as number) * 1000).toISOString(), '2106-02-07T06:28:15.000Z');
      assert.equal(new Date((mtime as number) * 1000).toISOString(), '2049-09-30T02:40:00.000Z');
      await client.close();
    });
  }

  it('setstat refuses times out of range, or sets the nearest, and never wraps (T46)', async () => {
    const server = new ScriptedSftp();
    const client = await SftpClient.open(server);
    for (const mtime of [-1, 7258118400]) {
      assert.equal((await failed(client.setstat('/x', { atime: 0, mtime }))).code, 'bad-argument');
      await client.setstat('/x', { atime: 0, mtime }, { times: 'clamp' });
    }
    assert.deepEqual(server.log.slice(1), [
      'SETSTAT /x {"atime":0,"mtime":0}',
      'SETSTAT /x {"atime":0,"mtime":4294967295}',
    ]);
    await client.close();
  });

  it('setstat sends only what is given', async () => {
    const server = new ScriptedSftp();
    const client = await SftpClient.open(server);
    await client.setstat('/x', { permissions: 0o644 });
    assert.deepEqual(server.log.slice(1), ['SETSTAT /x {"permissions":420}']);
    await client.close();
  });

  it('symlink: either order', async () => {
    const seen: string[] = [];
    const script: Script = {
      request: (name, _, packet) => {
        if (name !== 'SYMLINK') return 'honest';
        seen.push(hex(packet.subarray(5)));
        return 0;
      },
    };
    for (const symlinkOrder of [undefined, 'openssh', 'draft'] as const) {
      const client = await SftpClient.open(new ScriptedSftp(script), { symlinkOrder });
      await client.symlink('t', 'p');
      await client.close();
    }
    const openssh = '00000001740000000170';
    assert.deepEqual(seen, [openssh, openssh, '00000001700000000174']);
  });

  it('rename that fails names both paths', async () => {
    for (const [extensions, overwrite] of [
      [[], false],
      [['posix-rename@openssh.com'], true],
    ] as const) {
      const server = new ScriptedSftp({ extensions: [...extensions] });
      const client = await SftpClient.open(server);
      const error = await failed(client.rename('/none', '/b', { overwrite }));
      assert.match(error.message, /^(?:posix-)?rename \/none to \/b: no such file/);
      assert.deepEqual([error.code, error.status, error.path], ['sftp-status', 2, '/b']);
      server.add('/a', new Uint8Array(1));
      server.add('/b', new Uint8Array(1));
      if (overwrite) continue;
      const exists = await failed(client.rename('/a', '/b'));
      assert.match(exists.message, /^rename \/a to \/b: the target exists; overwrite: true/);
    }
  });

  it('rename without overwrite, with it, and where it cannot be had (T42)', async () => {
    for (const [offered, overwrite, line] of [
      [true, true, 'EXTENDED posix-rename@openssh.com'],
      [true, false, 'RENAME /a /b'],
      [false, true, 'RENAME /a /b'],
      [false, false, 'RENAME /a /b'],
    ] as const) {
      const server = new ScriptedSftp(offered ? {} : { extensions: [] });
      server.add('/a', new Uint8Array(1)).add('/b', new Uint8Array(2));
      const client = await SftpClient.open(server);
      const renamed = client.rename('/a', '/b', { overwrite });
      if (offered && overwrite) await renamed;
      else assert.equal((await failed(renamed)).code, 'target-exists');
      assert.equal(server.log[1], line);
      assert.ok(!server.log.some((each) => each.startsWith('REMOVE')));
      assert.equal(server.files.get('/b')?.bytes.length, offered && overwrite ? 1 : 2);
      await client.close();
    }
  });

  it('realpath wants exactly one name, and keeps bytes that are no text', async () => {
    const { client } = await answering('REALPATH', (id) => [reply.names(id, [new Uint8Array([0x2f, 0xff])])]);
    assert.deepEqual(await client.realpath('.'), new Uint8Array([0x2f, 0xff]));
    await client.close();
    for (const names of [[], ['a', 'b']]) {
      const broken = await answering('REALPATH', (id) => [reply.names(id, names)]);
      assert.equal((await failed(broken.client.realpath('.'))).code, 'protocol');
      assert.equal(broken.client.cause?.code, 'protocol');
    }
  });

  it('a reply that does not decode ends the session, and the request with it', async () => {
    const { client } = await answering('STAT', (id) => [
      encodePacket(packets.attrs, { id, attrs: fromHex('0000000f') }),
    ]);
    const error = await failed(client.stat('/x'));
    assert.equal(error.code, 'decode');
    assert.equal(client.cause, error);
  });

  it('an abort rejects at once; a handle that comes later is closed', async () => {
    const server = new ScriptedSftp().add('/f', new Uint8Array(1));
    const client = await SftpClient.open(server);
    const controller = new AbortController();
    const opening = client.open('/f', 'r', { signal: controller.signal });
    const listing = client.stat('/f', { signal: controller.signal });
    controller.abort(new Error('enough'));
    for (const error of [await failed(opening), await failed(listing)]) {
      assert.equal(error.code, 'aborted');
      assert.match(error.message, /\/f was aborted/);
    }
    await client.stat('/f');
    await client.stat('/f');
    assert.equal(server.openHandles.size, 0);
    await client.close();
  });

  it('a request that gets no answer ends with timeout, its late reply is of no consequence', async () => {
    const clock = new VirtualClock();
    let ask = 0;
    const script: Script = {
      request: (name, id) => {
        if (name !== 'STAT') return 'honest';
        ask = id;
        return 'silence';
      },
    };
    const server = new ScriptedSftp(script).add('/f', new Uint8Array(1));
    const client = await SftpClient.open(server, { clock });
    const waiting = failed(client.stat('/f', { stallTimeout: 3000 }));
    const patient = client.stat('/f', { stallTimeout: 0 });
    await clock.pass(3000);
    assert.match((await waiting).message, /stat \/f: no answer for 3 s to SSH_FXP_STAT/);
    server.say(reply.attrs(ask - 1, {}));
    server.say(reply.attrs(ask, { size: 9 }));
    assert.equal((await patient).size, 9);
    assert.equal((await client.lstat('/f')).size, 1);
    await client.close();
    assert.equal(clock.timers, 0);
  });
});

describe('SftpClient.list', () => {
  /** READDIR answered with these, in turn; then EOF. */
  async function listing(
    batches: readonly (readonly (string | Uint8Array)[] | number)[],
    script: Script = {},
  ): Promise<{ readonly client: SftpClient; readonly server: ScriptedSftp }> {
    let next = 0;
    const server = new ScriptedSftp({
      ...script,
      request: (name, id) => {
        if (name === 'OPENDIR') {
          server.openHandles.set('d', '/');
          return [reply.handle(id, utf8('d'))];
        }
        if (name !== 'READDIR') return 'honest';
        const batch = batches[next++] ?? 1;
        return typeof batch === 'number' ? batch : [reply.names(id, batch)];
      },
    });
    return { client: await SftpClient.open(server), server };
  }

  const odd = new Uint8Array([0x66, 0xff]);

  for (const chunking of chunkings) {
    it(`yields every entry of several answers, raw bytes too: ${chunking} (T43)`, async () => {
      const { client, server } = await listing([['.', '..', 'a'], [], ['b', odd]], { chunking });
      const entries = [];
      for await (const entry of client.list('/d')) entries.push([entry.name, hex(entry.nameBytes)]);
      assert.deepEqual(entries, [
        ['a', '61'],
        ['b', '62'],
        ['f\ufffd', '66ff'],
      ]);
      const read = await answering('STAT', (id) => [reply.attrs(id, { size: 3 })]);
      const path = joinPath('/d', odd);
      assert.equal(hex(path as Uint8Array), '2f642f66ff');
      assert.equal((await read.client.stat(path)).size, 3);
      await client.stat('/').catch(() => undefined);
      assert.equal(server.openHandles.size, 0);
      await client.close();
      await read.client.close();
    });
  }

  /** Most READDIRs that wait beside the one whose answer is looked at, of a server that answers only what has piled up. */
  async function mostAhead(batches: readonly (readonly string[])[]): Promise<number> {
    const { client, server } = await listing(batches, { gather: 64 });
    let most = 0;
    let answered = 0;
    for await (const _ of client.list('/d')) {
      answered += 1;
      most = Math.max(most, server.log.filter((line) => line === 'READDIR').length - answered);
    }
    assert.equal(answered, batches.length);
    await client.close();
    return most;
  }

  it('asks for the names and the end at once, and further ahead with every answer', async () => {
    const batches = Array.from({ length: 300 }, (_, i) => [`${i}`]);
    const server = await listing([['a']]);
    for await (const _ of server.client.list('/d'));
    assert.deepEqual(
      server.server.log.filter((line) => line === 'READDIR'),
      ['READDIR', 'READDIR'],
    );
    await server.client.close();
    assert.equal(await mostAhead(batches), 63);
  });

  it('asks less far ahead where answers are long', async () => {
    // A name counts twice: once more in its line for people. 127 KiB an answer are 8 in 1 MiB.
    assert.equal(await mostAhead(Array.from({ length: 100 }, () => ['x'.repeat(65_000)])), 7);
  });

  it('yields what came before an error, then throws it', async () => {
    const { client, server } = await listing([['a'], 4]);
    const names: string[] = [];
    const error = await failed(
      (async () => {
        for await (const { name } of client.list('/d')) names.push(name);
      })(),
    );
    assert.deepEqual(names, ['a']);
    assert.equal(error.operation, 'readdir');
    await client.stat('/').catch(() => undefined);
    assert.equal(server.openHandles.size, 0);
    await client.close();
  });

  it('throws when the server sends nothing but empty answers', async () => {
    const { client } = await listing(new Array(100).fill([]));
    assert.equal((await failed(client.list('/d').next())).code, 'protocol');
    await client.close();
  });
});

describe('the end of a session', () => {
  it('close rejects what is pending with connection-closed, and is harmless twice', async () => {
    const server = new ScriptedSftp({ request: (name) => (name === 'STAT' ? 'silence' : 'honest') });
    const client = await SftpClient.open(server);
    const pending = failed(client.stat('/'));
    await client.close();
    assert.equal((await pending).code, 'connection-closed');
    assert.equal(client.cause, await pending);
    assert.equal(await failed(client.stat('/')), client.cause);
    await client.close();
  });

  /** A server that leaves after `length` bytes of its reply to the first request of `name`; LSTAT it never answers. */
  function leaving(name: string, whole: (id: number) => Uint8Array, length: number): ScriptedSftp {
    let left = false;
    const server: ScriptedSftp = new ScriptedSftp({
      request: (what, id) => {
        if (what === 'LSTAT') return 'silence';
        if (what !== name) return 'honest';
        left = true;
        return [whole(id).subarray(0, length)];
      },
      order: () => {
        if (left) queueMicrotask(() => server.hangUp()); // behind the bytes
        return 0;
      },
    });
    return server;
  }

  it('the server leaving is channel-closed, at whatever byte of a reply', async () => {
    const file = patterned(40);
    const attrs = (id: number): Uint8Array => reply.attrs(id, { size: 40, permissions: 0o100644 });
    const data = (id: number): Uint8Array => reply.data(id, file);
    for (let length = 0; length < attrs(0).length; length++) {
      const client = await SftpClient.open(leaving('STAT', attrs, length).add('/f', file));
      const [lstat, stat] = await Promise.all([failed(client.lstat('/f')), failed(client.stat('/f'))]);
      assert.equal(stat.code, 'channel-closed', `${length} bytes of ATTRS: ${stat}`);
      assert.deepEqual([stat === client.cause, lstat === client.cause], [true, true]);
      await client.close();
    }
    for (let length = 0; length < data(0).length; length++) {
      const client = await SftpClient.open(leaving('READ', data, length).add('/f', file));
      const [lstat, read] = await Promise.all([failed(client.lstat('/f')), failed(client.readFile('/f'))]);
      assert.equal(read.code, 'channel-closed', `${length} bytes of DATA: ${read}`);
      assert.deepEqual([read.cause === client.cause, lstat === client.cause], [true, true]);
      assert.equal(read.transferred, Math.max(0, length - 13), 'what came of the file');
      await client.close();
    }
  });

  /** What a session does at once in the next test. */
  const work = (client: SftpClient): Promise<unknown>[] => [
    client.stat('/f'),
    client.readFile('/f'),
    client.put(patterned(200_000), '/up'),
    client.rename('/none', '/other'),
    new Response(client.readable('/f')).arrayBuffer(),
    (async () => {
      for await (const _ of client.list('/')) void _;
    })(),
    (async () => {
      const writer = client.writable('/w').getWriter();
      for (let i = 0; i < 20; i++) await writer.write(new Uint8Array(20_000));
      await writer.close();
    })(),
  ];

  it('cut after any reply, everything pending rejects with one cause', { timeout: 60_000 }, async () => {
    const cause = new SshError('connection-lost', 'reset by the test', { fault: 'network' });
    for (let count = 0; count < 60; count++) {
      let left = count;
      const server: ScriptedSftp = new ScriptedSftp({
        order: () => {
          if (left-- === 0) queueMicrotask(() => server.cut(cause));
          return 0;
        },
      }).add('/f', patterned(300_000));
      const client = await SftpClient.open(server).catch((error: SshError) => error);
      if (client instanceof SshError) {
        assert.equal(client, cause);
        continue;
      }
      const results = await Promise.allSettled(work(client));
      if (left >= 0) break;
      for (const result of results) {
        if (result.status === 'fulfilled' || result.reason.code === 'sftp-status') continue;
        assert.ok(result.reason === cause || result.reason.cause === cause, `${count}: ${result.reason}`);
        assert.equal(result.reason.code, 'connection-lost');
      }
      assert.equal(client.cause, cause);
      assert.equal(await failed(client.stat('/f')), cause);
    }
  });

  it('text after VERSION is a broken protocol, not a huge allocation', async () => {
    const server = new ScriptedSftp({ request: (name) => (name === 'STAT' ? [utf8('motd')] : 'honest') });
    const client = await SftpClient.open(server);
    assert.equal((await failed(client.stat('/'))).code, 'protocol');
    await client.close();
  });
});
