/** Logging in at a server with certificates and security keys: OpenSSH's PROTOCOL.certkeys and PROTOCOL.u2f. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { key } from '../../src/client/auth.ts';
import { type Clock, systemClock } from '../../src/io/clock.ts';
import {
  type Certificate,
  type CertificateRequest,
  certified,
  parseCertificate,
  signCertificate,
  USER_EXTENSIONS,
} from '../../src/keys/certificate.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { formatPublicKeyLine } from '../../src/keys/public_key_line.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { authorizedKeys } from '../../src/server/authorized_keys.ts';
import type { LoginHandlers, UserKey } from '../../src/server/handlers.ts';
import { type UserCertificatesOptions, userCertificates } from '../../src/server/user_certificates.ts';
import { sshError } from '../keys/tools.ts';
import { it } from '../support/limited.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';
import { securityKey } from '../support/security_key.ts';
import { Serving } from '../support/serving.ts';

const ada = ed25519Signer(memoCrypto, 1);
const authority = ed25519Signer(memoCrypto, 2);
const other = ed25519Signer(memoCrypto, 3);
const line = formatPublicKeyLine(authority.publicKey);

/** A certificate of the authority for ada's key. */
function certificate(
  change: Partial<CertificateRequest> = {},
  by: Signer = authority,
  of: Signer = ada,
): Promise<Certificate> {
  return signCertificate(memoCrypto, by, {
    key: parsePublicKey(of.publicKey),
    kind: 'user',
    keyId: 'ada at work',
    principals: ['ada'],
    extensions: USER_EXTENSIONS,
    ...change,
  });
}

/** The time, but for the steps in which refusals leave: those are over at once. */
const hurried: Clock = {
  ...systemClock,
  after: (delay, run) => systemClock.after(delay <= 100 ? 0 : delay, run),
};

type Keyed = NonNullable<LoginHandlers['publickey']>;

/** The permissions that a signer logs in with; `undefined` where it does not. */
async function permissionsOf(publickey: Keyed, signer: Signer): Promise<object | undefined> {
  let granted: object | undefined;
  const onLogin = ({ permissions }: { permissions: object }): void => {
    granted = permissions;
  };
  await using serving = await Serving.start({ auth: { publickey }, onLogin }, hurried);
  try {
    await serving.connect({ auth: [key(signer)] });
    return granted;
  } catch (error) {
    sshError('auth-failed')(error);
    return undefined;
  } finally {
    assert.deepEqual(serving.takeFailures(), []);
  }
}

const logsIn = async (publickey: Keyed, signer: Signer): Promise<boolean> =>
  (await permissionsOf(publickey, signer)) !== undefined;

const all = { pty: true, portForwarding: true, agentForwarding: true };

