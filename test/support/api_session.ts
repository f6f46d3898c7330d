/** A whole session of the real client: login with a key, a command, SFTP, a key exchange with a request pending, a file. */

import assert from 'node:assert/strict';
import type { AuthMethod } from '../../src/client/auth.ts';
import { SshError } from '../../src/errors.ts';
import type { ApiLink } from './api_link.ts';
import { memoCrypto } from './memo_crypto.ts';
import { ed25519Signer } from './scripted_peer.ts';
import { patterned, ScriptedSftp } from './scripted_sftp.ts';
import { SftpOverSsh } from './sftp_over_ssh.ts';

/** The key that the session logs in with. */
export const sessionKey: AuthMethod = { method: 'publickey', signer: () => ed25519Signer(memoCrypto, 1) };

const server = (): ScriptedSftp => new ScriptedSftp().add('/file', patterned(70_000));

/** Plays the session; every promise of the client goes to `track`. Throws once the line is cut, or at its very end. */
export async function playApiSession(link: ApiLink, track: <T>(promise: Promise<T>) => Promise<T>): Promise<void> {
  const ssh = await link.login();
  track(ssh.closed.then((cause) => Promise.reject(cause)));
  const command = track(ssh.run('true'));
  const channel = await link.channel();
  channel.takeRequest();
  channel.success();
  channel.push(Uint8Array.of(1, 2, 3));
  channel.exitStatus(0);
  channel.close();
  assert.equal((await link.now(command)).code, 0);
  link.peer.inbox.length = 0;
  const opening = track(ssh.sftp({ clock: link.running }));
  await SftpOverSsh.start(link, server());
  const sftp = await link.now(opening);
  await link.now(track(sftp.stat('/file')));
  const { attend } = link;
  link.attend = () => false;
  track(sftp.lstat('/file')); // its answer waits until after the key exchange
  const rekeying = track(ssh.rekey());
  await link.quiet();
  const waiting = link.peer.inbox.splice(0);
  const at = waiting.findIndex(({ payload }) => payload[0] === 20);
  link.peer.readKexinit(waiting.splice(at, 1)[0]?.payload ?? assert.fail('no KEXINIT'));
  link.peer.sendKexinit();
  await link.quiet();
  await link.exchange();
  link.peer.inbox.unshift(...waiting);
  await link.now(rekeying);
  link.attend = attend;
  const bytes = await link.now(track(sftp.readFile('/file')));
  assert.deepEqual(bytes, patterned(70_000));
  // nobody answers this one: it is what waits when all else is done
  await link.now(track(ssh.run('false')));
}

/** The error itself, or what a transfer made its own of, to say how far it came. */
export function causeOf(error: unknown): unknown {
  if (!(error instanceof SshError) || error.transferred === undefined) return error;
  assert.ok(error.cause instanceof SshError && error.cause.code === error.code);
  return error.cause;
}
