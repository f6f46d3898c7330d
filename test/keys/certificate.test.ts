import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { Reader } from '../../src/bytes/reader.ts';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { SshError } from '../../src/errors.ts';
import {
  type Certificate,
  type CertificateRequest,
  certified,
  FOREVER,
  isCertificateType,
  judgeCertificate,
  MAX_CERTIFICATE,
  parseCertificate,
  signCertificate,
  USER_EXTENSIONS,
  verifyCertificate,
} from '../../src/keys/certificate.ts';
import { certificateRights } from '../../src/keys/certificate_options.ts';
import { parsePrivateKey, signerOf } from '../../src/keys/private_key.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { parseShownKey, shownKey, verifyShown } from '../../src/keys/shown_key.ts';
import {
  algorithmsOf,
  certificateName,
  plainAlgorithm,
  type Signer,
  verifySignature,
} from '../../src/keys/signature.ts';
import { securityKey, webauthnKey } from '../support/security_key.ts';
import { isThorough } from '../support/thorough.ts';
import { bytes, certificateRows, crypto, privateRow, publicBlob, shared, sshError } from './tools.ts';

const native = nodeProvider();
const signer = (name: string): Signer => signerOf(native, parsePrivateKey(privateRow(name).openssh ?? '', native));
const authorityType = 'sk-ecdsa-sha2-nistp256@openssh.com';
const now = Date.UTC(2026, 5, 1);

function row(name: string): Certificate {
  const found = certificateRows.find((each) => each.name === name);
  assert.ok(found, name);
  return parseCertificate(bytes(found.blob), crypto);
}

/** A certificate whose fields are given as they are, signed by the Ed25519 key of the vectors for itself. */
async function crafted(fields: {
  readonly kind?: number;
  readonly keyId?: Uint8Array;
  readonly principals?: Uint8Array;
  readonly critical?: Uint8Array;
  readonly extensions?: Uint8Array;
  readonly authority?: Uint8Array;
  readonly reserved?: Uint8Array;
}): Promise<Uint8Array> {
  const empty = new Uint8Array(0);
  const own = publicBlob('ed25519');
  const body = new Writer()
    .string('ssh-ed25519-cert-v01@openssh.com')
    .string(new Uint8Array(32))
    .raw(own.subarray(15))
    .u64(1n)
    .u32(fields.kind ?? 1)
    .string(fields.keyId ?? empty)
    .string(fields.principals ?? empty)
    .u64(0n)
    .u64(FOREVER)
    .string(fields.critical ?? empty)
    .string(fields.extensions ?? empty)
    .string(fields.reserved ?? empty)
    .string(fields.authority ?? own)
    .finish();
  return concat(body, new Writer().string(await signer('ed25519').sign(body, 'ssh-ed25519')).finish());
}

const strings = (...texts: readonly (string | Uint8Array)[]): Uint8Array =>
  texts.reduce((writer: Writer, text) => writer.string(text), new Writer()).finish();

