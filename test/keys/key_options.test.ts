import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KeyOptions, readKeyOptions, scanKeyOptions } from '../../src/keys/key_options.ts';

/** What no switch for rights changes. */
const OTHER = { certAuthority: false, noTouchRequired: false, verifyRequired: false };
const NOTHING = {
  ...OTHER,
  ...{ pty: false, portForwarding: false, agentForwarding: false, x11Forwarding: false, userRc: false },
};
const EVERYTHING = {
  ...OTHER,
  ...{ pty: true, portForwarding: true, agentForwarding: true, x11Forwarding: true, userRc: true },
};

/** What the options before a key mean, or why it is refused. */
function read(text: string): KeyOptions | string {
  const scanned = scanKeyOptions(`${text} key`);
  if (typeof scanned === 'string') return scanned;
  assert.equal(scanned.rest, 'key');
  return readKeyOptions(scanned.options, 0);
}

function options(text: string): KeyOptions {
  const found = read(text);
  assert.ok(typeof found === 'object', `${text}: ${found}`);
  return found;
}

describe('scanKeyOptions', () => {
  it('takes options, values and what follows apart', () => {
    const scanned = scanKeyOptions('A,b-c="d \\"e\\", f\\\\n\\" g=",,H="" \t rest of it');
    assert.deepEqual(scanned, {
      options: [
        { name: 'a', value: undefined },
        { name: 'b-c', value: 'd "e", f\\\\n" g=' },
        { name: 'h', value: '' },
      ],
      rest: 'rest of it',
    });
    assert.deepEqual(scanKeyOptions(''), { options: [], rest: '' });
    assert.deepEqual(scanKeyOptions('a'), { options: [{ name: 'a', value: undefined }], rest: '' });
  });

  it('finds no options where quotes and commas do not add up', () => {
    for (const text of ['a="b', 'a="b\\"', 'a=b', 'a=', "a='b'", 'a= "b"']) {
      assert.match(String(scanKeyOptions(`${text} key`)), /^The value of the option 'a' does not stand between/, text);
    }
    for (const text of ['a="b"c', 'a="b""c"', 'a"b"', '"a"', 'a="b"=']) {
      assert.match(String(scanKeyOptions(`${text} key`)), /^Neither a comma nor a blank/, text);
    }
  });
});

