import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { base64, utf8 } from '../../src/bytes/text.ts';
import {
  type AuthorizedKey,
  findAuthorizedKey,
  type LoginContext,
  MAX_ENTRIES,
  MAX_LINE,
  parseAuthorizedKeys,
  refusalOf,
} from '../../src/keys/authorized_keys.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { type ShownKey, shownKey } from '../../src/keys/shown_key.ts';
import { seededRandom } from '../support/random.ts';
import { loginRows, loginTime } from './authorized_keys_vectors.ts';
import { publicBlob, publicRows } from './tools.ts';

const blob = publicBlob('ed25519');
const line = (name: string): string =>
  (publicRows.find((row) => row.name === name)?.line ?? '').split(' ').slice(0, 2).join(' ');
const KEY = line('ed25519');
const now = Date.UTC(2026, 0, 1);

/** The key in a blob, as somebody shows it. */
const shown = (key: Uint8Array): ShownKey => shownKey(parsePublicKey(key));

/** The number of the line that lets in; 0 where none does. */
function letIn(text: string | Uint8Array, context: Partial<LoginContext> = {}, key = blob): number {
  return (
    findAuthorizedKey(parseAuthorizedKeys(text).keys, shown(key), { now, address: '192.0.2.1', ...context })?.line ?? 0
  );
}

/** Where we do not decide as sshd does, by the name of the row: what we do. */
const differences: Readonly<Record<string, 'refused' | 'let in'>> = {
  'byte order mark': 'let in',
  'carriage return in the comment': 'refused',
  'null byte in the comment': 'refused',
  'options tunnel="0"': 'refused',
  'options tunnel="any"': 'refused',
  'expiry-time 20260230': 'refused', // a day that is none: sshd takes 2 March
  'expiry-time 20270229': 'refused',
  'expiry-time 20270101000060': 'refused',
  'expiry-time 20270101000061': 'refused',
  'expiry-time 2027 1 1': 'refused',
  'from ::ffff:127.0.0.1': 'let in',
  'from ::ffff:127.0.0.0/104': 'let in',
  'from 127.0.0.1, ::1': 'refused', // to sshd the second is a name with a blank
  'from 127.1': 'refused', // addresses of inet_aton
  'from 127.000.000.001': 'refused',
  'from 2130706433': 'refused',
  'from 0x7f000001': 'refused',
  'from with a longer pattern that is negated': 'refused',
  'from fe80::/10, not loopback': 'let in', // sshd has no network match an address with a zone
  'from fe80::fc:ff:fe00:1, not loopback': 'let in',
  'from !fe80::/10,*, not loopback': 'refused',
  'from fe80::fc:ff:fe00:1%eth0, not loopback': 'refused',
  'permitopen host: 80': 'refused',
  'permitlisten host: 80': 'refused',
  'permitopen host:ssh': 'refused', // names of services
  'permitlisten host:ssh': 'refused',
  'permitopen host/80': 'refused',
};

const members = {
  'agent-forwarding': 'agentForwarding',
  'port-forwarding': 'portForwarding',
  pty: 'pty',
  'user-rc': 'userRc',
  'x11-forwarding': 'x11Forwarding',
} as const;

function withheldBy({ options }: AuthorizedKey): string[] {
  return Object.entries(members).flatMap(([name, member]) => (options[member] ? [] : [name]));
}

describe('findAuthorizedKey and sshd', () => {
  const logins = loginRows.flatMap((row) => {
    const { keys } = parseAuthorizedKeys(row.lines.join('\n'), { utcOffset: row.utcOffset ?? 0 });
    return row.logins.map((login) => {
      const { address, host } = login;
      const context = { address, now: loginTime, ...(host === undefined ? {} : { host }) };
      return {
        name: row.name,
        login,
        found: findAuthorizedKey(keys, shown(publicBlob(login.key ?? 'ed25519')), context),
      };
    });
  });

  it('let the same keys in, by the same line, from the same addresses at the same time, but for what is listed', () => {
    const found: Record<string, string> = {};
    for (const { name, login, found: key } of logins) {
      if (key?.line === login.line) continue;
      assert.ok(
        key === undefined || login.line === undefined,
        `${name}: line ${login.line} expected, got ${key?.line}`,
      );
      found[name] = key === undefined ? 'refused' : 'let in';
    }
    assert.deepEqual(found, differences);
    assert.ok(logins.length > 500, `${logins.length} logins`);
  });

  it('understand the same of the options', () => {
    let counted = 0;
    for (const { name, login, found } of logins) {
      if (found === undefined || login.line === undefined) continue;
      assert.deepEqual(withheldBy(found), login.withheld ?? [], name);
      assert.equal(found.options.command, login.command, name);
      assert.deepEqual(new Map(found.options.environment), new Map(Object.entries(login.environment ?? {})), name);
      counted++;
    }
    assert.ok(counted > 190, `${counted} logins`);
  });
});

