import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ciphers } from '../../../src/core/algorithms/ciphers.ts';
import { exchanges } from '../../../src/core/algorithms/exchanges.ts';
import {
  type AlgorithmLists,
  type AlgorithmsOption,
  chooseAlgorithms,
  defaultAlgorithms,
  defaultSignatures,
  legacyAlgorithms,
} from '../../../src/core/algorithms/lists.ts';
import { macs } from '../../../src/core/algorithms/macs.ts';
import type { CompressionLibrary } from '../../../src/core/compression.ts';
import { signatureAlgorithms } from '../../../src/keys/signature.ts';
import { crypto, thrown } from '../tools.ts';

const slowAes = { ...crypto, fastAes: false };
const fastAes = { ...crypto, fastAes: true };

const library: CompressionLibrary = {
  deflater: () => assert.fail(),
  inflater: () => assert.fail(),
};

const expected: AlgorithmLists = {
  kex: [
    'mlkem768x25519-sha256',
    'sntrup761x25519-sha512',
    'sntrup761x25519-sha512@openssh.com',
    'mlkem768nistp256-sha256',
    'mlkem1024nistp384-sha384',
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group-exchange-sha256',
    'diffie-hellman-group16-sha512',
    'diffie-hellman-group18-sha512',
    'diffie-hellman-group14-sha256',
    'diffie-hellman-group15-sha512',
    'diffie-hellman-group17-sha512',
  ],
  hostKeys: [
    'ssh-ed25519',
    'ecdsa-sha2-nistp256',
    'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521',
    'rsa-sha2-512',
    'rsa-sha2-256',
    'sk-ssh-ed25519@openssh.com',
    'sk-ecdsa-sha2-nistp256@openssh.com',
    'ssh-ed25519-cert-v01@openssh.com',
    'ecdsa-sha2-nistp256-cert-v01@openssh.com',
    'ecdsa-sha2-nistp384-cert-v01@openssh.com',
    'ecdsa-sha2-nistp521-cert-v01@openssh.com',
    'rsa-sha2-512-cert-v01@openssh.com',
    'rsa-sha2-256-cert-v01@openssh.com',
    'sk-ssh-ed25519-cert-v01@openssh.com',
    'sk-ecdsa-sha2-nistp256-cert-v01@openssh.com',
  ],
  ciphers: [
    'chacha20-poly1305@openssh.com',
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'aes128-ctr',
    'aes192-ctr',
    'aes256-ctr',
  ],
  macs: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compression: ['none'],
};

describe('defaultAlgorithms', () => {
  it('offers everything secure, ChaCha20 first where AES is software', () => {
    assert.deepEqual(defaultAlgorithms(slowAes), expected);
  });

  it('offers AES-GCM first where AES is hardware', () => {
    const [chacha, gcm128, gcm256, ...ctr] = expected.ciphers;
    assert.deepEqual(defaultAlgorithms(fastAes), { ...expected, ciphers: [gcm128, gcm256, chacha, ...ctr] });
  });

  it('offers compression where somebody gave a library, what needs a login first', () => {
    assert.deepEqual(defaultAlgorithms(slowAes, library).compression, ['zlib@openssh.com', 'zlib', 'none']);
  });

  it('offers, together with what is legacy, everything that has a row, and no name twice', () => {
    const defaults = defaultAlgorithms(slowAes);
    const all = (category: 'kex' | 'ciphers' | 'macs'): string[] =>
      [...defaults[category], ...legacyAlgorithms[category]].sort();
    assert.deepEqual(all('kex'), [...exchanges.keys()].sort());
    assert.deepEqual(all('ciphers'), [...ciphers.keys()].sort());
    assert.deepEqual(all('macs'), [...macs.keys()].sort());
    for (const name of [...defaults.hostKeys, ...legacyAlgorithms.hostKeys, ...defaultSignatures('legacy')]) {
      assert.ok(signatureAlgorithms.has(name), name);
    }
  });

  it('offers nothing whose hash is SHA-1 or MD5, whose mode is CBC, or whose MAC is cut', () => {
    const names = Object.values(defaultAlgorithms(slowAes)).flat();
    assert.deepEqual(
      names.filter((name) => /sha1|md5|-cbc|-96|^ssh-rsa|group1-/.test(name)),
      [],
    );
  });
});

