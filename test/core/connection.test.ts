/** The driving contract of `Connection`: one end, told once; facts, commands, output and timers. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { Connection } from '../../src/core/connection.ts';
import type { Event } from '../../src/core/events.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { connection as rows } from '../../src/wire/connection.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { decode, encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { clientConfig } from '../support/core_client.ts';
import { Link } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { thrown } from './tools.ts';
import { withChannel } from './with_channel.ts';

const none = new Uint8Array(0);

/** Events that wait. */
function drain(connection: Connection): Event[] {
  const events: Event[] = [];
  for (let event = connection.nextEvent(); event !== undefined; event = connection.nextEvent()) events.push(event);
  return events;
}

interface Ending {
  /** Ends the connection of a link with channel 0 open. */
  readonly end: (link: Link) => void;
  /** Code of the cause; `undefined` for an end in good order. */
  readonly code: SshError['code'] | undefined;
  /** Reason and description of the DISCONNECT that the peer gets, if any. */
  readonly told?: readonly [number, string];
}

const endings: Readonly<Record<string, Ending>> = {
  'disconnect()': {
    end: ({ client }) => client.connection.disconnect('enough'),
    code: undefined,
    told: [11, 'enough'],
  },
  'the end of the byte stream': { end: ({ client }) => client.connection.endOfInput(), code: 'connection-lost' },
  'a failure of the byte stream': {
    end: ({ client }) => client.connection.endOfInput(new SshError('connection-lost', 'ECONNRESET')),
    code: 'connection-lost',
  },
  "the peer's DISCONNECT": {
    end: ({ client, peer }) => {
      peer.send(encode(transport.disconnect, { reason: 12, description: 'full', language: '' }));
      client.connection.receive(concat(...peer.takeOutput()));
    },
    code: 'disconnected',
  },
  'a message that is not allowed': {
    end: ({ client, peer }) => {
      peer.send(fromHex('15'));
      client.connection.receive(concat(...peer.takeOutput()));
    },
    code: 'protocol',
    told: [2, 'The peer sent SSH_MSG_NEWKEYS in phase open, where it is not allowed'],
  },
  'a message that does not decode': {
    end: ({ client, peer }) => {
      peer.send(fromHex('5d 00'));
      client.connection.receive(concat(...peer.takeOutput()));
    },
    code: 'protocol',
    told: [2, 'Truncated uint32: 4 bytes needed at offset 1, 1 left'],
  },
  'a packet that was changed': {
    end: ({ client, peer }) => {
      peer.send(fromHex('02 00000000'));
      const packet = concat(...peer.takeOutput());
      packet[packet.length - 1] = (packet[packet.length - 1] as number) ^ 1;
      client.connection.receive(packet);
    },
    code: 'integrity',
    told: [5, "Packet 3 fails its integrity check: it was changed on the way, or the peer's cipher is at fault"],
  },
  'a timer': {
    end: ({ client }) => {
      client.connection.rekey();
      const due = client.connection.nextTimeout(5000);
      assert.equal(due, 65_000);
      client.connection.tick(65_000);
    },
    code: 'timeout',
    told: [11, 'timeout'],
  },
};

