/** How few round trips a session takes with a server that is known to bear it, and what becomes of each that goes wrong. */

import assert from 'node:assert/strict';
import { utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { OpenFlag } from '../../src/sftp/proto/packets.ts';
import { connection } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { userauth } from '../../src/wire/userauth.ts';
import { ApiLink } from '../support/api_link.ts';
import type { Chunking } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { rejectsWith } from '../support/rejects.ts';
import type { ScriptedPeer } from '../support/scripted_peer.ts';
import { patterned, ScriptedSftp } from '../support/scripted_sftp.ts';

const OPENSSH = 'SSH-2.0-OpenSSH_9.2p1\r\n';
const none = new Uint8Array(0);

const names = (peer: ScriptedPeer): number[] => peer.inbox.map(({ payload }) => payload[0] as number);

/** INIT, and OPEN of /f to read, with request id 0. */
const INIT = [0, 0, 0, 5, 1, 0, 0, 0, 3];
const OPEN = [...new Writer().u32(19).u8(3).u32(0).string('/f').u32(OpenFlag.read).u32(0).finish()];

/** A client that wants a file from a server which has not answered anything since the login. */
async function asking(chunking: Chunking, identification = OPENSSH) {
  const link = new ApiLink(chunking, { peer: { identification } });
  const ssh = await link.login();
  const opening = ssh.sftp({ clock: link.clock, early: true });
  return { link, ssh, opening, peer: link.peer };
}

/** Confirms the client's channel as OpenSSH does: with no window, until the program is there. */
function confirm(peer: ScriptedPeer, sender = 0): void {
  peer.send(
    encode(connection.channelOpenConfirmation, { recipient: 0, sender, window: 0, maxPacket: 32768, body: none }),
  );
}

scenario('the request for the service and the first attempt to log in leave with NEWKEYS', async (chunking) => {
  const link = new ApiLink(chunking);
  await link.handshake();
  assert.deepEqual(names(link.peer), [transport.serviceRequest.number, userauth.request.number]);
  link.peer.grantService();
  link.peer.acceptLogin();
  await link.now(link.connected);
});

scenario('OPEN of the channel, the subsystem, INIT and OPEN of the file leave before any answer', async (chunking) => {
  const { link, opening, peer } = await asking(chunking);
  const sftp = await link.now(opening);
  const reading = sftp.open('/f');
  reading.catch(() => {});
  await link.quiet();
  assert.deepEqual(names(peer).slice(0, 2), [connection.channelOpen.number, connection.channelRequest.number]);
  assert.equal(peer.take(connection.channelOpen).sender, 0);
  const { recipient, request, wantReply } = peer.take(connection.channelRequest);
  assert.deepEqual([recipient, request, wantReply], [0, 'subsystem', true]);
  const sent = peer.inbox.flatMap(({ payload }) => {
    assert.deepEqual([...payload.subarray(0, 5)], [connection.channelData.number, 0, 0, 0, 0]);
    return [...payload.subarray(9)];
  });
  assert.deepEqual(sent, [...INIT, ...OPEN]);
  link.fin();
  await rejectsWith(link.now(reading), 'connection-lost');
});

scenario('a whole file comes that way, in two round trips and a half', async (chunking) => {
  const { link, opening, peer } = await asking(chunking);
  const sftp = await link.now(opening);
  const file = patterned(3000);
  const server = new ScriptedSftp().add('/f', file);
  const reading = sftp.readFile('/f');
  await link.quiet();
  const out: Uint8Array[] = [];
  server.open({ data: (bytes) => void out.push(bytes), end: () => {}, drain: () => {}, closed: () => {} });
  confirm(peer);
  peer.expect(connection.channelOpen.number);
  peer.expect(connection.channelRequest.number);
  peer.send(encode(connection.channelWindowAdjust, { recipient: 0, bytes: 2 ** 21 }));
  peer.send(encode(connection.channelSuccess, { recipient: 0 }));
  link.attend = () => {
    const replies = out.splice(0);
    for (const bytes of replies) peer.send(new Writer().u8(94).u32(0).string(bytes).finish());
    const next = peer.inbox.shift();
    if (next?.payload[0] === connection.channelData.number) server.write([next.payload.slice(9)]);
    return replies.length > 0 || next !== undefined;
  };
  assert.deepEqual(await link.now(reading), file);
  assert.deepEqual(server.log.slice(0, 2), ['INIT', 'OPEN /f 1']);
});

scenario('with any other server the channel is awaited, and VERSION', async (chunking) => {
  const { link, opening } = await asking(chunking, 'SSH-2.0-other_1.0\r\n');
  await link.quiet();
  assert.deepEqual(names(link.peer), [connection.channelOpen.number]);
  const channel = await link.channel();
  const sftp = await link.now(opening);
  const reading = sftp.open('/f');
  reading.catch(() => {});
  await link.quiet();
  assert.equal(channel.takeRequest().request, 'subsystem');
  channel.readAll();
  assert.deepEqual(
    channel.data.flatMap((bytes) => [...bytes]),
    INIT,
  );
  link.fin();
  await rejectsWith(link.now(reading), 'connection-lost');
});

scenario('without early the channel is awaited with OpenSSH, too', async (chunking) => {
  const link = new ApiLink(chunking, { peer: { identification: OPENSSH } });
  const ssh = await link.login();
  const opening = ssh.sftp({ clock: link.clock });
  opening.catch(() => {});
  await link.quiet();
  assert.deepEqual(names(link.peer), [connection.channelOpen.number]);
  link.fin();
  await rejectsWith(link.now(opening), 'connection-lost');
});

scenario('a refused channel is told by every operation, before the disconnect that OpenSSH adds', async (chunking) => {
  const { link, ssh, opening, peer } = await asking(chunking);
  const sftp = await link.now(opening);
  const asked: Promise<unknown>[] = [sftp.stat('/'), sftp.ready, sftp.readFile('/f')];
  for (const each of asked) each.catch(() => {});
  const refusal = { recipient: 0, reason: 1, description: 'no more sessions', language: '' };
  peer.send(encode(connection.channelOpenFailure, refusal));
  peer.send(encode(transport.disconnect, { reason: 2, description: 'unknown channel', language: '' }));
  for (const each of asked) {
    assert.match((await rejectsWith(link.now(each), 'channel-open-failed')).message, /no more sessions/);
  }
  await rejectsWith(sftp.stat('/'), 'channel-open-failed');
  assert.equal((await link.now(ssh.closed))?.code, 'disconnected');
});

scenario(
  'a connection that is lost before the channel is confirmed says that it may have been refused',
  async (chunking) => {
    const { link, opening } = await asking(chunking);
    const sftp = await link.now(opening);
    const asked = sftp.stat('/');
    asked.catch(() => {});
    link.reset();
    assert.match((await rejectsWith(link.now(asked), 'connection-lost')).message, /MaxSessions.*early/);
    const { link: other, opening: again, peer } = await asking(chunking);
    const second = (await other.now(again)).stat('/');
    second.catch(() => {});
    confirm(peer);
    await other.quiet();
    other.reset();
    assert.doesNotMatch((await rejectsWith(other.now(second), 'connection-lost')).message, /early/);
  },
);

scenario('a server that numbers otherwise is left, with a word about what to set', async (chunking) => {
  const { link, opening, peer } = await asking(chunking);
  const sftp = await link.now(opening);
  const asked = sftp.stat('/');
  asked.catch(() => {});
  confirm(peer, 3);
  assert.match((await rejectsWith(link.now(asked), 'protocol')).message, /number 3, .*quirks\.firstChannel/);
});

scenario('a subsystem that is refused, or a program that ends, is told as ever', async (chunking) => {
  const ends: [(peer: ScriptedPeer) => void, RegExp][] = [
    [(peer) => peer.send(encode(connection.channelFailure, { recipient: 0 })), /refused the subsystem "sftp"/],
    [
      (peer) => {
        peer.send(encode(connection.channelWindowAdjust, { recipient: 0, bytes: 2 ** 21 }));
        peer.send(encode(connection.channelSuccess, { recipient: 0 }));
        peer.send(new Writer().u8(95).u32(0).u32(1).string('sftp-server: not found\n').finish());
        peer.send(encode(connection.channelEof, { recipient: 0 }));
        const body = Uint8Array.of(0, 0, 0, 127);
        peer.send(encode(connection.channelRequest, { recipient: 0, request: 'exit-status', wantReply: false, body }));
        peer.send(encode(connection.channelClose, { recipient: 0 }));
      },
      /127; stderr says: "sftp-server: not found/,
    ],
    [
      (peer) => {
        peer.send(encode(connection.channelSuccess, { recipient: 0 }));
        peer.send(new Writer().u8(94).u32(0).string(utf8('This account is closed.\n')).finish());
      },
      /This account is closed/,
    ],
  ];
  for (const [end, message] of ends) {
    const { link, opening, peer } = await asking(chunking);
    const sftp = await link.now(opening);
    const asked: Promise<unknown>[] = [sftp.stat('/'), sftp.ready];
    for (const each of asked) each.catch(() => {});
    confirm(peer);
    await link.quiet();
    end(peer);
    for (const each of asked) assert.match((await rejectsWith(link.now(each), 'sftp-unavailable')).message, message);
  }
});
