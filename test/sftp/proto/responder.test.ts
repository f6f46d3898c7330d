import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, join } from '../../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../../src/bytes/text.ts';
import { SshError, type SshErrorCode } from '../../../src/errors.ts';
import { MAX_PACKET } from '../../../src/sftp/proto/framer.ts';
import { type RequestBody, Responder, type ResponderOptions } from '../../../src/sftp/proto/responder.ts';
import { type Chunking, chunkings, cut } from '../../support/feed.ts';
import { seededRandom } from '../../support/random.ts';

const INIT = '000000050100000003';

/** A packet from the hex digits of everything behind its length. */
function packet(body: string): string {
  return (body.length / 2).toString(16).padStart(8, '0') + body;
}

/** A string field. */
function str(text: string | Uint8Array): string {
  const bytes = typeof text === 'string' ? utf8(text) : text;
  return bytes.length.toString(16).padStart(8, '0') + hex(bytes);
}

class Heard {
  readonly responder: Responder;
  /** What the responder told, in order, with the bytes of each field in hex. */
  readonly log: string[] = [];
  readonly sent: string[] = [];
  readonly pieces: number[] = [];
  held = false;

  constructor(options: ResponderOptions = {}) {
    this.responder = new Responder(
      {
        send: (pieces) => this.sent.push(hex(join(pieces))),
        read: (id, handle, offset, length) => this.log.push(`read ${id} ${hex(handle)} ${offset} ${length}`),
        write: (id, handle, offset, length, pieces) => {
          this.pieces.push(pieces.length);
          this.log.push(`write ${id} ${hex(handle)} ${offset} ${length} ${hex(join(pieces))}`);
        },
        request: (id, body, size) => this.log.push(`${id} ${show(body)} ${size}`),
        holds: () => this.held,
      },
      options,
    );
  }

  feed(digits: string, chunking: Chunking = 'whole'): this {
    for (const chunk of cut(fromHex(digits), chunking, seededRandom(chunking))) this.responder.receive(chunk);
    return this;
  }

  fails(digits: string, code: SshErrorCode, message: RegExp): void {
    assert.throws(
      () => this.feed(digits),
      (error) =>
        error instanceof SshError && error.code === code && error.fault === 'peer' && message.test(error.message),
    );
  }
}

function show(body: RequestBody): string {
  return Object.values(body)
    .map((value) =>
      value instanceof Uint8Array ? `[${hex(value)}]` : typeof value === 'object' ? JSON.stringify(value) : value,
    )
    .join(' ');
}

const open = (options?: ResponderOptions): Heard => new Heard(options).feed(INIT);

/** Each request and what it is read as. The bodies follow draft-ietf-secsh-filexfer-02 §6 and OpenSSH PROTOCOL §4. */
const requests: readonly [name: string, body: string, heard: string][] = [
  ['OPEN', `0300000001${str('/a')}0000000a00000004000001a4`, '1 open [2f61] 10 {"permissions":420} 23'],
  ['CLOSE', `0400000002${str('h')}`, '2 close [68] 10'],
  ['READ', `0500000003${str('h')}000000010000000200008000`, 'read 3 68 4294967298 32768'],
  ['WRITE', `0600000004${str('h')}0000000000000005${str('xyz')}`, 'write 4 68 5 3 78797a'],
  ['an empty WRITE', `0600000004${str('')}0000000000000005${str('')}`, 'write 4  5 0 '],
  ['LSTAT', `0700000005${str('/a')}`, '5 lstat [2f61] 11'],
  ['FSTAT', `0800000006${str('h')}`, '6 fstat [68] 10'],
  ['SETSTAT', `0900000007${str('/a')}00000001000000000000000a`, '7 setstat [2f61] {"size":10} 23'],
  ['FSETSTAT', `0a00000008${str('h')}000000080000000a0000000b`, '8 fsetstat [68] {"atime":10,"mtime":11} 22'],
  ['OPENDIR', `0b00000009${str('/')}`, '9 opendir [2f] 10'],
  ['READDIR', `0c0000000a${str('h')}`, '10 readdir [68] 10'],
  ['REMOVE', `0d0000000b${str('/a')}`, '11 remove [2f61] 11'],
  ['MKDIR', `0e0000000c${str('/a')}00000000`, '12 mkdir [2f61] {} 15'],
  ['RMDIR', `0f0000000d${str('/a')}`, '13 rmdir [2f61] 11'],
  ['REALPATH', `100000000e${str('')}`, '14 realpath [] 9'],
  ['STAT', `110000000f${str('/a')}`, '15 stat [2f61] 11'],
  ['RENAME', `1200000010${str('/a')}${str('/b')}`, '16 rename [2f61] [2f62] 17'],
  ['READLINK', `1300000011${str('/a')}`, '17 readlink [2f61] 11'],
  ['SYMLINK', `1400000012${str('t')}${str('/l')}`, '18 symlink [74] [2f6c] 16'],
  ['EXTENDED', `c800000013${str('x@y')}0102`, '19 extended x@y [0102] 14'],
  ['id 2^32 - 1', `07ffffffff${str('ÿ')}`, '4294967295 lstat [c3bf] 11'],
];

