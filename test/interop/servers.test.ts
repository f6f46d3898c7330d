/** The same login, commands and files against servers of three makers, under either provider and with every way to log in. */

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { api } from '../support/connect.ts';
import * as asyncssh from '../support/peers/asyncssh.ts';
import * as dropbear from '../support/peers/dropbear.ts';
import { keyNames } from '../support/peers/keys.ts';
import * as openssh from '../support/peers/openssh.ts';
import { type Peer, usePeer } from '../support/peers/peer.ts';

const PASSWORD = 'correct horse';
const TIMEOUT = { timeout: 60_000 };
const content = new Uint8Array(3_000_001).map((_, i) => (i * i + (i >> 8)) & 0xff);

type Options = Partial<Parameters<typeof api.connect>[0]>;

function connect(peer: Peer, options: Options = {}): ReturnType<typeof api.connect> {
  const { host, port, username, keys, knownHosts } = peer;
  const auth = [api.keyFile(keys.ed25519.openssh)];
  return api.connect({ host, port, username, auth, hostKey: api.knownHosts(knownHosts), ...options });
}

const servers = [
  {
    name: 'OpenSSH',
    identification: /^SSH-2\.0-OpenSSH_/,
    available: openssh.available(),
    start: () => openssh.startSshd({ config: ['MaxSessions 2'] }),
  },
  {
    name: 'Dropbear',
    identification: /^SSH-2\.0-dropbear/,
    available: dropbear.sftpUnavailable(),
    start: () => dropbear.startDropbear(),
  },
  {
    name: 'asyncssh',
    identification: /^SSH-2\.0-AsyncSSH_/,
    available: asyncssh.available(),
    start: () => asyncssh.startAsyncssh({ password: PASSWORD }),
  },
];

for (const { name, identification, available, start } of servers) {
  describe(name, () => {
    const server = usePeer(available, start);
    const options = { ...server.options, ...TIMEOUT };

    for (const crypto of ['auto', 'pure'] as const) {
      it(`${crypto}: runs commands and tells how they ended`, options, async () => {
        await using ssh = await connect(server.peer, { crypto });
        assert.match(ssh.info.identification, identification);
        const { code, stdout, stderr } = await ssh.run('echo out; echo err >&2; exit 7');
        assert.deepEqual([code, text(stdout), text(stderr)], [7, 'out\n', 'err\n']);
        const big = await ssh.run('head -c 3000000 /dev/zero');
        assert.deepEqual([big.code, big.stdout.length, big.stderr.length], [0, 3_000_000, 0]);
      });

      it(`${crypto}: moves a file both ways, whole`, options, async () => {
        const { files } = server.peer;
        await using ssh = await connect(server.peer, { crypto, rekey: { bytes: 512 * 1024 } });
        await using sftp = await ssh.sftp();
        await writeFile(`${files}/source`, content);
        await sftp.get(`${files}/source`, `${files}/got-${crypto}`);
        await sftp.put(`${files}/source`, `${files}/put-${crypto}`);
        for (const path of [`${files}/got-${crypto}`, `${files}/put-${crypto}`]) {
          assert.equal(Buffer.compare(await readFile(path), content), 0, path);
        }
        assert.ok(ssh.info.keyExchanges > 5, `${ssh.info.keyExchanges} key exchanges`);
      });
    }

    it('a single pending request gives the same bytes', options, async () => {
      const { files } = server.peer;
      await using ssh = await connect(server.peer);
      await using sftp = await ssh.sftp();
      const written = content.subarray(0, 300_000);
      await sftp.writeFile(`${files}/one`, written, { requests: 1 });
      assert.equal(Buffer.compare(await sftp.readFile(`${files}/one`, { requests: 1 }), written), 0);
    });

    it('directories, names and attributes', options, async () => {
      await using ssh = await connect(server.peer);
      await using sftp = await ssh.sftp();
      const folder = `${server.peer.files}/folder`;
      await sftp.mkdir(folder);
      await sftp.writeFile(`${folder}/grün`, new Uint8Array(5));
      await sftp.rename(`${folder}/grün`, `${folder}/blau`);
      const names: string[] = [];
      for await (const entry of sftp.list(folder)) names.push(entry.name);
      assert.deepEqual(names, ['blau']);
      assert.equal((await sftp.stat(`${folder}/blau`)).size, 5);
      assert.equal(await sftp.realpath(`${folder}/../folder`), folder);
      await assert.rejects(sftp.stat(`${folder}/grün`), { code: 'sftp-status', status: 2 });
      await sftp.remove(`${folder}/blau`);
      await sftp.rmdir(folder);
      await assert.rejects(sftp.lstat(folder), { code: 'sftp-status', status: 2 });
    });

    for (const type of keyNames) {
      for (const form of ['openssh', 'pkcs8'] as const) {
        it(`logs in with the ${type} key as ${form}`, options, async () => {
          const { keys } = server.peer;
          await using ssh = await connect(server.peer, { auth: [api.keyFile(keys[type][form])] });
          assert.deepEqual(ssh.info.authMethods, ['publickey']);
        });
      }
    }

    it('a key that the server does not know is refused with what it would take', options, async () => {
      const auth = [api.key(strangerKey)];
      await assert.rejects(connect(server.peer, { auth }), { code: 'auth-failed', message: /publickey/ });
    });
  });
}

describe('a password', () => {
  const logins = [
    { name: 'OpenSSH', unavailable: openssh.passwordUnavailable(), start: () => openssh.startSshd({ password: true }) },
    { name: 'Dropbear', unavailable: dropbear.available(), start: () => dropbear.startDropbear() },
    {
      name: 'asyncssh',
      unavailable: asyncssh.available(),
      start: () => asyncssh.startAsyncssh({ password: PASSWORD }),
    },
  ];
  for (const { name, unavailable, start } of logins) {
    const server = usePeer(unavailable, start);
    const options = { ...server.options, ...TIMEOUT };

    it(`${name} lets in with the right one`, options, async () => {
      const auth = [api.password(server.peer.password as string)];
      await using ssh = await connect(server.peer, { auth });
      assert.deepEqual(ssh.info.authMethods, ['password']);
    });

    it(`${name} refuses a wrong one, which the error does not show`, options, async () => {
      const failure = connect(server.peer, { auth: [api.password('sesame-4711')] });
      await assert.rejects(failure, (error: Error & { code: string }) => {
        assert.equal(error.code, 'auth-failed');
        assert.doesNotMatch(error.message, /sesame/);
        return true;
      });
    });
  }

  const asked = usePeer(asyncssh.available(), () => asyncssh.startAsyncssh({ password: PASSWORD }));

  it('asyncssh asks for it by keyboard-interactive', { ...asked.options, ...TIMEOUT }, async () => {
    const prompts: string[] = [];
    const auth = [
      api.keyboardInteractive((request) => {
        prompts.push(...request.prompts.map((prompt) => prompt.text));
        return request.prompts.map(() => PASSWORD);
      }),
    ];
    await using ssh = await connect(asked.peer, { auth });
    assert.deepEqual(ssh.info.authMethods, ['keyboard-interactive']);
    assert.equal(prompts.length, 1);
  });
});

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** An Ed25519 key made for this test; no server lets it in. */
const strangerKey = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIEJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC
-----END PRIVATE KEY-----
`;
