/**
 * Nonsense of every kind, from seeds, to a server: whatever arrives, the connection throws nothing, goes on or ends with a typed
 * error, and nobody is let in who does not show what it takes.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { encodeFields } from '../../src/bytes/schema.ts';
import { utf8 } from '../../src/bytes/text.ts';
import type { LoginVerdict } from '../../src/core/events.ts';
import type { RandomSource } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { channelDataHeader, connection } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import { channelOpen, channelRequest, globalRequest } from '../../src/wire/requests.ts';
import { transport } from '../../src/wire/transport.ts';
import { keyboardAuth } from '../../src/wire/userauth.ts';
import { CoreServer, type ServerScript, serverConfig } from '../support/core_server.ts';
import { drawBelow } from '../support/feed.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { seededRandom } from '../support/random.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';
import { ServerLink } from '../support/server_link.ts';

const PASSWORD = 'the right one';
const signer = ed25519Signer(memoCrypto, 1);
const refuse: LoginVerdict = { verdict: 'refuse' };

/** Lets in with one password, and asks for one code that is never right. */
const script: ServerScript = {
  onLogin({ attempt }) {
    if (attempt.method === 'password' && attempt.password === PASSWORD) return { verdict: 'accept' };
    if (attempt.method !== 'keyboard-interactive') return refuse;
    return { verdict: 'prompt', title: 'T', instruction: '', prompts: [{ text: 'Code: ', echo: false }] };
  },
  onResponses: () => refuse,
};

/** All that a client may do, in order: every step must be answered as it should be. */
function play(link: ServerLink): void {
  const { client } = link;
  client.handshake();
  client.requestService();
  client.request('none');
  client.expect(51);
  client.requestQuery(signer.publicKey, 'ssh-ed25519');
  client.expect(60);
  client.requestSigned(signer);
  client.expect(51);
  client.requestKeyboard();
  client.expect(60);
  client.send(encode(keyboardAuth.infoResponse, { count: 1, responses: encodeFields({ a: 'text' }, { a: '123' }) }));
  client.expect(51);
  client.requestPassword(PASSWORD);
  client.expect(52);
  client.open('session', 3);
  client.expect(91);
  client.channelRequest(0, 'env', encodeFields(channelRequest.env, { name: 'A', value: 'b' }));
  client.channelRequest(0, 'exec', encodeFields(channelRequest.exec, { command: utf8('x') }));
  for (let i = 0; i < 2; i++) client.expect(99);
  client.send(concat(channelDataHeader(0, 5), utf8('hello')));
  client.send(encode(connection.channelWindowAdjust, { recipient: 0, bytes: 1000 }));
  client.globalRequest('tcpip-forward', encodeFields(globalRequest['tcpip-forward'], { host: '', port: 0 }));
  client.expect(82);
  client.rekey();
  const target = { host: 'db', port: 1, originHost: '::1', originPort: 2 };
  client.open('direct-tcpip', 4, encodeFields(channelOpen['direct-tcpip'], target));
  client.expect(91);
  client.send(encode(transport.ping, { data: utf8('x') }));
  client.expect(193);
  client.send(encode(connection.channelEof, { recipient: 0 }));
  client.send(encode(connection.channelClose, { recipient: 0 }));
  client.expect(97);
  link.pump();
}

/** How many packets a session has. */
const PACKETS = 23;

/** Whatever happened, the server must have stayed within its contract, and must end when the line does. */
function endsWell(server: CoreServer, what: string): void {
  if (!server.connection.closed) server.endOfInput();
  assert.deepEqual(server.thrown, [], what);
  assert.ok(server.cause instanceof SshError, what);
  const inner = server.cause.cause;
  assert.ok(inner === undefined || inner instanceof SshError, `${what}: a mistake of ours became an error: ${inner}`);
  assert.notEqual(server.cause.code, 'internal', what);
  assert.ok(server.cause.message.length < 2000, 'messages quote a bounded part of what came');
  server.advance(24 * 60 * 60_000);
}

/** Who is logged in must have shown the password. */
function nobodySlippedIn(server: CoreServer, what: string): void {
  const asked = server.of('question').some(({ question }) => {
    return (
      question.kind === 'login' && question.attempt.method === 'password' && question.attempt.password === PASSWORD
    );
  });
  assert.ok(!server.has('authenticated') || asked, what);
}