describe('readKeyOptions', () => {
  it('allows everything without options, nothing after restrict, and what later options give back', () => {
    assert.deepEqual(readKeyOptions([], 0), { environment: new Map(), ...EVERYTHING });
    assert.deepEqual(options('restrict'), { environment: new Map(), ...NOTHING });
    const names = {
      pty: 'pty',
      'port-forwarding': 'portForwarding',
      'agent-forwarding': 'agentForwarding',
      'X11-forwarding': 'x11Forwarding',
      'user-rc': 'userRc',
    };
    for (const [name, member] of Object.entries(names)) {
      assert.deepEqual(options(`restrict,${name}`), { environment: new Map(), ...NOTHING, [member]: true });
      assert.deepEqual(options(`No-${name}`), { environment: new Map(), ...EVERYTHING, [member]: false });
      assert.deepEqual(options(`${name},RESTRICT`), { environment: new Map(), ...NOTHING });
      assert.deepEqual(options(`no-${name.toUpperCase()},${name}`), { environment: new Map(), ...EVERYTHING });
    }
  });

  it('knows authorities, their principals, and what security keys have to do', () => {
    const authority = options('cert-authority,principals="ada,,root",restrict');
    assert.equal(authority.certAuthority, true);
    assert.deepEqual(authority.principals, ['ada', 'root']);
    assert.deepEqual(options('Cert-Authority,principals=""').principals, []);
    assert.equal(options('cert-authority').principals, undefined);
    for (const [text, noTouchRequired, verifyRequired] of [
      ['no-touch-required', true, false],
      ['no-touch-required,touch-required', false, false],
      ['verify-required', false, true],
      ['verify-required,no-verify-required', false, false],
      ['no-touch-required,restrict', true, false],
    ] as const) {
      const found = options(text);
      assert.deepEqual([found.noTouchRequired, found.verifyRequired], [noTouchRequired, verifyRequired], text);
    }
  });

  it('keeps values as they are written', () => {
    const { command, environment } = options(
      'command="echo \\"a  b\\" \\$x",environment="A=b=c \\"d\\"",environment="_9="',
    );
    assert.equal(command, 'echo "a  b" \\$x');
    assert.deepEqual(
      [...environment],
      [
        ['A', 'b=c "d"'],
        ['_9', ''],
      ],
    );
    assert.equal(options('command=""').command, '');
  });

  it('takes the first of two variables and the earlier of two times', () => {
    assert.deepEqual(
      [...options('environment="A=1",environment="a=2",environment="A=3"').environment],
      [
        ['A', '1'],
        ['a', '2'],
      ],
    );
    for (const text of [
      'expiry-time="20260101Z",expiry-time="20250101Z"',
      'expiry-time="20250101Z",expiry-time="20260101Z"',
    ]) {
      assert.equal(options(text).expiryTime, Date.UTC(2025, 0, 1));
    }
    assert.match(String(read('expiry-time="20250101Z",expiry-time="never"')), /'never' is no expiry-time/);
  });

  it('collects what may be forwarded', () => {
    const found = options('permitopen="a:1",permitlisten="2",permitopen="[::1]:*",permitlisten="b:3"');
    assert.deepEqual(found.permitOpen, [
      { host: 'a', port: 1 },
      { host: '::1', port: '*' },
    ]);
    assert.deepEqual(found.permitListen, [
      { host: '*', port: 2 },
      { host: 'b', port: 3 },
    ]);
  });

  it('refuses what it does not know, not support or not understand, and says what', () => {
    const wrong: [text: string, reason: RegExp][] = [
      ['nope', /^Unknown option 'nope'$/],
      ['nope="x"', /^Unknown option 'nope'$/],
      ['no-nope', /^Unknown option 'no-nope'$/],
      ['no-restrict', /^Unknown option 'no-restrict'$/],
      ['no-command="x"', /^Unknown option 'no-command'$/],
      ['no-no-pty', /^Unknown option/],
      ['constructor', /^Unknown option/],
      ['__proto__="x"', /^Unknown option/],
      ['\u202ex', /^Unknown option '\\u202ex'$/],
      ['re\u017ftrict', /^Unknown option/],
      ['restrict="yes"', /^The option 'restrict' takes no value$/],
      ['No-PTY=""', /^The option 'no-pty' takes no value$/],
      ['command', /^The option 'command' needs a value in double quotes$/],
      ['cert-authority="yes"', /^The option 'cert-authority' takes no value$/],
      ['no-cert-authority', /^Unknown option 'no-cert-authority'$/],
      ['principals', /^The option 'principals' needs a value in double quotes$/],
      ['principals="root"', /^The option 'principals' needs 'cert-authority'$/],
      ['cert-authority,principals="a",principals="b"', /^More than one option 'principals'$/],
      ['touch-required="no"', /^The option 'touch-required' takes no value$/],
      ['tunnel="0"', /tunnel devices/],
      ['command="a",Command="a"', /^More than one option 'command'$/],
      ['from="*",from="*"', /^More than one option 'from'$/],
      ['from="10.0.0.1/8"', /^In the option 'from' '10.0.0.1\/8' is no network/],
      ['environment="A"', /^'A' is no environment/],
      ['environment="A-B=1"', /is no environment/],
      ['environment="\u00e4=1"', /is no environment/],
      ['environment="=1"', /is no environment/],
      ['expiry-time="20261301"', /^'20261301' is no expiry-time/],
      ['permitopen="80"', /^'80' is not host:port/],
      ['permitlisten="x"', /^'x' is not \[host:\]port/],
    ];
    for (const [text, reason] of wrong) {
      assert.match(String(read(text)), reason, text);
      assert.match(String(read(`restrict,${text},pty`)), reason, text);
    }
  });
});
