import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { base64 } from '../../src/bytes/text.ts';
import {
  checkHostKey,
  formatKnownHostsLine,
  type HostKeyVerdict,
  knownHostsName,
  knownKeyTypes,
  matchKnownHosts,
  parseKnownHosts,
} from '../../src/keys/known_hosts.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { formatPublicKeyLine } from '../../src/keys/public_key_line.ts';
import { parseShownKey, shownKey } from '../../src/keys/shown_key.ts';
import {
  bytes,
  certificateRows,
  crypto,
  inScratch,
  knownHostsRows,
  noKeygen,
  output,
  publicBlob,
  publicRows,
  run,
  shared,
  sshError,
} from './tools.ts';

const key = publicBlob('ed25519');
const line = (name: string) =>
  publicRows
    .find((row) => row.name === name)
    ?.line.split(' ')
    .slice(0, 2)
    .join(' ');

/** The verdict about a plain key. */
async function verdict(text: string, host: string, port: number, blob = key, source?: string): Promise<HostKeyVerdict> {
  return checkHostKey(crypto, parseKnownHosts(text, source).entries, host, port, shownKey(parsePublicKey(blob)), 0);
}

/** Numbers of the lines that match. */
function linesFor(text: string, host: string, port: number): number[] {
  return matchKnownHosts(crypto, parseKnownHosts(text).entries, host, port).map((entry) => entry.line);
}

describe('checkHostKey', () => {
  for (const { name, lines, lookups } of knownHostsRows) {
    for (const { host, port, verdict: theirs } of lookups) {
      it(`says what OpenSSH's client says: ${name}, ${host} port ${port}: ${theirs.state}`, async () => {
        const found = await verdict(lines.join('\n'), host, port);
        assert.equal(found.state, theirs.state);
        if (found.state === 'known') assert.equal(found.line, theirs.line);
        // OpenSSH names the last line that offends, we name all.
        if (found.state === 'changed') assert.equal(found.known.at(-1)?.line, theirs.line);
      });
    }
  }

  it('shows every key that a changed host is known under, and where', async () => {
    const first = parseKnownHosts(`host.example ${line('rsa3072')}\nother.example ${line('rsa1024')}\n`, '/etc/known');
    const second = parseKnownHosts(`\n\nhost.example ${line('ecdsa256')}`, '~/known');
    const entries = [...first.entries, ...second.entries];
    const found = await checkHostKey(crypto, entries, 'host.example', 22, shownKey(parsePublicKey(key)), 0);
    const print = (name: string) => publicRows.find((row) => row.name === name)?.fingerprint;
    assert.deepEqual(found, {
      state: 'changed',
      known: [
        { type: 'ssh-rsa', fingerprint: print('rsa3072'), source: '/etc/known', line: 1 },
        { type: 'ecdsa-sha2-nistp256', fingerprint: print('ecdsa256'), source: '~/known', line: 3 },
      ],
    });
  });

  it('says where the known or the revoked key stands', async () => {
    const text = `host.example ${line('ed25519')}\n@revoked host.example ${line('ecdsa256')}\n`;
    const known = await verdict(text, 'host.example', 22, key, 'file');
    assert.deepEqual(known, { state: 'known', source: 'file', line: 1 });
    const revoked = await verdict(text, 'host.example', 22, publicBlob('ecdsa256'), 'file');
    assert.deepEqual(revoked, { state: 'revoked', what: 'key', source: 'file', line: 2 });
  });

  it('takes a certificate that is revoked for the key in it, and one that is not for nothing', async () => {
    const blob = bytes(certificateRows.find(({ name }) => name === 'host, ed25519 by ecdsa521')?.blob ?? '');
    const certificate = `host.example ${formatPublicKeyLine(blob)}\n`;
    assert.equal((await verdict(`@revoked ${certificate}`, 'host.example', 22)).state, 'revoked');
    const shown = parseShownKey(blob);
    const { entries } = parseKnownHosts(`host.example ${line('ed25519')}\n@revoked ${certificate}`);
    assert.equal((await checkHostKey(crypto, entries, 'host.example', 22, shown, 0)).state, 'revoked');
    for (const marker of ['', '@cert-authority ']) {
      assert.match(parseKnownHosts(marker + certificate).ignored[0]?.reason ?? '', /-cert-v01@openssh\.com/);
    }
  });

  it('refuses a key that is revoked under the plain name even where the port has it, unlike OpenSSH', async () => {
    const text = `[host.example]:2222 ${line('ed25519')}\n@revoked host.example ${line('ed25519')}\n`;
    assert.equal((await verdict(text, 'host.example', 2222)).state, 'revoked');
  });
});

