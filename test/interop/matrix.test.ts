/**
 * Every cipher × MAC × key exchange × host key against a real sshd, with 8 MiB up and down at once and both sides exchanging
 * keys anew every 64 KiB. Each test is one cipher and MAC under one provider; it goes over the key exchanges and host keys.
 * All of them take more than an hour, so a plain run spreads a selection over the tests, every method and every key with either
 * provider, and moves less: 8 MiB in Node 24 with native cryptography, 2 MiB there without, 1 MiB elsewhere. PURESSH_MATRIX=full
 * takes everything.
 */

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { api } from '../support/connect.ts';
import * as openssh from '../support/peers/openssh.ts';
import { usePeer } from '../support/peers/peer.ts';
import { isThorough } from '../support/thorough.ts';

const full = process.env.PURESSH_MATRIX === 'full';
const MEBIBYTE = 1024 * 1024;
const LARGEST = 8 * MEBIBYTE;
const REKEY_BYTES = 64 * 1024;
/** Connections at once: much of the time is spent waiting for the other side of a key exchange. */
const AT_ONCE = 4;

const exchanges = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
];
const hostKeys = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-256',
  'rsa-sha2-512',
];
const macs = ['hmac-sha2-256', 'hmac-sha2-512', 'hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com'];
const authenticated = ['chacha20-poly1305@openssh.com', 'aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'];
const counted = ['aes128-ctr', 'aes192-ctr', 'aes256-ctr'];
const protections: { readonly cipher: string; readonly mac?: string }[] = [
  ...authenticated.map((cipher) => ({ cipher })),
  ...counted.flatMap((cipher) => macs.map((mac) => ({ cipher, mac }))),
];

/** The pairs that a test goes over: all, or one that moves on with the number of the test. */
function pairs(index: number): { readonly kex: string; readonly hostKey: string }[] {
  if (full) return exchanges.flatMap((kex) => hostKeys.map((hostKey) => ({ kex, hostKey })));
  return [
    {
      kex: exchanges[index % exchanges.length] as string,
      hostKey: hostKeys[(index + Math.floor(index / hostKeys.length)) % hostKeys.length] as string,
    },
  ];
}

function sizeFor(provider: 'pure' | 'auto'): number {
  if (full) return LARGEST;
  if (!isThorough) return MEBIBYTE;
  return provider === 'auto' ? LARGEST : 2 * MEBIBYTE;
}

const all = new Uint8Array(LARGEST);
for (let i = 0, x = 1; i < LARGEST; i++) {
  x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
  all[i] = x >>> 24;
}

describe('sshd with a key exchange every 64 KiB', () => {
  const sshd = usePeer(openssh.available(), () => openssh.startSshd({ config: ['RekeyLimit 64K'] }));

  for (const provider of ['pure', 'auto'] as const) {
    protections.forEach(({ cipher, mac }, index) => {
      const name = mac === undefined ? cipher : `${cipher} with ${mac}`;
      it(`${provider}: ${name} carries a file each way`, {
        ...sshd.options,
        timeout: full ? 7_200_000 : 120_000,
      }, async () => {
        const left = pairs(index);
        const worker = async (): Promise<void> => {
          for (let pair = left.pop(); pair !== undefined; pair = left.pop()) await both(provider, cipher, mac, pair);
        };
        await Promise.all(Array.from({ length: AT_ONCE }, worker));
      });
    });
  }

  async function both(
    provider: 'pure' | 'auto',
    cipher: string,
    mac: string | undefined,
    { kex, hostKey }: { readonly kex: string; readonly hostKey: string },
  ): Promise<void> {
    const { host, port, username, keys, knownHosts, files } = sshd.peer;
    await using ssh = await api.connect({
      host,
      port,
      username,
      auth: [api.keyFile(keys.ed25519.openssh)],
      hostKey: api.knownHosts(knownHosts),
      crypto: provider,
      algorithms: { kex: [kex], hostKeys: [hostKey], ciphers: [cipher], macs: mac === undefined ? macs : [mac] },
      rekey: { bytes: REKEY_BYTES },
    });
    await using sftp = await ssh.sftp();
    const what = `${provider} ${kex} ${hostKey} ${cipher} ${mac ?? ''}`;
    const direction = { cipher, compression: 'none', ...(mac === undefined ? {} : { mac }) };
    assert.deepEqual(ssh.info.algorithms, { kex, hostKey, toServer: direction, toClient: direction }, what);
    const name = `${kex}-${hostKey}`;
    const content = all.subarray(0, sizeFor(provider));
    await writeFile(`${files}/${name}-down`, content);
    const [down] = await Promise.all([
      sftp.readFile(`${files}/${name}-down`),
      sftp.writeFile(`${files}/${name}-up`, content),
    ]);
    assert.equal(Buffer.compare(down, content), 0, `${what}: the download differs`);
    assert.equal(Buffer.compare(await readFile(`${files}/${name}-up`), content), 0, `${what}: the upload differs`);
    // each side may start the exchange that serves both, so there is at least one for 64 KiB in both directions
    assert.ok(
      ssh.info.keyExchanges > content.length / (2 * REKEY_BYTES),
      `${what}: ${ssh.info.keyExchanges} key exchanges`,
    );
  }
});
