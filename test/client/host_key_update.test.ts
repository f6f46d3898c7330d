/** Host keys that a server tells after the login, and proves: OpenSSH PROTOCOL §2.5. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { copy } from '../../src/bytes/bytes.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { type HostKeyUpdateState, KeyUpdate } from '../../src/client/host_key_update.ts';
import { acceptNewIn, type KnownHostsOptions, knownHostsIn } from '../../src/client/known_hosts_policy.ts';
import type { GlobalReply } from '../../src/client/peer_requests.ts';
import { SshError } from '../../src/errors.ts';
import { certified, signCertificate } from '../../src/keys/certificate.ts';
import { parseRevoked } from '../../src/keys/krl.ts';
import { parsePrivateKey, signerOf } from '../../src/keys/private_key.ts';
import { fingerprint } from '../../src/keys/public_key.ts';
import { formatPublicKeyLine } from '../../src/keys/public_key_line.ts';
import { parseShownKey } from '../../src/keys/shown_key.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { bytes, certificateRows, privateRow, publicBlob } from '../keys/tools.ts';
import { memoCrypto as crypto } from '../support/memo_crypto.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';
import { webauthnKey } from '../support/security_key.ts';
import { Serving } from '../support/serving.ts';
import { MemoryTextFile } from '../support/text_file.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const SESSION = new Uint8Array(32).fill(9);
const NAME = 'hostkeys-prove-00@openssh.com';
const used = ed25519Signer(crypto, 7);
const fresh = ed25519Signer(crypto, 8);
const stale = ed25519Signer(crypto, 5);
const rsa = signerOf(crypto, parsePrivateKey(privateRow('rsa1024').openssh as string, crypto));
const line = ({ publicKey }: Signer, host = 'host.example'): string => `${host} ${formatPublicKeyLine(publicKey)}\n`;

const strings = (...items: readonly (Uint8Array | string)[]): Uint8Array => {
  const writer = new Writer();
  for (const item of items) writer.string(item);
  return copy(writer.finish());
};
const listOf = (...signers: readonly Signer[]): Uint8Array => strings(...signers.map(({ publicKey }) => publicKey));

/** The proof that OpenSSH wants, made anew here. */
async function proof(signer: Signer, blob = signer.publicKey, session = SESSION, name = NAME): Promise<Uint8Array> {
  return signer.sign(strings(name, session, blob), signer.algorithms[0] as string);
}

type Answer = (asked: Uint8Array) => Promise<GlobalReply> | GlobalReply;
const granted = (body: Uint8Array): GlobalReply => ({ ok: true, body });

/** A client's half, and what the other half is asked. */
function start(file: MemoryTextFile, answer: Answer, options: KnownHostsOptions = {}, shown = used.publicKey) {
  const clock = new VirtualClock();
  const asked: Uint8Array[] = [];
  let handler: ((body: Uint8Array) => boolean) | undefined;
  const update = new KeyUpdate({
    policy: knownHostsIn([file], { update: true, ...options }),
    host: 'host.example',
    port: 22,
    crypto,
    clock,
    onGlobal(name, handle) {
      assert.equal(name, 'hostkeys-00@openssh.com');
      handler = handle;
      return () => {
        handler = undefined;
      };
    },
    async request(name, body) {
      assert.equal(name, NAME);
      asked.push(body);
      return answer(body);
    },
    sessionId: () => SESSION,
    used: () => parseShownKey(shown),
  });
  return { update, clock, asked, tell: (body: Uint8Array) => handler?.(body) };
}

