import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { type AlgorithmLists, defaultAlgorithms } from '../../src/core/algorithms/lists.ts';
import type { Role } from '../../src/core/events.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { type Agreed, agree, buildKexinit, type Kexinit, markersOf, readKexinit } from '../../src/core/negotiate.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { crypto, pattern, thrown } from './tools.ts';

const lists: AlgorithmLists = {
  kex: ['curve25519-sha256'],
  hostKeys: ['ssh-ed25519'],
  ciphers: ['aes128-ctr'],
  macs: ['hmac-sha2-256'],
  compression: ['none'],
};

/** A KEXINIT of `lists`, with fields changed. */
function kexinit(changes: Partial<Kexinit> = {}): Kexinit {
  return { ...readKexinit(buildKexinit('client', lists, new Uint8Array(16), false), defaultLimits), ...changes };
}

/** What a client with `client` and a server with `server` agree on; both must find the same. */
function agreed(client: Partial<Kexinit>, server: Partial<Kexinit>): Agreed['negotiated'] {
  const atClient = agree('client', kexinit(client), kexinit(server)).negotiated;
  const atServer = agree('server', kexinit(server), kexinit(client)).negotiated;
  assert.deepEqual(atServer, atClient, 'both sides find the same');
  return atClient;
}

const nameList = (text: string): Uint8Array => concat(fromHex(text.length.toString(16).padStart(8, '0')), utf8(text));

describe('buildKexinit', () => {
  it('writes the fields of RFC 4253 §7.1 in order, the markers behind the methods', () => {
    const names = (kex: string): Uint8Array[] =>
      [kex, 'ssh-ed25519', 'aes128-ctr', 'aes128-ctr', 'hmac-sha2-256', 'hmac-sha2-256', 'none', 'none', '', ''].map(
        nameList,
      );
    const whole = (kex: string): string =>
      hex(concat(Uint8Array.of(20), pattern(16), ...names(kex), new Uint8Array(5)));
    assert.equal(
      hex(buildKexinit('client', lists, pattern(16), true)),
      whole('curve25519-sha256,ext-info-c,kex-strict-c-v00@openssh.com'),
    );
    assert.equal(
      hex(buildKexinit('server', lists, pattern(16), true)),
      whole('curve25519-sha256,ext-info-s,kex-strict-s-v00@openssh.com'),
    );
    for (const role of ['client', 'server'] as const) {
      assert.equal(hex(buildKexinit(role, lists, pattern(16), false)), whole('curve25519-sha256'), 'no markers later');
    }
  });

  it('appends the markers to whatever methods the user set', () => {
    for (const kex of [['ecdh-sha2-nistp521'], ['ecdh-sha2-nistp256', 'curve25519-sha256']]) {
      const message = readKexinit(buildKexinit('client', { ...lists, kex }, new Uint8Array(16), true), defaultLimits);
      assert.deepEqual(message.kex, [...kex, 'ext-info-c', 'kex-strict-c-v00@openssh.com']);
    }
  });

  it('offers the same both ways', () => {
    const defaults = defaultAlgorithms(crypto);
    const message = readKexinit(buildKexinit('client', defaults, new Uint8Array(16), true), defaultLimits);
    assert.deepEqual(message.cipherToServer, defaults.ciphers);
    assert.deepEqual(message.cipherToClient, defaults.ciphers);
    assert.deepEqual(message.macToServer, defaults.macs);
    assert.deepEqual(message.macToClient, defaults.macs);
    assert.equal(message.firstKexPacketFollows, false);
  });
});

describe('readKexinit', () => {
  const payload = buildKexinit('client', lists, pattern(16), true);

  it('refuses every truncation, and bytes too many', () => {
    for (let length = 1; length < payload.length; length++) {
      thrown('decode', () => readKexinit(payload.subarray(0, length), defaultLimits));
    }
    thrown('decode', () => readKexinit(concat(payload, Uint8Array.of(0)), defaultLimits));
  });

  const listFields = Object.entries(kexinit()).flatMap(([field, value]) => (Array.isArray(value) ? [field] : []));

  it('has ten lists', () => {
    assert.equal(listFields.length, 10);
  });

  for (const field of listFields) {
    it(`takes 256 names in ${field} and no more`, () => {
      const withNames = (count: number): Uint8Array =>
        encode(transport.kexinit, kexinit({ [field]: Array.from({ length: count }, (_, i) => `n${i}`) }));
      assert.equal(
        (readKexinit(withNames(256), defaultLimits) as unknown as Record<string, string[]>)[field]?.length,
        256,
      );
      const error = thrown('protocol', () => readKexinit(withNames(257), defaultLimits));
      assert.equal(error.message, `KEXINIT names 257 algorithms in ${field}; 256 are allowed`);
      assert.deepEqual([error.fault, error.disconnect], ['peer', 2]);
    });
  }

  it('keeps names that are not ASCII apart', () => {
    const message = readKexinit(encode(transport.kexinit, kexinit({ kex: ['caf\xe9', 'caf?'] })), defaultLimits);
    assert.equal(message.kex.length, 2);
    assert.notEqual(message.kex[0], message.kex[1]);
  });
});