describe('legacyAlgorithms', () => {
  it('are off unless they are asked for, and then stand behind the others', () => {
    const all: AlgorithmLists = {
      kex: [...expected.kex, ...legacyAlgorithms.kex],
      hostKeys: [...expected.hostKeys, ...legacyAlgorithms.hostKeys],
      ciphers: [...expected.ciphers, 'aes128-cbc', 'aes192-cbc', 'aes256-cbc', '3des-cbc'],
      macs: [
        ...expected.macs,
        'hmac-sha1-etm@openssh.com',
        'hmac-sha1',
        'hmac-sha1-96-etm@openssh.com',
        'hmac-sha1-96',
        'hmac-md5-etm@openssh.com',
        'hmac-md5',
        'hmac-md5-96-etm@openssh.com',
        'hmac-md5-96',
      ],
      compression: ['none'],
    };
    assert.deepEqual(chooseAlgorithms(slowAes, 'legacy'), all);
    assert.deepEqual(chooseAlgorithms(slowAes, { preset: 'legacy' }), all);
    assert.deepEqual(chooseAlgorithms(slowAes, { preset: 'default' }), expected);
    assert.deepEqual(chooseAlgorithms(slowAes, { preset: 'legacy', ciphers: ['aes256-ctr'] }), {
      ...all,
      ciphers: ['aes256-ctr'],
    });
  });

  it('let users sign with what they let hosts sign with, and the defaults do not', () => {
    assert.deepEqual(defaultSignatures(), defaultSignatures({ preset: 'default' }));
    assert.deepEqual(defaultSignatures('legacy').slice(0, defaultSignatures().length), defaultSignatures());
    assert.ok(!defaultSignatures({ hostKeys: '+ssh-rsa' }).includes('ssh-rsa'));
    assert.deepEqual(defaultSignatures('legacy'), defaultSignatures({ preset: 'legacy' }));
  });
});

