/** Key exchanges that somebody tampers with, and messages where they must not come. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { KeyExchange } from '../../src/core/kex.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { buildKexinit, readKexinit } from '../../src/core/negotiate.ts';
import type { SshError } from '../../src/errors.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { decode, encode, type MessageOf } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { seededRandom } from '../support/random.ts';
import { type Alter, altering, type EndsOptions, ends, keyed, only, signer } from './ends.ts';
import { crypto, pattern, thrown } from './tools.ts';

const algorithms = {
  kex: ['curve25519-sha256'],
  hostKeys: ['ssh-ed25519'],
  ciphers: ['aes128-ctr'],
  macs: ['hmac-sha2-256'],
  compression: ['none'],
};

/** `bytes` with one bit of the byte at `at` (from the end if negative) flipped. */
function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const changed = bytes.slice();
  const index = at < 0 ? bytes.length + at : at;
  changed[index] = (changed[index] as number) ^ 0x04;
  return changed;
}

/** What the public values here are made for. */
const curve = { algorithms: { kex: ['curve25519-sha256'] } };

type Reply = MessageOf<typeof ecdh.reply>;

/** A relay that changes fields of the server's reply. */
function replying(change: (reply: Reply) => Partial<Reply>): EndsOptions {
  const alter = only(31, (payload) => {
    const reply = decode(ecdh.reply, payload);
    return [encode(ecdh.reply, { ...reply, ...change(reply) })];
  });
  return { server: curve, toClient: altering(alter) };
}

function changing(
  direction: 'toServer' | 'toClient',
  alter: Alter,
  line?: (bytes: Uint8Array) => Uint8Array,
): EndsOptions {
  return { server: curve, [direction]: altering(alter, line) };
}

const same: Alter = (payload) => [payload];
const add =
  (name: string) =>
  (payload: Uint8Array): readonly Uint8Array[] => {
    const message = decode(transport.kexinit, payload);
    return [encode(transport.kexinit, { ...message, macToClient: [...message.macToClient, name] })];
  };

const ed25519 = signer('ed25519');
const other = signer('openssl-ed25519');
const rsa = signer('openssl-rsa2048');

/** Signs something else than it is asked to. */
const signsWrong: Signer = { ...ed25519, sign: (message, algorithm) => ed25519.sign(flipped(message, 0), algorithm) };
/** Has one key and signs with another. */
const swapped: Signer = { ...ed25519, publicKey: other.publicKey };
/** Names another algorithm in its signatures. */
const renamed: Signer = {
  ...rsa,
  algorithms: ['rsa-sha2-512'],
  sign: (message) => rsa.sign(message, 'rsa-sha2-256'),
};

/** A server whose random draws make the client's X25519 secret useless: small order, wrong size. */
const badPublic: Readonly<Record<string, Uint8Array>> = {
  'of zeros': new Uint8Array(32),
  'of 31 bytes': pattern(31),
  'of 33 bytes': pattern(33),
  'of no bytes': new Uint8Array(0),
  // RFC 7748 §6.1: values of small order give the all-zero secret
  'of small order': fromHex('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800'),
};

const clientRefuses: Readonly<Record<string, EndsOptions>> = {
  'a signature with a flipped bit': replying(({ signature }) => ({ signature: flipped(signature, -1) })),
  'a signature over something else': { server: { hostKeys: [signsWrong] } },
  'a signature of another key': { server: { hostKeys: [swapped] } },
  'a signature under the name of another algorithm': {
    client: { algorithms: { hostKeys: ['rsa-sha2-512'] } },
    server: { hostKeys: [renamed] },
  },
  'a signature blob that is cut off': replying(({ signature }) => ({ signature: signature.subarray(0, -1) })),
  'a signature blob with bytes too many': replying(({ signature }) => ({ signature: concat(signature, pattern(1)) })),
  'no signature': replying(() => ({ signature: new Uint8Array(0) })),
  'the host key of somebody else': replying(() => ({ hostKey: other.publicKey })),
  'a host key of another type': replying(() => ({ hostKey: rsa.publicKey })),
  'a host key that is cut off': replying(({ hostKey }) => ({ hostKey: hostKey.subarray(0, -1) })),
  'a host key of a type that nobody knows': replying(() => ({ hostKey: concat(fromHex('00000001'), utf8('x')) })),
  'no host key': replying(() => ({ hostKey: new Uint8Array(0) })),
  'a public value of somebody in the middle': replying(() => ({ publicValue: pattern(32, 9) })),
  ...Object.fromEntries(
    Object.entries(badPublic).map(([what, publicValue]) => [
      `a public value ${what}`,
      replying(() => ({ publicValue })),
    ]),
  ),
  'its own public value changed on the way': changing(
    'toServer',
    only(30, () => [encode(ecdh.init, { publicValue: pattern(32, 9) })]),
  ),
  "a changed cookie of the server's KEXINIT": changing(
    'toClient',
    only(20, (payload) => [flipped(payload, 1)]),
  ),
  'a changed cookie of its own KEXINIT': changing(
    'toServer',
    only(20, (payload) => [flipped(payload, 1)]),
  ),
  "a name added to the server's KEXINIT": changing('toClient', only(20, add('x'))),
  'a name added to its own KEXINIT': changing('toServer', only(20, add('x'))),
  "the server's line changed": changing('toClient', same, (line) => flipped(line, 8)),
  'its own line changed': changing('toServer', same, (line) => flipped(line, 8)),
};

