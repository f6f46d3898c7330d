import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../../src/bytes/text.ts';
import { SshError } from '../../../src/errors.ts';
import { Framer, type FramerSink, MAX_PACKET } from '../../../src/sftp/proto/framer.ts';
import { chunkings, cut } from '../../support/feed.ts';
import { seededRandom } from '../../support/random.ts';

const STATUS = fromHex('000000096500000001' + '00000000');
const EMPTY_DATA = fromHex('00000009670000000200000000');
const DATA = fromHex('0000000c6700000003' + '00000003' + 'abcdef');

/** A sink that writes down what it is told, with the pieces of payload joined. */
function recorder(): FramerSink & { readonly heard: string[] } {
  const heard: string[] = [];
  let payload = '';
  return {
    heard,
    packet: (packet) => heard.push(`packet ${hex(packet)}`),
    dataStart: (id, length) => heard.push(`data ${id} ${length}`),
    data: (bytes) => {
      payload += hex(bytes);
    },
    dataEnd: () => {
      heard.push(`end ${payload}`);
      payload = '';
    },
  };
}

function codeOf(run: () => unknown): SshError {
  try {
    run();
  } catch (error) {
    if (error instanceof SshError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('Framer', () => {
  for (const chunking of chunkings) {
    it(`hands on packets whole and payloads in pieces, fed ${chunking}`, () => {
      const sink = recorder();
      const framer = new Framer(sink);
      const stream = concat(STATUS, DATA, EMPTY_DATA, STATUS, DATA);
      for (const chunk of cut(stream, chunking, seededRandom(chunking))) framer.push(chunk);
      const status = 'packet 650000000100000000';
      const data = ['data 3 3', 'end abcdef'];
      assert.deepEqual(sink.heard, [status, ...data, 'data 2 0', 'end ', status, ...data]);
      assert.equal(framer.end(), undefined);
    });

    it(`hands on DATA whole to a sink that takes it so, fed ${chunking}`, () => {
      const heard: string[] = [];
      const framer = new Framer({ packet: (packet) => heard.push(hex(packet)) });
      for (const chunk of cut(DATA, chunking, seededRandom(chunking))) framer.push(chunk);
      assert.deepEqual(heard, ['670000000300000003abcdef']);
    });

    it(`quotes text that comes in place of VERSION, fed ${chunking} (T39)`, () => {
      const framer = new Framer(recorder(), { expectGreeting: true });
      const error = codeOf(() => {
        for (const chunk of cut(utf8('abc\nmore'), chunking, seededRandom(chunking))) framer.push(chunk);
      });
      assert.equal(error.code, 'sftp-unavailable');
      assert.match(error.message, /"abc\\x0a.*start-up file/);
    });
  }

  it('quotes as much of the text as is there', () => {
    const framer = new Framer(recorder(), { expectGreeting: true });
    const error = codeOf(() => framer.push(utf8('Welcome to \u001b[31mthis machine')));
    assert.match(error.message, /"Welcome to \\x1b\[31mthis machine"/);
  });

  it('quotes text shorter than a length field when the stream ends', () => {
    const framer = new Framer(recorder(), { expectGreeting: true });
    framer.push(utf8('hi'));
    assert.equal(framer.end()?.code, 'sftp-unavailable');
    assert.match(String(framer.end()?.message), /"hi"/);
  });

  it('calls text after the greeting what it is: a packet too long', () => {
    const framer = new Framer(recorder(), { expectGreeting: true });
    framer.push(STATUS);
    assert.equal(codeOf(() => framer.push(utf8('abc\n'))).code, 'protocol');
  });

  it('takes a packet of the limit, and refuses one more by its length alone', () => {
    const sink = recorder();
    const framer = new Framer(sink);
    const packet = new Uint8Array(4 + MAX_PACKET);
    packet.set([0, MAX_PACKET >> 16, (MAX_PACKET >> 8) & 255, MAX_PACKET & 255, 104]);
    framer.push(packet);
    assert.equal(sink.heard.length, 1);
    const error = codeOf(() =>
      framer.push(new Uint8Array([0, MAX_PACKET >> 16, (MAX_PACKET >> 8) & 255, (MAX_PACKET & 255) + 1])),
    );
    assert.equal(error.code, 'protocol');
    assert.match(error.message, new RegExp(`${MAX_PACKET + 1} bytes.*maxPacket`));
  });

  it('takes longer packets where the limit is set higher', () => {
    const framer = new Framer(recorder(), { maxPacket: 0xffffffff });
    framer.push(fromHex('fffffffe'));
    assert.match(String(framer.end()?.message), /ended inside a packet/);
  });

  it('refuses a packet of no bytes', () => {
    assert.equal(codeOf(() => new Framer(recorder()).push(new Uint8Array(4))).code, 'protocol');
  });

  it('refuses DATA that is too short for its header, or whose lengths disagree', () => {
    for (const bytes of [
      '0000000867',
      '000000056700000001',
      '0000000a67000000010000000201',
      '0000000967000000010000000101',
    ]) {
      const error = codeOf(() => new Framer(recorder()).push(fromHex(bytes.padEnd(40, '0'))));
      assert.match(error.code, /^(decode|protocol)$/);
    }
  });

  it('says what was cut short when the stream ends inside a packet', () => {
    for (const [bytes, what] of [
      [STATUS.subarray(0, 3), /inside a packet/],
      [STATUS.subarray(0, 8), /inside SSH_FXP_STATUS/],
      [DATA.subarray(0, 14), /inside SSH_FXP_DATA/],
      [DATA.subarray(0, 13), /inside SSH_FXP_DATA/],
    ] as const) {
      const framer = new Framer(recorder());
      framer.push(bytes);
      const error = framer.end();
      assert.equal(error?.code, 'channel-closed');
      assert.match(String(error?.message), what);
    }
  });

  it('names the side that it hears', () => {
    const messages = (['server', 'client'] as const).map((peer) => {
      const framer = (): Framer => new Framer(recorder(), { peer });
      return [
        codeOf(() => framer().push(fromHex('00000000'))).message,
        codeOf(() => framer().push(fromHex('7fffffff'))).message,
        codeOf(() => new Framer(recorder(), { peer, expectGreeting: true }).push(utf8('SSH-2.0-x'))).message,
      ];
    });
    assert.match(
      messages[0]?.join() ?? '',
      /the server sent.*the server announced.*the server is sound.*the server sent "SSH-2/,
    );
    assert.match(
      messages[1]?.join() ?? '',
      /the client sent.*the client announced.*the client is sound.*the client sent "SSH-2/,
    );
    assert.doesNotMatch(messages[1]?.join() ?? '', /server|login shell/);
  });

  it('hands a WRITE on whole to a sink that does not take it in pieces', () => {
    const heard: string[] = [];
    new Framer({ packet: (packet) => heard.push(hex(packet)) }).push(
      fromHex('00000018060000000100000001680000000000000000' + '0000000261' + '62'),
    );
    assert.deepEqual(heard, ['060000000100000001680000000000000000' + '000000026162']);
  });
});
