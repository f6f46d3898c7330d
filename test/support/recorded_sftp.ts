/**
 * A session with files, recorded from our client and server as programs use them. The line hands bytes on only when the side
 * that has to say something has said all of it, so that what is sent in one go does not hang on how a runtime takes its turns.
 */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { key } from '../../src/client/auth.ts';
import type { ClientOptions } from '../../src/connect.ts';
import type { CryptoProvider, RandomSource } from '../../src/crypto/provider.ts';
import type { Clock } from '../../src/io/clock.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import type { ServerOptions } from '../../src/server/options.ts';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { sftpSubsystem } from '../../src/sftp_subsystem.ts';
import type { SshClient } from '../../src/ssh_client.ts';
import { turn } from './api_link.ts';
import { clientOn, serverOn } from './api_pair.ts';
import { memoCrypto } from './memo_crypto.ts';
import { otherSide, type Side, sides } from './pair.ts';
import { seededRandom } from './random.ts';
import { patterned } from './scripted_sftp.ts';
import { testKey, testSigner } from './test_keys.ts';
import { type Recorded, Recorder, replay, seedOf, shownKey, type Transcript } from './transcript.ts';
import { VirtualClock } from './virtual_clock.ts';

const NAME = 'sftp_curve25519_aes128gcm';

/** Turns of the event loop in which a side says all that it has to say. */
const TURNS = 12;

const algorithms = {
  kex: ['curve25519-sha256'],
  hostKeys: ['ssh-ed25519'],
  ciphers: ['aes128-gcm@openssh.com'],
  macs: ['hmac-sha2-256'],
};

const now = (): number => 1_700_000_000_000;

/** The server's end of a side's pipe, driven by hand: what the side said, and saying something to it. */
class Mouth {
  readonly #pipe: BytePipe;
  #heard: Uint8Array[] = [];
  ended = false;

  constructor(pipe: BytePipe) {
    this.#pipe = pipe;
    pipe.open({
      data: (bytes) => {
        this.#heard.push(bytes.slice());
        pipe.consumed(bytes.length);
      },
      end: () => {
        this.ended = true;
      },
      drain: () => {},
      closed: () => {},
    });
  }

  async takeOutput(): Promise<Uint8Array> {
    for (let i = 0; i < TURNS; i++) await turn();
    const bytes = concat(...this.#heard);
    this.#heard = [];
    return bytes;
  }

  say(bytes: Uint8Array): void {
    this.#pipe.write([bytes]);
  }

  end(): void {
    this.#pipe.end();
  }
}

/** Starts one side at the near end of a pipe; gives the far end, and what becomes of the side. */
async function start(side: Side, random: RandomSource, provider: CryptoProvider) {
  const [near, far] = memoryPipes();
  const clock = new VirtualClock();
  const crypto = { ...provider, random };
  if (side === 'server') {
    const server = await serverOn(clock, crypto, serverOptions(clock));
    const connection = server.accept(near) ?? assert.fail();
    return { mouth: new Mouth(far), done: connection.closed.then(() => {}) };
  }
  const mouth = new Mouth(far);
  const done = clientOn(near, clock, crypto, clientOptions).then(({ ssh }) => work(ssh, clock));
  done.catch(() => {});
  return { mouth, done };
}

const clientOptions: Partial<ClientOptions> = {
  algorithms,
  software: 'client_1.0',
  auth: [key(testSigner('ssh-ed25519', 'user'))],
};

function serverOptions(clock: Clock): Partial<ServerOptions> {
  const files = memoryFiles({
    now,
    files: { '/pub/readme.txt': 'Hello, reader.\n', '/pub/big.bin': patterned(3000, 'big') },
  });
  return {
    algorithms,
    software: 'server_1.0',
    hostKeys: [testSigner('ssh-ed25519', 'host')],
    auth: { publickey: () => true },
    signatures: ['ssh-ed25519'],
    session: { subsystems: { sftp: sftpSubsystem(files, { now, clock, random: seededRandom('handles') }) } },
  };
}

/** What the client does, one thing after the other, but the first two together. */
async function work(ssh: SshClient, clock: Clock): Promise<void> {
  const sftp = await ssh.sftp({ clock });
  const [readme, attrs] = await Promise.all([sftp.readFile('/pub/readme.txt'), sftp.stat('/pub/big.bin')]);
  assert.deepEqual([new TextDecoder().decode(readme), attrs.size], ['Hello, reader.\n', 3000]);
  await sftp.mkdir('/home');
  await sftp.writeFile('/home/ünïcode.txt', utf8('written by the client\n'));
  const names: string[] = [];
  for await (const entry of sftp.list('/pub')) names.push(String(entry.name));
  assert.deepEqual(names.sort(), ['big.bin', 'readme.txt']);
  assert.deepEqual(await sftp.readFile('/pub/big.bin'), patterned(3000, 'big'));
  await sftp.rename('/home/ünïcode.txt', '/home/other.txt');
  await assert.rejects(sftp.stat('/home/ünïcode.txt'), { code: 'sftp-status' });
  await sftp.remove('/home/other.txt');
  await sftp.rmdir('/home');
  await sftp.close();
  await ssh.close();
}

async function record(): Promise<Transcript> {
  const recorder = new Recorder({
    name: NAME,
    about:
      'an SFTP session: a file read while another is looked at, a directory made, a file written, a listing, renaming, an ' +
      'error, removing. READs in flight, CHANNEL_DATA with several requests, and WINDOW_ADJUST are as the sides chose them',
    keys: {
      client: [shownKey(testKey('ssh-ed25519', 'user'))],
      server: [shownKey(testKey('ssh-ed25519', 'host'))],
    },
  });
  const ends = {
    client: await start('client', recorder.random('client'), recorder.crypto('client')),
    server: await start('server', recorder.random('server'), recorder.crypto('server')),
  };
  for (let silent = 0; silent < sides.length; ) {
    silent = 0;
    for (const side of sides) {
      const bytes = await ends[side].mouth.takeOutput();
      if (bytes.length === 0) silent++;
      else {
        recorder.sent(side, bytes);
        ends[otherSide(side)].mouth.say(bytes);
      }
    }
  }
  for (const side of sides) ends[side].mouth.end();
  await ends.client.done;
  await ends.server.done;
  return recorder.transcript();
}

async function replaySide(transcript: Transcript, side: Side): Promise<void> {
  const { mouth, done } = await start(side, seededRandom(seedOf(NAME, side)), memoCrypto);
  await replay(transcript, side, {
    receive: (bytes) => mouth.say(bytes),
    command: () => assert.fail('nobody asked for anything'),
    takeOutput: () => mouth.takeOutput(),
  });
  mouth.end();
  await done;
}

export const recordedSftp: Recorded = {
  name: NAME,
  // requests that arrive together are answered together
  chunkings: ['whole'],
  record,
  replay: replaySide,
};