describe('parseCertificate', () => {
  for (const expected of certificateRows) {
    it(`reads what ssh-keygen wrote: ${expected.name}`, async () => {
      const certificate = parseCertificate(bytes(expected.blob), crypto);
      const { type, kind, keyId, serial, principals, criticalOptions, extensions } = certificate;
      assert.deepEqual(
        [type, kind, keyId, String(serial), principals, [...criticalOptions.keys()], [...extensions.keys()]],
        [
          ...[expected.type, expected.kind, expected.keyId, expected.serial, expected.principals],
          ...[expected.criticalOptions, expected.extensions],
        ],
      );
      assert.equal(certificate.validAfter, BigInt(expected.validAfter));
      const end = expected.validBefore === 'forever' ? FOREVER : BigInt(expected.validBefore);
      assert.equal(certificate.validBefore, end);
      assert.equal(hex(certificate.key.blob), hex(publicBlob(expected.subject)));
      assert.equal(hex(certificate.authority.blob), hex(publicBlob(expected.authority)));
      const isGenuine = !/SHA-1/.test(expected.name);
      for (const provider of [crypto, native]) {
        assert.equal(await verifyCertificate(provider, certificate), isGenuine, provider.name);
      }
    });
  }

  it('refuses one cut off anywhere, and one with a byte behind it', () => {
    for (const { blob } of certificateRows.slice(0, 11)) {
      const whole = bytes(blob);
      for (let length = 0; length < whole.length; length++) {
        assert.throws(() => parseCertificate(whole.subarray(0, length)), sshError('decode'));
      }
      assert.throws(() => parseCertificate(concat(whole, Uint8Array.of(0))), sshError('decode', /1 bytes too many/));
    }
  });

  it('gives a typed error, or what does not verify, where any byte is another', async () => {
    const shown = [...certificateRows.filter(({ name }) => /^host|few/.test(name))];
    for (const { name, blob } of shown) {
      const whole = bytes(blob);
      for (let at = 0; at < whole.length; at += isThorough ? 1 : 5) {
        const damaged = whole.slice();
        damaged[at] = (damaged[at] as number) ^ (at % 2 === 0 ? 0x01 : 0x80);
        try {
          const certificate = parseCertificate(damaged, native);
          assert.equal(await verifyCertificate(native, certificate), false, `${name}, byte ${at}`);
        } catch (error) {
          if (!(error instanceof SshError)) throw error;
          assert.ok(['decode', 'not-supported'].includes(error.code), `${name}, byte ${at}: ${error.code}`);
        }
      }
    }
  });

  it('refuses what has the right lengths and makes no sense', async () => {
    const certificate = certificateRows[0]?.blob ?? '';
    const wrong: [Parameters<typeof crafted>[0], RegExp][] = [
      [{ kind: 0 }, /of kind 0/],
      [{ kind: 3 }, /of kind 3/],
      [{ keyId: utf8('a\0b') }, /key id of a certificate is no text/],
      [{ keyId: Uint8Array.of(0xff) }, /key id/],
      [{ principals: strings(Uint8Array.of(0x61, 0xff)) }, /principal of a certificate is no text/],
      [{ principals: strings('ada\0root') }, /principal/],
      [{ principals: utf8('ada') }, /Truncated/],
      [{ principals: strings(...Array.from({ length: 257 }, (_, i) => `user${i}`)) }, /More than 256 principals/],
      [{ critical: strings('a', '', 'a', '') }, /critical option 'a' comes twice/],
      [{ extensions: strings('permit-pty', '', 'permit-pty', '') }, /extension 'permit-pty' comes twice/],
      [{ extensions: strings('permit-pty') }, /Truncated/],
      [{ critical: strings(...Array.from({ length: 65 }, (_, i) => [`a${i}`, '']).flat()) }, /More than 64/],
      [{ authority: bytes(certificate) }, /The authority of a certificate is itself one/],
      [{ authority: utf8('nothing') }, /Truncated/],
    ];
    for (const [fields, reason] of wrong) {
      const blob = await crafted(fields);
      assert.throws(() => parseCertificate(blob), sshError('decode', reason));
    }
    const most = { principals: strings(...Array.from({ length: 256 }, (_, i) => `user${i}`)), reserved: utf8('x') };
    assert.equal(parseCertificate(await crafted(most)).principals.length, 256);
    assert.throws(() => parseCertificate(new Uint8Array(MAX_CERTIFICATE + 1)), sshError('decode', /65537 bytes/));
  });

  it('knows no other types', async () => {
    const blob = await crafted({});
    for (const type of ['ssh-dss-cert-v01@openssh.com', 'ssh-mldsa44-ed25519-cert-v01@openssh.com', 'ssh-ed25519']) {
      const other = concat(strings(type), blob.subarray(36));
      assert.throws(() => parseCertificate(other), sshError('not-supported', new RegExp(`'${type}'`)));
    }
    assert.equal(isCertificateType('ssh-quantum-cert-v01@openssh.com'), true);
    assert.equal(isCertificateType('ssh-ed25519'), false);
  });
});

describe('verifyCertificate', () => {
  it('takes no signature by another algorithm than one for the key of the authority', async () => {
    const genuine = row('user, ed25519 by ecdsa521');
    assert.equal(await verifyCertificate(native, genuine), true);
    const other = { ...genuine, authority: parsePublicKey(publicBlob('ecdsa256')) };
    assert.equal(await verifyCertificate(native, other), false);
    for (const signature of [new Uint8Array(0), utf8('ssh'), strings('ssh-ed25519'), strings('', '')]) {
      assert.equal(await verifyCertificate(native, { ...genuine, signature }), false);
    }
  });

  it('takes a signature of a security key, but none that a browser has made with it', async () => {
    const request = { key: parsePublicKey(publicBlob('ed25519')), kind: 'user', keyId: '' } as const;
    const genuine = await signCertificate(native, securityKey('ecdsa'), request);
    assert.equal(await verifyCertificate(native, genuine), true);
    const browser = webauthnKey();
    const { authority, signed, signature } = await signCertificate(
      native,
      { ...browser, algorithms: [authorityType] },
      request,
    );
    assert.equal(await verifySignature(native, browser.algorithms[0] as string, authority, signed, signature), true);
    assert.equal(await verifyCertificate(native, { ...genuine, authority, signed, signature }), false);
    await assert.rejects(signCertificate(native, browser, request), sshError('bad-argument', /cannot be an authority/));
  });
});