/** STATUS of a request: id and code, and that message and language tag follow. */
function status(reply: string | undefined): string {
  const bytes = fromHex(reply ?? '');
  const view = new DataView(bytes.buffer);
  assert.equal(bytes[4], 101, reply);
  const message = 17 + view.getUint32(13);
  assert.equal(message + 4 + view.getUint32(message), bytes.length, 'message and language tag fill the packet');
  return `${view.getUint32(5)} ${view.getUint32(9)}`;
}

describe('Responder greeting', () => {
  for (const chunking of chunkings) {
    it(`answers INIT with VERSION 3 and its extensions, fed ${chunking}`, () => {
      const heard = new Heard({ extensions: [{ name: 'a@bx', value: '1' }] }).feed(INIT, chunking);
      assert.deepEqual(heard.sent, [packet(`0200000003${str('a@bx')}${str('1')}`)]);
    });
  }

  it('answers a higher version with 3, and passes over extensions of the client, whole or not', () => {
    for (const init of ['0100000006', '01ffffffff', `0100000003${str('a')}${str('b')}`, '0100000003000000']) {
      assert.deepEqual(new Heard().feed(packet(init)).sent, ['000000050200000003'], init);
    }
  });

  it('refuses a lower version', () => {
    for (const version of ['00', '02']) {
      new Heard().fails(
        packet(`01000000${version}`),
        'not-supported',
        new RegExp(`version ${Number(version)}, puressh`),
      );
    }
  });

  it('takes nothing before INIT, and INIT once', () => {
    new Heard().fails(packet(`1000000001${str('.')}`), 'protocol', /began with SSH_FXP_REALPATH/);
    new Heard().fails(
      packet(`0600000001${str('h')}0000000000000000${str('x')}`),
      'protocol',
      /began with SSH_FXP_WRITE/,
    );
    new Heard().fails(packet('01000000'), 'protocol', /INIT ends before/);
    open().fails(INIT, 'protocol', /INIT twice/);
  });

  for (const chunking of chunkings) {
    it(`quotes text in place of INIT, fed ${chunking} (T39)`, () => {
      const heard = new Heard();
      assert.throws(
        () => heard.feed(`6162630a${'20'.repeat(40)}`, chunking),
        (error) =>
          error instanceof SshError && error.code === 'protocol' && /client sent "abc\\x0a/.test(error.message),
      );
      assert.doesNotThrow(() => heard.feed(INIT), 'what comes after is dropped');
      assert.deepEqual(heard.sent, []);
    });
  }
});

