/** Every algorithm that OpenSSH's client and puressh's server both have, and key exchanges in the middle of the data. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { sftpBatch, sshCommand, options as sshOptions, unavailable } from '../../support/clients/openssh.ts';
import { type OwnServer, useOwnServer } from '../../support/clients/own_server.ts';
import { mustRun, run } from '../../support/clients/process.ts';
import { content, sameBytes } from '../../support/clients/suite.ts';
import { api } from '../../support/connect.ts';
import { keyNames, testKeys } from '../../support/peers/keys.ts';
import { isThorough } from '../../support/thorough.ts';

const KIBIBYTE = 1024;
const LIMIT = { timeout: 120_000 };
const SCANS = 15; // of three keys each, with a method that costs the client some 20 ms

/** With the method that ssh prefers, an exchange costs it some 20 ms. */
const CHEAP = ['-o', 'KexAlgorithms=curve25519-sha256'];

const own = api.defaultAlgorithms(api.pureProvider);

/** What `ssh` has of a list of ours. */
async function shared(query: string, ours: readonly string[], least: number): Promise<string[]> {
  const { stdout } = await mustRun(['ssh', '-Q', query]);
  const theirs = stdout.toString().split('\n');
  const both = ours.filter((name) => theirs.includes(name));
  assert.ok(both.length >= least, `only ${both} of ${query}`);
  return both;
}

/** Sends some bytes through `cat` on the server and back; returns what was negotiated. */
async function echo(server: OwnServer, ...more: readonly string[]): Promise<OwnServer['connections'][number]> {
  const bytes = content(100 * KIBIBYTE + 1);
  const before = server.connections.length;
  const target = ['-p', String(server.port), '-l', server.username, server.host];
  const ended = await run(['ssh', ...sshOptions(server), ...more, ...target, 'cat'], { input: bytes });
  assert.equal(ended.code, 0, `${more.join(' ')}: ${ended.stderr}`);
  assert.equal(Buffer.compare(ended.stdout, bytes), 0, `${more.join(' ')} changed what it carried`);
  assert.equal(server.connections.length, before + 1);
  return server.connections[before] as OwnServer['connections'][number];
}

describe('algorithms with OpenSSH', () => {
  const clients = useOwnServer(unavailable(), { capacity: { unauthenticated: 3 * SCANS } });
  const options = { ...clients.options, ...LIMIT };

  it(`shows its host keys to ${SCANS} ssh-keyscan at once`, options, async () => {
    const { server } = clients;
    const { host } = testKeys();
    const scan = ['ssh-keyscan', '-T', '30', '-p', String(server.port), '-t', 'ed25519,ecdsa,rsa', server.host];
    const scans = await Promise.all(Array.from({ length: SCANS }, () => mustRun(scan)));
    // of the ECDSA keys a scan wants one, the first of its list that the server has
    const expected = (['ed25519', 'ecdsa256', 'rsa'] as const).map(
      (name) => `[${server.host}]:${server.port} ${host[name].public}`,
    );
    for (const { stdout } of scans) {
      const keys = stdout.toString().trim().split('\n');
      assert.deepEqual(keys.sort(), [...expected].sort());
    }
  });

  it('proves itself with each kind of host key', options, async () => {
    const all = own.hostKeys.filter((name) => !/^sk-|-cert-/.test(name));
    assert.ok(all.length >= keyNames.length + 1);
    for (const name of all) {
      const { algorithms } = await echo(clients.server, ...CHEAP, '-o', `HostKeyAlgorithms=${name}`);
      assert.equal(algorithms?.hostKey, name);
    }
  });

  it('uses every key exchange that both have, strictly', options, async () => {
    const all = await shared('kex', own.kex, 11);
    const some = /^sntrup761x25519-sha512@|^curve25519-sha256$|^ecdh|exchange|group14/;
    for (const name of isThorough ? all : all.filter((each) => some.test(each))) {
      const connection = await echo(clients.server, '-o', `KexAlgorithms=${name}`);
      assert.equal(connection.algorithms?.kex, name);
      assert.ok(connection.strictKex);
    }
  });

  it('uses every cipher that both have, with every MAC', options, async () => {
    const macs = await shared('mac', own.macs, 4);
    for (const cipher of await shared('cipher', own.ciphers, 6)) {
      for (const mac of cipher.endsWith('-ctr') ? macs : macs.slice(0, 1)) {
        const { algorithms } = await echo(clients.server, ...CHEAP, '-c', cipher, '-m', mac);
        const expected = { cipher, compression: 'none', ...(cipher.endsWith('-ctr') ? { mac } : {}) };
        assert.deepEqual([algorithms?.toServer, algorithms?.toClient], [expected, expected]);
      }
    }
  });

  it('says what is missing where nothing is shared', options, async () => {
    const { server } = clients;
    const ended = await run(sshCommand(server, 'key', '-o', 'Ciphers=3des-cbc', 'true'));
    assert.equal(ended.code, 255);
    assert.match(ended.stderr, /no matching cipher found. Their offer: .*aes128-gcm@openssh\.com/);
  });
});

const REKEY = 64 * KIBIBYTE;
const MEBIBYTE = 1024 * KIBIBYTE;
const CIPHERS = [
  { cipher: 'chacha20-poly1305@openssh.com', size: MEBIBYTE },
  { cipher: 'aes128-gcm@openssh.com', size: isThorough ? 8 * MEBIBYTE : MEBIBYTE },
  { cipher: 'aes256-ctr', size: MEBIBYTE },
];

for (const { name, sides, rekey } of [
  { name: 'the client', sides: ['-o', 'RekeyLimit=64K'], rekey: {} },
  { name: 'the server', sides: [], rekey: { bytes: REKEY } },
  { name: 'both', sides: ['-o', 'RekeyLimit=64K'], rekey: { bytes: REKEY } },
]) {
  describe(`a key exchange every 64 KiB, begun by ${name}`, () => {
    const clients = useOwnServer(unavailable(), { rekey });
    const options = { ...clients.options, ...LIMIT };

    for (const { cipher, size } of CIPHERS) {
      it(`takes nothing from a session that goes both ways with ${cipher}`, options, async () => {
        const { server } = clients;
        const input = content(size);
        const command = ['ssh', ...sides, ...CHEAP, '-c', cipher, ...sshCommand(server, 'key', 'cat').slice(1)];
        const { code, stdout, stderr } = await run(command, { input });
        assert.equal(code, 0, stderr);
        assert.equal(Buffer.compare(stdout, input), 0);
        manyExchanges(server, size);
      });
    }

    it('takes nothing from files that go both ways', options, async () => {
      const { server } = clients;
      const bytes = content(MEBIBYTE);
      const [source, target] = [join(server.local, 'source'), join(server.local, 'target')];
      writeFileSync(source, bytes);
      const batch = [`put ${source} /file`, `get /file ${target}`];
      const { code, stderr } = await sftpBatch(server, batch, 'key', [...sides, ...CHEAP]);
      assert.equal(code, 0, stderr);
      sameBytes(target, bytes);
      manyExchanges(server, MEBIBYTE);
      rmSync(target);
    });
  });
}

/** One exchange serves both directions and both sides, and what was under way when it began goes before the next. */
function manyExchanges({ connections }: OwnServer, size: number): void {
  const count = connections.at(-1)?.keyExchanges ?? 0;
  assert.ok(count > 3 && count > size / REKEY / 8, `${count} key exchanges`);
}