describe('userCertificates', () => {
  it('lets in with what a certificate of an authority permits', async () => {
    const login = userCertificates({ authorities: [line] });
    assert.deepEqual(await permissionsOf(login, certified(ada, await certificate())), all);
    const few = new Map([['permit-pty', '']].map(([name]) => [name as string, new Uint8Array(0)]));
    const bound = { extensions: few, criticalOptions: new Map([['force-command', 'backup']]) };
    const expected = { pty: true, portForwarding: false, agentForwarding: false, command: 'backup' };
    assert.deepEqual(await permissionsOf(login, certified(ada, await certificate(bound))), expected);
    assert.equal(await logsIn(login, ada), false, 'the key alone');
  });

  it('says to the program who it was', async () => {
    const seen: UserKey[] = [];
    const login = userCertificates({ authorities: [line] });
    const made = await certificate();
    const handler: Keyed = (attempt) => {
      seen.push(attempt.key);
      return login(attempt);
    };
    await using serving = await Serving.start({ auth: { publickey: handler } });
    await serving.connect({ auth: [key(certified(ada, made))] });
    const [shown] = seen;
    assert.deepEqual(shown?.publicKey.blob, ada.publicKey);
    assert.equal(shown?.certificate?.keyId, 'ada at work');
    assert.equal(shown?.presence, undefined);
  });

  it('refuses what does not hold, and says why to the program alone', async () => {
    const past = BigInt(Math.floor(Date.now() / 1000) - 10);
    const future = past + 1000n;
    const criticals = (name: string, value: string): Partial<CertificateRequest> => ({
      criticalOptions: new Map([[name, value]]),
    });
    const cases: [Partial<CertificateRequest>, RegExp | undefined][] = [
      [{ validBefore: past }, /was valid until/],
      [{ validAfter: future }, /not valid before/],
      [{ principals: [] }, /names no principals/],
      [{ principals: ['root', 'Ada'] }, /^the certificate is for root, Ada, not for ada$/],
      [{ kind: 'host' }, /for a host, not for a user/],
      [criticals('source-address', '10.0.0.0/8'), /'source-address' does not allow 192\.0\.2\.7/],
      [criticals('source-address', 'all'), /more than networks/],
      [criticals('tunnel@example.org', ''), /'tunnel@example\.org' is not known/],
      [criticals('source-address', '192.0.2.0/24'), undefined],
      [{ validAfter: past, validBefore: future }, undefined],
    ];
    for (const [change, reason] of cases) {
      const reasons: string[] = [];
      const login = userCertificates({
        authorities: [line],
        onRefused: (user, why) => reasons.push(`${user}: ${why}`),
      });
      assert.equal(
        await logsIn(login, certified(ada, await certificate(change))),
        reason === undefined,
        String(reason),
      );
      if (reason !== undefined) assert.match((reasons[0] ?? '').replace(/^ada: (?:of the certificate: )?/, ''), reason);
    }
  });

  it('asks which names may log in as a user, and what is revoked', async () => {
    const login = (options: Partial<UserCertificatesOptions>): Keyed =>
      userCertificates({ authorities: [line], ...options });
    const signer = certified(ada, await certificate({ principals: ['deploy'] }));
    assert.equal(await logsIn(login({ principals: () => ['web', 'deploy'] }), signer), true);
    assert.equal(await logsIn(login({ principals: ({ username }) => [username] }), signer), false);
    assert.equal(await logsIn(login({ principals: () => [] }), signer), false);
    const asked: string[] = [];
    const revoked = (is: boolean | object | undefined): Partial<UserCertificatesOptions> => ({
      principals: () => ['deploy'],
      revoked({ type, certificate: shown }) {
        asked.push(`${type} ${shown?.serial}`);
        return is;
      },
    });
    assert.equal(await logsIn(login(revoked(false)), signer), true);
    assert.equal(await logsIn(login(revoked(undefined)), signer), true);
    assert.equal(await logsIn(login(revoked(true)), signer), false);
    assert.equal(await logsIn(login(revoked({ what: 'serial' })), signer), false);
    assert.equal(asked[0], 'ssh-ed25519-cert-v01@openssh.com 0');
  });

  it('takes no text for a list of names', async () => {
    const principals = () => 'deployment' as unknown as string[];
    const publickey = userCertificates({ authorities: [line], principals });
    await using serving = await Serving.start({ auth: { publickey } }, hurried);
    const signer = certified(ada, await certificate({ principals: ['deploy'] }));
    await rejectsWith(serving.connect({ auth: [key(signer)] }), 'auth-failed');
    assert.match(serving.takeFailures()[0] ?? '', /gives a list of names/);
  });

  it('believes nothing that no authority of its own has signed, or that was changed', async () => {
    const login = userCertificates({ authorities: [line] });
    assert.equal(await logsIn(login, certified(ada, await certificate({}, other))), false, 'another authority');
    const made = await certificate();
    const at = made.blob.length - 1;
    const forged = parseCertificate(concat(made.blob.subarray(0, at), Uint8Array.of((made.blob[at] as number) ^ 1)));
    let asked = 0;
    const counting: Keyed = (attempt) => {
      asked++;
      return login(attempt);
    };
    assert.equal(await logsIn(counting, certified(ada, forged)), false);
    assert.equal(asked, 0, 'nobody is asked about it');
    const borrowed = { ...certified(ada, made), sign: (message: Uint8Array) => other.sign(message, 'ssh-ed25519') };
    assert.equal(await logsIn(counting, borrowed), false, 'a certificate of somebody else');
    assert.equal(asked, 0);
  });

  it('refuses authorities that are none', () => {
    for (const [given, reason] of [
      [undefined, /needs authorities/],
      [[], /needs authorities/],
      [line, /needs authorities/],
      [[''], /empty/],
      [['/etc/ssh/ca.pub'], /a path is not enough/],
      [[7], /not number/],
      [[utf8('\0nothing')], /cannot be read/],
    ] as const) {
      const options = { authorities: given } as unknown as UserCertificatesOptions;
      assert.throws(() => userCertificates(options), sshError('bad-argument', reason));
    }
    const texts = `# ours\n${formatPublicKeyLine(other.publicKey, 'old')}\n\n${line} new\n`;
    for (const authorities of [[texts], [utf8(texts)], [authority.publicKey]]) userCertificates({ authorities });
  });
});