describe('Responder requests', () => {
  for (const chunking of chunkings) {
    it(`hands on every request in order, fed ${chunking}`, () => {
      const heard = open().feed(requests.map(([, body]) => packet(body)).join(''), chunking);
      assert.deepEqual(
        heard.log,
        requests.map(([, , expected]) => expected),
      );
      assert.equal(heard.sent.length, 1);
      assert.equal(heard.responder.ended(), undefined);
    });
  }

  for (const [name, body] of requests) {
    it(`answers ${name} cut short anywhere with BAD_MESSAGE and goes on`, () => {
      const heard = open();
      let answers = 1;
      for (let end = 10; end < body.length; end += 2) {
        const before = heard.log.length;
        heard.feed(packet(body.slice(0, end)));
        if (heard.log.length > before) {
          // only the body of EXTENDED may have any length
          assert.equal(name, 'EXTENDED');
          continue;
        }
        assert.equal(status(heard.sent[answers++]), `${Number.parseInt(body.slice(2, 10), 16)} 5`, String(end));
      }
      heard.feed(packet(requests[1]?.[1] ?? ''));
      assert.equal(heard.log.at(-1), requests[1]?.[2]);
    });
  }

  it('answers fields that reach past their packet, and bytes past the fields, with BAD_MESSAGE', () => {
    const bodies = [
      '0700000007ffffffff2f61', // LSTAT, a string of 2^32 - 1 bytes
      `0700000007${str('/a')}00`, // LSTAT and a byte
      `0600000007${str('h')}000000000000000000000004616263`, // WRITE of 4 bytes with 3
      `0600000007${str(new Uint8Array(257))}0000000000000000${str('abc')}`,
      `060000000700100000${'00'.repeat(40)}`,
      `0900000007${str('/a')}80000000ffffffff`, // SETSTAT with 2^32 - 1 vendor attributes
      `0900000007${str('/a')}0000000100`, // SETSTAT with a size of one byte
    ];
    for (const body of bodies) {
      const heard = open().feed(packet(body));
      assert.equal(status(heard.sent[1]), '7 5', body);
      assert.deepEqual(heard.log, []);
    }
  });

  for (const chunking of chunkings) {
    it(`leaves out what a WRITE holds behind its payload, as OpenSSH does, fed ${chunking}`, () => {
      // github.com/pkg/sftp up to 1.13.5: the length of the piece that was read, and behind it the whole buffer
      const write = `0600000004${str('h')}0000000000000005${str('xyz')}${'00'.repeat(100)}`;
      const heard = open().feed(packet(write) + packet(`0800000006${str('h')}`), chunking);
      assert.deepEqual(heard.log, ['write 4 68 5 3 78797a', '6 fstat [68] 10']);
      assert.equal(heard.sent.length, 1);
    });
  }

  it('answers what is no request with OP_UNSUPPORTED', () => {
    for (const type of [0, 2, 21, 77, 101, 102, 103, 104, 105, 199, 201, 255]) {
      const heard = open().feed(packet(`${type.toString(16).padStart(2, '0')}0000000900`));
      assert.equal(status(heard.sent[1]), '9 8', String(type));
    }
  });

  it('gives up where no answer is possible', () => {
    open().fails('00000000', 'protocol', /the client sent a packet of no bytes/);
    open().fails('0000000107', 'protocol', /SSH_FXP_LSTAT of 1 bytes has no request id/);
    open().fails('ffffffff', 'protocol', /the client announced a packet of 4294967295 bytes/);
    open().fails((MAX_PACKET + 1).toString(16).padStart(8, '0'), 'protocol', /the client announced/);
    open({ maxPacket: 40 }).fails('00000029', 'protocol', /the limit is 40/);
  });

  it('hands on the payload of a WRITE in views of what came', () => {
    const heard = open();
    const payload = Uint8Array.from({ length: 5000 }, (_, i) => i);
    const bytes = fromHex(packet(`0600000004${str('hand')}0000000000000000${str(payload)}`));
    for (const part of [bytes.subarray(0, 7).slice(), bytes.subarray(7, 2000).slice(), bytes.subarray(2000).slice()]) {
      heard.responder.receive(part);
    }
    assert.deepEqual(heard.pieces, [2]);
    assert.equal(heard.log[0], `write 4 68616e64 0 5000 ${hex(payload)}`);
  });

  it('takes a WRITE byte by byte in few pieces', () => {
    const heard = open();
    const body = `0600000004${str('h')}0000000000000000${str(new Uint8Array(40_000))}`;
    heard.feed(packet(body), 'bytes');
    assert.ok((heard.pieces[0] ?? 0) < 100, `${heard.pieces[0]} pieces`);
  });

  it('keeps what comes while it is held, and goes on with it', () => {
    const heard = open();
    const stream = requests.map(([, body]) => packet(body)).join('');
    heard.held = true;
    heard.feed(stream, 'random');
    assert.deepEqual(heard.log, []);
    heard.held = false;
    heard.responder.resume();
    assert.equal(heard.log.length, requests.length);
  });

  it('holds after each request', () => {
    const order: string[] = [];
    const responder = new Responder({
      send: () => undefined,
      read: () => undefined,
      write: () => undefined,
      request: (id) => order.push(`request ${id}`),
      holds: () => {
        order.push('asked');
        return order.includes('request 5');
      },
    });
    responder.receive(fromHex(INIT + packet(`0700000005${str('')}`) + packet(`0700000006${str('')}`)));
    assert.deepEqual(order.slice(-3), ['asked', 'request 5', 'asked']);
  });
});

describe('Responder end', () => {
  it('is in good order between packets and before the first', () => {
    assert.equal(new Heard().responder.ended(), undefined);
    assert.equal(open().responder.ended(), undefined);
  });

  it('says what was cut short', () => {
    const heard = open().feed(packet(requests[3]?.[1] ?? '').slice(0, -2));
    assert.match(String(heard.responder.ended()?.message), /ended inside SSH_FXP_WRITE/);
    assert.deepEqual(heard.log, []);
    assert.match(String(new Heard().feed('6162').responder.ended()?.message), /client sent "ab"/);
  });

  it('keeps no copy of the bytes it was given', () => {
    const heard = open();
    const bytes = concat(fromHex(packet(`0600000004${str('h')}0000000000000000${str('abc')}`)));
    const seen: Uint8Array[] = [];
    const responder = new Responder({
      send: () => undefined,
      read: () => undefined,
      write: (_id, _handle, _offset, _length, pieces) => seen.push(...pieces),
      request: () => undefined,
      holds: () => false,
    });
    responder.receive(fromHex(INIT));
    responder.receive(bytes);
    assert.equal(seen[0]?.buffer, bytes.buffer);
    assert.deepEqual(heard.log, []);
  });
});