/** Waits for the end of an update. */
async function ended(update: KeyUpdate): Promise<HostKeyUpdateState> {
  for (let turns = 0; turns < 1000 && update.state.state === 'proving'; turns++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  return update.state;
}

/** The error that an update of a file with `used` and `stale` ends with, which leaves the file as it was. */
async function refusal(body: Uint8Array, answer: Answer): Promise<SshError> {
  const text = line(used) + line(stale);
  const file = new MemoryTextFile(text);
  const { update, tell } = start(file, answer);
  tell(body);
  const state = await ended(update);
  assert.equal(file.text, text);
  assert.ok(state.state === 'done' && state.error instanceof SshError, JSON.stringify(state));
  return state.error;
}

const nobody: Answer = () => assert.fail('nothing is to be asked');

describe('an update of host keys', () => {
  it('adds what the server proves, in one request, and takes out what it has no more', async () => {
    const file = new MemoryTextFile(line(used) + line(stale));
    const answer: Answer = async () => granted(strings(await proof(fresh), await proof(rsa)));
    const { update, asked, tell } = start(file, answer);
    assert.equal(update.state.state, 'none');
    assert.equal(tell(listOf(fresh, used, rsa)), true);
    assert.equal(update.state.state, 'proving');
    assert.deepEqual(await ended(update), { state: 'done' });
    assert.deepEqual(asked, [listOf(fresh, rsa)]);
    assert.equal(file.text, line(used) + line(fresh) + line(rsa));
  });

  it('asks nothing where nothing is new, and listens once', async () => {
    const file = new MemoryTextFile(line(used) + line(stale));
    const { update, tell } = start(file, nobody);
    tell(listOf(used, stale));
    assert.deepEqual(await ended(update), { state: 'done' });
    assert.equal(file.text, line(used) + line(stale));
    assert.equal(tell(listOf(used)), undefined);
    assert.equal(file.text, line(used) + line(stale));
  });

  it('forgets without a proof what the server has no more', async () => {
    const file = new MemoryTextFile(line(stale) + line(used));
    const { update, tell } = start(file, nobody);
    tell(listOf(used));
    assert.deepEqual(await ended(update), { state: 'done' });
    assert.equal(file.text, line(used));
  });

  it('leaves out keys of types that nobody knows, and certificates', async () => {
    const file = new MemoryTextFile(line(used));
    const certificate = bytes(certificateRows[0]?.blob ?? '');
    const { update, tell } = start(file, nobody);
    tell(strings(strings('ssh-new', 'x'), used.publicKey, certificate));
    assert.deepEqual(await ended(update), { state: 'done' });
    assert.equal(file.text, line(used));
  });

  it('changes nothing unless a line names the host itself and has the used key', async () => {
    for (const text of [
      line(used, '*.example') + line(stale),
      line(used, '@cert-authority host.example') + line(stale),
      line(used, '[host.example]:2222') + line(stale),
      line(stale),
      '',
    ]) {
      const file = new MemoryTextFile(text);
      const { update, tell } = start(file, nobody);
      tell(listOf(used, fresh));
      assert.deepEqual(await ended(update), { state: 'done' });
      assert.equal(file.text, text);
    }
  });

  it('is not for a host that is known by an authority too', async () => {
    for (const names of ['host.example', '*.example', '*']) {
      const text = line(used) + line(stale) + line(stale, `@cert-authority ${names}`);
      const file = new MemoryTextFile(text);
      const { update, tell } = start(file, nobody);
      tell(listOf(used, fresh));
      assert.deepEqual(await ended(update), { state: 'done' });
      assert.equal(file.text, text);
    }
  });

  it('is not for a host that has shown a certificate', async () => {
    const row = certificateRows.find(({ name }) => name === 'host, ed25519 by ecdsa521');
    const text = `host.example ${formatPublicKeyLine(publicBlob('ed25519'))}\n`;
    const file = new MemoryTextFile(text);
    const { update, tell } = start(file, nobody, {}, bytes(row?.blob ?? ''));
    tell(strings(publicBlob('ed25519'), fresh.publicKey));
    assert.deepEqual(await ended(update), { state: 'done' });
    assert.equal(file.text, text);
  });

  it('never adds a key that is revoked', async () => {
    const revoked = parseRevoked(new TextEncoder().encode(formatPublicKeyLine(fresh.publicKey)));
    for (const [text, options] of [
      [line(used), { revoked }],
      [line(fresh, '@revoked *') + line(used), {}],
    ] as const) {
      const file = new MemoryTextFile(text);
      const { update, tell } = start(file, nobody, options);
      tell(listOf(used, fresh));
      assert.deepEqual(await ended(update), { state: 'done' });
      assert.equal(file.text, text);
    }
  });

  it('does not happen unless it is wanted', () => {
    const quiet = { update: false };
    assert.equal(knownHostsIn([new MemoryTextFile()]).update, undefined);
    assert.equal(acceptNewIn(new MemoryTextFile(), quiet).update, undefined);
    assert.notEqual(acceptNewIn(new MemoryTextFile()).update, undefined);
    assert.equal(start(new MemoryTextFile(), nobody, quiet).tell(listOf(used)), undefined);
  });

  it('goes to the first file that knows the key, and that can be changed', async () => {
    const files = [line(stale), line(used), line(used)].map((text) => new MemoryTextFile(text));
    const fixed = { name: 'fixed', read: async () => line(used), append: async () => {} };
    const policy = knownHostsIn([fixed, ...files], { update: true });
    const prove = async (): Promise<void> => {};
    const offered = [used, fresh].map(({ publicKey }) => parseShownKey(publicKey).key);
    await policy.update?.({
      host: 'host.example',
      port: 22,
      used: parseShownKey(used.publicKey),
      offered,
      prove,
      crypto,
    });
    assert.deepEqual(
      files.map(({ text }) => text),
      [line(stale), line(used) + line(fresh), line(used)],
    );
  });
});

describe('an update of host keys that a server breaks', () => {
  const list = listOf(used, fresh, rsa);
  const other = ed25519Signer(crypto, 6);
  const browser = webauthnKey();
  const wrong: readonly (readonly [what: string, answer: Answer, told?: Uint8Array])[] = [
    ['refuses', () => ({ ok: false, body: new Uint8Array(0) })],
    ['proves nothing', () => granted(new Uint8Array(0))],
    ['proves one of two', async () => granted(strings(await proof(fresh)))],
    [
      'proves more than it was asked',
      async () => granted(strings(await proof(fresh), await proof(rsa), await proof(used))),
    ],
    ['proves in another order', async () => granted(strings(await proof(rsa), await proof(fresh)))],
    ['signs with another key', async () => granted(strings(await proof(other, fresh.publicKey), await proof(rsa)))],
    ['has a proof for another key', async () => granted(strings(await proof(fresh, used.publicKey), await proof(rsa)))],
    [
      'has a proof from another connection',
      async () => granted(strings(await proof(fresh, fresh.publicKey, new Uint8Array(32)), await proof(rsa))),
    ],
    [
      'has a signature of something else',
      async () => granted(strings(await proof(fresh, fresh.publicKey, SESSION, 'x@y'), await proof(rsa))),
    ],
    [
      'proves an RSA key with SHA-1',
      async () =>
        granted(strings(await proof(fresh), await rsa.sign(strings(NAME, SESSION, rsa.publicKey), 'ssh-rsa'))),
    ],
    [
      'proves with a signature of a browser',
      async () => granted(strings(await proof(browser), await proof(rsa))),
      listOf(used, browser, rsa),
    ],
    ['sends half a proof', async () => granted(strings(await proof(fresh), await proof(rsa)).subarray(0, -1))],
    ['sends what is no signature', () => granted(strings('x', 'y'))],
  ];
  for (const [what, answer, told = list] of wrong) {
    it(`changes nothing: the server ${what}`, async () => {
      const { code, fault } = await refusal(told, answer);
      assert.match(code, /^(?:protocol|decode)$/);
      assert.equal(fault, 'peer');
    });
  }

  const lists: readonly (readonly [what: string, list: Uint8Array])[] = [
    ['tells nothing', new Uint8Array(0)],
    ['does not tell the key that it has used', listOf(fresh)],
    ['tells a key twice', listOf(used, fresh, fresh)],
    ['tells half a key', list.subarray(0, -1)],
    ['tells a key that is none', strings(used.publicKey, strings('ssh-ed25519', 'x'))],
    ['tells 65 keys', strings(used.publicKey, ...Array.from({ length: 64 }, (_, i) => strings('ssh-new', String(i))))],
  ];
  for (const [what, body] of lists) {
    it(`changes nothing, and asks nothing: the server ${what}`, async () => {
      const { code } = await refusal(body, nobody);
      assert.match(code, /^(?:protocol|decode|limit)$/);
    });
  }

  it('ends after 30 seconds without proofs, or with the connection', async () => {
    const file = new MemoryTextFile(line(used));
    const { update, clock, tell } = start(file, () => new Promise(() => {}));
    tell(listOf(used, fresh));
    await clock.pass(29_999);
    assert.equal(update.state.state, 'proving');
    await clock.pass(1);
    const state = await ended(update);
    assert.ok(state.state === 'done' && state.error?.code === 'timeout');
    assert.equal(clock.timers, 0);
    assert.equal(file.text, line(used));
    const lost = await refusal(listOf(used, fresh), () => Promise.reject(new SshError('connection-lost', 'gone')));
    assert.equal(lost.code, 'connection-lost');
  });
});

describe('our client and our server', () => {
  it('bring a file up to date', async () => {
    await using serving = await Serving.start({ hostKeys: [used, fresh, rsa] });
    const file = new MemoryTextFile();
    for (const host of ['host.example', 'other.example']) {
      await using ssh = await serving.connect({ host, hostKey: acceptNewIn(file) });
      while (ssh.info.hostKeyUpdate.state !== 'done') await new Promise((resolve) => setTimeout(resolve, 1));
      assert.deepEqual(ssh.info.hostKeyUpdate, { state: 'done' });
    }
    const lines = (host: string): string => line(used, host) + line(fresh, host) + line(rsa, host);
    assert.equal(file.text, lines('host.example') + lines('other.example'));
  });

  it('do nothing where the policy wants no updates', async () => {
    await using serving = await Serving.start({ hostKeys: [used, fresh] });
    const file = new MemoryTextFile();
    await using ssh = await serving.connect({ host: 'host.example', hostKey: acceptNewIn(file, { update: false }) });
    await ssh.rekey();
    assert.deepEqual(ssh.info.hostKeyUpdate, { state: 'none' });
    assert.equal(file.text, line(used));
  });

  it('agree on a key that is known, unless the order is fixed', async () => {
    await using serving = await Serving.start({ hostKeys: [used, rsa] });
    const hostKey = knownHostsIn([new MemoryTextFile(line(rsa))]);
    await using ssh = await serving.connect({ host: 'host.example', hostKey });
    assert.equal(ssh.info.hostKey.keyType, 'ssh-rsa');
    const fixed = serving.connect({ host: 'host.example', hostKey, hostKeyOrder: 'fixed' });
    assert.match((await rejectsWith(fixed, 'host-key-changed')).message, /shows ssh-ed25519/);
  });

  it('agree on a certificate where its authority is known', async () => {
    const key = parseShownKey(used.publicKey).key;
    const request = { key, kind: 'host', keyId: 'x', principals: ['*.example'] } as const;
    const shown = certified(used, await signCertificate(crypto, fresh, request));
    await using serving = await Serving.start({
      hostKeys: [used, rsa],
      hostCertificates: [formatPublicKeyLine(shown.publicKey)],
    });
    const text = line(rsa) + line(fresh, '@cert-authority *');
    const file = new MemoryTextFile(text);
    await using ssh = await serving.connect({ host: 'host.example', hostKey: acceptNewIn(file) });
    assert.equal(ssh.info.hostKey.keyType, 'ssh-ed25519-cert-v01@openssh.com');
    assert.equal(ssh.info.hostKey.fingerprint, fingerprint(crypto, used.publicKey));
    await ssh.rekey();
    while (ssh.info.hostKeyUpdate.state !== 'done') await new Promise((resolve) => setTimeout(resolve, 1));
    // who is known by an authority keeps what is known
    assert.deepEqual(ssh.info.hostKeyUpdate, { state: 'done' });
    assert.equal(file.text, text);
    const refused = serving.connect({ host: 'host.test', hostKey: acceptNewIn(file) });
    await rejectsWith(refused, 'host-key-certificate');
  });
});