describe('authorizedKeys and certificates', () => {
  const keysOf = (text: string): Keyed => authorizedKeys({ ada: text });

  it('takes certificates by lines with cert-authority alone, and keys by others', async () => {
    const signer = certified(ada, await certificate());
    const own = formatPublicKeyLine(ada.publicKey);
    assert.equal(await logsIn(keysOf(`cert-authority ${line}`), signer), true);
    assert.equal(await logsIn(keysOf(`cert-authority ${line}`), authority), false, 'the authority itself');
    assert.equal(await logsIn(keysOf(`${own}\n${line}`), signer), false);
    assert.equal(await logsIn(keysOf(`cert-authority ${own}`), signer), false);
    assert.equal(await logsIn(keysOf(`cert-authority,principals="ada" ${line}`), signer), true);
    assert.equal(await logsIn(keysOf(`cert-authority,principals="bob" ${line}`), signer), false);
  });

  it('allows what both the line and the certificate allow', async () => {
    const bound = await certificate({
      criticalOptions: new Map([['force-command', 'a']]),
      extensions: new Map([['permit-pty', new Uint8Array(0)]]),
    });
    const signer = certified(ada, bound);
    const expected = { command: 'a', environment: {}, pty: true, portForwarding: false, agentForwarding: false };
    assert.deepEqual(await permissionsOf(keysOf(`cert-authority ${line}`), signer), expected);
    assert.deepEqual(await permissionsOf(keysOf(`cert-authority,command="a",no-pty ${line}`), signer), {
      ...expected,
      pty: false,
    });
    const reasons: string[] = [];
    const both = authorizedKeys(
      { ada: `cert-authority,command="b" ${line}` },
      { onRefused: (_, lines) => reasons.push(...lines.map(({ reason }) => reason)) },
    );
    assert.equal(await logsIn(both, signer), false);
    assert.match(reasons[0] ?? '', /two different commands/);
  });
});

