/**
 * An SFTP server behind a scripted peer: a channel whose data goes to a `ScriptedSftp` and back. It is the most stubborn of
 * servers: one message of the client after the other, and while a reply of its own does not fit into the client's window it
 * reads nothing at all, not even the WINDOW_ADJUST that would help it.
 */

import assert from 'node:assert/strict';
import { Writer } from '../../src/bytes/writer.ts';
import type { ApiLink } from './api_link.ts';
import type { PeerChannel } from './peer_channel.ts';
import type { ScriptedSftp } from './scripted_sftp.ts';

/** WINDOW_ADJUST, CHANNEL_DATA, EOF. */
const CHANNEL_TRAFFIC: readonly number[] = [93, 94, 96];

export class SftpOverSsh {
  readonly channel: PeerChannel;
  readonly server: ScriptedSftp;
  /** Replies that wait for window. */
  readonly blocked: Uint8Array[] = [];
  /** Most reply bytes that were on the way to the client and not given back. */
  maxOutstanding = 0;
  /** What the client sent that is not for this channel, in order. */
  readonly aside: Uint8Array[] = [];
  #fed = false;

  /** Takes the client's `sftp` request on a fresh channel and serves it from now on. */
  static async start(link: ApiLink, server: ScriptedSftp): Promise<SftpOverSsh> {
    const channel = await link.channel();
    const { request, body } = channel.takeRequest();
    assert.deepEqual([request, body], ['subsystem', new Writer().string('sftp').finish()]);
    channel.success();
    const sftp = new SftpOverSsh(channel, server);
    link.attend = () => sftp.#turn();
    return sftp;
  }

  private constructor(channel: PeerChannel, server: ScriptedSftp) {
    this.channel = channel;
    this.server = server;
    server.open({
      data: (bytes) => this.#reply(bytes),
      end: () => {},
      drain: () => {},
      closed: () => {},
    });
  }

  /** One message of the client, at most; true while there is something to do. */
  #turn(): boolean {
    // the replies to the last message are out one turn later
    if (this.#fed) {
      this.#fed = false;
      return true;
    }
    if (this.blocked.length > 0) return false;
    const next = this.channel.peer.inbox.shift();
    if (next === undefined) return false;
    if (!CHANNEL_TRAFFIC.includes(next.payload[0] as number)) {
      this.aside.push(next.payload);
      return true;
    }
    const { length } = this.channel.data;
    this.channel.read(next.payload);
    const data = this.channel.data.splice(length);
    if (data.length === 0) return true;
    this.server.write(data);
    this.#fed = true;
    return true;
  }

  #reply(bytes: Uint8Array): void {
    this.server.consumed(bytes.length);
    for (let at = 0; at < bytes.length; at += this.channel.maxPacket) {
      const piece = bytes.subarray(at, at + this.channel.maxPacket);
      if (this.blocked.length > 0 || piece.length > this.channel.sendWindow) this.blocked.push(piece);
      else this.channel.push(piece);
    }
    const { initialWindow, sendWindow } = this.channel;
    this.maxOutstanding = Math.max(this.maxOutstanding, initialWindow - sendWindow);
  }
}