describe('Key exchange: the client refuses', () => {
  for (const [what, options] of Object.entries(clientRefuses)) {
    it(what, () => {
      const sent: (number | undefined)[] = [];
      const { toServer = (bytes: Uint8Array) => bytes } = options;
      const watching = altering((payload) => {
        sent.push(payload[0]);
        return [payload];
      });
      const pair = ends({ ...options, toServer: (bytes) => watching(toServer(bytes)) });
      pair.pump();
      const error = pair.client.failed('key-exchange-failed');
      assert.deepEqual([error.fault, error.phase, error.disconnect], ['peer', 'key-exchange', 3]);
      assert.deepEqual(sent, [20, 30], 'the client sends no NEWKEYS');
      assert.deepEqual([pair.client.exchanges, pair.client.hostKeys], [0, []], 'nobody is asked about the key');
    });
  }

  it('a reply that is cut off or too long, as a breach of the protocol', () => {
    for (const change of [
      (payload: Uint8Array) => payload.subarray(0, -1),
      (payload: Uint8Array) => concat(payload, pattern(1)),
    ]) {
      const pair = ends({ toClient: altering(only(31, (payload) => [change(payload)])) });
      pair.pump();
      pair.client.failed('decode');
    }
  });
});

describe('Key exchange: the server refuses', () => {
  for (const [what, publicValue] of Object.entries(badPublic)) {
    it(`a public value ${what}, and signs nothing`, () => {
      const pair = ends(
        changing(
          'toServer',
          only(30, () => [encode(ecdh.init, { publicValue })]),
        ),
      );
      pair.pump();
      const error = pair.server.failed('key-exchange-failed');
      assert.deepEqual([error.fault, error.disconnect], ['peer', 3]);
      assert.equal(pair.server.takeOutput().length, 0);
    });
  }

  it('points that are not on the curve', () => {
    const off = pattern(65);
    off[0] = 4;
    const kex = { algorithms: { kex: ['ecdh-sha2-nistp256'] } };
    for (const publicValue of [off, Uint8Array.of(0), concat(Uint8Array.of(2), pattern(32))]) {
      const toServer = altering(only(30, () => [encode(ecdh.init, { publicValue })]));
      const pair = ends({ client: kex, server: kex, toServer });
      pair.pump();
      pair.server.failed('key-exchange-failed');
    }
  });
});

describe('Packets after a key exchange', () => {
  it('that were changed on the way are noticed', () => {
    for (const direction of ['toServer', 'toClient'] as const) {
      let keysInUse = false;
      const relay = (bytes: Uint8Array): Uint8Array => (keysInUse && bytes.length > 0 ? flipped(bytes, -1) : bytes);
      const pair = keyed({ client: { algorithms }, server: { algorithms }, [direction]: relay });
      keysInUse = true;
      const [from, to] = direction === 'toServer' ? [pair.client, pair.server] : [pair.server, pair.client];
      from.transport.send(Uint8Array.of(80, 1));
      pair.pump();
      const error = to.failed('integrity');
      assert.deepEqual([error.fault, error.disconnect], ['peer', 5]);
      assert.deepEqual(to.payloads, []);
    }
  });
});

