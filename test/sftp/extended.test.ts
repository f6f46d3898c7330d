/** Extended requests against a server in memory: what is asked, what becomes of the answer, and of none. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { encodeFields } from '../../src/bytes/schema.ts';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { extensions } from '../../src/sftp/proto/extensions.ts';
import { decodePacket, encodePacket, encodePairs, packets } from '../../src/sftp/proto/packets.ts';
import { rejectsWith } from '../support/rejects.ts';
import { reply, ScriptedSftp } from '../support/scripted_sftp.ts';

interface Ask {
  readonly request: string;
  readonly body: string;
}

/** A client of a server that announces `offered` and answers every extended request with `answer`. */
async function offering(
  offered: Readonly<Record<string, string>>,
  answer: (id: number) => Uint8Array,
): Promise<{ readonly client: SftpClient; readonly asked: Ask[]; readonly server: ScriptedSftp }> {
  const asked: Ask[] = [];
  const pairs = encodePairs(Object.entries(offered).map(([name, value]) => ({ name, value })));
  const server = new ScriptedSftp({
    greeting: encodePacket(packets.version, { version: 3, extensions: pairs }),
    request: (name, id, packet) => {
      if (name === 'REALPATH' && decodePacket(packets.realpath, packet).path.length > 5) return 2;
      if (name === 'REALPATH')
        return [reply.names(id, [concat(utf8('/real/'), decodePacket(packets.realpath, packet).path)])];
      if (name !== 'EXTENDED') return 'honest';
      const { request, body } = decodePacket(packets.extended, packet);
      asked.push({ request, body: hex(body) });
      return [answer(id)];
    },
  });
  return { client: await SftpClient.open(server), asked, server };
}

const ok = (id: number): Uint8Array => reply.status(id, 0);
const answered =
  (body: Uint8Array) =>
  (id: number): Uint8Array =>
    encodePacket(packets.extendedReply, { id, body });