describe('Connection, ended by', () => {
  for (const [what, { end, code, told }] of Object.entries(endings)) {
    it(`${what}: tells so once, and as the last thing`, () => {
      const link = withChannel();
      const { connection } = link.client;
      connection.write(0, [new Uint8Array(100_000)]);
      connection.requestChannel(0, 'x', none, true);
      connection.requestGlobal('y', none, true);
      end(link);
      assert.equal(connection.closed, true);
      const events = drain(connection);
      const closed = events.at(-1);
      assert.ok(closed?.type === 'closed');
      assert.deepEqual(events.filter(({ type }) => type === 'closed').length, 1);
      assert.equal(closed.cause?.code, code);
      if (code !== undefined) assert.ok(closed.cause instanceof SshError);
    });

    it(`${what}: tells the peer ${told === undefined ? 'nothing' : 'why, and nothing else'}`, () => {
      const link = withChannel();
      const { client, peer } = link;
      client.connection.write(0, [new Uint8Array(100_000)]);
      client.connection.requestChannel(0, 'x', none, true);
      end(link);
      for (const piece of client.connection.takeOutput(1_000_000)) peer.receive(piece);
      const payloads = peer.inbox.map(({ payload }) => payload);
      if (told === undefined) {
        assert.deepEqual(payloads, []);
        return;
      }
      assert.equal(payloads.length, 1);
      const { reason, description } = decode(transport.disconnect, payloads[0] as Uint8Array);
      assert.deepEqual([reason, description], told);
      assert.deepEqual(client.connection.takeOutput(1_000_000), []);
    });

    it(`${what}: takes every later call and does nothing`, () => {
      const link = withChannel();
      const { connection } = link.client;
      end(link);
      drain(connection);
      connection.takeOutput(1_000_000);
      // more input than a single packet, whatever it holds
      connection.receive(new Uint8Array(100_000));
      connection.endOfInput();
      connection.endOfInput(new SshError('connection-lost', 'again'));
      connection.tick(1e12);
      connection.answer(1, true);
      connection.refuse(1, new SshError('host-key-unknown', 'no'));
      connection.start();
      assert.equal(connection.openChannel('session', none), -1);
      connection.acceptChannel(0);
      connection.refuseChannel(0, 1, '');
      assert.equal(connection.write(0, [new Uint8Array(5_000_000)]), true);
      connection.endChannel(0);
      connection.closeChannel(0);
      connection.consumed(0, 1_000_000);
      assert.equal(connection.requestChannel(0, 'x', none, true), -1);
      connection.replyChannelRequest(0, true);
      assert.equal(connection.requestGlobal('x', none, true), -1);
      connection.replyGlobalRequest(true);
      connection.rekey();
      connection.disconnect();
      assert.deepEqual(drain(connection), []);
      assert.deepEqual(connection.takeOutput(1_000_000), []);
      assert.deepEqual([connection.nextTimeout(0), connection.holdsInput, connection.closed], [undefined, false, true]);
    });
  }

  it('the first of several causes', () => {
    const { connection } = withChannel().client;
    connection.endOfInput(new SshError('connection-lost', 'first'));
    connection.disconnect();
    const [event] = drain(connection);
    assert.ok(event?.type === 'closed' && /first/.test(event.cause?.message ?? ''));
  });

  it('anything that is thrown inside, as an SshError with its cause, also where even DISCONNECT cannot be sealed', () => {
    const failure = new TypeError('broken primitive');
    const authenticate = (): never => {
      throw failure;
    };
    const crypto: CryptoProvider = { ...memoCrypto, chacha20: { ...memoCrypto.chacha20, authenticate } };
    const link = new Link('whole', { client: { crypto }, peer: { crypto: memoCrypto } });
    const { client, peer } = link;
    peer.identify();
    peer.sendKexinit();
    peer.takeKexinit();
    peer.send(encode(ecdh.reply, peer.reply()));
    peer.sendNewkeys();
    link.pump();
    const { cause } = client;
    assert.ok(cause instanceof SshError);
    assert.deepEqual([cause.code, cause.message, cause.cause], ['internal', 'broken primitive', failure]);
    for (let i = 0; i < 3; i++) client.takeOutput();
    assert.equal(client.of('closed').length, 1);
  });
});

describe('Connection, ended early,', () => {
  function early(): Connection {
    const connection = new Connection(clientConfig());
    connection.start();
    return connection;
  }

  function causeOf(connection: Connection): SshError {
    const event = drain(connection).at(-1);
    assert.ok(event?.type === 'closed' && event.cause !== undefined);
    return event.cause;
  }

  it('says what the peer said in place of an identification', () => {
    const connection = early();
    connection.receive(utf8('Access denied\r\nGo away'));
    connection.endOfInput();
    const cause = causeOf(connection);
    assert.deepEqual([cause.code, cause.fault], ['identification', 'peer']);
    assert.equal(
      cause.message,
      'The peer closed before it identified itself as SSH; it said: "Access denied | Go away"',
    );
  });

  it('says that the peer said nothing', () => {
    const connection = early();
    connection.endOfInput();
    assert.equal(causeOf(connection).message, 'The peer closed before it identified itself as SSH');
  });

  it('says in which phase the line was lost, and why', () => {
    const connection = early();
    connection.receive(utf8('SSH-2.0-peer\r\n'));
    const reason = new SshError('connection-lost', 'ECONNRESET', { fault: 'network' });
    connection.endOfInput(reason);
    const cause = causeOf(connection);
    assert.deepEqual(
      [cause.code, cause.fault, cause.phase, cause.message, cause.cause],
      ['connection-lost', 'network', 'kex', 'Connection lost in phase kex: ECONNRESET', reason],
    );
  });

  it('ends also before it was started', () => {
    const connection = new Connection(clientConfig());
    connection.disconnect();
    assert.deepEqual(drain(connection), [{ type: 'closed', cause: undefined }]);
    assert.deepEqual(connection.takeOutput(1000), []);
  });
});

