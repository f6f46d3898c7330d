import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex, latin1, utf8 } from '../../src/bytes/text.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { defaultRekeyLimits } from '../../src/core/rekey.ts';
import { cut } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';
import { End, type Ends, ends, keyed } from './ends.ts';
import { pattern } from './tools.ts';

/** A connection-layer payload: GLOBAL_REQUEST's number, then `mark`. */
const payload = (mark: number, size = 2): Uint8Array => {
  const bytes = pattern(size, mark, 0);
  bytes[0] = 80;
  return bytes;
};

const never = Number.POSITIVE_INFINITY;

describe('Transport, starting,', () => {
  it('sends its identification and KEXINIT together, before it has heard anything', () => {
    const client = new End('client', { software: 'puressh_0.1.0 test' });
    const bytes = client.takeOutput();
    assert.equal(latin1(bytes.subarray(0, 28)), 'SSH-2.0-puressh_0.1.0 test\r\n');
    // packet_length, padding_length, KEXINIT
    assert.equal(bytes[28 + 5], 20);
    assert.equal(client.takeOutput().length, 0);
  });

  it('tells who the peer is, sanitised', () => {
    const client = new End('client');
    client.receive(utf8('Hi\x07\r\nSSH-2.0-\x1bpeer\r\n'));
    assert.deepEqual(client.events, [
      { type: 'identified', identification: 'SSH-2.0-\\x1bpeer', greeting: ['Hi\\x07'] },
    ]);
    assert.equal(latin1(client.transport.peer?.bytes ?? new Uint8Array(0)), 'SSH-2.0-\x1bpeer');
  });

  it('works the same however the bytes are cut', () => {
    for (const chunking of ['bytes', 'random'] as const) {
      const random = seededRandom(chunking);
      const { client, server } = ends();
      for (let quiet = false; !quiet; ) {
        const [up, down] = [client.takeOutput(), server.takeOutput()];
        for (const piece of cut(up, chunking, random)) server.receive(piece);
        for (const piece of cut(down, chunking, random)) client.receive(piece);
        quiet = up.length === 0 && down.length === 0;
      }
      assert.deepEqual([client.exchanges, server.exchanges], [1, 1]);
    }
  });
});

describe('Transport, its own messages,', () => {
  function received(pair: Ends, message: string): void {
    pair.server.transport.send(fromHex(message));
    pair.pump();
  }

  it('IGNORE is nothing, whatever it holds', () => {
    const pair = keyed();
    const before = pair.client.events.length;
    for (const message of ['02', '02 ff', '02 00000003 616263']) received(pair, message);
    pair.client.alive();
    assert.deepEqual([pair.client.events.length, pair.client.payloads], [before, []]);
  });

  it('DEBUG is an event, sanitised and cut', () => {
    const pair = keyed();
    received(pair, '04 01 00000003 611b62 00000000');
    assert.deepEqual(pair.client.events.at(-1), { type: 'debug', text: 'a\\x1bb', alwaysDisplay: true });
    received(pair, `04 00 000007d0 ${'61'.repeat(2000)} 00000000`);
    assert.deepEqual(pair.client.events.at(-1), { type: 'debug', text: `${'a'.repeat(1000)}…`, alwaysDisplay: false });
  });

  it('PING is answered with PONG and the same data (OpenSSH PROTOCOL §1.8)', () => {
    const pair = keyed();
    pair.server.transport.send(fromHex('c0 00000002 abcd'));
    pair.client.receive(pair.server.takeOutput());
    pair.client.alive();
    assert.equal(pair.client.transport.queued, 7 + 128, 'a message of seven bytes waits');
    pair.pump();
    pair.server.alive();
    received(pair, 'c1 00000000');
    pair.client.alive();
  });

  it('DISCONNECT ends the connection with its reason', () => {
    const cases: readonly (readonly [string, string])[] = [
      ['0000000b 00000004 6279651b 00000000', 'The peer disconnected (11, byApplication): bye\\x1b'],
      ['00000002 00000000 00000000', 'The peer disconnected (2, protocolError): '],
      ['deadbeef 00000000 00000000', 'The peer disconnected (3735928559, unknown reason): '],
      // without a language tag, and without a text
      ['0000000b 00000003 627965', 'The peer disconnected (11, byApplication): bye'],
      ['0000000b', 'The peer disconnected (11, byApplication): '],
    ];
    for (const [body, message] of cases) {
      const pair = keyed();
      received(pair, `01 ${body}`);
      const error = pair.client.failed('disconnected');
      assert.deepEqual(
        [error.message, error.fault, error.phase, error.disconnect],
        [message, 'peer', 'open', undefined],
      );
    }
  });

  it('messages that do not decode are a breach', () => {
    for (const message of [
      '01',
      '01 00000002 00000009 00',
      '03',
      '03 00000000 00',
      '04 01',
      '07',
      '07 00000001',
      'c0',
    ]) {
      const pair = keyed();
      if (message.startsWith('07')) pair.client.above = 'auth';
      received(pair, message);
      pair.client.failed('decode');
    }
  });

  it('unknown messages are answered with the sequence number by which the sender knows them', () => {
    const pair = keyed();
    received(pair, '02 00000000');
    received(pair, 'c8');
    const { server, client } = pair;
    assert.deepEqual(
      server.unknown,
      [200],
      'UNIMPLEMENTED(1) is understood as the message that was sent with number 1',
    );
    client.transport.send(fromHex('c9'));
    pair.pump();
    assert.deepEqual(client.unknown, [201]);
    server.transport.rekey();
    pair.pump();
    received(pair, 'ca');
    assert.deepEqual(server.unknown, [200, 202]);
  });

  it('UNIMPLEMENTED itself is not answered', () => {
    const pair = keyed();
    received(pair, '03 00000005');
    assert.equal(pair.client.takeOutput().length, 0);
  });

  it('what the layers above own goes to them, unless the phase forbids it', () => {
    const pair = keyed();
    pair.client.above = 'service';
    received(pair, '06 00000000');
    pair.client.above = 'auth';
    received(pair, '35 00000000 00000000');
    pair.client.above = 'open';
    received(pair, '33 00000000 00');
    received(pair, '5e 00000000 00000000');
    assert.deepEqual(pair.client.payloads, ['0600000000', '350000000000000000', '5e0000000000000000']);
    received(pair, '05 00000000');
    const error = pair.client.failed('protocol');
    assert.equal(error.message, 'The peer sent SSH_MSG_SERVICE_REQUEST in phase open, where it is not allowed');
    assert.deepEqual([error.phase, error.disconnect], ['open', 2]);
  });
});

