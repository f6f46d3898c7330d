import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../../src/bytes/text.ts';
import { type HostKeyOffer, type HostKeyPolicy, insecureAcceptAny, pin } from '../../src/client/host_key.ts';
import { acceptNewIn, knownHostsIn } from '../../src/client/known_hosts_policy.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import type { SshError, SshErrorCode } from '../../src/errors.ts';
import { parseRevoked } from '../../src/keys/krl.ts';
import { fingerprint } from '../../src/keys/public_key.ts';
import { parseShownKey } from '../../src/keys/shown_key.ts';
import { certificateRows, publicRows } from '../keys/tools.ts';
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
  const key = parseShownKey(hostKey);
  const shown = { fingerprint: fingerprint(pureProvider, key.key.blob), key, now: Date.UTC(2026, 5, 1) };
  const keyType = key.type;
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
    for (const wrong of ['', 'MD5:00:11', 'SHA256:short', [], undefined]) {
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

  it('remembers one key, and once, where several connections to a new host begin together', async () => {
    const file = new MemoryTextFile();
    const checked = [FIRST, FIRST, SECOND].map(async (key) => acceptNewIn(file).check(offer(key, 'example.org')));
    const ended = await Promise.allSettled(checked);
    assert.deepEqual(
      ended.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected'],
    );
    assert.equal(file.text, `example.org ssh-ed25519 ${FIRST}\n`);
  });
});

describe('a host that shows a certificate', () => {
  const row = certificateRows.find(({ name }) => name === 'host, ed25519 by ecdsa521');
  const print = (name: string): string => publicRows.find((each) => each.name === name)?.fingerprint ?? '';
  const line = (name: string): string => publicRows.find((each) => each.name === name)?.line.trim() ?? '';
  const certified = (host = 'host.example'): HostKeyOffer => offer(row?.blob ?? '', host);
  const authority = `@cert-authority *.example ${line('ecdsa521')}\n`;

  it('is trusted by its authority, by whoever has that', async () => {
    const file = new MemoryTextFile(authority);
    await knownHostsIn([file]).check(certified());
    await acceptNewIn(file).check(certified());
    assert.equal(file.text, authority);
    await pin(print('ecdsa521')).check(certified());
    await pin(print('ed25519')).check(certified());
  });

  it('is refused where the certificate does not hold, and is not remembered', async () => {
    const file = new MemoryTextFile(authority);
    const offered = certified('other.example');
    for (const policy of [knownHostsIn([file]), acceptNewIn(file), pin(print('ecdsa521'))]) {
      const error = await refusal(policy, offered, 'host-key-certificate');
      assert.ok(error.message.includes(offered.fingerprint), error.message);
      assert.match(error.message, /'other.example' is not among its principals 'host.example', '192.0.2.1'/);
    }
    assert.equal(file.text, authority);
    // the pin of the key itself asks for no certificate
    await pin(print('ed25519')).check(offered);
    await refusal(pin(print('rsa3072')), certified(), 'host-key-mismatch');
  });

  it('counts as its key where no authority is known, and that is remembered', async () => {
    const file = new MemoryTextFile('');
    await refusal(knownHostsIn([file]), certified(), 'host-key-unknown');
    await acceptNewIn(file).check(certified());
    assert.equal(file.text, `host.example ${line('ed25519').split(' ').slice(0, 2).join(' ')}\n`);
    await knownHostsIn([file]).check(certified());
  });

  it('has its authority revoked by a line, and by a list (row 64)', async () => {
    const revoked = parseRevoked(utf8(`${line('ecdsa521')}\n`));
    const where = [
      [knownHostsIn([new MemoryTextFile(`${authority}@revoked * ${line('ecdsa521')}\n`)]), 'known_hosts:2'],
      [knownHostsIn([new MemoryTextFile(authority)], { revoked }), 'key revocation list'],
      [acceptNewIn(new MemoryTextFile(''), { revoked }), 'key revocation list'],
      [
        acceptNewIn(new MemoryTextFile(''), {
          revoked: { name: '/x/revoked', read: async () => utf8(line('ecdsa521')) },
        }),
        '/x/revoked',
      ],
    ] as const;
    for (const [policy, place] of where) {
      const error = await refusal(policy, certified(), 'host-key-revoked');
      assert.match(error.message, /authority that has certified/);
      assert.ok(error.message.includes(place), error.message);
    }
  });
});

describe('lists of revoked keys', () => {
  it('win over everything, and where one cannot be read nobody is trusted', async () => {
    const text = `example.org ssh-ed25519 ${FIRST}\n`;
    const revoked = parseRevoked(utf8(`ssh-ed25519 ${FIRST}\n`));
    for (const known of [text, '']) {
      const file = new MemoryTextFile(known);
      await refusal(acceptNewIn(file, { revoked }), offer(FIRST), 'host-key-revoked');
      assert.equal(file.text, known);
    }
    const damaged = { name: '/x/revoked', read: async () => utf8('nonsense') };
    const error = await refusal(
      knownHostsIn([new MemoryTextFile(text)], { revoked: damaged }),
      offer(FIRST),
      'bad-local-file',
    );
    assert.match(error.message, /Nobody is trusted while \/x\/revoked cannot be read: Line 1/);
    await refusal(knownHostsIn([new MemoryTextFile(text)], { revoked }), offer(SECOND), 'host-key-changed');
  });
});

describe('a known_hosts file without end', () => {
  it('is refused', async () => {
    const file = new MemoryTextFile(' '.repeat(16 * 1024 * 1024 + 1));
    await rejectsWith((async () => acceptNewIn(file).check(offer(FIRST)))(), 'limit');
  });
});

describe('acceptNewIn with hash', () => {
  it('writes hashed names, which it knows again', async () => {
    const file = new MemoryTextFile('');
    const policy = acceptNewIn(file, { hash: true });
    await policy.check(offer(FIRST, 'example.org', 2222));
    assert.match(file.text ?? '', /^\|1\|[\w+/=]{28}\|[\w+/=]{28} ssh-ed25519 \S+\n$/);
    const written = file.text;
    await policy.check(offer(FIRST, 'example.org', 2222));
    assert.equal(file.text, written);
    await refusal(policy, offer(SECOND, 'example.org', 2222), 'host-key-changed');
  });
});