describe('Connection, its facts,', () => {
  it('are not there before the first key exchange, and are after', () => {
    const link = new Link('whole');
    const { connection } = link.client;
    assert.deepEqual(
      [
        connection.negotiated,
        connection.sessionId,
        connection.hostKey,
        connection.peerIdentification,
        connection.strict,
      ],
      [undefined, undefined, undefined, undefined, false],
    );
    link.peer.handshake();
    assert.deepEqual(connection.negotiated, {
      kex: 'mlkem768x25519-sha256',
      hostKey: 'ssh-ed25519',
      toServer: { cipher: 'chacha20-poly1305@openssh.com', compression: 'none' },
      toClient: { cipher: 'chacha20-poly1305@openssh.com', compression: 'none' },
    });
    assert.equal(hex(connection.sessionId ?? none), hex(link.peer.sessionId ?? none));
    assert.equal(connection.sessionId?.length, 32);
    assert.equal(hex(connection.hostKey ?? none), hex(link.peer.hostKey.publicKey));
    assert.deepEqual([connection.peerIdentification, connection.strict], ['SSH-2.0-scripted_1.0', true]);
  });
});

describe('Connection, its commands,', () => {
  it('throw what is a mistake of the caller, and the connection goes on', () => {
    const link = withChannel({ client: { limits: { ...defaultLimits, channels: 1 } } });
    const { connection } = link.client;
    assert.equal(thrown('limit', () => connection.openChannel('session', none)).fault, 'local');
    assert.equal(connection.closed, false);
  });

  it('end the connection where the peer is at fault', () => {
    const link = withChannel({ client: { limits: { ...defaultLimits, queuedReplies: 5000 } } });
    const { connection } = link.client;
    connection.rekey();
    for (let i = 0; i < 100; i++) connection.requestChannel(0, 'x', none, false);
    link.client.settle();
    link.client.failed('limit');
  });

  it('start no key exchange before the user is logged in', () => {
    const link = new Link('whole');
    link.peer.handshake();
    link.client.connection.rekey();
    link.peer.expect(5);
    link.peer.expect(50);
    link.peer.expectNothing();
    assert.equal(link.client.connection.closed, false);
  });
});

describe('Connection.takeOutput', () => {
  it('gives about as much as it is asked for', () => {
    const { connection } = withChannel({}, 10_000_000).client;
    connection.write(0, [new Uint8Array(1_000_000)]);
    let total = 0;
    for (;;) {
      const size = connection.takeOutput(100_000).reduce((sum, { length }) => sum + length, 0);
      if (size === 0) break;
      assert.ok(size < 100_000 + 32_768 + 100, `${size} bytes at once`);
      total += size;
    }
    assert.ok(total > 1_000_000);
  });

  it('gives nothing for a budget of nothing', () => {
    const { connection } = withChannel().client;
    connection.write(0, [new Uint8Array(10)]);
    assert.deepEqual(connection.takeOutput(0), []);
    assert.notDeepEqual(connection.takeOutput(1), []);
  });

  it('seals nothing before it is asked, so that what is urgent goes first', () => {
    const link = withChannel();
    const { connection } = link.client;
    connection.write(0, [new Uint8Array(10)]);
    connection.requestChannel(0, 'signal', none, false);
    link.pump();
    assert.deepEqual(
      link.peer.inbox.map(({ payload }) => payload[0]),
      [rows.channelRequest.number, rows.channelData.number],
    );
  });
});

describe('Connection.nextTimeout', () => {
  it('is the earliest of all timers, and undefined when none runs', () => {
    const rekey = { bytes: 1e9, packets: 1e9, time: Number.POSITIVE_INFINITY };
    const link = withChannel({ client: { rekey } });
    const { connection } = link.client;
    assert.equal(connection.nextTimeout(7), undefined);
    connection.closeChannel(0);
    assert.equal(connection.nextTimeout(1000), 11_000);
    connection.rekey();
    assert.equal(connection.nextTimeout(1000), 11_000);
    connection.tick(11_000);
    assert.equal(connection.nextTimeout(11_000), 61_000);
  });

  it('starts with the 30 seconds for the identification', () => {
    const connection = new Connection(clientConfig());
    connection.start();
    assert.equal(connection.nextTimeout(1000), 31_000);
    connection.tick(31_000);
    const [event] = drain(connection);
    assert.ok(event?.type === 'closed' && event.cause?.code === 'timeout');
  });
});