describe('parseKnownHosts', () => {
  it('reports what it cannot use, with line and reason, and leaves out comments and blanks', () => {
    const text = [
      '\ufeff# comment',
      '',
      `@what host.example ${line('ed25519')}`,
      `@revoked @revoked host.example ${line('ed25519')}`,
      'host.example',
      '@revoked host.example ssh-ed25519',
      'host.example ssh-ed25519 ????',
      'host.example ssh-ed25519 AAAA',
      `host.example ssh-rsa ${base64(key)}`,
      'host.example 1024 35 1234567890',
      `|1|AAAA|AAAA ${line('ed25519')}`,
      `|2|x|y ${line('ed25519')}`,
      'host.example ssh-quantum AAAAC3NzaC1xdWFudHVtAAAABAAAAAA=',
      `host.example ${line('ed25519')}`,
      '   # indented comment',
    ].join('\r\n');
    const { entries, ignored } = parseKnownHosts(text, 'file');
    assert.deepEqual(
      entries.map((entry) => entry.line),
      [14],
    );
    const expected: [number, RegExp][] = [
      [3, /^Unknown marker @what$/],
      [4, /^More than one marker$/],
      [5, /^Fewer than three fields$/],
      [6, /^Fewer than three fields$/],
      [7, /^The key is not base64$/],
      [8, /^Truncated/],
      [9, /^A key of type ssh-ed25519 under the name of ssh-rsa$/],
      [10, /^A key of SSH 1$/],
      [11, /^A hashed host name that is not/],
      [12, /^A hashed host name that is not/],
      [13, /^Key type 'ssh-quantum'/],
    ];
    assert.deepEqual(
      ignored.map((each) => each.line),
      expected.map(([number]) => number),
    );
    expected.forEach(([, reason], i) => {
      assert.match(ignored[i]?.reason ?? '', reason);
    });
    assert.equal(ignored[2]?.text, 'host.example');
    assert.equal(ignored[2]?.source, 'file');
  });

  it('reads the entries of every marker', () => {
    const lines = ['@revoked ', '@cert-authority\t', ''].map(
      (marker) => `${marker}host.example ${line('ed25519')} a comment`,
    );
    const { entries, ignored } = parseKnownHosts(lines.join('\n'));
    assert.deepEqual(
      entries.map(({ marker, keyType }) => `${marker} ${keyType}`),
      ['revoked ssh-ed25519', 'cert-authority ssh-ed25519', 'none ssh-ed25519'],
    );
    assert.deepEqual(ignored, []);
  });

  it('never throws: cut off anywhere, or with any byte changed', () => {
    const text = `|1|${base64(key.slice(0, 20))}|${base64(key.slice(20, 40))} ${line('ecdsa256')} c\n@revoked *,!a ${line('ed25519')}\n`;
    for (let at = 0; at <= text.length; at++) {
      for (const changed of [text.slice(0, at), `${text.slice(0, at)}\0${text.slice(at + 1)}`]) {
        const { entries } = parseKnownHosts(changed);
        matchKnownHosts(crypto, entries, 'b', 22);
      }
    }
  });

  it('never knows another key, or by an authority, for any damage of any byte', async () => {
    const salted = formatKnownHostsLine('host.example', 22, publicBlob('ecdsa384'), crypto);
    const text =
      `host.example,*.test ${line('ed25519')} c\n${salted}\n@revoked *,!a ${line('ecdsa256')}\n` +
      `@cert-authority *.test ${line('ecdsa256')}\n[host.example]:2222 ${line('ecdsa384')}\n`;
    for (let at = 0; at < text.length; at++) {
      for (const flip of [0x04, 0x20, 0xff]) {
        const damaged = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ flip) + text.slice(at + 1);
        const found = await verdict(damaged, 'host.example', 22, publicBlob('ecdsa521'));
        assert.ok(found.state === 'changed' || found.state === 'unknown', `${at}: ${found.state}`);
      }
    }
  });

  it('takes linear time over large and hostile files', { timeout: 60_000 }, () => {
    const many = `host.example ${line('ed25519')}\n`.repeat(20_000);
    assert.equal(linesFor(many, 'other.example', 22).length, 0);
    const stars = `${'*a'.repeat(400)}b ${line('ed25519')}\n`.repeat(500);
    assert.equal(linesFor(stars, 'a'.repeat(255), 22).length, 0);
    const long = `${'a,'.repeat(500_000)} ${' '.repeat(500_000)}${'x '.repeat(500_000)}`;
    assert.match(parseKnownHosts(long).ignored[0]?.reason ?? '', /^A line of more than 65536 characters$/);
    const full = `${'a,'.repeat(16_000)}host.example ${line('ed25519')} `.padEnd(65_536, 'c');
    assert.deepEqual(linesFor(full, 'host.example', 22), [1]);
    assert.deepEqual(linesFor(`${full}c`, 'host.example', 22), []);
    assert.equal(parseKnownHosts('\n'.repeat(1_000_000)).ignored.length, 0);
  });
});