describe('Transport, with extensions,', () => {
  const extensions = new Map([['server-sig-algs', 'ssh-ed25519']]);

  it('sends EXT_INFO as the first packet after its first NEWKEYS, and never again (RFC 8308 §2.4)', () => {
    // the client is at rest after its first NEWKEYS, so what the server sends there comes at once
    const pair = ends({ server: { extensions } });
    pair.client.above = 'auth';
    pair.server.transport.send(payload(1));
    pair.pump();
    // EXT_INFO went ahead of what had waited: the payload came in a phase that does not allow it
    pair.client.failed('protocol');
    assert.deepEqual(pair.client.extensions, [new Map([['server-sig-algs', utf8('ssh-ed25519')]])]);

    const later = keyed({ server: { extensions } });
    assert.deepEqual(later.client.extensions, [], 'open: not looked at any more');
    later.client.above = 'auth';
    later.server.transport.rekey();
    later.pump();
    later.client.alive();
    assert.deepEqual(later.client.extensions, [], 'none came after the second NEWKEYS');
  });

  it('sends none to a peer that does not take it, and none when there is nothing to say', () => {
    const pair = ends({ server: { extensions: new Map() } });
    pair.client.above = 'auth';
    pair.pump();
    pair.client.alive();
    assert.deepEqual(pair.client.extensions, []);
  });
});

describe('Transport, behind the gate,', () => {
  it('holds what may not leave during a key exchange, and sends it in order after', () => {
    const pair = keyed();
    const { client, server } = pair;
    client.transport.rekey();
    for (const mark of [1, 2, 3]) client.transport.send(payload(mark));
    client.bulk.push(payload(4));
    client.transport.send(fromHex('02 00000000'));
    assert.equal(client.transport.gateOpen, false);
    server.receive(client.takeOutput());
    assert.deepEqual(server.payloads, [], 'KEXINIT and IGNORE left, nothing else');
    server.alive();
    pair.pump();
    assert.deepEqual(server.payloads, ['5001', '5002', '5003', '5004']);
    assert.equal(client.transport.gateOpen, true);
  });

  it('takes what the peer sent before it knew of the exchange', () => {
    const pair = keyed();
    const { client, server } = pair;
    client.transport.rekey();
    for (let mark = 1; mark <= 100; mark++) server.transport.send(payload(mark));
    client.receive(server.takeOutput());
    assert.equal(client.payloads.length, 100);
    pair.pump();
    client.alive();
    assert.deepEqual([client.exchanges, server.exchanges], [2, 2]);
  });

  it('gives up when too much is held', () => {
    const { client } = keyed({ client: { limits: { ...defaultLimits, queuedReplies: 10_000 } } });
    client.transport.rekey();
    client.run(() => {
      for (let i = 0; i < 1000; i++) client.transport.send(payload(1, 22));
    });
    const error = client.failed('limit');
    assert.equal(error.message, 'More than 10000 bytes wait for the end of a key exchange');
    assert.deepEqual([error.fault, error.disconnect], ['peer', 11]);
  });
});