describe('findAuthorizedKey', () => {
  it('goes on after lines that refuse, and takes the first that does not', () => {
    const text = [
      line('ecdsa256'),
      `from="10.0.0.0/8" ${KEY}`,
      `expiry-time="20250101Z",from="*" ${KEY}`,
      `nope ${KEY}`,
      `from="192.0.2.0/24" ${KEY}`,
      `restrict ${KEY}`,
    ].join('\n');
    assert.equal(letIn(text), 5);
    assert.equal(letIn(text, { address: '10.1.1.1' }), 2);
    assert.equal(letIn(text, { address: '198.51.100.1' }), 6);
    assert.equal(letIn(text, {}, publicBlob('ecdsa256')), 1);
    assert.equal(letIn(text, {}, publicBlob('rsa3072')), 0);
  });

  it('lets no key with from in while the address is not known', () => {
    const { keys } = parseAuthorizedKeys(`from="*" ${KEY}`);
    assert.equal(findAuthorizedKey(keys, shown(blob), { now }), undefined);
    assert.equal(findAuthorizedKey(keys, shown(blob), { now, host: 'host.example' }), undefined);
    assert.equal(findAuthorizedKey(keys, shown(blob), { now, address: '192.0.2.1' })?.line, 1);
    assert.equal(findAuthorizedKey(parseAuthorizedKeys(KEY).keys, shown(blob), { now })?.line, 1);
  });

  it('lets a key in until the second of its expiry-time is over', () => {
    const text = `expiry-time="20260101Z" ${KEY}`;
    for (const [ms, expected] of [
      [-1, 1],
      [0, 1],
      [999, 1],
      [1000, 0],
      [Number.NaN, 0],
      [Number.POSITIVE_INFINITY, 0],
    ] as const) {
      assert.equal(letIn(text, { now: now + ms }), expected, String(ms));
    }
  });

  it('takes expiry times without Z for those of the zone', () => {
    for (const [utcOffset, expected] of [
      [0, 1],
      [-60, 1],
      [60, undefined],
    ] as const) {
      const { keys } = parseAuthorizedKeys(`expiry-time="20260101" ${KEY}`, { utcOffset });
      assert.equal(findAuthorizedKey(keys, shown(blob), { now })?.line, expected);
    }
  });
});

describe('refusalOf', () => {
  it('says why a line lets nobody in', () => {
    const why = (options: string, context: LoginContext): string | undefined => {
      const [key] = parseAuthorizedKeys(`${options} ${KEY}`).keys;
      return refusalOf(key as AuthorizedKey, context);
    };
    assert.equal(why('expiry-time="20250101Z",from="*"', { now, address: '192.0.2.1' }), 'expiry-time is past');
    assert.equal(why('from="10.*"', { now, address: '192.0.2.1' }), "'from' does not allow 192.0.2.1");
    assert.equal(why('from="10.*"', { now, address: '\u001b[2J' }), "'from' does not allow \\x1b[2J");
    assert.match(why('from="10.*"', { now }) ?? '', /the address is not known/);
    assert.equal(why('from="192.*"', { now, address: '192.0.2.1' }), undefined);
    assert.equal(why('restrict', { now }), undefined);
  });
});