describe('markersOf', () => {
  const of = (role: Role, ...names: string[]): unknown => markersOf(kexinit({ kex: ['x', ...names] }), role);

  it('finds the markers of the other side, wherever they stand', () => {
    assert.deepEqual(of('client', 'ext-info-s', 'kex-strict-s-v00@openssh.com'), { strict: true, extInfo: true });
    assert.deepEqual(of('server', 'ext-info-c', 'kex-strict-c-v00@openssh.com'), { strict: true, extInfo: true });
    assert.deepEqual(of('client', 'kex-strict-s-v00@openssh.com', 'y'), { strict: true, extInfo: false });
    assert.deepEqual(of('server', 'ext-info-c', 'y'), { strict: false, extInfo: true });
    assert.deepEqual(markersOf(kexinit({ kex: ['kex-strict-s-v00@openssh.com'] }), 'client'), {
      strict: true,
      extInfo: false,
    });
  });

  it('does not take our own markers, sent back, for those of the peer', () => {
    assert.deepEqual(of('client', 'ext-info-c', 'kex-strict-c-v00@openssh.com'), { strict: false, extInfo: false });
    assert.deepEqual(of('server', 'ext-info-s', 'kex-strict-s-v00@openssh.com'), { strict: false, extInfo: false });
  });

  it('does not take similar names', () => {
    assert.deepEqual(of('client', 'ext-info', 'kex-strict-s', 'kex-strict-s-v01@openssh.com'), {
      strict: false,
      extInfo: false,
    });
  });
});

describe('agree', () => {
  it("takes the client's first name that the server has (RFC 4253 §7.1)", () => {
    const { kex } = agreed({ kex: ['a', 'b', 'c'] }, { kex: ['c', 'b'] });
    assert.equal(kex, 'b');
    const { hostKey } = agreed({ hostKey: ['b', 'c'] }, { hostKey: ['c', 'b'] });
    assert.equal(hostKey, 'b');
  });

  it('settles each direction and each kind by itself', () => {
    const negotiated = agreed(
      {
        cipherToServer: ['aes128-ctr', 'aes256-ctr'],
        cipherToClient: ['aes256-ctr', 'aes128-ctr'],
        macToServer: ['hmac-sha2-256'],
        macToClient: ['hmac-sha2-512', 'hmac-sha2-256'],
        compressionToServer: ['zlib@openssh.com', 'none'],
        compressionToClient: ['none', 'zlib@openssh.com'],
      },
      {
        cipherToServer: ['aes256-ctr', 'aes128-ctr'],
        cipherToClient: ['aes128-ctr', 'aes256-ctr'],
        macToServer: ['hmac-sha2-256', 'hmac-sha2-512'],
        macToClient: ['hmac-sha2-256', 'hmac-sha2-512'],
        compressionToServer: ['none', 'zlib@openssh.com'],
        compressionToClient: ['zlib@openssh.com', 'none'],
      },
    );
    assert.deepEqual(negotiated, {
      kex: 'curve25519-sha256',
      hostKey: 'ssh-ed25519',
      toServer: { cipher: 'aes128-ctr', mac: 'hmac-sha2-256', compression: 'zlib@openssh.com' },
      toClient: { cipher: 'aes256-ctr', mac: 'hmac-sha2-512', compression: 'none' },
    });
  });

  for (const cipher of ['chacha20-poly1305@openssh.com', 'aes128-gcm@openssh.com', 'aes256-gcm@openssh.com']) {
    it(`${cipher} needs no common MAC and names none`, () => {
      const ciphers = { cipherToServer: [cipher], cipherToClient: [cipher] };
      const macs = (name: string): Partial<Kexinit> => ({ macToServer: [name], macToClient: [] });
      const { toServer, toClient } = agreed({ ...ciphers, ...macs('a') }, { ...ciphers, ...macs('b') });
      assert.deepEqual(
        [toServer, toClient],
        [
          { cipher, compression: 'none' },
          { cipher, compression: 'none' },
        ],
      );
    });
  }

  it('an AEAD in one direction frees only that one from a MAC', () => {
    const ciphers = { cipherToServer: ['aes128-gcm@openssh.com'], cipherToClient: ['aes128-ctr'] };
    const { toServer, toClient } = agreed({ ...ciphers, macToServer: [] }, { ...ciphers, macToServer: ['x'] });
    assert.equal(toServer.mac, undefined);
    assert.equal(toClient.mac, 'hmac-sha2-256');
    thrown('no-common-algorithm', () =>
      agree('client', kexinit({ ...ciphers, macToClient: [] }), kexinit({ ...ciphers, macToServer: [] })),
    );
  });

  it('never chooses a marker, even one that both lists hold', () => {
    const markers = ['ext-info-c', 'kex-strict-c-v00@openssh.com', 'ext-info-s', 'kex-strict-s-v00@openssh.com'];
    assert.equal(agreed({ kex: [...markers, 'z'] }, { kex: [...markers, 'z'] }).kex, 'z');
    const error = thrown('no-common-algorithm', () =>
      agree('client', kexinit({ kex: ['a', ...markers] }), kexinit({ kex: [...markers, 'b'] })),
    );
    assert.match(error.message, /^No common key exchange method: we offer a; the peer offers b\. /);
  });
});