describe('Transport, when its keys are worn out,', () => {
  const limits = (changes: object): { rekey: typeof defaultRekeyLimits } => ({
    rekey: { ...defaultRekeyLimits, ...changes },
  });

  it('begins by the bytes that it sent', () => {
    const pair = keyed({ client: limits({ bytes: 10_000 }) });
    pair.client.transport.send(payload(1, 9000));
    pair.pump();
    assert.equal(pair.client.exchanges, 1);
    pair.client.transport.send(payload(2, 1000));
    pair.pump();
    assert.deepEqual([pair.client.exchanges, pair.server.exchanges], [2, 2]);
    pair.client.transport.send(payload(3, 9000));
    pair.pump();
    assert.equal(pair.client.exchanges, 2, 'counts from the new keys');
  });

  it('begins by the bytes that it received', () => {
    const pair = keyed({ client: limits({ bytes: 10_000 }) });
    pair.server.transport.send(payload(1, 10_000));
    pair.pump();
    assert.deepEqual([pair.client.exchanges, pair.server.exchanges], [2, 2]);
  });

  it('begins by packets, in the middle of bulk data, and loses none of it', () => {
    const pair = keyed({ client: limits({ packets: 10 }), server: limits({ packets: 15 }) });
    for (let i = 0; i < 200; i++) {
      pair.client.bulk.push(payload(i));
      pair.server.bulk.push(payload(i));
    }
    pair.pump();
    const all = Array.from({ length: 200 }, (_, i) => hex(payload(i)));
    assert.deepEqual([pair.server.payloads, pair.client.payloads], [all, all]);
    assert.ok(pair.client.exchanges >= 10, `${pair.client.exchanges} exchanges`);
  });

  it('begins by time', () => {
    const pair = keyed({ client: limits({ time: 60_000 }) });
    const { transport } = pair.client;
    assert.equal(transport.dueAt(1000, false), 61_000);
    transport.tick(60_999, false);
    pair.pump();
    assert.equal(pair.client.exchanges, 1);
    transport.tick(61_000, false);
    pair.pump();
    assert.equal(pair.client.exchanges, 2);
    assert.equal(transport.dueAt(70_000, false), 130_000);
  });

  it('waits until the user is logged in', () => {
    const pair = keyed({ client: limits({ bytes: 1, packets: 1, time: 1 }) });
    pair.client.above = 'auth';
    pair.client.transport.send(fromHex('02 00000000'));
    pair.server.transport.send(fromHex('02 00000000'));
    pair.pump();
    pair.client.transport.dueAt(0, false);
    pair.client.transport.tick(1000, false);
    pair.pump();
    assert.equal(pair.client.exchanges, 1);
    pair.client.above = 'open';
    pair.client.transport.send(fromHex('02 00000000'));
    pair.pump();
    assert.ok(pair.client.exchanges > 1);
  });
});

