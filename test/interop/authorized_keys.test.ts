/** The same authorized_keys file for OpenSSH's sshd, which our client logs in to, and for our reading of it. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findAuthorizedKey, parseAuthorizedKeys } from '../../src/keys/authorized_keys.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { parseShownKey } from '../../src/keys/shown_key.ts';
import { api } from '../support/connect.ts';
import * as openssh from '../support/peers/openssh.ts';
import { usePeer } from '../support/peers/peer.ts';

/** Lines, with KEY for the key that logs in and OTHER for another, and the number of the line that lets in; 0: none. */
const files: readonly [lines: readonly string[], line: number][] = [
  [['KEY'], 1],
  [['OTHER'], 0],
  [['# a comment', '', ' \tKEY  with a comment'], 3],
  [['restrict,command="echo \\"a, b\\" $SSH_ORIGINAL_COMMAND" KEY'], 1],
  [['RESTRICT,Pty,no-X11-forwarding KEY'], 1],
  [['command="echo unquoted KEY', 'command="true"x KEY', "command='true' KEY", 'command=true KEY'], 0],
  [['nope KEY', 'no-restrict KEY', 'restrict="yes" KEY', 'KEY'], 4],
  [['cert-authority KEY', 'principals="root" KEY'], 0],
  [['from="127.0.0.0/8" KEY'], 1],
  [['from="127.0.0.1/8" KEY', 'from="127.0.0.0/33" KEY', 'from="127.0.0.1," KEY'], 0],
  [['from="10.0.0.0/8,127.0.0.?,::1" KEY'], 1],
  [['from="*,!127.0.0.1" KEY', 'from="!127.0.0.0/8,*" KEY', 'from="!10.0.0.1" KEY', 'from="!10.0.0.1,*" KEY'], 4],
  [['from="host.example,*.example,::/0" KEY'], 0],
  [['expiry-time="20200101" KEY', 'expiry-time="20200101Z",pty KEY', 'expiry-time="20990101Z" KEY'], 3],
  [['expiry-time="20990101Z",expiry-time="20200101Z" KEY', 'expiry-time="tomorrow" KEY'], 0],
  [['environment="A-B=1" KEY', 'environment="A" KEY', 'environment="A=1",environment="A=2" KEY'], 3],
  [['permitopen="host" KEY', 'permitlisten="host" KEY', 'permitopen="[::1]:*",permitlisten="8080" KEY'], 3],
  [['ssh-ed25519 AAAA', 'ssh-quantum AAAAC3NzaC1xdWFudHVtAAAABAAAAAA=', 'KEY\r', 'KEY'], 3],
  [['restrict', 'restrict, pty KEY', ',,restrict, KEY'], 3],
  [['OTHER KEY'], 0],
];

describe('authorized_keys', () => {
  const sshd = usePeer(openssh.available(), () => openssh.startSshd());

  for (const [lines, line] of files) {
    const options = { ...sshd.options, timeout: 60_000 };
    it(`sshd and we let the same key in: ${JSON.stringify(lines)}`, options, async () => {
      const { host, port, username, keys, knownHosts, dir } = sshd.peer;
      const text = lines.join('\n').replaceAll('KEY', keys.ed25519.public).replaceAll('OTHER', keys.ecdsa256.public);
      const { blob } = parsePublicKeyLine(keys.ed25519.public);
      const ours = findAuthorizedKey(parseAuthorizedKeys(text).keys, parseShownKey(blob), {
        address: host,
        now: Date.now(),
      });
      assert.equal(ours?.line ?? 0, line);

      await writeFile(join(dir, 'authorized_keys'), text);
      const before = (await sshd.peer.log()).length;
      const auth = [api.keyFile(keys.ed25519.openssh)];
      const login = api.connect({ host, port, username, auth, hostKey: api.knownHosts(knownHosts) });
      if (ours === undefined) return assert.rejects(login, { code: 'auth-failed' });
      await using ssh = await login;
      const { stdout } = await ssh.run('echo asked');
      const command = ours.options.command ?? 'echo asked';
      const expected = command === 'echo asked' ? 'asked\n' : 'a, b echo asked\n';
      assert.equal(new TextDecoder().decode(stdout), expected);
      const accepted = (await sshd.peer.log()).slice(before).match(/^Accepted key .*:(\d+)$/m);
      assert.equal(accepted?.[1], String(line));
    });
  }
});
