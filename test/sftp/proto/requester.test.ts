import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import { packets } from '../../../src/sftp/proto/packets.ts';
import { type ReplyHandler, Requester } from '../../../src/sftp/proto/requester.ts';
import { chunkings, cut } from '../../support/feed.ts';
import { seededRandom } from '../../support/random.ts';

const VERSION = fromHex('0000000502' + '00000003');
const MARK = new SshError('connection-lost', 'the test cut the line');

/** A requester that has its VERSION, and what it sent since. */
function opened(): { readonly requester: Requester; readonly sent: string[] } {
  const sent: string[] = [];
  const requester = new Requester({ send: (pieces) => sent.push(hex(concat(...pieces))), ready: () => undefined });
  requester.start();
  requester.receive(VERSION);
  sent.length = 0;
  return { requester, sent };
}

/** A handler that writes down what it hears. */
function handler(expects: number, heard: string[], name = ''): ReplyHandler {
  return {
    expects,
    status: (code, message) => heard.push(`${name}status ${code} ${message}`),
    packet: (packet) => heard.push(`${name}packet ${hex(packet)}`),
    dataStart: (length) => heard.push(`${name}start ${length}`),
    data: (bytes) => heard.push(`${name}data ${hex(bytes)}`),
    dataEnd: () => heard.push(`${name}end`),
    failed: (cause) => heard.push(`${name}failed ${cause.code}`),
  };
}

const throwsCode = (code: string, run: () => unknown, message = /./): void =>
  assert.throws(run, (error) => error instanceof SshError && error.code === code && message.test(error.message));

describe('Requester greeting', () => {
  for (const chunking of chunkings) {
    it(`sends INIT 3 and takes VERSION with its extensions, fed ${chunking}`, () => {
      const sent: string[] = [];
      let extensions: ReadonlyMap<string, string> | undefined;
      const requester = new Requester({
        send: (pieces) => sent.push(hex(concat(...pieces))),
        ready: (found) => {
          extensions = found;
        },
      });
      requester.start();
      assert.deepEqual(sent, ['000000050100000003']);
      const version = fromHex('0000001202' + '00000003' + '00000004' + '61406278' + '0000000131');
      for (const chunk of cut(version, chunking, seededRandom(chunking))) requester.receive(chunk);
      assert.deepEqual([...(extensions ?? [])], [['a@bx', '1']]);
    });
  }

  const fresh = (): Requester => new Requester({ send: () => undefined, ready: () => undefined });

  it('refuses a server of version 2, and takes one that names a higher version as 3', () => {
    throwsCode('not-supported', () => fresh().receive(fromHex('0000000502' + '00000002')), /version 2/);
    fresh().receive(fromHex('0000000502' + '00000006'));
  });

  it('refuses anything else in its place, DATA too', () => {
    throwsCode('protocol', () => fresh().receive(fromHex('00000009650000000100000000')), /SSH_FXP_STATUS/);
    throwsCode('protocol', () => fresh().receive(fromHex('00000009670000000100000000')), /SSH_FXP_DATA/);
  });

  it('refuses VERSION cut short', () => {
    throwsCode('decode', () => fresh().receive(fromHex('0000000402000000')));
  });

  it('tells a server that says nothing from one that leaves later', () => {
    assert.equal(fresh().ended().code, 'sftp-unavailable');
    assert.equal(opened().requester.ended().code, 'channel-closed');
  });

  it('fails requests before VERSION', () => {
    const heard: string[] = [];
    fresh().request(packets.stat, { path: utf8('a') }, handler(105, heard));
    assert.deepEqual(heard, ['failed bad-argument']);
  });
});

