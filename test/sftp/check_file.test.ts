/** Digests of files, taken by servers in memory: what is asked, what becomes of the answer, and who is not asked. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import type { CheckFileOptions } from '../../src/sftp/check_file.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { SftpClientOptions } from '../../src/sftp/client_options.ts';
import { decodePacket, encodePacket, encodePairs, packets } from '../../src/sftp/proto/packets.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ScriptedSftp } from '../support/scripted_sftp.ts';

interface Session {
  readonly client: SftpClient;
  readonly server: ScriptedSftp;
  /** Names and bodies of the extended requests. */
  readonly asked: string[];
}

/** A client of a server that announces `offered` and answers every extended request with `body`, or a status. */
async function offering(
  offered: Readonly<Record<string, string>>,
  body: Uint8Array | number,
  options: SftpClientOptions = {},
): Promise<Session> {
  const asked: string[] = [];
  const pairs = encodePairs(Object.entries(offered).map(([name, value]) => ({ name, value })));
  const server = new ScriptedSftp({
    greeting: encodePacket(packets.version, { version: 3, extensions: pairs }),
    request: (name, id, packet) => {
      if (name !== 'EXTENDED') return 'honest';
      const extended = decodePacket(packets.extended, packet);
      asked.push(`${extended.request} ${hex(extended.body)}`);
      return typeof body === 'number' ? body : [encodePacket(packets.extendedReply, { id, body })];
    },
  });
  server.add('/f', new Uint8Array(10));
  return { client: await SftpClient.open(server, options), server, asked };
}

const DRAFT = { 'check-file-handle': '1', 'check-file-name': '1' };
const PARAMIKO = { 'check-file': 'md5,sha1' };
const md5 = fromHex('000102030405060708090a0b0c0d0e0f');
const other = fromHex('f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
const named = (name: string): Uint8Array => new Writer().string(name).finish();
const digests = (algorithm: string, ...all: Uint8Array[]): Uint8Array => concat(named(algorithm), ...all);

describe('SftpClient.checkFile', () => {
  it('asks by path, and by handle, and takes the answer of either draft', async () => {
    for (const body of [digests('md5', md5), concat(named('check-file'), digests('md5', md5))]) {
      const { client, asked } = await offering(DRAFT, body);
      assert.deepEqual(await client.checkFile('/f'), { algorithm: 'md5', digests: [md5] });
      const file = await client.open('/f');
      await file.checkFile({ algorithms: ['md5'], length: 2 });
      const all = hex(utf8('sha256,sha512,sha384,sha224,sha1,md5'));
      assert.deepEqual(asked, [
        `check-file-name 000000022f66${'00000024'}${all}${'00'.repeat(20)}`,
        `check-file-handle 000000026830${'000000036d6435'}${'0000000000000000'}${'0000000000000002'}00000000`,
      ]);
      await client.close();
    }
  });

  it('asks nobody that does not announce it: some servers end the session over that', async () => {
    const { client, asked, server } = await offering({ 'posix-rename@openssh.com': '1' }, digests('md5', md5));
    await using file = await client.open('/f');
    assert.equal((await rejectsWith(file.checkFile(), 'not-supported')).operation, 'check-file');
    await rejectsWith(client.checkFile('/f'), 'not-supported');
    assert.deepEqual([asked, server.openHandles.size], [[], 1]);
  });

  it('goes by what the caller knows of the server better than the server says', async () => {
    const wrong = await offering(DRAFT, digests('md5', md5), {
      extensions: { 'check-file-handle': undefined, 'check-file-name': undefined },
    });
    await rejectsWith(wrong.client.checkFile('/f'), 'not-supported');
    assert.deepEqual([...wrong.client.extensions.keys()], []);
    await wrong.client.close();
    const silent = await offering({}, digests('md5', md5), { extensions: DRAFT });
    assert.equal((await silent.client.checkFile('/f')).algorithm, 'md5');
    await silent.client.close();
  });

  it('asks for a block where a part in the midst is wanted: ProFTPD would end too late otherwise', async () => {
    const { client, asked } = await offering(DRAFT, digests('md5', md5, other));
    const options: CheckFileOptions = { algorithms: ['md5'], start: 256, length: 512 };
    assert.deepEqual((await client.checkFile('/f', options)).digests, [md5]);
    assert.match(asked[0] ?? '', /0{13}100 ?0{13}200 ?00000200$/);
    assert.deepEqual((await client.checkFile('/f', { ...options, blockSize: 256 })).digests, [md5, other]);
    assert.deepEqual((await client.checkFile('/f', { ...options, length: 256, blockSize: 256 })).digests, [md5]);
    // The last block is not a whole one: which bytes it has in it nobody knows.
    await rejectsWith(client.checkFile('/f', { ...options, length: 300, blockSize: 512 }), 'protocol');
  });

  it('one digest a block, fewer where the file ends before, as many as there are where that is asked for', async () => {
    const { client } = await offering(DRAFT, digests('md5', md5, other, md5));
    const count = async (options: CheckFileOptions): Promise<number> =>
      (await client.checkFile('/f', options)).digests.length;
    assert.equal(await count({ blockSize: 256 }), 3);
    assert.equal(await count({ blockSize: 256, length: 10 * 256 }), 3);
    assert.equal(await count({ blockSize: 256, length: 768 }), 3);
    await rejectsWith(client.checkFile('/f'), 'protocol');
  });

  it('asks paramiko under its own name, for an open file, in blocks that it survives', async () => {
    const { client, asked, server } = await offering(PARAMIKO, digests('md5', md5));
    assert.deepEqual((await client.checkFile('/f', { length: 100, algorithms: ['md5'] })).digests, [md5]);
    assert.deepEqual(asked, [`check-file 000000026830${'000000036d6435'}${'0'.repeat(16)}${'0'.repeat(14)}6400000100`]);
    await client.checkFile('/f', { blockSize: 65536 });
    for (const options of [{}, { length: 65537 }, { blockSize: 65537 }, { algorithms: ['sha256'], blockSize: 256 }]) {
      await rejectsWith(client.checkFile('/f', options as CheckFileOptions), 'not-supported');
    }
    assert.equal(asked.length, 2);
    await client.stat('/f');
    assert.equal(server.openHandles.size, 0);
    await client.close();
  });

  it('a server that does not do what it offers is not-supported; a refusal keeps its status', async () => {
    const unknown = await offering(DRAFT, 8);
    await rejectsWith(unknown.client.checkFile('/f'), 'not-supported');
    await unknown.client.close();
    const missing = await offering(DRAFT, 2);
    const { status, path } = await rejectsWith(missing.client.checkFile('/f'), 'sftp-status');
    assert.deepEqual([status, path], [2, '/f']);
    await missing.client.close();
  });

  it('answers of another shape, or in an algorithm of their own, are errors', async () => {
    for (const body of [digests('md5', md5.subarray(1)), digests('rot13', md5), fromHex('00000009')]) {
      const { client } = await offering(DRAFT, body);
      await rejectsWith(client.checkFile('/f'), 'decode');
    }
    const { client } = await offering(DRAFT, digests('md5', md5));
    await rejectsWith(client.checkFile('/f', { algorithms: ['sha1'] }), 'protocol');
    for (const options of [
      { blockSize: 255 },
      { blockSize: 2 ** 32 },
      { start: -1 },
      { length: 0 },
      { algorithms: ['rot13' as 'md5'] },
    ]) {
      await rejectsWith(client.checkFile('/f', options), 'bad-argument');
    }
    await client.close();
  });
});