describe('Key exchange messages out of place', () => {
  const kexinit = (): Uint8Array => buildKexinit('server', algorithms, pattern(16), false);
  const init = encode(ecdh.init, { publicValue: pattern(32) });
  const NEWKEYS = Uint8Array.of(21);

  /** What becomes of the client when `first` passes before, or in place of, messages with the number `at`. */
  function clientMeets(at: number, change: Alter): SshError {
    const pair = ends({ client: { algorithms }, server: { algorithms }, toClient: altering(only(at, change)) });
    pair.pump();
    return pair.client.failed('protocol');
  }

  function serverMeets(at: number, change: Alter): SshError {
    const pair = ends({ client: { algorithms }, server: { algorithms }, toServer: altering(only(at, change)) });
    pair.pump();
    return pair.server.failed('protocol');
  }

  it('a second KEXINIT ends the connection, in place of any message of the exchange', () => {
    const message = 'A second KEXINIT during a key exchange';
    assert.equal(clientMeets(20, (payload) => [payload, payload]).message, message);
    assert.equal(clientMeets(31, (payload) => [kexinit(), payload]).message, message);
    assert.equal(clientMeets(21, (payload) => [kexinit(), payload]).message, message);
    assert.equal(serverMeets(20, (payload) => [payload, payload]).message, message);
    assert.equal(serverMeets(30, (payload) => [payload, kexinit()]).message, message);
  });

  it('NEWKEYS before the exchange is done ends the connection', () => {
    const message = 'NEWKEYS before the key exchange is done';
    assert.equal(clientMeets(20, (payload) => [NEWKEYS, payload]).message, message);
    assert.equal(clientMeets(31, (payload) => [NEWKEYS, payload]).message, message);
    assert.equal(serverMeets(30, (payload) => [NEWKEYS, payload]).message, message);
  });

  it('a message of the method before KEXINIT ends the connection', () => {
    const error = clientMeets(20, (payload) => [Uint8Array.of(31), payload]);
    assert.equal(error.message, 'message 31 where no key exchange method runs');
    serverMeets(20, (payload) => [init, payload]);
  });

  it('another message of the method, or the same twice, ends the connection', () => {
    const error = clientMeets(31, (payload) => [init, payload]);
    assert.equal(error.message, 'Message 30 where SSH_MSG_KEX_ECDH_REPLY must come');
    assert.equal(error.disconnect, 3);
    assert.equal(
      serverMeets(30, () => [Uint8Array.of(32, 0)]).message,
      'Message 32 where SSH_MSG_KEX_ECDH_INIT must come',
    );
    clientMeets(31, (payload) => [payload, payload]);
    serverMeets(30, (payload) => [payload, payload]);
  });

  it('messages of the layers above end the connection before the first NEWKEYS', () => {
    for (const number of [5, 6, 7, 50, 51, 52, 53, 60, 80, 90, 94, 192]) {
      const error = clientMeets(31, (payload) => [Uint8Array.of(number), payload]);
      assert.match(error.message, / in phase strict-kex, where it is not allowed$/);
      serverMeets(30, (payload) => [Uint8Array.of(number), payload]);
    }
  });

  it('IGNORE, DEBUG, UNIMPLEMENTED and unknown messages end a strict first exchange', () => {
    for (const payload of ['02 00000000', '03 00000000', '04 00 00000000 00000000', 'c8'].map(fromHex)) {
      clientMeets(31, (reply) => [payload, reply]);
      serverMeets(30, (first) => [payload, first]);
    }
    const early = clientMeets(20, (payload) => [fromHex('02 00000000'), payload]);
    assert.equal(early.message, 'Strict key exchange: 1 packets came before the first KEXINIT');
  });

  it('in a later exchange nothing else may come after KEXINIT, and nothing of an exchange without one', () => {
    const after = (payload: Uint8Array, start: boolean): SshError => {
      const pair = keyed({ client: { algorithms }, server: { algorithms } });
      // as bulk data, which the server sends without a look: its own idea of an exchange does not hold it back
      pair.server.bulk.push(...(start ? [kexinit()] : []), payload);
      pair.pump();
      return pair.client.failed('protocol');
    };
    for (const number of [5, 6, 7, 20, 50, 52, 80, 94, 100, 192]) {
      assert.match(after(Uint8Array.of(number), true).message, / in phase rekey, where it is not allowed$/);
    }
    for (const number of [21, 30, 31]) {
      assert.match(after(Uint8Array.of(number), false).message, / in phase open, where it is not allowed$/);
    }
  });
});