describe('Requester replies', () => {
  it('numbers requests from 0 and matches replies in any order', () => {
    const { requester, sent } = opened();
    const heard: string[] = [];
    requester.request(packets.stat, { path: utf8('a') }, handler(105, heard, 'a '));
    requester.read(utf8('h'), 5, 9, handler(103, heard, 'b '));
    requester.write(utf8('h'), 5, 2, [fromHex('01'), fromHex('02')], handler(101, heard, 'c '));
    assert.equal(sent[0], '0000000a' + '11' + '00000000' + '0000000161');
    assert.equal(sent[1], '00000016' + '05' + '00000001' + '0000000168' + '0000000000000005' + '00000009');
    assert.equal(sent[2], '00000018' + '06' + '00000002' + '0000000168' + '0000000000000005' + '000000020102');
    requester.receive(fromHex('00000009' + '65' + '00000002' + '00000000'));
    requester.receive(fromHex('0000000a' + '67' + '00000001' + '00000001' + 'ff'));
    requester.receive(fromHex('00000009' + '69' + '00000000' + '00000000'));
    assert.deepEqual(heard, ['c status 0 ', 'b start 1', 'b data ff', 'b end', 'a packet 690000000000000000']);
    assert.equal(requester.pending, 0);
  });

  it('passes a refusal on, whatever the reply would be', () => {
    const { requester } = opened();
    const heard: string[] = [];
    requester.read(utf8('h'), 0, 9, handler(103, heard));
    requester.receive(fromHex('0000000f' + '65' + '00000000' + '00000001' + '000000024f68'));
    assert.deepEqual(heard, ['status 1 Oh']);
  });

  const broken: [string, string, RegExp][] = [
    ['a reply to a request that nobody made', '00000009650000000700000000', /request 7/],
    ['a second reply', '00000009690000000000000000' + '00000009690000000000000000', /request 0/],
    ['a reply of another type', '0000000966' + '00000000' + '00000000', /SSH_FXP_HANDLE.*SSH_FXP_ATTRS/],
    ['a STATUS of success where a reply is due', '00000009650000000000000000', /success.*SSH_FXP_ATTRS/],
    ['DATA where ATTRS are due', '00000009670000000000000000', /SSH_FXP_DATA.*SSH_FXP_ATTRS/],
    ['a request from the server', '0000000a11000000000000000161', /SSH_FXP_STAT/],
    ['a second VERSION', '000000050200000003', /request 3/],
    ['a reply without an id', '0000000265ff', /too short/],
  ];
  for (const [name, bytes, message] of broken) {
    it(`refuses ${name}`, () => {
      const { requester } = opened();
      requester.request(packets.stat, { path: utf8('a') }, handler(105, []));
      throwsCode('protocol', () => requester.receive(fromHex(bytes)), message);
    });
  }

  it('lets ids wrap', () => {
    const sent: string[] = [];
    const events = {
      send: (pieces: readonly Uint8Array[]) => sent.push(hex(concat(...pieces))),
      ready: () => undefined,
    };
    const requester = new Requester(events, { firstId: 0xfffffffe });
    requester.receive(VERSION);
    const ask = (): void => void requester.request(packets.stat, { path: utf8('a') }, handler(105, []));
    for (let i = 0; i < 3; i++) ask();
    requester.receive(fromHex('0000000969' + 'ffffffff' + '00000000'));
    assert.deepEqual(
      sent.map((packet) => packet.slice(10, 18)),
      ['fffffffe', 'ffffffff', '00000000'],
    );
  });
});

describe('Requester end', () => {
  it('fails everything pending with the same cause, DATA half received too, and all that follows', () => {
    const { requester } = opened();
    const causes: SshError[] = [];
    const one = (expects: number): ReplyHandler => ({
      expects,
      status: () => assert.fail('a reply'),
      failed: (cause) => causes.push(cause),
    });
    requester.request(packets.stat, { path: utf8('a') }, one(105));
    requester.read(utf8('h'), 0, 9, one(103));
    requester.receive(fromHex('0000000a' + '67' + '00000001' + '00000001'));
    requester.fail(MARK);
    requester.fail(new SshError('aborted', 'late'));
    requester.request(packets.stat, { path: utf8('a') }, one(105));
    assert.equal(causes.length, 3);
    for (const cause of causes) assert.equal(cause, MARK);
    requester.receive(fromHex('ff')); // what still comes is of no interest
  });

  it('says what was cut short', () => {
    const { requester } = opened();
    requester.receive(fromHex('00000009' + '65'));
    assert.equal(requester.ended().code, 'channel-closed');
    assert.match(requester.ended().message, /inside SSH_FXP_STATUS/);
  });
});
