/** `puressh keygen` and `keyscan` against the tools of OpenSSH. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseValidity, secondsOf } from '../../src/cli/keygen/validity.ts';
import { FOREVER } from '../../src/keys/certificate.ts';
import * as openssh from '../support/peers/openssh.ts';
import { findProgram, peerTest, usePeer } from '../support/peers/peer.ts';
import { isThorough } from '../support/thorough.ts';
import { type Ended, onlyLine, runCli, scratch } from './spawn_cli.ts';

const missing = findProgram('ssh-keygen') === undefined ? 'there is no ssh-keygen' : undefined;
const everywhere = { ...peerTest(missing), timeout: 60_000 };
const once = isThorough ? everywhere : { skip: 'is done in Node 24 only' };

/** Runs ssh-keygen; the text that it prints. */
function tool(folder: string, ...args: string[]): string {
  return execFileSync('ssh-keygen', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

const run = (cwd: string, line: string, input = ''): Promise<Ended> =>
  runCli(['keygen', ...line.split(' ')], { cwd, input });

async function good(cwd: string, line: string, input = ''): Promise<string> {
  const { status, stdout, stderr } = await run(cwd, line, input);
  assert.deepEqual([status, stderr], [0, ''], line);
  return stdout.toString();
}

/** Type and base64 of a public key line. */
const halves = (line: string): string => line.split(' ').slice(0, 2).join(' ').trim();

describe('keygen', () => {
  it('makes a key for its owner only, and replaces none', everywhere, async () => {
    const folder = scratch();
    const said = await good(folder, 'make --no-passphrase -C ada@home key');
    const shown = tool(folder, '-lf', 'key.pub');
    assert.match(shown, /^256 (SHA256:\S+) ada@home \(ED25519\)\n$/);
    assert.equal(said, shown.replace(/^256 /, '').replace(' (ED25519)', ''));
    if (process.platform !== 'win32') {
      assert.deepEqual(
        [statSync(join(folder, 'key')).mode & 0o777, statSync(join(folder, 'key.pub')).mode & 0o777],
        [0o600, 0o644],
      );
    }
    const before = readFileSync(join(folder, 'key'), 'utf8');
    const again = await run(folder, 'make --no-passphrase key');
    assert.equal(again.status, 1);
    assert.match(onlyLine(again), /^key is there already: give --force to replace it \(target-exists\)$/);
    assert.equal(readFileSync(join(folder, 'key'), 'utf8'), before);
  });

  it('makes keys of other types, which ssh-keygen reads', once, async () => {
    const folder = scratch();
    for (const [type, bits] of [
      ['ecdsa', 384],
      ['rsa', 2048],
    ] as const) {
      await good(folder, `make --no-passphrase -t ${type} -b ${bits} -C c ${type}`);
      assert.match(tool(folder, '-lf', type), new RegExp(`^${bits} \\S+ c \\(${type.toUpperCase()}\\)\n$`));
      assert.equal(halves(tool(folder, '-yf', type)), halves(readFileSync(join(folder, `${type}.pub`), 'utf8')));
    }
  });

  it('encrypts, converts and changes passphrases', once, async () => {
    const folder = scratch();
    await good(folder, 'make --passphrase-stdin -C c key', 'first\n');
    const known = halves(readFileSync(join(folder, 'key.pub'), 'utf8'));
    assert.equal(halves(tool(folder, '-y', '-P', 'first', '-f', 'key')), known);
    await good(folder, 'convert -m pkcs8 --passphrase-stdin --output key.pem key', 'first\r\n');
    assert.match(readFileSync(join(folder, 'key.pem'), 'utf8'), /^-----BEGIN ENCRYPTED PRIVATE KEY-----/);
    const wrong = await run(folder, 'passphrase --passphrase-stdin key', 'nope\nx\n');
    assert.equal(wrong.status, 1);
    assert.match(onlyLine(wrong), /\(key-passphrase-wrong\)$/);
    const unasked = await run(folder, 'convert --no-passphrase --output key3 key');
    assert.match(onlyLine(unasked), /^key is encrypted; .*with --passphrase-stdin \(key-passphrase-needed\)$/);
    // others that could read it cannot read the new one
    chmodSync(join(folder, 'key'), 0o644);
    await good(folder, 'passphrase --passphrase-stdin key', 'first\n\n');
    assert.equal(tool(folder, '-yf', 'key').trim(), `${known} c`);
    assert.equal(statSync(join(folder, 'key')).mode & 0o777, 0o600);
    await good(folder, 'convert -m ppk --no-passphrase -C d --output key.ppk key');
    assert.match(
      readFileSync(join(folder, 'key.ppk'), 'utf8'),
      /^PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: d\n/,
    );
    const nobody = await run(folder, 'make key2');
    assert.equal(nobody.status, 2);
    assert.match(onlyLine(nobody), /--passphrase-stdin, or --no-passphrase.*\(bad-argument\)$/);
    assert.ok(!existsSync(join(folder, 'key2')));
  });

  it('shows fingerprints and public halves as ssh-keygen does', once, async () => {
    const folder = scratch();
    tool(folder, '-q', '-t', 'ecdsa', '-N', '', '-C', 'of ada', '-f', 'plain');
    tool(folder, '-q', '-t', 'ed25519', '-N', 'secret', '-a', '1', '-C', 'of eve', '-f', 'locked');
    const files = ['plain', 'plain.pub', 'locked', 'locked.pub'];
    const expected = files.map((file) => tool(folder, '-l', '-E', 'md5', '-f', file)).join('');
    assert.equal(await good(folder, `fingerprint -E md5 ${files.join(' ')}`), expected);
    await good(folder, 'public -m pkcs8 --output plain.spki plain');
    assert.equal(
      readFileSync(join(folder, 'plain.spki'), 'utf8'),
      tool(folder, '-e', '-m', 'pkcs8', '-f', 'plain.pub'),
    );
    writeFileSync(join(folder, 'plain.rfc'), await good(folder, 'public -m rfc4716 plain.pub'));
    assert.equal(
      halves(tool(folder, '-i', '-f', 'plain.rfc')),
      halves(readFileSync(join(folder, 'plain.pub'), 'utf8')),
    );
  });

  it('certifies keys, and shows certificates as ssh-keygen -L', once, async () => {
    const folder = scratch();
    tool(folder, '-q', '-t', 'ecdsa', '-N', '', '-f', 'ca');
    for (const name of ['one', 'two']) tool(folder, '-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', name);
    const said = await good(
      folder,
      'sign --ca ca -I ada -n ada,root --serial 7 --valid 20260101Z:20270101120000Z -O no-x11-forwarding -O force-command=true ' +
        '-O source-address=10.0.0.0/8 -O extension:x@y=z one.pub two.pub',
    );
    assert.equal(
      said,
      'one-cert.pub: user certificate "ada", serial 7 for ada,root\ntwo-cert.pub: user certificate "ada", serial 8 for ada,root\n',
    );
    const text = tool(folder, '-Lf', 'one-cert.pub');
    for (const part of ['Serial: 7', 'force-command true', 'source-address 10.0.0.0/8', 'x@y UNKNOWN OPTION']) {
      assert.ok(text.includes(part), part);
    }
    assert.doesNotMatch(text, /permit-X11/);
    tool(folder, '-q', '-s', 'ca', '-I', 'theirs', '-h', '-n', 'a.example', '-V', '+1d', 'two.pub');
    const files = ['one-cert.pub', 'two-cert.pub'];
    const expected = files.map((file) => tool(folder, '-Lf', file)).join('');
    assert.equal(await good(folder, `show ${files.join(' ')}`), expected);
    const refused = await run(folder, 'sign --ca ca -I x -O nope --force one.pub');
    assert.deepEqual([refused.status, onlyLine(refused)], [2, '-O nope is no option of certificates (bad-argument)']);
    const odd = await run(folder, 'sign --ca ca -I x -O source-address=10.0.0.1/8 --force one.pub');
    assert.equal(odd.status, 2);
    assert.match(onlyLine(odd), /^-O source-address=10\.0\.0\.1\/8: In its 'source-address' /);
  });
});

describe('validity of certificates', () => {
  const now = Date.UTC(2026, 0, 31, 12, 0, 30);
  const rows: readonly [string, bigint, bigint][] = [
    ['always:forever', 0n, FOREVER],
    ['+1h', 1769860740n, 1769864430n],
    ['-1d:+1w2d3h4m5s', 1769774430n, 1770649475n],
    ['20260101Z:202701011200Z', 1767225600n, 1798804800n],
    ['0x10:0xff', 16n, 255n],
    ['20260101000001Z:forever', 1767225601n, FOREVER],
  ];
  for (const [text, validAfter, validBefore] of rows) {
    it(`reads ${text}`, () => {
      assert.deepEqual(secondsOf(parseValidity(text), now), { validAfter, validBefore });
    });
  }

  it('takes dates without Z in local time', () => {
    const { validBefore } = secondsOf(parseValidity('always:20260615'), now);
    assert.equal(validBefore, BigInt(new Date(2026, 5, 15).getTime() / 1000));
  });

  it('refuses what is none, and what ends before it begins', () => {
    for (const text of ['', 'x', '+', '1d', '20261301', '20260230', '2026010125Z', '+1h:+2h:+3h', '+1x', 'always:']) {
      assert.throws(() => parseValidity(text), { code: 'bad-argument', message: /^--valid takes/ }, text);
    }
    for (const text of ['+1d:-1d', '+1d:+1d', 'forever:always']) {
      assert.throws(() => secondsOf(parseValidity(text), now), { code: 'bad-argument' }, text);
    }
  });
});

describe('keyscan', () => {
  const hasTool = findProgram('ssh-keyscan') !== undefined;
  const reason = openssh.available() ?? (hasTool ? undefined : 'there is no ssh-keyscan');
  const sshd = usePeer(isThorough ? reason : 'is done in Node 24 only', () => openssh.startSshd());
  const options = isThorough ? { ...sshd.options, timeout: 60_000 } : { skip: 'is done in Node 24 only' };
  const lines = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .sort();

  it('prints the keys that ssh-keyscan prints', options, async () => {
    const { port } = sshd.peer;
    {
      const args = ['-p', String(port), '-t', 'ed25519,rsa,ecdsa', '127.0.0.1'];
      const theirs = execFileSync('ssh-keyscan', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
      const { status, stdout, stderr } = await runCli(['keyscan', ...args]);
      assert.deepEqual([status, stderr], [0, '']);
      // of three ECDSA keys the one that is first in either list is shown
      const same = (text: string): string[] => lines(text).map((line) => line.replace(/(ecdsa)\S+ \S+/, '$1'));
      assert.deepEqual(same(stdout.toString()), same(theirs));
    }
  });

  it('hashes names, which ssh-keygen -F finds', options, async () => {
    const { port } = sshd.peer;
    const folder = scratch();
    const { stdout } = await runCli(['keyscan', '-H', '-p', String(port), '-t', 'ed25519', '127.0.0.1']);
    assert.match(stdout.toString(), /^\|1\|/);
    writeFileSync(join(folder, 'known'), stdout);
    assert.match(tool(folder, '-F', `[127.0.0.1]:${port}`, '-f', 'known'), /ssh-ed25519/);
  });

  it('says which server has shown none', options, async () => {
    const { port } = sshd.peer;
    const hosts = ['127.0.0.1', 'no-such-host.invalid'];
    const { status, stderr } = await runCli(['keyscan', '-c', '-p', String(port), '-t', 'ed25519', ...hosts]);
    assert.equal(status, 1);
    assert.match(stderr, /^puressh: \[127\.0\.0\.1\]:\d+: the server has no key of the kinds that were asked for$/m);
    assert.match(stderr, /^puressh: \[no-such-host\.invalid\]:\d+: .*\(connect-failed\)$/m);
  });
});
