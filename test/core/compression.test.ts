/**
 * Compression between our client and our server: where it begins, that new keys begin it anew, and what becomes of data that is
 * damaged or grows without end. RFC 4253 §6.2, draft-miller-secsh-compression-delayed.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as pako from 'pako';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { zlibFrom } from '../../src/compression/zlib_from.ts';
import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import { Compression, type CompressionLibrary, type Deflater } from '../../src/core/compression.ts';
import { defaultRekeyLimits } from '../../src/core/rekey.ts';
import { connection } from '../../src/wire/connection.ts';
import { transport } from '../../src/wire/transport.ts';
import { userauth } from '../../src/wire/userauth.ts';
import { scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { otherSide, Pair, type PairOptions, type Side, sides } from '../support/pair.ts';
import { thrown } from './tools.ts';

const nothing = new Uint8Array(0);
const library = zlibFrom(pako);
const METHODS = ['zlib', 'zlib@openssh.com'] as const;
type Method = (typeof METHODS)[number];

/** What a stream makes of a payload. */
type Make = (stream: Deflater, parts: readonly Uint8Array[]) => Uint8Array;

/** A library that notes the messages of each stream that leaves, and may make something else of global requests. */
class Noted implements CompressionLibrary {
  readonly streams: number[][] = [];
  inflated = 0;
  readonly #make: Make;

  constructor(make: Make = (stream, parts) => stream.deflate(parts)) {
    this.#make = make;
  }

  deflater() {
    const stream = library.deflater();
    const messages: number[] = [];
    this.streams.push(messages);
    return {
      deflate: (parts: readonly Uint8Array[]) => {
        const number = parts[0]?.[0] as number;
        messages.push(number);
        return number === connection.globalRequest.number ? this.#make(stream, parts) : stream.deflate(parts);
      },
    };
  }

  inflater() {
    const stream = library.inflater();
    return {
      inflate: (compressed: Uint8Array, most: number) => {
        this.inflated++;
        return stream.inflate(compressed, most);
      },
    };
  }
}

interface Noting {
  readonly pair: Pair;
  readonly client: Noted;
  readonly server: Noted;
}

function pairWith(method: Method, options: PairOptions = {}, client = new Noted(), server = new Noted()): Noting {
  const algorithms = chooseAlgorithms(memoCrypto, { compression: [method] }, library);
  const pair = new Pair({
    ...options,
    client: { ...options.client, algorithms, compression: client },
    server: { ...options.server, algorithms, compression: server },
  });
  return { pair, client, server };
}

const begins: Readonly<Record<Method, Record<Side, number>>> = {
  zlib: { client: transport.serviceRequest.number, server: transport.extInfo.number },
  'zlib@openssh.com': { client: connection.channelOpen.number, server: connection.channelOpenConfirmation.number },
};

for (const method of METHODS) {
  scenario(`${method}: begins where it must, in both roles, and with each of the keys anew`, (chunking) => {
    const { pair, ...notes } = pairWith(method, { chunking });
    pair.login();
    assert.equal(pair.client.connection.negotiated?.toServer.compression, method);
    assert.equal(pair.client.connection.openChannel('session', nothing), 0);
    pair.pump();
    for (const side of sides) {
      assert.equal(notes[side].streams.length, 1);
      assert.equal(notes[side].streams[0]?.[0], begins[method][side], `the first of the ${side}`);
    }
    for (const [round, side] of [...sides, ...sides].entries()) {
      const before = notes[side].streams.length;
      pair.side(side).connection.rekey();
      pair.pump();
      pair.side(side).connection.write(0, [new Uint8Array(100).fill(round)]);
      pair.pump();
      const last = notes[side].streams.at(-1);
      assert.equal(notes[side].streams.length, before + 1, 'one stream more');
      assert.equal(last?.[0], connection.channelData.number, 'which begins behind NEWKEYS');
    }
    pair.alive();
    const count = (side: Side): number => notes[side].streams.flat().length;
    for (const side of sides) assert.equal(notes[otherSide(side)].inflated, count(side), 'nothing else was inflated');
  });

  scenario(`${method}: carries data both ways over many key exchanges, in fewer bytes`, (chunking) => {
    const rekey = { ...defaultRekeyLimits, bytes: 8192 };
    const { pair } = pairWith(method, { chunking, client: { rekey }, server: { rekey } });
    pair.login();
    pair.client.connection.openChannel('session', nothing);
    pair.pump();
    const text = new TextEncoder().encode('all work and no play makes jack a dull boy. '.repeat(5000));
    const noise = memoCrypto.random(30_000);
    for (const sender of sides) {
      const sentBefore = pair.sent.length;
      for (let at = 0; at < text.length; at += 20_000)
        pair.side(sender).connection.write(0, [text.slice(at, at + 20_000)]);
      pair.pump();
      const bytes = pair.sent.slice(sentBefore).reduce((sum, each) => sum + each.bytes.length, 0);
      assert.ok(bytes < text.length / 8, `${bytes} bytes for ${text.length}`);
      for (let at = 0; at < noise.length; at += 2000) {
        pair.side(sender).connection.write(0, [noise.slice(at, at + 2000)]);
        pair.pump();
      }
      const came = concat(...pair.side(otherSide(sender)).channel(0).data);
      assert.ok(equalBytes(came, concat(text, noise)));
    }
    assert.ok(pair.client.of('keys').length >= 6);
    pair.alive();
  });

  for (const side of sides) {
    const ended = pako.deflate(Uint8Array.of(2, 0, 0, 0, 0)); // which is a stream of its own
    const cases: readonly (readonly [string, Make, 'limit' | 'protocol', RegExp])[] = [
      ['that grows without end', (stream) => stream.deflate([new Uint8Array(4_000_000)]), 'limit', /262144 bytes/],
      ['that is damaged', (stream, parts) => stream.deflate(parts).fill(0), 'protocol', /is damaged/],
      ['that holds nothing', (stream) => stream.deflate([nothing]), 'protocol', /holds no message/],
      ...(method === 'zlib' ? [] : [['that ends the stream', () => ended, 'protocol', /the stream ends/] as const]),
    ];
    for (const [what, make, code, message] of cases) {
      test(`${method}: a packet of the ${side} ${what} ends the connection`, () => {
        const bad = new Noted(make);
        const notes = side === 'client' ? ([bad, new Noted()] as const) : ([new Noted(), bad] as const);
        const { pair } = pairWith(method, {}, ...notes);
        pair.login();
        pair.side(side).connection.requestGlobal('x@example.org', nothing, false);
        pair.pump();
        const error = pair.side(otherSide(side)).failed(code);
        assert.match(error.message, message);
        const reason = what === 'that holds nothing' ? 2 : 6;
        assert.deepEqual([error.fault, error.disconnect], ['peer', reason]);
        assert.equal(pair.side(side).failed('disconnected').disconnect, undefined);
      });
    }
  }
}