describe('parseAuthorizedKeys', () => {
  it('reads the key of every supported type, its comment and its line', () => {
    const text = publicRows.map((row) => `# ${row.name}\r\n\r\n\t${row.line.trim()} \r\n`).join('');
    const { keys, refused } = parseAuthorizedKeys(utf8(text));
    assert.deepEqual(refused, []);
    assert.deepEqual(
      keys.map((key) => ({ line: key.line, blob: key.publicKey.blob, type: key.publicKey.type, comment: key.comment })),
      publicRows.map((row, i) => ({
        line: 3 * i + 3,
        blob: publicBlob(row.name),
        type: row.type,
        comment: `${row.name} of the vectors`,
      })),
    );
  });

  it('says of every line that it refuses why', () => {
    const bytes = base64(blob);
    const cases: [line: string, reason: RegExp][] = [
      ['ssh-ed25519', /^No key 'type base64' in 'ssh-ed25519'$/],
      ['restrict', /^No key 'type base64' in '/],
      [`restrict ${bytes}`, /^No key 'type base64' in '/],
      [`nope ${KEY}`, /^Unknown option 'nope'$/],
      [`command="true ${KEY}`, /between double quotes$/],
      [`command="true"; ${KEY}`, /^Neither a comma nor a blank/],
      ['ssh-ed25519 ????', /^The ssh-ed25519 public key line is damaged: its base64 is not base64$/],
      ['restrict ssh-ed25519 ????', /^The ssh-ed25519 public key line is damaged/],
      [`ssh-ed25519 ${bytes.slice(0, -1)}`, /^The base64 of the ssh-ed25519 key is cut$/],
      [`ssh-ed25519 ${bytes.slice(0, -4)}`, /^Truncated/],
      [`ssh-rsa ${bytes} comment`, /its base64 holds a key of type ssh-ed25519$/],
      [`rsa ${bytes}`, /./],
      ['ssh-quantum AAAAC3NzaC1xdWFudHVtAAAABAAAAAA=', /^Key type 'ssh-quantum' is not one that puressh supports$/],
      ['restrict ssh-quantum AAAAC3NzaC1xdWFudHVtAAAABAAAAAA=', /^Key type 'ssh-quantum'/],
      ['1024 35 1234567890', /./],
      [`principals="ada" ${KEY}`, /needs 'cert-authority'/],
      [`${KEY} a\0b`, /null byte/],
      [`${KEY}\r${KEY}`, /carriage return within the line/],
      [`command="\ufffd" ${KEY}`, /^The options are not UTF-8$/],
      [`a,${KEY}`, /^No key 'type base64' in '/],
      ['-----BEGIN OPENSSH PRIVATE KEY-----', /^A private key, which has no place here/],
      [bytes, /^A private key, which has no place here: [^']*$/],
    ];
    const { keys, refused } = parseAuthorizedKeys(cases.map(([text]) => text).join('\n'));
    assert.deepEqual(keys, []);
    assert.deepEqual(
      refused.map((each) => each.line),
      cases.map((_, i) => i + 1),
    );
    for (const [i, [text, reason]] of cases.entries()) assert.match(refused[i]?.reason ?? '', reason, text);
  });

  it('keeps every line out of the others', () => {
    const bad = [
      'command="true',
      'nope x y',
      '\0',
      '"',
      '\\',
      'from="',
      `restrict ${KEY.slice(0, 30)}`,
      'x'.repeat(MAX_LINE + 1),
    ];
    for (const text of bad) {
      const { keys, refused } = parseAuthorizedKeys(`${text}\n${KEY}\n${text}\nrestrict ${KEY}\n${text}`);
      assert.deepEqual(
        keys.map((key) => [key.line, key.options.pty]),
        [
          [2, true],
          [4, false],
        ],
      );
      assert.deepEqual(
        refused.map((each) => each.line),
        [1, 3, 5],
      );
    }
  });

  it('takes bytes that are not UTF-8 in a comment, and in options refuses the key', () => {
    const invalid = new Uint8Array([0xff, 0xc3]);
    assert.equal(letIn(concat(utf8(`${KEY} `), invalid, utf8(`\nrestrict ${KEY}`))), 1);
    assert.equal(letIn(concat(utf8('command="'), invalid, utf8(`" ${KEY}\nrestrict ${KEY}`))), 2);
    assert.equal(
      parseAuthorizedKeys(utf8(`command="grün \u{1f600}" ${KEY}`)).keys[0]?.options.command,
      'grün \u{1f600}',
    );
  });

  it('reads lines up to the limit, and files up to theirs', { timeout: 60_000 }, () => {
    const pad = (length: number) => `${KEY} ${'c'.repeat(length - KEY.length - 1)}`;
    assert.equal(letIn(pad(MAX_LINE)), 1);
    assert.equal(letIn(pad(MAX_LINE + 1)), 0);
    assert.match(parseAuthorizedKeys(pad(MAX_LINE + 1)).refused[0]?.reason ?? '', /65537 characters; 65536 are read$/);
    assert.equal(letIn(`#${'c'.repeat(2 * MAX_LINE)}\n${KEY}`), 2);

    const full = '\n# comment\nx'.repeat(MAX_ENTRIES - 1);
    const { keys, refused } = parseAuthorizedKeys(`${full}\n${KEY}\n\n# comment\n${KEY}\n${KEY}`);
    assert.deepEqual(
      keys.map((key) => key.line),
      [2 * MAX_ENTRIES],
    );
    assert.equal(refused.length, MAX_ENTRIES);
    assert.equal(refused.at(-1)?.line, 2 * MAX_ENTRIES + 3);
    assert.match(refused.at(-1)?.reason ?? '', /more than 65536 keys/);
  });

  it('takes linear time over hostile lines', { timeout: 60_000 }, () => {
    const n = MAX_LINE - 200;
    const hostile = [
      `from="${'*a'.repeat(500)}b" ${KEY}`,
      `from="${'*a,'.repeat(n / 3)}b" ${KEY}`,
      `${','.repeat(n)} ${KEY}`,
      `command="${'\\"'.repeat(n / 2)}" ${KEY}`,
      `command="${'\\'.repeat(n)}`,
      'a '.repeat(n / 2),
      `a${' '.repeat(n)}b`,
      `${'environment="A=",'.repeat(n / 17)}pty ${KEY}`,
      `${'permitopen="a:1",'.repeat(n / 17)}pty ${KEY}`,
    ];
    const text = hostile.join('\n').repeat(10);
    assert.equal(parseAuthorizedKeys(text).refused.length > 0, true);
    assert.equal(letIn(text, { address: '2001:db8::aaaa' }) > 0, true);
    assert.equal(parseAuthorizedKeys('\n'.repeat(1_000_000)).refused.length, 0);
  });
});

describe('parseAuthorizedKeys on anything', () => {
  const restricted = `restrict,pty,command="a, \\"b\\" pty",from="192.0.2.0/24,!192.0.2.9",expiry-time="20270101Z" ${KEY} comment`;

  it('gives a line whose beginning is lost no right that the rest does not spell out', () => {
    assert.equal(letIn(restricted), 1);
    const options = restricted.indexOf(KEY);
    let accepted = 0;
    for (let at = 1; at < restricted.length; at++) {
      const { keys } = parseAuthorizedKeys(restricted.slice(at));
      if (keys.length === 0) continue;
      accepted++;
      assert.ok(at === options || /[, ]/.test(restricted.slice(at - 1, at + 1)), restricted.slice(at));
      if (at < restricted.indexOf('command')) assert.equal(keys[0]?.options.command, 'a, "b" pty');
      if (at < restricted.indexOf('from')) assert.equal(keys[0]?.options.from?.length, 2);
    }
    assert.ok(accepted >= 5, `${accepted} accepted`);
  });

  it('lets nobody in by a line that is cut in its key', () => {
    const end = restricted.indexOf(KEY) + KEY.length;
    for (let at = 0; at < restricted.length; at++)
      assert.equal(letIn(restricted.slice(0, at)), at < end ? 0 : 1, String(at));
  });

  it('says one thing about every line, and never throws', { timeout: 60_000 }, () => {
    const random = seededRandom('authorized_keys');
    const file = utf8(
      [
        restricted,
        `environment="A=1",permitopen="[::1]:80",permitlisten="localhost:*" ${line('ecdsa256')}`,
        `no-pty,expiry-time="20250101" ${line('rsa1024')}`,
        '# comment',
        KEY,
      ].join('\r\n'),
    );
    const check = (bytes: Uint8Array): void => {
      const { keys, refused } = parseAuthorizedKeys(bytes);
      const lines = [...keys, ...refused].map((each) => each.line);
      assert.equal(new Set(lines).size, lines.length);
      for (const key of keys) refusalOf(key, { now, address: '192.0.2.1', host: 'host.example' });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not be there
      for (const { reason } of refused) assert.doesNotMatch(reason, /[\u0000-\u001f\u007f-\u009f]|^$/);
    };
    const marks = utf8(' \t\r\n",=\\!*?/:[]%#\0');
    for (let i = 0; i < 3000; i++) {
      const bytes = file.slice();
      for (const at of random(1 + (i % 4))) {
        const [high = 0, value = 0, kind = 0] = random(3);
        bytes[(at | (high << 8)) % bytes.length] = kind % 2 ? value : (marks[value % marks.length] as number);
      }
      const [from = 0, to = 255] = random(2);
      check(i % 3 ? bytes : bytes.subarray(from, bytes.length - to));
      check(random(i % 300));
    }
  });
});
