/** copy-data from a file to itself under another name: it must end, although what is copied makes the source longer. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { extensions } from '../../src/sftp/proto/extensions.ts';
import { OpenFlag } from '../../src/sftp/proto/packets.ts';
import { Status } from '../../src/sftp/proto/status.ts';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { it } from '../support/limited.ts';
import { ask, RawSftp } from '../support/sftp_raw.ts';

const MEBIBYTE = 1024 * 1024;

describe('copy-data onto the same file', () => {
  for (const name of ['a hard link', 'a symbolic link'] as const) {
    for (const length of [0, 2 ** 40]) {
      it(`under the name of ${name}, length ${length}, copies what was there once`, async () => {
        const files = memoryFiles({ files: { '/a': '0123456789' }, maxBytes: MEBIBYTE });
        if (name === 'a hard link') files.hardlink('/a', '/b');
        else files.symlink('/a', '/b');
        const raw = await RawSftp.connect(files);
        const from = await raw.open(1, '/a', OpenFlag.read);
        const to = await raw.open(2, '/b', OpenFlag.write);
        const range = { fromOffset: 2n, length: BigInt(length), toOffset: 10n };
        const reply = await raw.request(ask.extended(3, extensions.copyData, { from, to, ...range }));
        assert.equal(reply.code, length === 0 ? Status.ok : Status.eof);
        assert.equal(new TextDecoder().decode(files.get('/a')), '012345678923456789');
        await raw.end();
      });
    }
  }
});