describe('Transport, timed,', () => {
  it('gives the peer 30 seconds to identify itself', () => {
    const client = new End('client', { rekey: { ...defaultRekeyLimits, time: never } });
    assert.equal(client.transport.dueAt(1000, false), 31_000);
    client.run(() => client.transport.tick(30_999, false));
    client.alive();
    client.run(() => client.transport.tick(31_000, false));
    const error = client.failed('timeout');
    assert.equal(error.message, 'No SSH identification came within 30000 ms');
    assert.deepEqual([error.fault, error.phase, error.disconnect], ['network', 'identification', 11]);
  });

  it('gives the first key exchange 60 seconds', () => {
    const client = new End('client');
    client.transport.dueAt(1000, false);
    client.receive(utf8('SSH-2.0-peer\r\n'));
    assert.equal(client.transport.dueAt(2000, false), 61_000);
    client.run(() => client.transport.tick(61_000, false));
    const error = client.failed('timeout');
    assert.equal(error.message, 'The key exchange did not end within 60000 ms');
    assert.equal(error.phase, 'key-exchange');
  });

  it('gives later ones 60 seconds too, and no timer runs between them', () => {
    const pair = keyed({ client: { rekey: { ...defaultRekeyLimits, time: never } } });
    const { transport } = pair.client;
    assert.equal(transport.dueAt(1000, false), never);
    pair.client.run(() => transport.tick(1e9, false));
    transport.rekey();
    assert.equal(transport.dueAt(2e9, false), 2e9 + 60_000);
    pair.pump();
    assert.equal(transport.dueAt(2e9, false), never);
    pair.client.alive();
    transport.rekey();
    transport.dueAt(3e9, false);
    pair.client.run(() => transport.tick(3e9 + 60_000, false));
    pair.client.failed('timeout');
  });

  it('gives a packet whose length is hidden two minutes from its first block to its end, right or wrong', () => {
    const rekey = { ...defaultRekeyLimits, time: never };
    const keyedBy = (cipher: string) => {
      const algorithms = { ciphers: [cipher], macs: ['hmac-sha1'] };
      return keyed({ client: { algorithms, rekey }, server: { algorithms } });
    };
    const nextPacket = ({ server }: Ends): Uint8Array => {
      server.transport.send(payload(1, 100));
      return server.takeOutput();
    };
    for (const isWrong of [false, true]) {
      const pair = keyedBy('aes128-cbc');
      const { client } = pair;
      client.receive(nextPacket(pair));
      assert.equal(client.transport.dueAt(1000, false), never);
      const packet = nextPacket(pair);
      if (isWrong) packet[40] = (packet[40] as number) ^ 1;
      client.receive(packet.slice(0, 16));
      assert.equal(client.transport.dueAt(2000, false), 122_000);
      client.receive(packet.slice(16, isWrong ? undefined : -1));
      assert.equal(client.transport.dueAt(5000, false), 122_000);
      client.run(() => client.transport.tick(121_999, false));
      client.alive();
      assert.equal(client.transport.dueAt(121_999, true), never, 'not while this side is awaited');
      client.run(() => client.transport.tick(300_000, false));
      client.alive();
      client.run(() => client.transport.tick(420_000, false));
      assert.match(client.failed('timeout').message, /^A packet was not whole within 120000 ms/);
    }
    const pair = keyedBy('aes128-ctr');
    pair.client.receive(nextPacket(pair).slice(0, 16));
    assert.equal(pair.client.transport.dueAt(2000, false), never);
  });

  it('does not count the time in which the user looks at the host key', () => {
    const pair = ends({ client: { trusts: false, rekey: { ...defaultRekeyLimits, time: never } } });
    const { client } = pair;
    client.transport.dueAt(0, false);
    pair.pump();
    assert.equal(client.open.length, 1);
    assert.equal(client.transport.dueAt(0, true), never);
    client.run(() => client.transport.tick(1e6, true));
    client.run(() => client.answer());
    // the server has sent its NEWKEYS, but it is not processed yet
    assert.equal(client.transport.dueAt(1e6, false), 1e6 + 60_000);
    client.run(() => client.transport.tick(1e6, false));
    client.alive();
  });

  it('is not timed by a question of another layer', () => {
    const pair = keyed({ client: { rekey: { ...defaultRekeyLimits, time: never } } });
    pair.client.run(() => pair.client.transport.tick(1000, true));
    assert.equal(pair.client.transport.dueAt(1000, true), never);
    assert.equal(pair.client.transport.dueAt(1000, false), never);
  });
});

describe('Transport, ending,', () => {
  it('sends DISCONNECT and nothing after it, whatever waits', () => {
    const pair = keyed();
    const { client, server } = pair;
    client.transport.send(payload(1));
    client.bulk.push(payload(2));
    client.transport.disconnect(11, 'enough');
    client.transport.rekey();
    pair.pump();
    assert.equal(server.failed('disconnected').message, 'The peer disconnected (11, byApplication): enough');
    assert.deepEqual(server.payloads, []);
    assert.equal(client.takeOutput().length, 0);
  });

  it('sends DISCONNECT through the closed gate', () => {
    const pair = keyed();
    pair.client.transport.rekey();
    pair.client.transport.send(payload(1));
    pair.client.transport.disconnect(2, '');
    pair.pump();
    pair.server.failed('disconnected');
  });

  it('begins no key exchange behind its DISCONNECT although its keys are worn out', () => {
    const pair = keyed({ client: { rekey: { ...defaultRekeyLimits, packets: 1 } } });
    pair.client.transport.disconnect(11, '');
    const bytes = pair.client.takeOutput();
    pair.server.receive(bytes);
    pair.server.failed('disconnected');
    assert.equal(pair.client.takeOutput().length, 0);
    // one packet: 4 + (1 + 1 + 4 + 4 + 4 + padding) + 16 under chacha20-poly1305
    assert.equal(bytes.length, 4 + 24 + 16);
  });

  it('sends nothing when it is dropped', () => {
    const { client } = keyed();
    client.transport.send(payload(1));
    client.bulk.push(payload(2));
    client.transport.drop();
    assert.equal(client.takeOutput().length, 0);
  });

  it('says nothing but its line to a peer that has not identified itself', () => {
    const client = new End('client');
    client.transport.disconnect(11, '');
    assert.equal(latin1(client.takeOutput()), 'SSH-2.0-client_1\r\n');
  });
});
