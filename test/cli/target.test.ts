/** What `user@host` and `user@host:path` mean. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseHost, parseRemote, remoteName, remotePath } from '../../src/cli/target.ts';
import type { SshError } from '../../src/errors.ts';

function refused(run: () => unknown, message: RegExp): void {
  assert.throws(run, (error: SshError) => {
    assert.equal(error.name, 'SshError');
    assert.equal(error.code, 'bad-argument');
    assert.match(error.message, message);
    return true;
  });
}

describe('parseRemote', () => {
  const cases: [string, object][] = [
    ['host:/etc/motd', { host: 'host', path: '/etc/motd' }],
    ['ada@host:/etc/motd', { username: 'ada', host: 'host', path: '/etc/motd' }],
    ['ada@host:', { username: 'ada', host: 'host', path: '' }],
    ['ada@example.org@host:file', { username: 'ada@example.org', host: 'host', path: 'file' }],
    ['host:a:b@c', { host: 'host', path: 'a:b@c' }],
    ['host:[x]:y', { host: 'host', path: '[x]:y' }],
    ['192.0.2.7:~', { host: '192.0.2.7', path: '~' }],
    ['[::1]:/x', { host: '::1', path: '/x' }],
    ['ada@[2001:db8::1]:a b', { username: 'ada', host: '2001:db8::1', path: 'a b' }],
    ['ada@[fe80::1%eth0]:x', { username: 'ada', host: 'fe80::1%eth0', path: 'x' }],
    ['host:ünï', { host: 'host', path: 'ünï' }],
  ];
  for (const [text, parts] of cases) {
    it(`reads ${text}`, () => assert.deepEqual(parseRemote(text), parts));
  }

  const wrong: [string, RegExp][] = [
    ['file.txt', /names no server: write user@host:path/],
    ['', /names no server/],
    [':path', /begins with a colon/],
    ['::1:path', /IPv6 address in brackets/],
    ['@host:path', /no user name before the @/],
    ['ada@:path', /is empty/],
    ['[::1]', /names no server/],
    ['[::1]x:path', /between the address in brackets and the colon/],
    ['[host]:path', /hold no IPv6 address/],
    ['a b:path', /is no host name/],
    ['a/b:path', /is no host name/],
    ['ho\u0007st:path', /ho\\x07st is no host name/],
  ];
  for (const [text, message] of wrong) {
    it(`refuses ${JSON.stringify(text)}`, () => refused(() => parseRemote(text), message));
  }
});

describe('parseHost', () => {
  const cases: [string, object][] = [
    ['host', { host: 'host' }],
    ['ada@host', { username: 'ada', host: 'host' }],
    ['ada@::1', { username: 'ada', host: '::1' }],
    ['ada@[::1]', { username: 'ada', host: '::1' }],
    ['DOMAIN\\ada@host', { username: 'DOMAIN\\ada', host: 'host' }],
  ];
  for (const [text, parts] of cases) {
    it(`reads ${text}`, () => assert.deepEqual(parseHost(text), parts));
  }
  it('says where the port goes', () => refused(() => parseHost('ada@host:2222'), /the port is given with -P/));
  it('refuses an empty name', () => refused(() => parseHost(''), /server name is empty/));
});

describe('remoteName', () => {
  const cases: [string, string][] = [
    ['/var/log/big.log', 'big.log'],
    ['big.log', 'big.log'],
    ['/srv/data/', 'data'],
    ['/srv/.hidden', '.hidden'],
    ['a b', 'a b'],
  ];
  for (const [path, name] of cases) it(`takes ${name} from ${path}`, () => assert.equal(remoteName(path), name));
  for (const path of ['', '/', '.', '..', '/srv/..', '/srv/../', 'a\\b', 'C:x', 'a\0b']) {
    it(`takes no name from ${JSON.stringify(path)}`, () => refused(() => remoteName(path), /write one after it/));
  }
});

describe('remotePath', () => {
  const cases: [string, string][] = [
    ['/etc/motd', '/etc/motd'],
    ['', '.'],
    ['~', '.'],
    ['~/', '.'],
    ['~/a/b', 'a/b'],
    ['~//a', 'a'],
    ['./~', './~'],
    ['~other/x', '~other/x'],
    ['a/~/b', 'a/~/b'],
  ];
  for (const [path, asked] of cases) {
    it(`asks for ${asked} where ${path} was written`, () => assert.equal(remotePath({ host: 'h', path }), asked));
  }
});