describe('security keys at a server', () => {
  const touched = securityKey('ed25519');
  const untouched = securityKey('ecdsa', { touched: false });
  const verified = securityKey('ecdsa', { verified: true });
  const lineOf = (signer: Signer, options = ''): string => `${options}${formatPublicKeyLine(signer.publicKey)}`;

  it('have to be touched, unless the function says that they need not', async () => {
    assert.equal(await logsIn(() => true, touched), true);
    assert.equal(await logsIn(() => true, untouched), false);
    assert.equal(await logsIn(() => ({ permissions: {} }), untouched), false);
    assert.equal(await logsIn(() => ({ noTouchRequired: true }), untouched), true);
    assert.equal(await logsIn(() => ({ noTouchRequired: 'no' }) as never, untouched), false);
  });

  it('tell the function what they say of the person', async () => {
    const seen: UserKey['presence'][] = [];
    const handler: Keyed = ({ key: shown }) => {
      seen.push(shown.presence);
      return true;
    };
    for (const signer of [touched, verified]) assert.equal(await logsIn(handler, signer), true);
    assert.deepEqual(
      seen.filter((each) => each !== undefined),
      [
        { touched: true, verified: false, counter: 7 },
        { touched: true, verified: true, counter: 7 },
      ],
    );
  });

  it('do what their line in authorized_keys wants', async () => {
    const cases: [Signer, options: string, lets: boolean][] = [
      [touched, '', true],
      [untouched, '', false],
      [untouched, 'no-touch-required ', true],
      [untouched, 'no-touch-required,touch-required ', false],
      [touched, 'verify-required ', false],
      [verified, 'verify-required ', true],
      [touched, 'verify-required,no-verify-required ', true],
    ];
    for (const [signer, options, lets] of cases) {
      assert.equal(await logsIn(authorizedKeys({ ada: lineOf(signer, options) }), signer), lets, `${options}${lets}`);
    }
  });

  it('do what their certificate wants', async () => {
    const login = userCertificates({ authorities: [line] });
    const without = new Map([['no-touch-required', new Uint8Array(0)]]);
    const strict = new Map([['verify-required', new Uint8Array(0)]]);
    const cases: [Signer, Partial<CertificateRequest>, lets: boolean][] = [
      [touched, {}, true],
      [untouched, {}, false],
      [untouched, { extensions: without }, true],
      [touched, { criticalOptions: strict }, false],
      [verified, { criticalOptions: strict }, true],
    ];
    for (const [signer, change, lets] of cases) {
      const made = await certificate(change, authority, signer);
      assert.equal(await logsIn(login, certified(signer, made)), lets, `${signer.keyType} ${lets}`);
    }
    const made = await certificate({ extensions: without }, authority, untouched);
    const both = (options: string): Keyed => authorizedKeys({ ada: `cert-authority${options} ${line}` });
    assert.equal(await logsIn(both(''), certified(untouched, made)), false, 'the line wants it');
    assert.equal(await logsIn(both(',no-touch-required'), certified(untouched, made)), true);
  });
});

describe('signatures of a server', () => {
  it('count with a certificate where they count without', async () => {
    const signer = certified(ada, await certificate());
    const serve = (signatures: readonly string[]): Promise<Serving> =>
      Serving.start({ auth: { publickey: userCertificates({ authorities: [line] }) }, signatures });
    await using right = await serve(['ssh-ed25519']);
    await right.connect({ auth: [key(signer)] });
    await using wrong = await serve(['rsa-sha2-512']);
    await rejectsWith(wrong.connect({ auth: [key(signer)] }), 'auth-failed');
    const named = Serving.start({ auth: { publickey: () => true }, signatures: ['ssh-ed25519-cert-v01@openssh.com'] });
    await rejectsWith(named, 'bad-argument');
  });
});

describe('hostCertificates', () => {
  const hosts = (change: Partial<CertificateRequest> = {}, of: Signer = ada): Promise<Certificate> =>
    certificate({ kind: 'host', principals: ['host.example'], extensions: new Map(), ...change }, authority, of);

  it('stand beside the keys', async () => {
    const made = await hosts();
    for (const given of [
      made.blob,
      formatPublicKeyLine(made.blob, 'host'),
      utf8(`${formatPublicKeyLine(made.blob)}\n`),
    ]) {
      const auth = { none: () => true };
      await using serving = await Serving.start({ auth, hostKeys: [ada], hostCertificates: [given] });
      const plain = await serving.connect({ auth: [] });
      assert.equal(plain.info.algorithms.hostKey, 'ssh-ed25519');
      const wanted = { hostKeys: ['ssh-ed25519-cert-v01@openssh.com'] };
      const shown = await serving.connect({ auth: [], algorithms: wanted });
      assert.equal(shown.info.algorithms.hostKey, 'ssh-ed25519-cert-v01@openssh.com');
    }
  });

  it('are refused where they are none, or for another key', async () => {
    for (const [given, reason] of [
      ['none', /must be a list/],
      [[7], /not number/],
      [['/etc/ssh/host-cert.pub'], /cannot be read/],
      [[formatPublicKeyLine(ada.publicKey)], /cannot be read/],
      [[(await certificate()).blob], /'ada at work' cannot be used: it is for a user/],
      [[(await hosts({}, other)).blob], /none of hostKeys is its key/],
    ] as const) {
      const options = { auth: { none: () => true }, hostKeys: [ada], hostCertificates: given as never };
      const error = await rejectsWith(Serving.start(options), 'bad-argument');
      assert.match(error.message, reason);
    }
  });
});