describe('SftpClient: extended requests', () => {
  it('hardlink, lsetstat: the fields in their order', async () => {
    const { client, asked } = await offering({ 'hardlink@openssh.com': '1', 'lsetstat@openssh.com': '1' }, ok);
    await client.hardlink('a', 'bc');
    await client.lsetstat('a', { permissions: 0o644 });
    assert.deepEqual(asked, [
      { request: 'hardlink@openssh.com', body: '0000000161000000026263' },
      { request: 'lsetstat@openssh.com', body: '000000016100000004000001a4' },
    ]);
    await client.close();
  });

  it('statvfs: figures as numbers, flags by name', async () => {
    const figures = {
      blockSize: 4096n,
      fragmentSize: 512n,
      blocks: 2n ** 40n,
      freeBlocks: 3n,
      availableBlocks: 2n,
      files: 10n,
      freeFiles: 9n,
      availableFiles: 8n,
      id: 7n,
      flags: 1n,
      maxName: 255n,
    };
    const body = encodeFields(extensions.statvfs.reply, figures);
    const offered = { 'statvfs@openssh.com': '2', 'fstatvfs@openssh.com': '2' };
    const { client, asked, server } = await offering(offered, answered(body));
    server.add('/f', new Uint8Array(1));
    const stats = await client.statvfs('/');
    const { blocks, readOnly, noSetuid, maxName, freeBlocks } = stats;
    assert.deepEqual([blocks, readOnly, noSetuid, maxName, freeBlocks], [2 ** 40, true, false, 255, 3]);
    assert.equal('flags' in stats, false);
    await using file = await client.open('/f');
    assert.deepEqual(await file.statvfs(), stats);
    assert.deepEqual(
      asked.map(({ request }) => request),
      ['statvfs@openssh.com', 'fstatvfs@openssh.com'],
    );
  });

  it('what is not offered, or in another version, is not-supported and never asked', async () => {
    const { client, asked, server } = await offering({ 'statvfs@openssh.com': '1' }, ok);
    server.add('/f', new Uint8Array(1));
    const file = await client.open('/f');
    for (const promise of [
      client.hardlink('a', 'b'),
      client.lsetstat('a', {}),
      client.statvfs('a'),
      client.ownerNames({ users: [0] }),
      client.homeDirectory('ada'),
      client.expandPath('~ada/x'),
      client.posixRename('a', 'b'),
      file.statvfs(),
      file.sync(),
    ]) {
      const error = await rejectsWith(promise, 'not-supported');
      assert.equal(error.fault, 'peer');
      assert.match(error.message, /the server does not offer /);
    }
    assert.deepEqual(asked, []);
    await client.close();
  });

  it('expandPath and homeDirectory go by REALPATH where they are not offered', async () => {
    const { client, asked } = await offering({}, ok);
    assert.equal(await client.expandPath('~'), '/real/.');
    assert.equal(await client.expandPath('~/x'), '/real/./x');
    assert.equal(await client.expandPath('x~'), '/real/x~');
    assert.equal(await client.expandPath('~/missing'), '/real/./missing');
    assert.equal(await client.homeDirectory(), '/real/.');
    assert.deepEqual(asked, []);
    await client.close();
  });

  it('expandPath, homeDirectory: one name, bytes where it is not UTF-8', async () => {
    const offered = { 'expand-path@openssh.com': '1', 'home-directory': '1' };
    const { client, asked } = await offering(offered, (id) => reply.names(id, [Uint8Array.of(0x2f, 0xff)]));
    assert.deepEqual(await client.expandPath('~ada'), Uint8Array.of(0x2f, 0xff));
    assert.deepEqual(await client.homeDirectory('ada'), Uint8Array.of(0x2f, 0xff));
    await client.homeDirectory();
    assert.deepEqual(asked, [
      { request: 'expand-path@openssh.com', body: '000000047e616461' },
      { request: 'home-directory', body: '00000003616461' },
      // Servers with home-directory take no empty name, or none at all.
      { request: 'expand-path@openssh.com', body: '000000017e' },
    ]);
    await client.close();
  });

  it('ownerNames: a name for each id, and a server that gives another number breaks the protocol', async () => {
    const names = (list: readonly string[]): Uint8Array =>
      concat(...list.map((name) => new Writer().string(name).finish()));
    const body = encodeFields(extensions.ownerNames.reply, { users: names(['root', '']), groups: names(['wheel']) });
    const { client, asked } = await offering({ 'users-groups-by-id@openssh.com': '1' }, answered(body));
    assert.deepEqual(await client.ownerNames({ users: [0, 0xffffffff], groups: [1] }), {
      users: ['root', ''],
      groups: ['wheel'],
    });
    assert.equal(asked[0]?.body, '0000000800000000ffffffff0000000400000001');
    await rejectsWith(client.ownerNames({ users: [2 ** 32] }), 'bad-argument');
    await rejectsWith(client.ownerNames({ users: [-1] }), 'bad-argument');
    await rejectsWith(client.ownerNames({ users: [0] }), 'protocol');
    await client.close();
  });
});

describe('SftpClient.exists', () => {
  it('is true, false for either word of missing, and an error where the server does not tell', async () => {
    const answers: Record<string, number> = { no: 2, nopath: 10, denied: 3 };
    const server = new ScriptedSftp({
      request: (name, _id, packet) => {
        if (name !== 'LSTAT') return 'honest';
        return answers[new TextDecoder().decode(decodePacket(packets.lstat, packet).path)] ?? 'honest';
      },
    });
    server.add('yes', new Uint8Array(0));
    const client = await SftpClient.open(server);
    assert.equal(await client.exists('yes'), true);
    assert.equal(await client.exists('no'), false);
    assert.equal(await client.exists('nopath'), false);
    await rejectsWith(client.exists('denied'), 'sftp-status');
    await client.close();
  });
});