describe('matchKnownHosts and ssh-keygen -F', () => {
  for (const { name, lines, lookups } of knownHostsRows) {
    for (const { host, port, found } of lookups) {
      it(`finds the same lines: ${name}, ${host} port ${port}`, () => {
        const text = lines.join('\n');
        const unusable = new Set(parseKnownHosts(text).ignored.map((each) => each.line));
        // -F does not look at the key; lines with a bad one are not lines to us.
        assert.deepEqual(
          linesFor(text, host, port),
          found.filter((each) => !unusable.has(each)),
        );
      });
    }
  }

  const queries: [string, number][] = [
    ['host.example', 22],
    ['host.example', 2222],
    ['a.example.org', 22],
    ['bad.example.org', 22],
    ['192.0.2.7', 22],
    ['2001:db8::7', 2222],
    ['nowhere.example', 22],
  ];
  const text = [
    `host.example,192.0.2.7 ${line('ed25519')}`,
    `[host.example]:2222 ${line('ecdsa256')}`,
    `*.example.org,!bad.example.org ${line('rsa3072')}`,
    `[2001:db8::7]:2222 ${line('ecdsa521')}`,
    `@revoked * ${line('ecdsa384')}`,
    '',
  ].join('\n');

  for (const hashed of [false, true]) {
    it(`find the same lines of a file ${hashed ? 'that ssh-keygen -H hashed' : 'as written'}`, { skip: noKeygen }, () =>
      inScratch((path) => {
        writeFileSync(path('known'), text);
        if (hashed) output('ssh-keygen', ['-H', '-f', path('known')]);
        const file = readFileSync(path('known'), 'utf8');
        // Wildcards and revocations cannot be hashed; of a list, each name gets a line of its own.
        assert.equal(file.split('|1|').length - 1, hashed ? 4 : 0);
        for (const [host, port] of queries) {
          const { stdout } = run('ssh-keygen', ['-F', knownHostsName(host, port), '-f', path('known')]);
          const theirs = [...stdout.matchAll(/found: line (\d+)/g)].map(([, number]) => Number(number));
          assert.deepEqual(linesFor(file, host, port), theirs, `${host} ${port}`);
        }
      }),
    );
  }

  const published = shared('openssh/hostkeys/known_hosts');
  it('find the same lines of OpenSSH’s own test file', { skip: published.skip || noKeygen }, () => {
    const file = readFileSync(published.path, 'utf8');
    const unusable = new Set(parseKnownHosts(file).ignored.map((each) => each.line));
    const names = ['sisyphus.example.com', 'prometheus.example.com', '192.0.2.1', '2001:db8::1', 'any.example.com'];
    let total = 0;
    for (const host of [...names, '192.0.2.200', '2001::1', 'hyperion.example.com', '192.168.1.1', 'nowhere']) {
      const { stdout } = run('ssh-keygen', ['-F', host, '-f', published.path]);
      const theirs = [...stdout.matchAll(/found: line (\d+)/g)].map(([, number]) => Number(number));
      const usable = theirs.filter((each) => !unusable.has(each));
      assert.deepEqual(linesFor(file, host, 22), usable, host);
      total += usable.length;
    }
    assert.ok(total > 30, `${total} lines found`);
  });
});