/** One to four changes: a bit, a byte, a run left out, a run repeated, a run of anything put in. */
function mutate(bytes: Uint8Array, random: RandomSource): Uint8Array {
  let result: Uint8Array = bytes.slice();
  for (let changes = 1 + drawBelow(random, 4); changes > 0; changes--) {
    const at = drawBelow(random, Math.max(1, Math.min(result.length, 65_535)));
    const run = 1 + drawBelow(random, drawBelow(random, 2) === 0 ? 4 : 300);
    const [before, after] = [result.subarray(0, at), result.subarray(at)];
    switch (drawBelow(random, 5)) {
      case 0:
        if (result.length > at) result[at] = (result[at] as number) ^ (1 << drawBelow(random, 8));
        break;
      case 1:
        if (result.length > at) result[at] = [0, 1, 0x7f, 0x80, 0xff][drawBelow(random, 5)] as number;
        break;
      case 2:
        result = concat(before, after.subarray(run));
        break;
      case 3:
        result = concat(before, after.subarray(0, run), after);
        break;
      default:
        result = concat(before, random(run), after);
    }
  }
  return result.length === 0 ? Uint8Array.of(0) : result;
}

describe('a server connection', () => {
  it('plays the session that is changed below', () => {
    const link = new ServerLink('whole', { script });
    play(link);
    link.server.alive();
    link.server.only('authenticated');
    assert.equal(link.client.sent, PACKETS);
  });

  it('lives through bytes of every kind where a client must begin', () => {
    for (let seed = 0; seed < 200; seed++) {
      const random = seededRandom(`client ${seed}`);
      const server = new CoreServer(serverConfig(), script);
      const noise = random(1 + drawBelow(random, 3000));
      const bytes = seed % 3 === 0 ? noise : concat(utf8('SSH-2.0-x\r\n'), noise);
      for (let at = 0; at < bytes.length; ) {
        const size = 1 + drawBelow(random, 64);
        server.receive(bytes.slice(at, at + size));
        server.takeOutput();
        at += size;
      }
      endsWell(server, `seed ${seed}`);
    }
  });

  it('lives through changes in what the packets say', () => {
    let ends = 0;
    for (let seed = 0; seed < 400; seed++) {
      const random = seededRandom(`packet ${seed}`);
      const link = new ServerLink('whole', { script });
      const { client, server } = link;
      const send = client.send.bind(client);
      let left = drawBelow(random, PACKETS);
      client.send = (payload) => send(left-- === 0 ? mutate(payload, random) : payload);
      try {
        play(link);
      } catch {
        // the script misses what the server does not send any more
      }
      if (server.connection.closed) ends++;
      nobodySlippedIn(server, `seed ${seed}`);
      endsWell(server, `seed ${seed}`);
    }
    assert.ok(ends > 100, `${ends} of 400 changes were noticed`);
  });

  it('lives through packets left out, repeated and in another order, and lets nobody in by that', () => {
    for (let seed = 0; seed < 300; seed++) {
      const random = seededRandom(`order ${seed}`);
      const link = new ServerLink('whole', { script });
      const { client, server } = link;
      const send = client.send.bind(client);
      let left = drawBelow(random, PACKETS);
      let kept: Uint8Array | undefined;
      client.send = (payload) => {
        const turn = left--;
        const own = payload[0] === transport.newkeys.number || payload[0] === transport.kexinit.number;
        if (turn !== 0 || own) {
          send(payload);
          if (kept !== undefined) send(kept);
          kept = undefined;
          return;
        }
        const how = drawBelow(random, 3);
        if (how === 0) return;
        if (how === 1) kept = payload;
        else for (let i = 0; i < 2; i++) send(payload);
      };
      try {
        play(link);
      } catch {
        // the script misses what the server does not send any more
      }
      nobodySlippedIn(server, `seed ${seed}`);
      endsWell(server, `seed ${seed}`);
    }
  });

  it('lives through messages of every number with bodies of noise, before and after the login', () => {
    for (let seed = 0; seed < 200; seed++) {
      const random = seededRandom(`noise ${seed}`);
      const link = new ServerLink('whole', { script });
      const { client, server } = link;
      client.handshake();
      if (seed % 2 === 0) client.login(() => client.requestPassword(PASSWORD));
      const before = server.has('authenticated');
      for (let i = 0; i < 20 && !server.connection.closed; i++) {
        client.send(concat(random(1), random(drawBelow(random, 40))));
        link.pump();
      }
      if (!before) nobodySlippedIn(server, `seed ${seed}`);
      endsWell(server, `seed ${seed}`);
    }
  });
});
