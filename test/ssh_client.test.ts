/** What is known of a server by its identification, and reaches its SFTP sessions. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFiles } from '../src/sftp/server/memory_fs.ts';
import { sftpSubsystem } from '../src/sftp_subsystem.ts';
import { rejectsWith } from './support/rejects.ts';
import { Serving } from './support/serving.ts';

/** Our own server under the name of another, and its files. */
async function named(software: string): Promise<{ serving: Serving; files: ReturnType<typeof memoryFiles> }> {
  const files = memoryFiles();
  const serving = await Serving.start({ software, session: { subsystems: { sftp: sftpSubsystem(files) } } });
  return { serving, files };
}

describe('SshClient.sftp', () => {
  it('sends the paths of SYMLINK in the order that the server is known to take', async () => {
    for (const [software, target, path] of [
      ['OpenSSH_9.2', 'held', '/link'],
      ['Erlang/4.15.2', '/link', '/held'],
      ['AsyncSSH_2.10.1', '/link', '/held'],
    ] as const) {
      const { serving, files } = await named(software);
      await using ssh = await serving.connect();
      await using sftp = await ssh.sftp();
      // Our server takes the link last whatever it is called, so that another order shows.
      await sftp.symlink('held', '/link');
      assert.equal(files.readlink(path), target, software);
      await using told = await ssh.sftp({ symlinkOrder: 'openssh' });
      await told.symlink('held', '/told');
      assert.equal(files.readlink('/told'), 'held', software);
      await serving.close();
    }
  });

  it('goes by what is known of extensions and limits, and by what the caller says', async () => {
    const { serving } = await named('mod_sftp');
    await using ssh = await serving.connect();
    await using sftp = await ssh.sftp({ extensions: { 'hardlink@openssh.com': undefined } });
    await rejectsWith(sftp.homeDirectory('root'), 'not-supported');
    await rejectsWith(sftp.hardlink('/a', '/b'), 'not-supported');
    assert.equal(sftp.extensions.get('check-file-handle'), '1');
    assert.equal(sftp.extensions.has('posix-rename@openssh.com'), true);
    await serving.close();
    const erlang = await named('Erlang/4.15.2');
    await using other = await erlang.serving.connect();
    await using narrow = await other.sftp();
    assert.equal(narrow.limits.maxOpenHandles, 2);
    await using wide = await other.sftp({ limits: { maxOpenHandles: 5 } });
    assert.equal(wide.limits.maxOpenHandles, 5);
    await erlang.serving.close();
  });

  it('leaves no channel behind where an option is wrong', async () => {
    const { serving } = await named('OpenSSH_9.2');
    await using ssh = await serving.connect();
    await rejectsWith(ssh.sftp({ maxPacket: 0 }), 'bad-argument');
    await using sftp = await ssh.sftp();
    await sftp.ready;
    assert.equal(ssh.stats.channels, 1);
    await serving.close();
  });
});
