/** A client that is there before its server has said VERSION: what waits, what leaves, and what becomes of it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { SshError } from '../../src/errors.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { SftpClientOptions } from '../../src/sftp/client_options.ts';
import { extensions } from '../../src/sftp/proto/extensions.ts';
import { encodePacket, packets } from '../../src/sftp/proto/packets.ts';
import { BASE_REQUEST } from '../../src/sftp/request_size.ts';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { serveSftp } from '../../src/sftp/server/server.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { rejectsWith } from '../support/rejects.ts';
import { roundsPipe } from '../support/rounds_pipe.ts';
import { patterned, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const BYTES = patterned(3000);

async function open(script: Script, options: SftpClientOptions = {}) {
  const server = new ScriptedSftp(script).add('/f', BYTES);
  const files = new MemoryFiles();
  const client = await SftpClient.open(server, { localFiles: files, early: true, ...options });
  return { server, files, client };
}

describe('SftpClient, early,', () => {
  it('is there before VERSION; what it is asked waits for that, in order', async () => {
    const { server, client } = await open({});
    const asked = [client.stat('/f'), client.lstat('/f'), client.readFile('/f')] as const;
    assert.deepEqual(server.log, ['INIT']);
    assert.equal(client.extensions.size, 0);
    await client.ready;
    assert.ok(client.extensions.size > 0);
    const [stat, , bytes] = await Promise.all(asked);
    assert.equal(stat.size, 3000);
    assert.ok(equalBytes(bytes, BYTES));
    assert.deepEqual(server.log.slice(0, 4), ['INIT', 'STAT /f', 'LSTAT /f', 'OPEN /f 1']);
    await client.close();
  });

  it('sends it right behind INIT where it is told so', async () => {
    const { server, files, client } = await open({}, { early: 'send' });
    const getting = client.get('/f', 'out');
    assert.deepEqual(server.log, ['INIT', 'OPEN /f 1', 'STAT /f']);
    await getting;
    assert.ok(equalBytes(files.content('out'), BYTES));
    await client.close();
  });

  it('asks for more at once when the limits are there, and writes more', async () => {
    const big = patterned(4 * 1024 * 1024);
    const small = big.length / BASE_REQUEST;
    for (const work of ['get', 'put'] as const) {
      const [own, theirs] = memoryPipes();
      const served = serveSftp(theirs, { backend: memoryFiles({ files: { '/big': big } }) });
      const files = new MemoryFiles().add('in', big);
      // answers come a round trip later, those about limits too
      const client = await SftpClient.open(roundsPipe(own), { localFiles: files, early: 'send' });
      const stats = await (work === 'get'
        ? client.get('/big', 'out', { requests: 32 })
        : client.put('in', '/out', { requests: 32, lanes: 1 }));
      if (work === 'get') assert.ok(equalBytes(files.content('out'), big));
      assert.ok(stats.requests < 0.7 * small, `${work}: ${stats.requests} of ${small}`);
      await client.close();
      await served.catch(() => undefined);
    }
  });

  it('puts with what VERSION told by then', async () => {
    for (const early of [true, 'send'] as const) {
      const { server, client } = await open({}, { early });
      await client.put(BYTES, '/f', { sync: true });
      assert.ok(server.log.includes('EXTENDED posix-rename@openssh.com'));
      await client.close();
    }
  });

  it('waits for VERSION before it says that something is not offered', async () => {
    const ask = (client: SftpClient): Promise<unknown>[] => [
      client.rename('/f', '/g', { overwrite: true }),
      client.posixRename('/g', '/f'),
      client.put(BYTES, '/h', { sync: true }),
    ];
    const { client } = await open({}, { early: 'send' });
    await Promise.all(ask(client));
    await client.close();
    const bare = (await open({ extensions: [] }, { early: 'send' })).client;
    const missing = [...ask(bare), bare.statvfs('/'), bare.hardlink('/f', '/g'), bare.ownerNames({ users: [0] })];
    const [renamed, ...others] = await Promise.allSettled(missing);
    assert.equal(renamed?.status, 'fulfilled', 'plainly, onto nothing');
    for (const each of others) {
      assert.ok(each.status === 'rejected' && each.reason.code === 'not-supported', String(each.status));
    }
    await bare.close();
    const all = await open({ extensions: [extensions.hardlink.request] }, { early: 'send' });
    assert.equal((await rejectsWith(all.client.hardlink('/f', '/g'), 'sftp-status')).operation, 'hardlink');
    await all.client.close();
  });

  const old = encodePacket(packets.version, { version: 2, extensions: new Uint8Array(0) });
  for (const [what, greeting, code] of [
    ['text', utf8('This account is closed.\n'), 'sftp-unavailable'],
    ['an old version', old, 'not-supported'],
  ] as const) {
    it(`rejects everything with what came in place of VERSION: ${what}`, async () => {
      for (const early of [true, 'send'] as const) {
        const { server, client } = await open({ greeting }, { early });
        const asked = [client.stat('/f'), client.get('/f', 'out'), client.statvfs('/'), client.ready];
        const errors = await Promise.all(asked.map((each) => rejectsWith(each, code)));
        assert.equal(new Set(errors.map((error) => error.cause ?? error)).size, 1);
        assert.equal(await rejectsWith(client.stat('/f'), code), client.cause);
        assert.equal(server.log.includes('STAT /f'), early === 'send');
      }
    });
  }

  it('says what the caller knows of a program that ends without a word', async () => {
    const server = new ScriptedSftp({ greeting: new Uint8Array(0) });
    let told = 'nothing';
    const explain = (cause: SshError): SshError =>
      new SshError(cause.code, `${cause.message}; it said ${told}`, { cause });
    const client = await SftpClient.open(server, { early: true }, { explain });
    const asked = client.stat('/f');
    server.hangUp();
    told = 'no'; // what comes behind, in the same go, still counts
    assert.match((await rejectsWith(asked, 'sftp-unavailable')).message, /before it said a word of SFTP; it said no$/);
    assert.match((await rejectsWith(client.ready, 'sftp-unavailable')).message, /it said no$/);
  });

  it('ends at once when the program turns out not to start', async () => {
    const refused = new SshError('request-failed', 'no such subsystem', { fault: 'peer' });
    const { server } = { server: new ScriptedSftp({ greeting: new Uint8Array(0) }) };
    const started = Promise.reject(refused);
    const explain = (cause: SshError): SshError => new SshError('sftp-unavailable', cause.message, { cause });
    const client = await SftpClient.open(server, { early: 'send' }, { explain, started });
    const asked = client.stat('/f');
    assert.equal((await rejectsWith(asked, 'sftp-unavailable')).cause, refused);
    assert.equal(
      (
        await rejectsWith(
          SftpClient.open(new ScriptedSftp({ greeting: new Uint8Array(0) }), {}, { explain, started }),
          'sftp-unavailable',
        )
      ).cause,
      refused,
    );
  });

  it('ends with its signal, or when nothing comes, until VERSION has come', async () => {
    const controller = new AbortController();
    const { client } = await open({ greeting: new Uint8Array(0) }, { signal: controller.signal });
    const asked = client.stat('/f');
    controller.abort();
    await rejectsWith(asked, 'aborted');
    await rejectsWith(client.ready, 'aborted');
    await rejectsWith(open({}, { signal: controller.signal }), 'aborted');
    const clock = new VirtualClock();
    const silent = await open({ greeting: new Uint8Array(0) }, { clock, stallTimeout: 1000 });
    const waiting = rejectsWith(silent.client.stat('/f'), 'timeout');
    await clock.pass(1000);
    await waiting;
    await rejectsWith(silent.client.ready, 'timeout');
    assert.equal(clock.timers, 0);
    const later = new AbortController();
    const lasting = await open({}, { signal: later.signal });
    await lasting.client.ready;
    later.abort();
    await lasting.client.stat('/f');
    await lasting.client.close();
  });

  it('is ready from the start where it waited', async () => {
    const client = await SftpClient.open(new ScriptedSftp());
    await client.ready;
    assert.ok(client.extensions.size > 0);
    await client.close();
  });
});