describe('knownKeyTypes', () => {
  it('gives each type once, in the order of the lines, without markers, under the port before the plain name', () => {
    const names = ['host.example', '[host.example]:2222'];
    const text = [
      `@revoked * ${line('ecdsa521')}`,
      `@cert-authority third.example ${line('ecdsa521')}`,
      `${names[0]} ${line('rsa3072')}`,
      `${names[0]} ${line('rsa1024')}`,
      `${names[0]} ${line('ed25519')}`,
      `${names[1]} ${line('ecdsa384')}`,
    ].join('\n');
    const { entries } = parseKnownHosts(text);
    assert.deepEqual(knownKeyTypes(crypto, entries, 'HOST.example', 22), ['ssh-rsa', 'ssh-ed25519']);
    assert.deepEqual(knownKeyTypes(crypto, entries, 'host.example', 2222), ['ecdsa-sha2-nistp384']);
    assert.deepEqual(knownKeyTypes(crypto, entries, 'host.example', 2200), ['ssh-rsa', 'ssh-ed25519']);
    assert.deepEqual(knownKeyTypes(crypto, entries, 'other.example', 22), []);
    // where there is an authority, certificates come first
    const certified = knownKeyTypes(crypto, entries, 'third.example', 22);
    assert.equal(certified[0], 'ssh-ed25519-cert-v01@openssh.com');
    assert.ok(certified.every((type) => type.endsWith('-cert-v01@openssh.com')));
  });
});

describe('formatKnownHostsLine', () => {
  it('writes the plain line that OpenSSH writes', () => {
    assert.equal(formatKnownHostsLine('Host.Example', 22, key), `host.example ${line('ed25519')}`);
    assert.equal(formatKnownHostsLine('host.example', 2222, key), `[host.example]:2222 ${line('ed25519')}`);
    assert.equal(formatKnownHostsLine('2001:db8::7', 22, key), `2001:db8::7 ${line('ed25519')}`);
    assert.equal(formatKnownHostsLine('fe80::1%eth0', 22, key), `fe80::1%eth0 ${line('ed25519')}`);
  });

  it('hashes as OpenSSH does: the name of a line of ssh-keygen -H under the same salt', () => {
    const row = knownHostsRows.find(({ name }) => name === 'hashed name with port');
    const written = row?.lines[0] as string;
    const salt = parseKnownHosts(written).entries[0]?.names;
    assert.ok(salt?.form === 'hashed');
    const made = formatKnownHostsLine('HOST.example', 2222, key, { ...crypto, random: () => salt.salt });
    assert.equal(made, written);
  });

  it('writes lines that ssh-keygen -F and we find, under a salt that is new each time', { skip: noKeygen }, () =>
    inScratch((path) => {
      const made = [22, 2222, 2222].map((port) => formatKnownHostsLine('host.example', port, key, crypto));
      assert.equal(new Set(made).size, 3);
      writeFileSync(path('known'), `${made.join('\n')}\n`);
      const { stdout } = run('ssh-keygen', ['-F', '[host.example]:2222', '-f', path('known')]);
      assert.deepEqual(
        [...stdout.matchAll(/found: line (\d+)/g)].map(([, number]) => number),
        ['2', '3'],
      );
      assert.deepEqual(linesFor(made.join('\n'), 'host.example', 2222), [2, 3]);
      assert.deepEqual(linesFor(made.join('\n'), 'host.example', 22), [1]);
    }),
  );

  it('refuses host names that would mean something else in the file', () => {
    for (const host of [
      'a b',
      'a\nb',
      'a,b',
      '*',
      'a?',
      '!a',
      '|1|a',
      '#a',
      '@revoked',
      '[a]:22',
      'a\u202e',
      '\u00a0',
      '',
    ]) {
      assert.throws(() => formatKnownHostsLine(host, 22, key), sshError('bad-argument'), JSON.stringify(host));
    }
    for (const port of [0, 65536, 1.5, Number.NaN]) {
      assert.throws(() => formatKnownHostsLine('a', port, key), sshError('bad-argument', /Not a port/));
    }
  });
});
