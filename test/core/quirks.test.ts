import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../../src/bytes/text.ts';
import { serverSigAlgs } from '../../src/core/ext_info.ts';
import { quirksOf } from '../../src/core/quirks.ts';

const OLD = 'SSH-2.0-OpenSSH_7.4';
const said = new Map([['server-sig-algs', utf8('ssh-ed25519,rsa-sha2-256')]]);

describe('quirksOf', () => {
  it('knows OpenSSH 7.4, and nothing of its neighbours', () => {
    assert.equal(quirksOf(OLD).takesRsaSha2Unsaid, true);
    assert.equal(quirksOf(`${OLD}p1 Debian-10`).takesRsaSha2Unsaid, true);
    for (const other of ['SSH-2.0-OpenSSH_7.5', 'SSH-2.0-OpenSSH_9.2p1', 'SSH-2.0-XOpenSSH_7.4', '']) {
      assert.equal(quirksOf(other).takesRsaSha2Unsaid, false, other);
    }
  });

  it('knows how OpenSSH and puressh start things, and presumes nothing of others', () => {
    for (const openssh of ['OpenSSH_9.2p1 Debian-2', 'OpenSSH_10.0', 'OpenSSH_6.6.1']) {
      const { firstChannel, sessionWindow, sftpBeforeVersion } = quirksOf(`SSH-2.0-${openssh}`);
      assert.deepEqual([firstChannel, sessionWindow, sftpBeforeVersion], [0, 32768, true], openssh);
    }
    const own = quirksOf('SSH-2.0-puressh_0.1.0');
    assert.deepEqual([own.firstChannel, own.sftpBeforeVersion], [undefined, true]);
    for (const other of [
      'SSH-2.0-OpenSSH_5.3',
      'SSH-2.0-OpenSSH_for_Windows_9.5',
      'SSH-2.0-OpenSSH',
      'SSH-2.0-dropbear',
      'SSH-2.0-AsyncSSH_2.10.1',
      '',
    ]) {
      const { firstChannel, sessionWindow, sftpBeforeVersion } = quirksOf(other);
      assert.deepEqual([firstChannel, sessionWindow, sftpBeforeVersion], [undefined, 0, false], other);
    }
    assert.equal(quirksOf('SSH-2.0-OpenSSH_9.2', { firstChannel: undefined }).firstChannel, undefined);
  });

  it('knows whose SFTP sessions write to one and the same file', () => {
    for (const bears of [
      'OpenSSH_9.2p1',
      'dropbear_2022.83',
      'mod_sftp',
      'AsyncSSH_2.10.1',
      'paramiko_2.12.0',
      'puressh_0.1.0',
    ]) {
      assert.equal(quirksOf(`SSH-2.0-${bears}`).sharesOpenFiles, true, bears);
    }
    for (const other of ['SSH-2.0-Erlang/4.15.2', 'SSH-2.0-AWS_SFTP_1.2', 'SSH-2.0-X OpenSSH_9.2', '']) {
      assert.equal(quirksOf(other).sharesOpenFiles, false, other);
    }
  });

  it('knows whose SFTP servers take SYMLINK as the draft has it, and what ProFTPD does not say', () => {
    for (const draft of ['AsyncSSH_2.10.1', 'Erlang/4.15.2', 'Twisted_22.4.0']) {
      assert.equal(quirksOf(`SSH-2.0-${draft}`).symlinkOrder, 'draft', draft);
    }
    for (const other of ['OpenSSH_9.2', 'dropbear_2022.83', 'mod_sftp', 'paramiko_2.12.0', 'puressh_0.1.0', 'Go']) {
      assert.equal(quirksOf(`SSH-2.0-${other}`).symlinkOrder, 'openssh', other);
    }
    const { sftpExtensions } = quirksOf('SSH-2.0-mod_sftp');
    assert.equal(sftpExtensions['check-file-handle'], '1');
    assert.ok('home-directory' in sftpExtensions && sftpExtensions['home-directory'] === undefined);
    assert.deepEqual(quirksOf('SSH-2.0-OpenSSH_9.2').sftpExtensions, {});
    assert.deepEqual(quirksOf('SSH-2.0-Erlang/4.15.2').sftpLimits, { maxOpenHandles: 2 });
    assert.equal(quirksOf('SSH-2.0-Erlang/5', { symlinkOrder: 'openssh' }).symlinkOrder, 'openssh');
  });

  it('lets the caller decide', () => {
    assert.equal(quirksOf(OLD, { takesRsaSha2Unsaid: false }).takesRsaSha2Unsaid, false);
    assert.equal(quirksOf('SSH-2.0-x', { takesRsaSha2Unsaid: true }).takesRsaSha2Unsaid, true);
  });
});

describe('serverSigAlgs, with quirks,', () => {
  it('adds the RSA algorithms that the peer does not name, and none twice', () => {
    assert.deepEqual(serverSigAlgs(said, quirksOf(OLD)), ['ssh-ed25519', 'rsa-sha2-256', 'rsa-sha2-512']);
    assert.deepEqual(serverSigAlgs(said, quirksOf('SSH-2.0-x')), ['ssh-ed25519', 'rsa-sha2-256']);
  });

  it('adds nothing where the peer said nothing', () => {
    assert.equal(serverSigAlgs(new Map(), quirksOf(OLD)), undefined);
  });

  it('knows the clients that lose the host keys of a server', () => {
    for (const lost of ['TTSSH/1.5.4', 'TTSSH/2.1', 'TTSSH/2.66', 'TTSSH/2.72 Win32', 'TeraTerm SSH', 'Cisco-1.25']) {
      assert.equal(quirksOf(`SSH-2.0-${lost}`).losesHostKeys, true, lost);
    }
    for (const taken of ['TTSSH/2.73 Win32', 'TTSSH/3.0', 'Cisco-2.0', 'OpenSSH_9.2', 'libssh2_1.11']) {
      assert.equal(quirksOf(`SSH-2.0-${taken}`).losesHostKeys, false, taken);
    }
  });
});
