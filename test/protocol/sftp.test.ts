/** SFTP through the whole stack: over the channel, under its window, and with servers that have none. */

import assert from 'node:assert/strict';
import { utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { connection } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import { ApiLink } from '../support/api_link.ts';
import type { Chunking } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import type { PeerChannel } from '../support/peer_channel.ts';
import { patterned, ScriptedSftp } from '../support/scripted_sftp.ts';
import { SftpOverSsh } from '../support/sftp_over_ssh.ts';

/** A client that opens SFTP on a channel which answers what the script says. */
async function opening(chunking: Chunking) {
  const link = new ApiLink(chunking);
  const ssh = await link.login();
  const sftp = ssh.sftp({ clock: link.clock });
  sftp.catch(() => {});
  const channel = await link.channel();
  assert.equal(channel.takeRequest().request, 'subsystem');
  return { link, sftp, channel };
}

scenario('a server that reads nothing while its reply waits for window is never brought there', async (chunking) => {
  const size = { whole: 12 * 1024 * 1024, bytes: 150_000, random: 3 * 1024 * 1024 }[chunking];
  const window = { whole: 2 ** 21, bytes: 40_000, random: 200_000 }[chunking];
  const file = patterned(size);
  const link = new ApiLink(chunking, { client: { window } });
  const ssh = await link.login();
  const starting = ssh.sftp({ clock: link.clock });
  const server = new ScriptedSftp().add('/big', file);
  const bridge = await SftpOverSsh.start(link, server);
  const sftp = await link.now(starting);
  const reading = sftp.readFile('/big');
  reading.catch(() => {});
  await link.quiet();
  assert.equal(bridge.blocked.length, 0, 'a reply did not fit into the window: this server hangs now');
  const bytes = await link.now(reading);
  assert.equal(bytes.length, size);
  assert.deepEqual(bytes, file);
  assert.ok(bridge.maxOutstanding <= window);
  // and not so careful that it crawls: most of the window is used
  assert.ok(chunking !== 'whole' || bridge.maxOutstanding > window / 2, `${bridge.maxOutstanding} of ${window}`);
});

scenario('what is no SFTP on the channel is quoted, and nothing is awaited or allocated for it', async (chunking) => {
  const { link, sftp, channel } = await opening(chunking);
  channel.success();
  channel.push(utf8('abc\n'));
  await assert.rejects(link.now(sftp), { code: 'sftp-unavailable', message: /abc/ });
  await link.quiet();
  assert.equal(link.clock.timers, 1, 'only the keepalive is left');
});

scenario('a greeting of the shell before VERSION is quoted', async (chunking) => {
  const { link, sftp, channel } = await opening(chunking);
  channel.success();
  channel.push(utf8('This account is currently not available.\n'));
  channel.eof();
  channel.close();
  await assert.rejects(link.now(sftp), { code: 'sftp-unavailable', message: /This account is currently/ });
});

scenario('a server without the subsystem, or whose program ends at once, says so', async (chunking) => {
  const ends: [(channel: PeerChannel) => void, RegExp][] = [
    [(channel) => channel.failure(), /sftp/],
    [
      (channel) => {
        channel.success();
        channel.push(utf8('sftp-server: not found\n'), 1);
        channel.exitStatus(127);
        channel.close();
      },
      /127.*not found/,
    ],
    [
      (channel) => {
        channel.success();
        channel.eof();
        channel.close();
      },
      /./,
    ],
  ];
  for (const [act, message] of ends) {
    const { link, sftp, channel } = await opening(chunking);
    act(channel);
    await assert.rejects(link.now(sftp), { code: 'sftp-unavailable', message });
    // the connection is still good
    const again = (await link.connected).run('true');
    link.peer.inbox.length = 0;
    again.catch(() => {});
    await link.quiet();
    assert.ok(link.peer.inbox.some(({ payload }) => payload[0] === connection.channelOpen.number));
  }
});

scenario('hostkeys-00@openssh.com between the subsystem request and its answer disturbs nothing', async (chunking) => {
  const { link, sftp, channel } = await opening(chunking);
  const body = new Writer().string('a key').finish();
  link.peer.send(encode(connection.globalRequest, { request: 'hostkeys-00@openssh.com', wantReply: false, body }));
  await link.quiet();
  channel.success();
  channel.push(Uint8Array.of(0, 0, 0, 5, 2, 0, 0, 0, 3));
  const { extensions } = await link.now(sftp);
  assert.equal(extensions.size, 0);
});

scenario('VERSION may come before the answer to the subsystem request', async (chunking) => {
  const { link, sftp, channel } = await opening(chunking);
  channel.push(Uint8Array.of(0, 0, 0, 5, 2, 0, 0, 0, 3));
  channel.success();
  await link.now(sftp);
});
