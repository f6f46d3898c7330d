/**
 * Certificates with OpenSSH and asyncssh, both ways: those that ssh-keygen makes and those of ours, of users and of hosts, and
 * security keys, which a program plays. In Node 24 alone: it is the same code elsewhere.
 */

import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { formatPublicKeyLine, parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { asyncssh } from '../support/clients/asyncssh.ts';
import { options as sshOptions, unavailable } from '../support/clients/openssh.ts';
import {
  type OwnServer,
  type OwnServerOptions,
  type SharedServer,
  useOwnServer,
} from '../support/clients/own_server.ts';
import { type Ended, mustRun, run } from '../support/clients/process.ts';
import { api } from '../support/connect.ts';
import { type KeyName, keyNames, testKeys } from '../support/peers/keys.ts';
import * as openssh from '../support/peers/openssh.ts';
import { type Peer, peerTest, type SharedPeer, usePeer } from '../support/peers/peer.ts';
import { securityKey, webauthnKey } from '../support/security_key.ts';
import { isThorough } from '../support/thorough.ts';

const crypto = api.pureProvider;
const LIMIT = { timeout: 90_000 };
const why = isThorough ? unavailable() : undefined;
const needed = isThorough ? peerTest(why) : { skip: 'tried in Node 24' };

/** What stands where nothing is started: its tests are skipped. */
const skipped = { options: { skip: 'tried in Node 24' } };

function use(reason: string | undefined, start: () => Promise<Peer>): SharedPeer {
  return isThorough ? usePeer(reason, start) : (skipped as SharedPeer);
}

function ownServer(options: OwnServerOptions): SharedServer {
  return isThorough ? useOwnServer(why, options) : (skipped as SharedServer);
}

const dir = mkdtempSync(join(tmpdir(), 'puressh-certificates-'));
after(() => rmSync(dir, { recursive: true, force: true }));
const path = (name: string): string => join(dir, name);

const line = (file: string): string => readFileSync(file, 'utf8');
const blobIn = (file: string): Uint8Array => parsePublicKeyLine(line(file)).blob;
const read = (file: string): ReturnType<typeof api.parseCertificate> => api.parseCertificate(blobIn(file), crypto);

/** The authorities: OpenSSH's own keys of other types than most of what they sign. */
const authorities = { user: 'ed25519', host: 'ecdsa384' } as const;
const authority = (of: keyof typeof authorities): string => testKeys().host[authorities[of]].path;
const authorityKey = (of: keyof typeof authorities): string => testKeys().host[authorities[of]].public;

/** A certificate of a key of the tests, made with ssh-keygen; gives its path. */
async function certify(name: KeyName | 'host', as: string, ...args: readonly string[]): Promise<string> {
  const file = path(as);
  const subject = name === 'host' ? testKeys().host.ed25519.public : testKeys().user[name].public;
  writeFileSync(`${file}.pub`, `${subject}\n`);
  const by = name === 'host' ? authority('host') : authority('user');
  await mustRun(['ssh-keygen', '-q', '-s', by, ...(name === 'host' ? ['-h'] : []), ...args, `${file}.pub`]);
  return `${file}-cert.pub`;
}

/** The same by puressh. */
async function certifyOurs(name: KeyName, principal: string): Promise<string> {
  const signer = api.signerOf(crypto, api.parsePrivateKey(line(authority('user')), crypto));
  const certificate = await api.signCertificate(crypto, signer, {
    key: parsePublicKey(blobOf(testKeys().user[name].public)),
    kind: 'user',
    keyId: `ours of ${name}`,
    serial: 77n,
    principals: [principal, 'other'],
    validAfter: 1n,
    validBefore: 4102444800n,
    extensions: api.USER_EXTENSIONS,
  });
  const file = path(`ours_${name}-cert.pub`);
  writeFileSync(file, `${formatPublicKeyLine(certificate.blob, 'made by puressh')}\n`);
  return file;
}

const blobOf = (text: string): Uint8Array => parsePublicKeyLine(text).blob;

describe('certificates and ssh-keygen -L', () => {
  it('mean the same to both', { ...needed, ...LIMIT }, async () => {
    const files: string[] = [];
    for (const name of keyNames) {
      const valid = ['-V', '20260101000000Z:20270101000000Z'];
      files.push(await certify(name, `shown_${name}`, '-I', `id of ${name}`, '-n', 'ada,root', '-z', '9', ...valid));
      files.push(await certifyOurs(name, 'ada'));
    }
    writeFileSync(path('all'), files.map(line).join(''));
    const { stdout } = await mustRun(['ssh-keygen', '-L', '-f', path('all')], { env: { TZ: 'UTC' } });
    const shown = stdout
      .toString()
      .split(/^\S+:(?:\d+:)?\n/m)
      .slice(1);
    assert.equal(shown.length, files.length);
    for (const [i, text] of shown.entries()) {
      const certificate = read(files[i] as string);
      const field = (name: string): string => new RegExp(`^\\s+${name}: (.*)$`, 'm').exec(text)?.[1] ?? '';
      const block = (name: string, next: string): string[] =>
        (new RegExp(`${name}: ([^]*?)\\n(?:\\s+${next}|$)`).exec(text)?.[1] ?? '')
          .split('\n')
          .map((each) => each.trim())
          .filter(Boolean);
      const time = (seconds: bigint): string => new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
      assert.equal(field('Type'), `${certificate.type} user certificate`);
      assert.ok(field('Public key').endsWith(api.fingerprint(crypto, certificate.key.blob)), text);
      assert.ok(field('Signing CA').includes(api.fingerprint(crypto, certificate.authority.blob)), text);
      assert.equal(field('Key ID'), `"${certificate.keyId}"`);
      assert.equal(field('Serial'), String(certificate.serial));
      assert.equal(field('Valid'), `from ${time(certificate.validAfter)} to ${time(certificate.validBefore)}`);
      assert.deepEqual(block('Principals', 'Critical'), certificate.principals);
      assert.deepEqual(block('Extensions', 'xxx'), [...certificate.extensions.keys()]);
      assert.equal(await api.verifyCertificate(crypto, certificate), true);
    }
  });
});

describe('certificates of users at sshd', () => {
  const sshd = use(why, () =>
    openssh.startSshd({
      config: [
        `TrustedUserCAKeys ${testKeys().host[authorities.user].path}.pub`,
        'PubkeyAcceptedAlgorithms +webauthn-sk-ecdsa-sha2-nistp256@openssh.com',
      ],
    }),
  );
  const options = { ...sshd.options, ...LIMIT };

  async function login(name: KeyName, certificate: string): Promise<Awaited<ReturnType<typeof api.connect>>> {
    const { host, port, username, knownHosts } = sshd.peer;
    const method = api.key(line(testKeys().user[name].openssh), { certificate: line(certificate) });
    return api.connect({ host, port, username, auth: [method], hostKey: api.knownHosts(knownHosts) });
  }

  it('of every type log in, made by ssh-keygen and by us', options, async () => {
    const { username } = sshd.peer;
    writeFileSync(join(sshd.peer.dir, 'authorized_keys'), '');
    for (const name of keyNames) {
      const theirs = await certify(name, `sshd_${name}`, '-I', `theirs of ${name}`, '-n', `x,${username}`);
      const both: [id: string, file: string][] = [[`theirs of ${name}`, theirs]];
      if (name === 'ecdsa384' || name === 'rsa') both.push([`ours of ${name}`, await certifyOurs(name, username)]);
      for (const [id, file] of both) {
        const before = (await sshd.peer.log()).length;
        await using ssh = await login(name, file);
        assert.equal((await ssh.run('echo in')).code, 0);
        assert.match((await sshd.peer.log()).slice(before), new RegExp(`Accepted publickey .*-CERT .*ID ${id} `));
      }
    }
  });

  it('are bound to what they say', options, async () => {
    const { username } = sshd.peer;
    const forced = await certify(
      'ed25519',
      'sshd_forced',
      '-I',
      'x',
      '-n',
      username,
      '-O',
      'force-command=echo forced',
    );
    await using ssh = await login('ed25519', forced);
    assert.equal(new TextDecoder().decode((await ssh.run('echo asked')).stdout), 'forced\n');
    for (const args of [
      ['-n', 'somebody'],
      ['-n', username, '-V', '20200101:20210101'],
      ['-n', username, '-O', 'source-address=192.0.2.0/24'],
      ['-n', username, '-O', 'critical:x@example.org=1'],
    ]) {
      const file = await certify('ed25519', 'sshd_refused', '-I', 'x', ...args);
      await assert.rejects(login('ed25519', file), { code: 'auth-failed' }, args.join(' '));
    }
  });

  it('security keys sign as sshd wants it, and not untouched', options, async () => {
    const { host, port, username, knownHosts, dir: folder } = sshd.peer;
    const attempt = async (signer: Signer, signatures = signer.algorithms): Promise<number> => {
      const auth = [{ method: 'publickey', signer: () => signer } as const];
      await using ssh = await api.connect({
        host,
        port,
        username,
        auth,
        hostKey: api.knownHosts(knownHosts),
        signatures,
      });
      return (await ssh.run('true')).code ?? -1;
    };
    const keys = [securityKey('ed25519'), securityKey('ecdsa'), webauthnKey()];
    const own = [securityKey('ed25519', { touched: false }), securityKey('ecdsa', { touched: false })];
    writeFileSync(
      join(folder, 'authorized_keys'),
      [...keys, ...own].map((each) => `${formatPublicKeyLine(each.publicKey)}\n`).join(''),
    );
    for (const each of keys) assert.equal(await attempt(each), 0);
    for (const each of own) await assert.rejects(attempt(each), { code: 'auth-failed' });

    writeFileSync(join(folder, 'authorized_keys'), '');
    for (const each of keys.slice(0, 2)) {
      const file = path(`sk_${each.keyType.slice(0, 8)}`);
      writeFileSync(`${file}.pub`, `${formatPublicKeyLine(each.publicKey)}\n`);
      await mustRun(['ssh-keygen', '-q', '-s', authority('user'), '-I', 'x', '-n', username, `${file}.pub`]);
      assert.equal(await attempt(api.certified(each, read(`${file}-cert.pub`)), each.algorithms), 0);
    }
  });
});

/** `ssh` at our server with a certificate. */
function ssh(server: OwnServer, name: KeyName, certificate: string, ...more: readonly string[]): Promise<Ended> {
  // a copy, since ssh looks for a certificate beside the key by itself
  const key = path(`key_${name}`);
  copyFileSync(testKeys().user[name].openssh, key);
  const own = sshOptions(server).filter((option) => !option.startsWith('IdentityFile='));
  const flags = own.map((option, i) => (option === '-o' && own[i + 1] === '-o' ? '' : option)).filter(Boolean);
  const target = ['-p', String(server.port), '-l', server.username];
  const identity = ['-o', `IdentityFile=${key}`, '-o', `CertificateFile=${certificate}`];
  return run(['ssh', ...flags, ...identity, ...target, ...more.slice(0, -1), server.host, more.at(-1) ?? 'echo asked']);
}

describe('certificates of users at our server', () => {
  const refusals: string[] = [];
  const own = ownServer({
    auth: {
      publickey: (attempt) =>
        api.userCertificates({
          authorities: [authorityKey('user')],
          onRefused: (_, reason) => refusals.push(reason),
        })(attempt),
    },
  });
  const options = { ...own.options, ...LIMIT };

  it('of every type log in', options, async () => {
    for (const name of keyNames) {
      const file = await certify(name, `own_${name}`, '-I', name, '-n', 'x,ada', '-O', 'source-address=127.0.0.0/8');
      const ended = await ssh(own.server, name, file);
      assert.equal(ended.stdout.toString(), 'asked\n', ended.stderr);
    }
    for (const name of ['ecdsa521', 'rsa'] as const) {
      const ended = await ssh(own.server, name, await certifyOurs(name, 'ada'));
      assert.equal(ended.stdout.toString(), 'asked\n', ended.stderr);
    }
    assert.deepEqual(refusals, []);
  });

  it('are bound to what they say', options, async () => {
    const forced = await certify('ed25519', 'own_forced', '-I', 'x', '-n', 'ada', '-O', 'force-command=echo forced');
    assert.equal((await ssh(own.server, 'ed25519', forced)).stdout.toString(), 'forced\n');
    const noPty = await certify('ed25519', 'own_pty', '-I', 'x', '-n', 'ada', '-O', 'no-pty');
    assert.match(
      (await ssh(own.server, 'ed25519', noPty, '-tt', 'echo asked')).stderr,
      /PTY allocation request failed/,
    );
    const cases: [args: readonly string[], reason: RegExp][] = [
      [['-n', 'root'], /the certificate is for root, not for ada/],
      [[], /names no principals/],
      [['-n', 'ada', '-V', '20200101:20210101'], /was valid until 202[01]-/],
      [['-n', 'ada', '-O', 'source-address=192.0.2.0/24'], /'source-address' does not allow 127.0.0.1/],
      [['-n', 'ada', '-O', 'critical:x@example.org=1'], /'x@example.org' is not known/],
    ];
    for (const [args, reason] of cases) {
      refusals.length = 0;
      const ended = await ssh(own.server, 'ed25519', await certify('ed25519', 'own_refused', '-I', 'x', ...args));
      assert.equal(ended.code, 255, args.join(' '));
      assert.match(refusals[0] ?? '', reason);
    }
    // nobody trusts that authority, and the key without a certificate is nobody's
    writeFileSync(path('strange.pub'), `${testKeys().user.ed25519.public}\n`);
    await mustRun(['ssh-keygen', '-q', '-s', authority('host'), '-I', 'x', '-n', 'ada', path('strange.pub')]);
    assert.equal((await ssh(own.server, 'ed25519', path('strange-cert.pub'))).code, 255);
  });
});

describe('authorities in authorized_keys', () => {
  const sshd = use(why, () => openssh.startSshd());
  let text = '';
  const own = ownServer({ auth: { publickey: api.authorizedKeys(() => text) } });
  const options = { ...sshd.options, ...LIMIT };

  it('let in the same people as at sshd', options, async () => {
    const { host, port, username, knownHosts, dir: folder } = sshd.peer;
    const key = authorityKey('user');
    const plain = testKeys().user.ed25519.public;
    const cases: [line: string, lets: boolean][] = [
      [`cert-authority ${key}`, true],
      [`cert-authority,principals="deploy" ${key}`, true],
      [`cert-authority,restrict,from="127.0.0.1" ${key}`, true],
      [`cert-authority,principals="root2,other" ${key}`, false],
      [`cert-authority,principals="" ${key}`, false],
      [`cert-authority,from="192.0.2.1" ${key}`, false],
      [`cert-authority,command="false" ${key}`, false],
      [`cert-authority ${plain}`, false],
      [`principals="deploy" ${key}`, false],
      [key, false],
      [plain, false],
    ];
    const file = await certify(
      ...(['ed25519', 'lines', '-I', 'x', '-n', `${username},deploy`, '-O', 'force-command=true'] as const),
    );
    const auth = [api.key(line(testKeys().user.ed25519.openssh), { certificate: line(file) })];
    const lets = (target: { host: string; port: number }, knownHosts: string): Promise<boolean> =>
      api.connect({ ...target, username, auth, hostKey: api.knownHosts(knownHosts) }).then(
        async (client) => {
          await client.close();
          return true;
        },
        (error: { code?: string }) => {
          assert.equal(error.code, 'auth-failed');
          return false;
        },
      );
    for (const [each, expected] of cases) {
      text = `${each}\n`;
      writeFileSync(join(folder, 'authorized_keys'), text);
      assert.equal(await lets({ host, port }, knownHosts), expected, `sshd, ${each}`);
      assert.equal(await lets({ host, port: own.server.port }, own.server.knownHosts), expected, `ours, ${each}`);
    }
  });
});

describe('certificates of hosts', () => {
  const certificate = path('host-cert.pub');
  const hostKeys = (): { hostKeys: Uint8Array[]; hostCertificates: string[] } => ({
    hostKeys: [readFileSync(testKeys().host.ed25519.path)],
    hostCertificates: [line(certificate)],
  });
  const server = {
    listen: async (...args: readonly string[]) => {
      await certify('host', 'host', '-I', 'the host', ...args);
      return api.listen({
        port: 0,
        ...hostKeys(),
        auth: { none: () => true },
        session: { exec: () => 0 },
      });
    },
  };
  const options = { ...needed, ...LIMIT };

  it('are what ssh and our client trust a server for, by its authority alone', options, async () => {
    // none without principals, nor with a pattern: OpenSSH 10.3 takes these as we do, and earlier ones the other way
    const cases: [args: readonly string[], line: string, trusts: boolean][] = [
      [['-n', '127.0.0.1,host.example'], `@cert-authority [127.0.0.1]:* KEY`, true],
      [['-n', '127.0.0.1'], `@cert-authority * KEY`, true],
      [['-n', 'host.example'], `@cert-authority * KEY`, false],
      [['-n', '127.0.0.1', '-V', '20200101:20210101'], `@cert-authority * KEY`, false],
      [['-n', '127.0.0.1'], `@cert-authority host.example KEY`, false],
      [['-n', '127.0.0.1'], `@cert-authority * OTHER`, false],
    ];
    for (const [args, text, trusts] of cases) {
      await using own = await server.listen(...args);
      const port = own.address?.port as number;
      const file = path('known_hosts');
      writeFileSync(file, `${text.replace('KEY', authorityKey('host')).replace('OTHER', authorityKey('user'))}\n`);
      const flags = ['StrictHostKeyChecking=yes', `UserKnownHostsFile=${file}`, 'GlobalKnownHostsFile=/dev/null'];
      const ended = await run([
        ...['ssh', '-F', '/dev/null', '-v', ...flags.flatMap((flag) => ['-o', flag])],
        ...['-o', 'BatchMode=yes', '-p', String(port), '-l', 'ada', '127.0.0.1', 'true'],
      ]);
      assert.equal(ended.code === 0, trusts, `ssh, ${args} and ${text}: ${ended.stderr}`);
      if (trusts)
        assert.match(ended.stderr, /Server host certificate: ssh-ed25519-cert-v01@openssh\.com .* ID "the host"/);
      const login = { host: '127.0.0.1', port, username: 'ada', auth: [], hostKey: api.knownHosts(file) };
      const ours = await api.connect(login).then(
        async (client) => {
          assert.equal(client.info.algorithms.hostKey, 'ssh-ed25519-cert-v01@openssh.com');
          await client.close();
          return true;
        },
        () => false,
      );
      assert.equal(ours, trusts, `ours, ${args} and ${text}`);
    }
  });

  it('do not hide the key from those who know that', options, async () => {
    await using own = await server.listen('-n', 'host.example');
    const port = own.address?.port as number;
    assert.equal(own.fingerprints.length, 1);
    const hostKey = api.pin(own.fingerprints[0] as string);
    await using client = await api.connect({ host: '127.0.0.1', port, username: 'ada', auth: [], hostKey });
    assert.equal(client.info.algorithms.hostKey, 'ssh-ed25519');
  });
});

describe('certificates and asyncssh', () => {
  const own = ownServer({
    auth: { publickey: (attempt) => api.userCertificates({ authorities: [authorityKey('user')] })(attempt) },
  });
  const options = {
    ...(asyncssh.client.unavailable === undefined ? own.options : { skip: asyncssh.client.unavailable }),
    ...LIMIT,
  };

  it('log in its users', options, async () => {
    // with RSA it asks for SHA-1, as long as a server's server-sig-algs has plain names alone
    for (const name of ['ed25519', 'ecdsa521'] as const) {
      const file = await certify(name, `asyncssh_${name}`, '-I', name, '-n', 'ada');
      const keys = [testKeys().user[name].openssh];
      const step = { do: 'run', command: 'echo asked' } as const;
      const { results } = await asyncssh.perform(own.server, {
        keys,
        options: { client_certs: [file] },
        steps: [step],
      });
      assert.equal((results[0] as { stdout: string }).stdout, 'asked\n', name);
    }
  });
});