describe('agree, without a common name,', () => {
  const cases: readonly (readonly [keyof Kexinit, string])[] = [
    ['kex', 'key exchange method'],
    ['hostKey', 'host key algorithm'],
    ['cipherToServer', 'cipher'],
    ['cipherToClient', 'cipher'],
    ['macToServer', 'MAC'],
    ['macToClient', 'MAC'],
    ['compressionToServer', 'compression'],
    ['compressionToClient', 'compression'],
  ];

  for (const [field, what] of cases) {
    for (const role of ['client', 'server'] as const) {
      it(`${field}, as ${role}: shows both lists, ours first, and what would help`, () => {
        const ours = kexinit({ [field]: ['ours-1', 'ours-2'] });
        const theirs = kexinit({ [field]: ['theirs-1', 'theirs\x1b-2'] });
        const error = thrown('no-common-algorithm', () => agree(role, ours, theirs));
        assert.equal(
          error.message,
          `No common ${what}: we offer ours-1, ours-2; the peer offers theirs-1, theirs\\x1b-2. ` +
            "puressh knows none of the peer's: it has to offer another",
        );
        assert.deepEqual([error.fault, error.phase, error.disconnect], ['policy', 'key-exchange', 3]);
      });
    }
  }

  it('says none for an empty list', () => {
    const error = thrown('no-common-algorithm', () => agree('client', kexinit(), kexinit({ hostKey: [] })));
    assert.match(error.message, /: we offer ssh-ed25519; the peer offers none\. /);
  });

  it('is not bothered by languages', () => {
    agreed({ languageToServer: ['de'], languageToClient: ['de'] }, { languageToServer: ['fr'] });
  });
});

describe('agree, when the peer has guessed (RFC 4253 §7),', () => {
  interface Guess {
    readonly what: string;
    readonly follows: boolean;
    readonly ours: Partial<Kexinit>;
    readonly theirs: Partial<Kexinit>;
    readonly drop: boolean;
  }
  const marked = ['a', 'ext-info-c', 'kex-strict-c-v00@openssh.com'];
  const guesses: readonly Guess[] = [
    { what: 'nothing', follows: false, ours: { kex: ['a', 'b'] }, theirs: { kex: ['b', 'a'] }, drop: false },
    { what: 'both right', follows: true, ours: {}, theirs: {}, drop: false },
    {
      what: 'both right, with different lists behind',
      follows: true,
      ours: { kex: ['a', 'b'] },
      theirs: { kex: ['a', 'c'] },
      drop: false,
    },
    {
      what: 'both right, with markers behind',
      follows: true,
      ours: { kex: marked },
      theirs: { kex: ['a', 'ext-info-s'] },
      drop: false,
    },
    { what: 'the method wrong', follows: true, ours: { kex: ['a', 'b'] }, theirs: { kex: ['b', 'a'] }, drop: true },
    {
      what: 'the method wrong and the agreed one second',
      follows: true,
      ours: { kex: ['a'] },
      theirs: { kex: ['c', 'a'] },
      drop: true,
    },
    {
      what: 'the host key wrong',
      follows: true,
      ours: { hostKey: ['a', 'b'] },
      theirs: { hostKey: ['b', 'a'] },
      drop: true,
    },
    {
      what: 'the host key wrong and the agreed one second',
      follows: true,
      ours: { hostKey: ['a'] },
      theirs: { hostKey: ['c', 'a'] },
      drop: true,
    },
    {
      what: 'the cipher another, which is no part of the guess',
      follows: true,
      ours: { cipherToServer: ['aes128-ctr', 'aes256-ctr'] },
      theirs: { cipherToServer: ['aes256-ctr', 'aes128-ctr'] },
      drop: false,
    },
  ];

  for (const { what, follows, ours, theirs, drop } of guesses) {
    for (const role of ['client', 'server'] as const) {
      it(`${what}, as ${role}: ${drop ? 'the packet is dropped' : 'nothing is dropped'}`, () => {
        const { dropGuess } = agree(role, kexinit(ours), kexinit({ ...theirs, firstKexPacketFollows: follows }));
        assert.equal(dropGuess, drop);
      });
    }
  }
});
