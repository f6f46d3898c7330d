import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { hex, latin1 } from '../../src/bytes/text.ts';
import type { Role } from '../../src/core/events.ts';
import { formatIdentification, IdentificationReader } from '../../src/core/ident.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import type { SshError } from '../../src/errors.ts';
import { type Chunking, chunkings, cut } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';
import { thrown } from './tools.ts';

/** One character per byte. */
function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function readerFor(receiver: Role): { queue: ChunkQueue; reader: IdentificationReader } {
  const queue = new ChunkQueue();
  return { queue, reader: new IdentificationReader(queue, receiver, defaultLimits) };
}

interface Heard {
  readonly line: string;
  readonly text: string;
  readonly greeting: readonly string[];
  /** What follows the line. */
  readonly rest: string;
}

function read(text: string, chunking: Chunking, receiver: Role = 'client'): Heard {
  const { queue, reader } = readerFor(receiver);
  const pieces = cut(bytesOf(text), chunking, seededRandom(`ident ${text.length}`));
  for (const [i, piece] of pieces.entries()) {
    queue.push(piece);
    const found = reader.next();
    if (found === undefined) continue;
    const rest =
      latin1(queue.takeAll()) +
      pieces
        .slice(i + 1)
        .map(latin1)
        .join('');
    return { line: latin1(found.bytes), text: found.text, greeting: found.greeting, rest };
  }
  throw new Error(`no identification in ${JSON.stringify(text)}`);
}

const longest = `SSH-2.0-${'x'.repeat(255 - 8 - 2)}`; // 255 bytes with CR LF: RFC 4253 §4.2
const lines1024 = Array.from({ length: 1024 }, (_, i) => `line ${i}`);

interface Accepted {
  readonly what: string;
  readonly input: string;
  readonly line: string;
  readonly text?: string;
  readonly greeting?: readonly string[];
}

const accepted: readonly Accepted[] = [
  { what: 'CR LF', input: 'SSH-2.0-X\r\n', line: 'SSH-2.0-X' },
  { what: 'LF alone', input: 'SSH-2.0-X\n', line: 'SSH-2.0-X' },
  {
    what: 'a comment',
    input: 'SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n',
    line: 'SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3',
  },
  { what: 'a minus in the software version', input: 'SSH-2.0-a-b\r\n', line: 'SSH-2.0-a-b' },
  { what: '1.99 (RFC 4253 §5.1)', input: 'SSH-1.99-Cisco-1.25\n', line: 'SSH-1.99-Cisco-1.25' },
  { what: '255 bytes with CR LF', input: `${longest}\r\n`, line: longest },
  { what: '255 bytes with LF', input: `${longest}x\n`, line: `${longest}x` },
  {
    what: 'a control character, unchanged in the bytes and harmless in the text',
    input: 'SSH-2.0-\x1b[31mred\r\n',
    line: 'SSH-2.0-\x1b[31mred',
    text: 'SSH-2.0-\\x1b[31mred',
  },
  {
    what: 'a greeting with either end of line, an empty line too',
    input: 'Welcome\n\nPlease close the door\r\nSSH-2.0-X\r\n',
    line: 'SSH-2.0-X',
    greeting: ['Welcome', '', 'Please close the door'],
  },
  {
    what: 'a greeting that only looks like an identification',
    input: 'ssh-2.0-x\r\n SSH-2.0-Y\r\nSSH-2.0-X\r\n',
    line: 'SSH-2.0-X',
    greeting: ['ssh-2.0-x', ' SSH-2.0-Y'],
  },
  {
    what: 'a greeting with control characters',
    input: 'a\x07b\x00c\r\nSSH-2.0-X\r\n',
    line: 'SSH-2.0-X',
    greeting: ['a\\x07b\\x00c'],
  },
  {
    what: '1024 greeting lines',
    input: `${lines1024.join('\n')}\nSSH-2.0-X\r\n`,
    line: 'SSH-2.0-X',
    greeting: lines1024,
  },
  {
    what: 'a greeting line of 8192 bytes',
    input: `${'y'.repeat(8191)}\nSSH-2.0-X\r\n`,
    line: 'SSH-2.0-X',
    greeting: [`${'y'.repeat(200)}…`],
  },
];

describe('IdentificationReader accepts', () => {
  for (const { what, input, line, text = line, greeting = [] } of accepted) {
    for (const chunking of chunkings) {
      it(`${what}: ${chunking}`, () => {
        assert.deepEqual(read(input, chunking), { line, text, greeting, rest: '' });
      });
    }
  }

  it('and leaves what follows the line in the queue', () => {
    for (const chunking of chunkings) {
      const heard = read('SSH-2.0-X\r\n\x00\x00\x01\x0c\x0a SSH-2.0-Y\r\n', chunking);
      assert.deepEqual(heard, {
        line: 'SSH-2.0-X',
        text: 'SSH-2.0-X',
        greeting: [],
        rest: '\x00\x00\x01\x0c\x0a SSH-2.0-Y\r\n',
      });
    }
  });

  it('a client without greeting as a server', () => {
    for (const chunking of chunkings) {
      assert.deepEqual(read('SSH-2.0-client\r\n', chunking, 'server'), {
        line: 'SSH-2.0-client',
        text: 'SSH-2.0-client',
        greeting: [],
        rest: '',
      });
    }
  });

  it('a line whose bytes stay what they are when the input buffer is used again', () => {
    const { queue, reader } = readerFor('client');
    const input = bytesOf('SSH-2.0-X\r\n');
    queue.push(input);
    const found = reader.next();
    input.fill(0);
    assert.equal(hex(found?.bytes ?? new Uint8Array(0)), '5353482d322e302d58');
  });
});