describe('judgeCertificate', () => {
  const user = row('user, ed25519 by ecdsa521');
  const host = row('host, ed25519 by ecdsa521');
  const use = { kind: 'user', now, allowEmptyPrincipals: false } as const;
  const reasonOf = (certificate: Certificate, wanted: Parameters<typeof judgeCertificate>[1]): string => {
    const verdict = judgeCertificate(certificate, wanted);
    return verdict.ok ? 'ok' : verdict.reason;
  };

  it('wants the kind, the time and the principal to fit', () => {
    const start = Number(user.validAfter) * 1000;
    const end = Number(user.validBefore) * 1000;
    const cases: [Partial<Parameters<typeof judgeCertificate>[1]>, RegExp][] = [
      [{}, /^ok$/],
      [{ principal: 'root' }, /^ok$/],
      [{ principal: 'Root' }, /^'Root' is not among its principals 'ada', 'root'$/],
      [{ principal: '' }, /^'' is not among/],
      [{ principal: 'ada,root' }, /is not among/],
      [{ kind: 'host' }, /^it is for a user, not for a host$/],
      [{ now: start }, /^ok$/],
      [{ now: start - 1 }, /^it is not valid before 2026-01-01T00:00:00Z$/],
      [{ now: end - 1 }, /^ok$/],
      [{ now: end }, /^it was valid until 2027-01-01T00:00:00Z$/],
      [{ now: Number.NaN }, /^the time is not known$/],
      [{ now: Number.POSITIVE_INFINITY }, /^the time is not known$/],
      [{ now: -1 }, /not valid before/],
    ];
    for (const [change, reason] of cases) assert.match(reasonOf(user, { ...use, ...change }), reason);
    assert.equal(
      reasonOf({ ...user, validAfter: FOREVER }, use),
      `it is not valid before second ${FOREVER} since 1970`,
    );
    assert.equal(reasonOf({ ...user, validBefore: 0n }, use), 'it was valid until 1970-01-01T00:00:00Z');
    assert.equal(reasonOf(host, { ...use, kind: 'host', principal: 'host.example' }), 'ok');
    assert.match(reasonOf(host, { ...use, kind: 'host', principal: 'other.example' }), /is not among its principals/);
  });

  it('leaves to the caller whether no principals are all or none', () => {
    const nobody = row('user, no principals');
    assert.equal(reasonOf(nobody, { ...use, principal: 'ada' }), 'it names no principals');
    assert.equal(reasonOf(nobody, { ...use, principal: 'ada', allowEmptyPrincipals: true }), 'ok');
  });

  it('refuses critical options that nobody acts on', () => {
    assert.match(reasonOf(row('user, an option that nobody knows'), use), /'puressh@example.org' is not known/);
    assert.equal(reasonOf(row('user, with critical options and few extensions'), use), 'ok');
    const strange = { ...host, criticalOptions: new Map([['force-command', strings('true')]]) };
    assert.match(reasonOf(strange, { ...use, kind: 'host' }), /'force-command' is not known/);
  });
});

describe('certificateRights', () => {
  const none = { pty: false, portForwarding: false, agentForwarding: false, x11Forwarding: false, userRc: false };
  const all = { pty: true, portForwarding: true, agentForwarding: true, x11Forwarding: true, userRc: true };
  const security = { verifyRequired: false, noTouchRequired: false };

  it('permits what is named, and nothing else', () => {
    assert.deepEqual(certificateRights(row('user, ed25519 by ecdsa521')), { ...all, ...security });
    const rights = certificateRights(row('user, with critical options and few extensions'));
    assert.ok(typeof rights === 'object');
    const { from = [], ...rest } = rights;
    const expected = { ...none, pty: true, verifyRequired: true, noTouchRequired: true, command: 'echo "a b"' };
    assert.deepEqual(rest, expected);
    assert.equal(from.length, 2);
  });

  it('refuses options that it cannot understand', async () => {
    const wrong: [critical: readonly (string | Uint8Array)[], extensions: readonly string[], reason: RegExp][] = [
      [['force-command', ''], [], /'force-command' is no text/],
      [['force-command', strings('a', 'b')], [], /'force-command' is no text/],
      [['force-command', strings('a\0b')], [], /'force-command' is no text/],
      [['force-command', strings(Uint8Array.of(0xff))], [], /'force-command' is no text/],
      [['source-address', ''], [], /'source-address' is no text/],
      [['source-address', strings('')], [], /an item is empty/],
      [['source-address', strings('10.0.0.1/8')], [], /is no network/],
      [['source-address', strings('!10.0.0.0/8')], [], /more than networks/],
      [['source-address', strings('10.0.0.*')], [], /more than networks/],
      [['source-address', strings('host.example')], [], /more than networks/],
      [['verify-required', 'x'], [], /has a value/],
      [['permit-pty', ''], [], /'permit-pty' is not known/],
      [['no-touch-required', ''], [], /'no-touch-required' is not known/],
      [[], ['permit-pty', 'x'], /'permit-pty' has a value/],
    ];
    for (const [critical, extensions, reason] of wrong) {
      const blob = await crafted({ critical: strings(...critical), extensions: strings(...extensions) });
      assert.match(String(certificateRights(parseCertificate(blob))), reason);
    }
  });
});

