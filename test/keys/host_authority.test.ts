import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MaybePromise } from '../../src/crypto/provider.ts';
import {
  type Certificate,
  type CertificateRequest,
  parseCertificate,
  signCertificate,
} from '../../src/keys/certificate.ts';
import { hostCertificateTypes, judgeHostCertificate } from '../../src/keys/host_authority.ts';
import { checkHostKey, type HostKeyVerdict, parseKnownHosts } from '../../src/keys/known_hosts.ts';
import { parsePrivateKey, signerOf } from '../../src/keys/private_key.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { parseShownKey, shownKey } from '../../src/keys/shown_key.ts';
import { bytes, certificateRows, crypto, privateRow, publicBlob, publicRows } from './tools.ts';

const NOW = Date.UTC(2026, 5, 1);
const seconds = (year: number): bigint => BigInt(Date.UTC(year, 0, 1) / 1000);
const line = (name: string): string => publicRows.find((row) => row.name === name)?.line.trim() ?? assert.fail(name);
const authority = signerOf(crypto, parsePrivateKey(privateRow('ecdsa256').openssh as string, crypto));
const key = parsePublicKey(publicBlob('ed25519'));

/** A certificate of `ecdsa256` for the key `ed25519`. */
async function certificate(request: Partial<CertificateRequest> = {}): Promise<Certificate> {
  const whole = { key, kind: 'host', keyId: 'web', principals: ['host.example'], ...request } as const;
  return signCertificate(crypto, authority, whole);
}

/** What a file says about a certificate. */
function verdict(text: string, shown: Certificate, host = 'host.example', port = 22): MaybePromise<HostKeyVerdict> {
  const { entries } = parseKnownHosts(text, 'file');
  return checkHostKey(crypto, entries, host, port, parseShownKey(shown.blob, crypto), NOW);
}

const known = `@cert-authority *.example ${line('ecdsa256')}\n`;

async function reason(shown: Certificate, host = 'host.example', port = 22): Promise<string> {
  const found = await verdict(`# c\n${known}`, shown, host, port);
  assert.ok(found.state === 'bad-certificate', found.state);
  assert.deepEqual([found.source, found.line], ['file', 2]);
  return found.reason;
}