interface Refused {
  readonly what: string;
  readonly input: string;
  readonly receiver?: Role;
  readonly message: RegExp;
}

const refused: readonly Refused[] = [
  { what: '256 bytes with CR LF', input: `${longest}x\r\n`, message: /identification is 256 bytes long; 255 are/ },
  { what: '256 bytes with LF', input: `${longest}xx\n`, message: /identification is 256 bytes long; 255 are/ },
  { what: 'NUL', input: 'SSH-2.0-a\0b\r\n', message: /holds a NUL: "SSH-2\.0-a\\x00b"$/ },
  { what: 'SSH 1.5', input: 'SSH-1.5-Cisco-1.25\n', message: /"SSH-1\.5-Cisco-1\.25"; puressh speaks SSH 2\.0 only$/ },
  { what: 'SSH 3.0', input: 'SSH-3.0-X\r\n', message: /"SSH-3\.0-X"; puressh speaks SSH 2\.0 only$/ },
  { what: 'SSH 2.1', input: 'SSH-2.1-X\r\n', message: /"SSH-2\.1-X"; puressh speaks SSH 2\.0 only$/ },
  { what: 'no software version', input: 'SSH-2.0-\r\n', message: /"SSH-2\.0-"; puressh speaks/ },
  { what: 'no third part', input: 'SSH-2.0\r\n', message: /"SSH-2\.0"; puressh speaks/ },
  {
    what: 'HTTP',
    input: 'HTTP/1.1 400 Bad Request\r\n\r\n',
    message: /speaks HTTP, not SSH: "HTTP\/1\.1 400 Bad Request"$/,
  },
  { what: 'a TLS alert', input: '\x15\x03\x01\x00\x02\x02\x46', message: /^The peer speaks TLS, not SSH$/ },
  {
    what: 'a TLS handshake with an LF in it',
    input: '\x16\x03\x03\x00\x0aSSH-2.0-X\n',
    message: /^The peer speaks TLS/,
  },
  {
    what: '1025 greeting lines',
    input: `${lines1024.join('\n')}\none more\nSSH-2.0-X\r\n`,
    message: /^The peer sent 1024 lines and no SSH identification$/,
  },
  {
    what: 'a greeting line of 8193 bytes',
    input: `${'y'.repeat(8192)}\nSSH-2.0-X\r\n`,
    message: /^The peer sent 8192 bytes without an end of line where its identification must stand: "y{200}/,
  },
  {
    what: '8192 bytes and no line',
    input: `SSH-2.0-${'y'.repeat(8184)}`,
    message: /^The peer sent 8192 bytes without/,
  },
  {
    what: 'a line before the identification, as a server',
    input: 'hello\r\nSSH-2.0-X\r\n',
    receiver: 'server',
    message: /^The client sent "hello" before its identification$/,
  },
  {
    what: 'an empty line before the identification, as a server',
    input: '\nSSH-2.0-X\r\n',
    receiver: 'server',
    message: /^The client sent "" before its identification$/,
  },
];

describe('IdentificationReader refuses', () => {
  for (const { what, input, receiver = 'client', message } of refused) {
    for (const chunking of chunkings) {
      it(`${what}: ${chunking}`, () => {
        const error: SshError = thrown('identification', () => read(input, chunking, receiver));
        assert.match(error.message, message);
        assert.deepEqual([error.fault, error.phase, error.disconnect], ['peer', 'identification', 8]);
      });
    }
  }

  it('a line that never ends at its 8192nd byte, not later', () => {
    const { queue, reader } = readerFor('client');
    for (let i = 0; i < 8191; i++) {
      queue.push(bytesOf('z'));
      assert.equal(reader.next(), undefined);
    }
    queue.push(bytesOf('z'));
    thrown('identification', () => reader.next());
  });
});

describe('IdentificationReader waits', () => {
  it('for every proper beginning of an identification', () => {
    const whole = 'SSH-2.0-X\r\n';
    for (let length = 0; length < whole.length; length++) {
      const { queue, reader } = readerFor('client');
      queue.push(bytesOf(whole.slice(0, length)));
      assert.equal(reader.next(), undefined, `${length} bytes`);
    }
  });

  it('and says what it heard so far', () => {
    const { queue, reader } = readerFor('client');
    const heardAfter = (input: string): string => {
      queue.push(bytesOf(input));
      reader.next();
      return reader.heard;
    };
    assert.equal(heardAfter(''), '');
    assert.equal(heardAfter('Not allowed\r\nat th\x1bis hour'), 'Not allowed | at th\\x1bis hour');
    assert.ok(heardAfter('x'.repeat(1000)).length <= 400);
  });
});

describe('formatIdentification', () => {
  it('puts the version after SSH-2.0-, without an end of line', () => {
    assert.equal(latin1(formatIdentification('puressh_0.1.0')), 'SSH-2.0-puressh_0.1.0');
    assert.equal(latin1(formatIdentification('p a-comment with spaces')), 'SSH-2.0-p a-comment with spaces');
  });

  it('takes 245 characters, which make 255 bytes with CR LF, and no more', () => {
    assert.equal(formatIdentification('v'.repeat(245)).length, 253);
    thrown('bad-argument', () => formatIdentification('v'.repeat(246)));
  });

  it('refuses what RFC 4253 §4.2 does not allow', () => {
    for (const software of ['', ' ', 'a-b', 'a\r\n', 'a\0', 'ä', 'a b\x7f', ' a', 'a\tb']) {
      const error = thrown('bad-argument', () => formatIdentification(software));
      assert.equal(error.fault, 'local');
    }
  });
});