test('a client sends nothing behind an attempt while compression waits for its end, and does otherwise', () => {
  for (const [compression, behind] of [
    ['zlib@openssh.com', false],
    ['zlib', true],
    ['none', true],
  ] as const) {
    const algorithms = chooseAlgorithms(memoCrypto, { compression: [compression] }, library);
    const pair = new Pair({
      client: { algorithms, compression: library, quirks: { channelsBeforeSuccess: true, acceptsServiceFirst: true } },
      server: { algorithms, compression: library },
      clientScript: { attempts: [{ method: 'password', password: 'x' }] },
      serverScript: { onLogin: () => 'later' },
    });
    pair.client.connection.openChannel('session', nothing, true);
    pair.pump();
    const [question] = pair.server.questions;
    assert.ok(question !== undefined);
    const before = pair.client.connection.stats.packetsOut;
    pair.client.connection.requestGlobal('x@example.org', nothing, false);
    pair.pump();
    assert.equal(pair.client.connection.stats.packetsOut - before, behind ? 1 : 0, compression);
    pair.server.connection.answer(question.id, { verdict: 'accept' });
    pair.server.settle();
    pair.pump();
    pair.alive();
    assert.equal(pair.server.of('channel-open-request').length, 1);
    assert.equal(pair.server.of('global-request').length, 1);
  }
});

test('each direction may have another method', () => {
  const delayed = chooseAlgorithms(memoCrypto, { compression: ['zlib@openssh.com'] }, library);
  assert.deepEqual(delayed.compression, ['zlib@openssh.com']);
  const seen: string[] = [];
  const compression = new Compression(library, {
    compress: (deflater) => void seen.push(`out ${deflater === undefined ? 'none' : 'on'}`),
    decompress: (inflater) => void seen.push(`in ${inflater === undefined ? 'none' : 'on'}`),
  });
  const does = (work: () => void): string => {
    work();
    return `${seen.splice(0).join(', ')}${compression.delayed ? ', delayed' : ''}`;
  };
  assert.equal(
    does(() => compression.sealWith('zlib')),
    'out on',
  );
  assert.equal(
    does(() => compression.openWith('zlib@openssh.com')),
    'in none, delayed',
  );
  assert.equal(
    does(() => compression.loggedIn()),
    'in on',
  );
  assert.equal(
    does(() => compression.loggedIn()),
    '',
  );
  assert.equal(
    does(() => compression.openWith(undefined)),
    'in none',
  );
  assert.equal(
    does(() => compression.sealWith('zlib@openssh.com')),
    'out on',
  );
  const without = new Compression(undefined, { compress: () => {}, decompress: () => {} });
  thrown('not-supported', () => without.sealWith('zlib'));
});

test('USERAUTH_SUCCESS itself is not compressed', () => {
  const { pair, server } = pairWith('zlib@openssh.com');
  pair.login();
  assert.ok(!server.streams.flat().includes(userauth.success.number));
});