describe('signCertificate', () => {
  const request: CertificateRequest = {
    key: parsePublicKey(publicBlob('rsa1024')),
    kind: 'user',
    keyId: 'für ada',
    serial: 7n,
    principals: ['ada', 'ädä'],
    validAfter: 10n,
    validBefore: 20n,
    criticalOptions: new Map([
      ['source-address', '10.0.0.0/8'],
      ['force-command', 'true'],
    ]),
    extensions: USER_EXTENSIONS,
  };

  it('says what was asked for, in the order that OpenSSH wants, by every kind of authority', async () => {
    for (const name of ['ed25519', 'ecdsa256', 'ecdsa384', 'ecdsa521', 'rsa3072']) {
      const made = await signCertificate(native, signer(name), request);
      const read = parseCertificate(made.blob, crypto);
      assert.equal(await verifyCertificate(crypto, read), true);
      assert.deepEqual(
        [read.type, read.kind, read.keyId, read.serial, read.principals, read.validAfter, read.validBefore],
        ['ssh-rsa-cert-v01@openssh.com', 'user', 'für ada', 7n, ['ada', 'ädä'], 10n, 20n],
      );
      assert.deepEqual([...read.criticalOptions.keys()], ['force-command', 'source-address']);
      assert.equal((certificateRights(read) as { command?: string }).command, 'true');
      assert.equal(read.nonce.length, 32);
      assert.equal(new Reader(read.signature).name(), algorithmsOf(signer(name).keyType)[0]);
    }
    const again = [1, 2].map(() => signCertificate(native, signer('ed25519'), request));
    const [one, two] = await Promise.all(again);
    assert.notEqual(hex(one?.nonce as Uint8Array), hex(two?.nonce as Uint8Array));
  });

  it('refuses authorities that cannot be ones, and what no certificate can say', async () => {
    const authority = signer('ed25519');
    const own = await signCertificate(native, authority, {
      key: parsePublicKey(publicBlob('ed25519')),
      kind: 'user',
      keyId: '',
    });
    const old = { ...signer('rsa1024'), algorithms: ['ssh-rsa'] };
    for (const each of [certified(authority, own), old, { ...authority, algorithms: [] }]) {
      await assert.rejects(signCertificate(native, each, request), sshError('bad-argument', /cannot be an authority/));
    }
    for (const change of [
      { kind: 'users' },
      { kind: undefined },
      { validAfter: 20n },
      { validBefore: 10n },
      { validBefore: 2n ** 64n },
      { serial: 5 },
      { principals: 'ada' },
      { principals: ['ada', ''] },
      { principals: [1] },
    ] as object[]) {
      await assert.rejects(signCertificate(native, authority, { ...request, ...change }), sshError('bad-argument'));
    }
    const many = Array.from({ length: 257 }, (_, i) => `user${i}`);
    for (const change of [
      { principals: many },
      { keyId: 'a\0b' },
      { principals: ['x'.repeat(70_000)] },
      { serial: -1n },
    ]) {
      await assert.rejects(signCertificate(native, authority, { ...request, ...change }), sshError('bad-argument'));
    }
  });
});