describe('KeyExchange as server', () => {
  interface Lab {
    readonly kex: KeyExchange;
    readonly sent: string[];
  }

  function lab(): Lab {
    const sent: string[] = [];
    const kex = new KeyExchange(
      {
        role: 'server',
        crypto,
        random: seededRandom('lab'),
        limits: defaultLimits,
        algorithms: { ...algorithms, kex: ['curve25519-sha256', 'ecdh-sha2-nistp256'] },
        hostKeys: [ed25519],
      },
      {
        send: (payload) => void sent.push(hex(payload.subarray(0, 1))),
        emit: () => {},
        ask: () => assert.fail('a server asks nothing'),
        settle: (value, next) => (value instanceof Promise ? assert.fail('all is synchronous') : next(value)),
        offered: () => {},
        sealWith: () => {},
        openWith: () => {},
      },
    );
    kex.identified(utf8('SSH-2.0-server'), utf8('SSH-2.0-client'));
    return { kex, sent };
  }

  /** A client's KEXINIT that announces a guess. */
  function guessing(kex: readonly string[], hostKeys: readonly string[], follows = true): Uint8Array {
    const plain = buildKexinit('client', { ...algorithms, kex, hostKeys }, pattern(16), true);
    return encode(transport.kexinit, { ...readKexinit(plain, defaultLimits), firstKexPacketFollows: follows });
  }

  const init = encode(ecdh.init, {
    publicValue: crypto.agreements.x25519.generate(seededRandom('client')).publicValue,
  });
  const wrong = encode(ecdh.init, { publicValue: pattern(65) });

  it('answers a KEXINIT with its own, and a public value with reply and NEWKEYS', () => {
    const { kex, sent } = lab();
    kex.onKexinit(guessing(['curve25519-sha256'], ['ssh-ed25519'], false), 0);
    assert.deepEqual([sent, kex.active, kex.peerStarted], [['14'], true, true]);
    kex.onExchange(init);
    assert.deepEqual(sent, ['14', '1f', '15']);
    kex.onNewkeys();
    assert.deepEqual([kex.active, kex.strict, kex.peerTakesExtInfo], [false, true, true]);
  });

  it('uses the packet of a right guess', () => {
    const { kex, sent } = lab();
    kex.onKexinit(guessing(['curve25519-sha256', 'x'], ['ssh-ed25519']), 0);
    kex.onExchange(init);
    assert.deepEqual(sent, ['14', '1f', '15']);
  });

  it('drops one packet after a wrong guess of the method or of the host key', () => {
    for (const [kexNames, hostKeys] of [
      [['ecdh-sha2-nistp521', 'curve25519-sha256'], ['ssh-ed25519']],
      [['curve25519-sha256'], ['rsa-sha2-512', 'ssh-ed25519']],
    ] as const) {
      const { kex, sent } = lab();
      kex.onKexinit(guessing(kexNames, hostKeys), 0);
      kex.onExchange(wrong);
      assert.deepEqual(sent, ['14']);
      kex.onExchange(init);
      assert.deepEqual(sent, ['14', '1f', '15']);
    }
  });

  it('does not drop where nothing was announced', () => {
    const { kex } = lab();
    kex.onKexinit(guessing(['ecdh-sha2-nistp521', 'curve25519-sha256'], ['ssh-ed25519'], false), 0);
    thrown('key-exchange-failed', () => kex.onExchange(wrong));
  });

  it('refuses a strict client whose KEXINIT is not its first packet, and takes a later one from others', () => {
    const strict = lab();
    thrown('protocol', () => strict.kex.onKexinit(guessing(['curve25519-sha256'], ['ssh-ed25519'], false), 1));
    const lax = lab();
    const message = readKexinit(guessing(['curve25519-sha256'], ['ssh-ed25519'], false), defaultLimits);
    lax.kex.onKexinit(encode(transport.kexinit, { ...message, kex: ['curve25519-sha256'] }), 3);
    assert.deepEqual([lax.kex.strict, lax.kex.peerTakesExtInfo], [false, false]);
  });

  it('looks for markers in the first KEXINIT only', () => {
    const { kex } = lab();
    const message = readKexinit(guessing(['curve25519-sha256'], ['ssh-ed25519'], false), defaultLimits);
    const plain = encode(transport.kexinit, { ...message, kex: ['curve25519-sha256'] });
    const finish = (): void => {
      kex.onExchange(init);
      kex.onNewkeys();
    };
    kex.onKexinit(plain, 0);
    finish();
    kex.onKexinit(encode(transport.kexinit, message), 7);
    finish();
    assert.deepEqual([kex.strict, kex.peerTakesExtInfo], [false, false]);
  });

  it('has no use for a host key that it cannot sign with', () => {
    const { kex } = lab();
    const ecdsa = guessing(['curve25519-sha256'], ['ecdsa-sha2-nistp256'], false);
    assert.match(thrown('no-common-algorithm', () => kex.onKexinit(ecdsa, 0)).message, /host key algorithm/);
  });
});
