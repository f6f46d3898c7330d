/** What errors say of directories: in place of a file that is read, and missing above one that is made. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SftpClient } from '../../src/sftp/client.ts';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { nodeFiles } from '../../src/transports/node_files.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned, type Script, ScriptedSftp } from '../support/scripted_sftp.ts';
import { collect, withMemory } from '../support/sftp_memory.ts';

describe('a directory in place of a file', () => {
  const DIRECTORY = /^\/d on the server is a directory: give the path of a file/;

  /** A server that refuses the request about `/d`. */
  async function refusing(request: 'OPEN' | 'READ', status: number): Promise<SftpClient> {
    const script: Script = { request: (name) => (name === request ? status : 'honest') };
    const server = new ScriptedSftp(script);
    server.files.set('/d', { bytes: patterned(10), permissions: 0o040755 });
    return SftpClient.open(server);
  }

  for (const [request, status] of [
    ['OPEN', 3],
    ['OPEN', 4],
    ['READ', 4],
  ] as const) {
    it(`is told by get and readFile: ${request} is answered with ${status}`, async () => {
      const sftp = await refusing(request, status);
      const gone = await rejectsWith(sftp.get('/d', new WritableStream()), 'sftp-status');
      assert.match(gone.message, DIRECTORY);
      const read = await rejectsWith(sftp.readFile('/d'), 'sftp-status');
      assert.match(read.message, DIRECTORY);
      assert.deepEqual([read.status, read.path, read.operation], [status, '/d', request.toLowerCase()]);
      await sftp.close();
    });
  }

  it('chunks and streams tell it too, and of a file what the server says', async () => {
    const sftp = await refusing('OPEN', 4);
    assert.match((await rejectsWith(collect(sftp.chunks('/d')), 'sftp-status')).message, DIRECTORY);
    const stream = sftp.readable('/d').getReader();
    assert.match((await rejectsWith(stream.read(), 'sftp-status')).message, DIRECTORY);
    assert.equal((await rejectsWith(sftp.readFile('/f'), 'sftp-status')).message, 'open /f: failure');
    await sftp.close();
  });
});

describe('a directory that is missing', () => {
  it('is named by put, in whichever way, and by copy', async () => {
    const files = memoryFiles({ files: { '/f': 'x', '/dir/g': 'y' } });
    await withMemory(files, async ({ sftp }) => {
      const bytes = patterned(10);
      const path = '/no/where/f';
      const ways: Readonly<Record<string, () => Promise<unknown>>> = {
        put: () => sftp.put(bytes, path),
        inPlace: () => sftp.put(bytes, path, { atomic: false }),
        resume: () => sftp.put(bytes, path, { resume: true }),
        append: () => sftp.put(bytes, path, { append: true }),
        writeFile: () => sftp.writeFile(path, 'text'),
        copy: () => sftp.copy('/f', path),
      };
      for (const [name, run] of Object.entries(ways)) {
        const error = await rejectsWith(run(), 'sftp-status');
        assert.equal(error.message, 'open /no/where/f: the directory /no/where is not there: make it first', name);
        assert.deepEqual([error.status, error.path], [2, path]);
      }
      const plain = await rejectsWith(sftp.put(bytes, '/dir/h', { position: 1 }), 'sftp-status');
      assert.equal(plain.message, 'open /dir/h: no such file');
    });
  });

  it('is named by get, and a temporary name never', async () => {
    const here = mkdtempSync(join(tmpdir(), 'puressh-refusals-'));
    try {
      const server = new ScriptedSftp();
      server.add('/f', patterned(10));
      const sftp = await SftpClient.open(server, { localFiles: nodeFiles });
      const local = join(here, 'no', 'out');
      for (const options of [{}, { atomic: false }, { resume: true }]) {
        const error = await rejectsWith(sftp.get('/f', local, options), 'bad-local-file');
        assert.equal(
          error.message,
          `Cannot create ${local}: the directory ${join(here, 'no')} is not there: make it first`,
        );
        assert.equal(error.path, local);
      }
      const long = join(here, 'x'.repeat(300));
      const error = await rejectsWith(sftp.get('/f', long), 'bad-local-file');
      assert.ok(!error.message.includes('.part'), error.message);
      assert.deepEqual(readdirSync(here), []);
      await sftp.close();
    } finally {
      rmSync(here, { recursive: true });
    }
  });
});
