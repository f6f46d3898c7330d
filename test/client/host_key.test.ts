import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type HostKeyOffer, type HostKeyPolicy, insecureAcceptAny, pin } from '../../src/client/host_key.ts';
import { acceptNewIn, knownHostsIn } from '../../src/client/known_hosts_policy.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import type { SshError, SshErrorCode } from '../../src/errors.ts';
import { fingerprint } from '../../src/keys/public_key.ts';
import { parseShownKey } from '../../src/keys/shown_key.ts';
import { rejectsWith } from '../support/rejects.ts';
import { MemoryTextFile } from '../support/text_file.ts';

// Two keys of `ssh-keygen`, and what `ssh-keygen -lf` says of them.
const FIRST = 'AAAAC3NzaC1lZDI1NTE5AAAAIK7XLVsEn8CCzgwELJBmn8XCK+/GeO16UCUWzdW0vYPO';
const SECOND = 'AAAAC3NzaC1lZDI1NTE5AAAAIE4H7AWxzl5VBvp/M6RmUwkwY7NEAYCJBCA/we4CJTr4';
const prints: Readonly<Record<string, string>> = {
  [FIRST]: 'SHA256:tbbtZvqQHG3uI9JIZciBaKBUixxzv3qlEIi1BR46zb8',
  [SECOND]: 'SHA256:2hhtKuAuZwqpIJp+XOJOi0+JCqaAswI4ly5cckIgBd4',
};

function offer(digits: string, host = 'example.org', port = 22): HostKeyOffer {
  const hostKey = new Uint8Array(Buffer.from(digits, 'base64'));
  const shown = { fingerprint: fingerprint(pureProvider, hostKey), key: parseShownKey(hostKey), now: 0 };
  const keyType = 'ssh-ed25519';
  return { host, port, algorithm: keyType, keyType, hostKey, ...shown, crypto: pureProvider };
}

async function refusal(policy: HostKeyPolicy, offered: HostKeyOffer, code: SshErrorCode): Promise<SshError> {
  const error = await rejectsWith((async () => policy.check(offered))(), code);
  assert.equal(error.fault, 'policy');
  assert.equal(error.disconnect, 9); // RFC 4253 §11.1: HOST_KEY_NOT_VERIFIABLE
  return error;
}

describe('pin', () => {
  it('takes the fingerprint with and without its label', async () => {
    const shown = prints[FIRST] as string;
    for (const text of [shown, shown.slice('SHA256:'.length), `${shown}=`]) await pin(text).check(offer(FIRST));
    await pin([prints[SECOND] as string, shown]).check(offer(FIRST));
  });

  it('refuses any other key and shows both', async () => {
    const error = await refusal(pin(prints[SECOND] as string), offer(FIRST, 'example.org', 2222), 'host-key-mismatch');
    for (const part of ['[example.org]:2222', prints[FIRST], prints[SECOND]])
      assert.ok(error.message.includes(part as string));
  });

  it('takes nothing but fingerprints', () => {
    for (const wrong of ['', 'MD5:00:11', 'SHA256:short', []]) {
      assert.throws(() => pin(wrong as string), { code: 'bad-argument' }, String(wrong));
    }
  });
});

describe('insecureAcceptAny', () => {
  it('takes any key', async () => {
    await insecureAcceptAny().check(offer(FIRST));
    await insecureAcceptAny().check(offer(SECOND));
  });
});

describe('knownHostsIn', () => {
  it('takes a key that is there', async () => {
    await knownHostsIn([new MemoryTextFile(`example.org ssh-ed25519 ${FIRST}\n`)]).check(offer(FIRST));
  });

  it('refuses an unknown host with its fingerprint and a way to accept it', async () => {
    for (const text of [undefined, '', `other.example ssh-ed25519 ${FIRST}\n`]) {
      const file = new MemoryTextFile(text);
      const error = await refusal(knownHostsIn([file]), offer(FIRST), 'host-key-unknown');
      assert.ok(error.message.includes(`pin('${prints[FIRST]}')`), error.message);
      assert.ok(error.message.includes(file.name), error.message);
      assert.equal(file.text, text);
    }
  });

  it('refuses a changed key with both fingerprints, where the old one stands, and a way to remove it', async () => {
    const file = new MemoryTextFile(`\n[example.org]:2222 ssh-ed25519 ${SECOND}\n`);
    const error = await refusal(knownHostsIn([file]), offer(FIRST, 'example.org', 2222), 'host-key-changed');
    const parts = [
      prints[FIRST],
      prints[SECOND],
      `${file.name}:2`,
      `ssh-keygen -R '[example.org]:2222' -f '${file.name}'`,
    ];
    for (const part of parts) assert.ok(error.message.includes(part as string), error.message);
  });

  it('refuses a revoked key', async () => {
    const file = new MemoryTextFile(`example.org ssh-ed25519 ${FIRST}\n@revoked * ssh-ed25519 ${FIRST}\n`);
    const error = await refusal(knownHostsIn([file]), offer(FIRST), 'host-key-revoked');
    assert.ok(error.message.includes(`${file.name}:2`), error.message);
  });

  it('prefers the types that the host is known under', async () => {
    const policy = knownHostsIn([new MemoryTextFile(`example.org ssh-ed25519 ${FIRST}\n`)]);
    assert.deepEqual(await policy.preferredKeyTypes?.('example.org', 22, pureProvider), ['ssh-ed25519']);
    assert.deepEqual(await policy.preferredKeyTypes?.('other.example', 22, pureProvider), []);
  });
});

describe('acceptNewIn', () => {
  it('remembers a new host, and then knows it', async () => {
    const file = new MemoryTextFile();
    await acceptNewIn(file).check(offer(FIRST, 'Example.org', 2222));
    assert.equal(file.text, `[example.org]:2222 ssh-ed25519 ${FIRST}\n`);
    await acceptNewIn(file).check(offer(FIRST, 'example.org', 2222));
    assert.equal(file.text, `[example.org]:2222 ssh-ed25519 ${FIRST}\n`);
    await refusal(acceptNewIn(file), offer(SECOND, 'example.org', 2222), 'host-key-changed');
  });
});