describe('a certificate of a host', () => {
  for (const row of certificateRows.filter(({ kind }) => kind === 'host')) {
    it(`of ssh-keygen is taken from its authority: ${row.name}`, async () => {
      const text = `@cert-authority host.example,192.0.2.1 ${line(row.authority)}\n`;
      const shown = parseCertificate(bytes(row.blob), crypto);
      for (const host of row.principals) {
        const found = await verdict(text, shown, host);
        assert.deepEqual(found, { state: 'certified', source: 'file', line: 1, keyId: row.keyId });
      }
      // another authority has nothing to say
      assert.equal((await verdict(`@cert-authority * ${line('rsa1024')}\n`, shown)).state, 'unknown');
    });
  }

  it('is for the name that was asked for, in any case, at any port', async () => {
    const shown = await certificate();
    assert.equal((await verdict(known, shown, 'HOST.example')).state, 'certified');
    assert.equal((await verdict(known, shown, 'host.example', 2222)).state, 'certified');
    const atPort = `@cert-authority [host.example]:2222 ${line('ecdsa256')}\n`;
    assert.equal((await verdict(atPort, shown, 'host.example', 2222)).state, 'certified');
    assert.equal((await verdict(atPort, shown, 'host.example', 22)).state, 'unknown');
    assert.match(await reason(shown, 'other.example'), /'other.example' is not among its principals 'host.example'/);
    assert.match(
      await reason(await certificate({ principals: ['[host.example]:2222'] }), 'host.example', 2222),
      /principals/,
    );
  });

  it('may be for a pattern, and without principals is for nobody', async () => {
    for (const principals of [['*.example'], ['x', 'h?st.example'], ['*']]) {
      assert.equal((await verdict(known, await certificate({ principals }))).state, 'certified', String(principals));
    }
    for (const principals of [
      ['*.example.org'],
      ['!other.example'],
      ['*.example,x'],
      ['HOST.example'],
      ['*'.repeat(1024)],
    ]) {
      assert.match(await reason(await certificate({ principals })), /principals/, String(principals));
    }
    assert.match(await reason(await certificate({ principals: [] })), /names no principals/);
  });

  it('holds from its first second to before its last', async () => {
    const now = BigInt(NOW / 1000);
    const good = await certificate({ validAfter: now, validBefore: now + 1n });
    assert.equal((await verdict(known, good)).state, 'certified');
    assert.match(await reason(await certificate({ validAfter: now + 1n })), /not valid before 2026-06-01/);
    assert.match(await reason(await certificate({ validBefore: seconds(2026) })), /valid until 2026-01-01T00:00:00Z/);
    assert.match(await reason(await certificate({ validBefore: now })), /valid until/);
  });

  it('is not one of a user, and has no critical options', async () => {
    assert.match(await reason(await certificate({ kind: 'user' })), /for a user, not for a host/);
    for (const name of ['force-command', 'source-address', 'x@y']) {
      const criticalOptions = new Map([[name, '']]);
      assert.match(await reason(await certificate({ criticalOptions })), new RegExp(`critical option '${name}'`));
    }
    const extensions = new Map([['x@y', '']]);
    assert.equal((await verdict(known, await certificate({ extensions }))).state, 'certified');
  });

  it('is nothing without the signature of its authority', async () => {
    const { blob } = await certificate();
    const forged = blob.slice();
    // a letter of the key id
    forged[indexOf(forged, 'web')] = 'W'.charCodeAt(0);
    assert.match(await reason(parseCertificate(forged, crypto)), /has not signed/);
  });

  it('of an authority that is not known counts as its key', async () => {
    const shown = await certificate();
    assert.equal((await verdict('', shown)).state, 'unknown');
    assert.equal((await verdict(`host.example ${line('ed25519')}\n`, shown)).state, 'known');
    assert.equal((await verdict(`host.example ${line('rsa3072')}\n`, shown)).state, 'changed');
    // the key of an authority is not that of the host
    assert.equal((await verdict(`host.example ${line('ecdsa256')}\n`, shown)).state, 'changed');
    assert.equal((await verdict(`@cert-authority * ${line('ed25519')}\n`, shown)).state, 'unknown');
  });

  it('that does not hold counts as its key where the host has one', async () => {
    const shown = await certificate({ principals: ['x'] });
    assert.equal((await verdict(`${known}host.example ${line('ed25519')}\n`, shown)).state, 'known');
    assert.equal((await verdict(`${known}host.example ${line('rsa3072')}\n`, shown)).state, 'changed');
    assert.equal((await verdict(`${known}other.example ${line('ed25519')}\n`, shown)).state, 'bad-certificate');
  });

  it('is refused where its key or its authority is revoked, under either name (row 64)', async () => {
    const shown = await certificate();
    for (const name of ['*', 'host.example', '[host.example]:2222']) {
      const by = async (revoked: string): Promise<HostKeyVerdict> =>
        verdict(
          `${known}@revoked ${name} ${line(revoked)}\nhost.example ${line('ed25519')}\n`,
          shown,
          'host.example',
          2222,
        );
      assert.deepEqual(await by('ed25519'), { state: 'revoked', what: 'key', source: 'file', line: 2 });
      assert.deepEqual(await by('ecdsa256'), { state: 'revoked', what: 'authority', source: 'file', line: 2 });
      assert.equal((await by('rsa3072')).state, 'certified');
    }
    // a revoked authority says nothing about keys without a certificate
    const { entries } = parseKnownHosts(`@revoked * ${line('ecdsa256')}\nhost.example ${line('ed25519')}\n`);
    assert.equal((await checkHostKey(crypto, entries, 'host.example', 22, shownKey(key), NOW)).state, 'known');
  });
});

function indexOf(whole: Uint8Array, text: string): number {
  return new TextDecoder('latin1').decode(whole).indexOf(text);
}

describe('judgeHostCertificate', () => {
  it('has nothing to say without an authority that is known', async () => {
    assert.equal(await judgeHostCertificate(crypto, [], 'host.example', await certificate(), NOW), undefined);
  });
});

describe('hostCertificateTypes', () => {
  it('has each type once, the best first', () => {
    const types = hostCertificateTypes();
    assert.equal(new Set(types).size, types.length);
    assert.equal(types[0], 'ssh-ed25519-cert-v01@openssh.com');
    assert.ok(types.includes('ssh-rsa-cert-v01@openssh.com'));
    assert.ok(types.every((type) => type.includes('-cert-')));
  });
});
