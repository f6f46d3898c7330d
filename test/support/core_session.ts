/**
 * A whole session as a script, from the identification to the last CLOSE: login with a key, a command, SFTP-like traffic, a key
 * exchange in the middle. For tests that repeat it with one thing gone wrong.
 */

import { concat } from '../../src/bytes/bytes.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { buildExtInfo } from '../../src/core/ext_info.ts';
import { connection } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { userauth } from '../../src/wire/userauth.ts';
import type { ClientScript } from './core_client.ts';
import type { Link } from './link.ts';
import { memoCrypto } from './memo_crypto.ts';
import { PeerChannel } from './peer_channel.ts';
import { ed25519Signer } from './scripted_peer.ts';

const empty = new Uint8Array(0);

/** The client's side of the session. */
export const sessionScript: ClientScript = {
  attempts: [{ method: 'none' }, { method: 'publickey', signer: ed25519Signer(memoCrypto, 1) }],
};

/** Plays the session; a step that finds nothing where something must come throws. */
export function playSession(link: Link): void {
  const { peer, client } = link;
  peer.identify();
  peer.sendKexinit();
  peer.takeKexinit();
  peer.finishExchange();
  peer.send(buildExtInfo(new Map([['server-sig-algs', 'ssh-ed25519']])));
  peer.grantService();
  peer.expect(userauth.request.number);
  peer.send(encode(userauth.failure, { methods: ['publickey'], partialSuccess: false }));
  peer.send(encode(userauth.banner, { message: 'Hello\n', language: '' }));
  peer.expect(userauth.request.number);
  peer.send(encode(userauth.success, {}));
  peer.send(encode(connection.globalRequest, { request: 'hostkeys-00@openssh.com', wantReply: false, body: empty }));
  peer.pump();
  const command = client.connection.openChannel('session', empty);
  const exec = new PeerChannel(peer);
  client.connection.requestChannel(command, 'exec', new Writer().string('true').finish(), true);
  exec.takeRequest();
  exec.success();
  exec.write(utf8('out\n'));
  exec.write(utf8('err\n'), 1);
  exec.exitStatus(0);
  exec.eof();
  exec.close();
  peer.until(connection.channelClose.number);
  const files = client.connection.openChannel('session', empty);
  const subsystem = new PeerChannel(peer);
  client.connection.requestChannel(files, 'subsystem', new Writer().string('sftp').finish(), true);
  subsystem.takeRequest();
  subsystem.success();
  ask(link, files, subsystem, 9);
  client.connection.rekey();
  peer.takeKexinit();
  peer.send(encode(transport.ignore, { data: empty }));
  peer.sendKexinit();
  client.connection.write(files, [new Uint8Array(100)]);
  peer.finishExchange();
  subsystem.readAll();
  ask(link, files, subsystem, 40_000);
  client.connection.endChannel(files);
  client.connection.closeChannel(files);
  peer.until(connection.channelClose.number);
  subsystem.close();
  peer.pump();
}

/** A request and its reply. */
function ask(link: Link, id: number, channel: PeerChannel, replySize: number): void {
  link.client.connection.write(id, [concat(Uint8Array.of(0, 0, 0, 5), new Uint8Array(5))]);
  channel.readAll();
  channel.write(new Uint8Array(replySize));
  channel.readAll();
}