describe('certified', () => {
  it('shows the certificate, signs by the algorithms for it, and names the plain ones in signatures', async () => {
    const plain = signer('rsa3072');
    const certificate = row('user, rsa3072 by rsa3072');
    const both = certified(plain, certificate);
    assert.equal(both.keyType, 'ssh-rsa-cert-v01@openssh.com');
    assert.equal(hex(both.publicKey), hex(certificate.blob));
    assert.deepEqual(both.algorithms, [
      'rsa-sha2-512-cert-v01@openssh.com',
      'rsa-sha2-256-cert-v01@openssh.com',
      'ssh-rsa-cert-v01@openssh.com',
    ]);
    const message = utf8('signed');
    const shown = parseShownKey(both.publicKey, native);
    for (const [i, algorithm] of both.algorithms.entries()) {
      const signature = await both.sign(message, algorithm);
      const name = plain.algorithms[i] as string;
      assert.equal(new Reader(signature).name(), name);
      assert.equal(plainAlgorithm(algorithm), name);
      assert.equal(certificateName(name), algorithm);
      assert.equal(await verifyShown(native, algorithm, shown, message, signature), true);
      assert.equal(await verifyShown(native, algorithm, shown, utf8('other'), signature), false);
      // neither the key without its certificate, nor the certificate by a plain algorithm
      assert.equal(await verifyShown(native, name, shown, message, signature), false);
      assert.equal(await verifyShown(native, algorithm, shownKey(shown.key), message, signature), false);
      assert.equal(await verifyShown(native, name, shownKey(shown.key), message, signature), true);
    }
  });

  it('wants the certificate of that very key', () => {
    const certificate = row('user, rsa3072 by rsa3072');
    assert.throws(
      () => certified(signer('rsa1024'), certificate),
      sshError('bad-argument', /'id of rsa3072'.*not for this key/),
    );
  });
});

const published = shared('openssh/sshkey');

describe('certificates of OpenSSH’s own tests', { skip: published.skip }, () => {
  const read = (file: string): Uint8Array =>
    parsePublicKeyLine(readFileSync(shared(`openssh/${file}`).path, 'utf8')).blob;

  it('are read and verified, but for one signed with SHA-1 and those of types that are not known', async () => {
    const found: Record<string, unknown> = {};
    for (const name of readdirSync(published.path).filter((each) => each.endsWith('-cert.pub'))) {
      try {
        const certificate = parseCertificate(read(`sshkey/${name}`), native);
        assert.equal(certificate.keyId, /rsa_1_sha/.test(name) ? 'hugo' : 'julius');
        found[name] = await verifyCertificate(native, certificate);
      } catch (error) {
        found[name] = (error as SshError).code;
      }
    }
    assert.deepEqual(found, {
      'ecdsa_1-cert.pub': true,
      'ecdsa_sk1-cert.pub': true,
      'ed25519_1-cert.pub': true,
      'ed25519_sk1-cert.pub': true,
      'mldsa44_ed25519_1-cert.pub': 'not-supported',
      'rsa_1-cert.pub': true,
      'rsa_1_sha1-cert.pub': false,
      'rsa_1_sha512-cert.pub': true,
    });
  });

  it('restrict and permit what their names say', () => {
    const found: Record<string, string> = {};
    for (const name of readdirSync(shared('openssh/authopt').path).filter((each) => each.endsWith('.cert'))) {
      const rights = certificateRights(parseCertificate(read(`authopt/${name}`)));
      if (typeof rights === 'string') found[name] = rights;
      else {
        const { pty, portForwarding, agentForwarding, x11Forwarding, userRc, command, from } = rights;
        const flags = Object.entries({ pty, portForwarding, agentForwarding, x11Forwarding, userRc });
        const on = flags.filter(([, value]) => value).map(([flag]) => flag);
        const more = [command === undefined ? [] : [`command ${command}`], from === undefined ? [] : ['from']].flat();
        found[name] = [on.length === 5 ? 'all' : on.join(' '), ...more].join(', ');
      }
    }
    const permitted = ['pty', 'portForwarding', 'agentForwarding', 'x11Forwarding', 'userRc'];
    const but = (name: string): string => permitted.filter((each) => each !== name).join(' ');
    assert.deepEqual(found, {
      'all_permit.cert': 'all',
      'bad_sourceaddr.cert': found['bad_sourceaddr.cert'],
      'force_command.cert': 'all, command foo',
      'host.cert': '',
      'no_agentfwd.cert': but('agentForwarding'),
      'no_permit.cert': '',
      'no_portfwd.cert': but('portForwarding'),
      'no_pty.cert': but('pty'),
      'no_user_rc.cert': but('userRc'),
      'no_x11fwd.cert': but('x11Forwarding'),
      'only_agentfwd.cert': 'agentForwarding',
      'only_portfwd.cert': 'portForwarding',
      'only_pty.cert': 'pty',
      'only_user_rc.cert': 'userRc',
      'only_x11fwd.cert': 'x11Forwarding',
      'sourceaddr.cert': 'all, from',
      'unknown_critical.cert': "Its critical option 'blah' is not known",
    });
    assert.match(found['bad_sourceaddr.cert'] ?? '', /'source-address'/);
  });
});