describe('chooseAlgorithms', () => {
  it('gives the defaults where nothing else is wanted', () => {
    assert.deepEqual(chooseAlgorithms(slowAes), expected);
    assert.deepEqual(chooseAlgorithms(slowAes, {}), expected);
  });

  it("puts the caller's lists in place of the defaults, in their order", () => {
    const kex = ['ecdh-sha2-nistp521', 'curve25519-sha256'];
    assert.deepEqual(chooseAlgorithms(slowAes, { kex }), { ...expected, kex });
    assert.deepEqual(chooseAlgorithms(slowAes, { ciphers: ['aes256-ctr'], macs: ['hmac-sha2-512'] }), {
      ...expected,
      ciphers: ['aes256-ctr'],
      macs: ['hmac-sha2-512'],
    });
  });

  for (const category of Object.keys(expected) as (keyof AlgorithmLists)[]) {
    it(`refuses an empty list of ${category}`, () => {
      const error = thrown('bad-argument', () => chooseAlgorithms(slowAes, { [category]: [] }));
      assert.equal(error.message, `algorithms.${category} is empty: name at least one`);
    });

    it(`refuses a name among ${category} that it does not know, and lists those it knows`, () => {
      const known = expected[category];
      const error = thrown('bad-argument', () => chooseAlgorithms(slowAes, { [category]: [known[0] ?? '', 'x\n'] }));
      assert.ok(
        error.message.startsWith(`algorithms.${category} names "x\\x0a", which puressh does not know; it knows `),
      );
      for (const name of known) assert.ok(error.message.includes(name), `${name} is listed`);
      assert.equal(error.fault, 'local');
    });
  }

  it('refuses a list that it does not know, whose names would not narrow anything', () => {
    const misspelt = { cipher: ['aes256-ctr'] } as object;
    const error = thrown('bad-argument', () => chooseAlgorithms(slowAes, misspelt));
    assert.equal(error.message, 'algorithms has no list cipher; there are kex, hostKeys, ciphers, macs, compression');
  });

  const texts: readonly [Exclude<AlgorithmsOption, 'legacy'>, Partial<AlgorithmLists>][] = [
    [{ ciphers: 'aes256-ctr,aes128-ctr' }, { ciphers: ['aes256-ctr', 'aes128-ctr'] }],
    [{ ciphers: ' aes256-ctr , aes128-ctr,' }, { ciphers: ['aes256-ctr', 'aes128-ctr'] }],
    [{ ciphers: 'aes???-gcm*' }, { ciphers: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'] }],
    [{ ciphers: '+3des-cbc,aes128-cbc' }, { ciphers: [...expected.ciphers, '3des-cbc', 'aes128-cbc'] }],
    [{ ciphers: '+aes256-ctr' }, { ciphers: expected.ciphers }],
    [{ ciphers: '+*-cbc' }, { ciphers: [...expected.ciphers, 'aes128-cbc', 'aes192-cbc', 'aes256-cbc', '3des-cbc'] }],
    [{ ciphers: '-aes*,unknown' }, { ciphers: ['chacha20-poly1305@openssh.com'] }],
    [
      { ciphers: '^aes256-ctr,3des-cbc' },
      { ciphers: ['aes256-ctr', '3des-cbc', ...expected.ciphers.filter((name) => name !== 'aes256-ctr')] },
    ],
    [{ macs: '-*etm*' }, { macs: ['hmac-sha2-256', 'hmac-sha2-512'] }],
    [{ preset: 'legacy', ciphers: '-aes*' }, { ciphers: ['chacha20-poly1305@openssh.com', '3des-cbc'] }],
    [
      { hostKeys: '^ssh-ed25519,rsa-sha2-25?' },
      {
        hostKeys: [
          'ssh-ed25519',
          'rsa-sha2-256',
          ...expected.hostKeys.slice(1).filter((name) => name !== 'rsa-sha2-256'),
        ],
      },
    ],
  ];
  for (const [option, lists] of texts) {
    it(`reads text as OpenSSH does: ${JSON.stringify(option)}`, () => {
      const chosen = chooseAlgorithms(slowAes, option);
      for (const [category, names] of Object.entries(lists)) {
        assert.deepEqual(chosen[category as keyof AlgorithmLists], names);
      }
    });
  }

  it('refuses text that leaves nothing, or names what it does not know', () => {
    const message = (ciphers: string): string =>
      thrown('bad-argument', () => chooseAlgorithms(slowAes, { ciphers })).message;
    for (const text of ['', ',', '-*']) assert.equal(message(text), 'algorithms.ciphers is empty: name at least one');
    for (const text of ['arcfour', '+arcfour', '^arcfour', 'arc*,aes128-ctr']) {
      assert.match(message(text), /^algorithms\.ciphers names "arc(four|\*)", which puressh does not know; it knows /);
    }
    assert.deepEqual(chooseAlgorithms(slowAes, { ciphers: '-arcfour' }).ciphers, expected.ciphers);
  });

  it('refuses what is no option, and no preset', () => {
    const message = (option: unknown): string =>
      thrown('bad-argument', () => chooseAlgorithms(slowAes, option as AlgorithmsOption)).message;
    assert.equal(message('modern'), "algorithms must be 'legacy' or an object with lists, not modern");
    assert.equal(message(null), "algorithms must be 'legacy' or an object with lists, not null");
    assert.equal(message({ preset: 'modern' }), "algorithms.preset must be 'default' or 'legacy', not modern");
    assert.equal(message({ kex: 7 }), "algorithms.kex must be a list of names, or text such as '+a,b'");
  });

  it('takes compression only with a library that compresses', () => {
    for (const compression of ['+zlib', ['zlib@openssh.com', 'none']]) {
      const error = thrown('bad-argument', () => chooseAlgorithms(slowAes, { compression }));
      assert.match(
        error.message,
        /names zlib(@openssh\.com)?: give the library that compresses as the option compression/,
      );
    }
    assert.deepEqual(chooseAlgorithms(slowAes, { compression: ['zlib'] }, library).compression, ['zlib']);
    assert.deepEqual(chooseAlgorithms(slowAes, { compression: ['none'] }, library).compression, ['none']);
  });

  it('refuses markers, and no cipher at all', () => {
    for (const name of ['ext-info-c', 'kex-strict-c-v00@openssh.com']) {
      thrown('bad-argument', () => chooseAlgorithms(slowAes, { kex: [name] }));
    }
    thrown('bad-argument', () => chooseAlgorithms(slowAes, { ciphers: ['none'] }));
  });
});
