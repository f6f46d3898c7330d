import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAuthorizedKeys } from '../../src/keys/authorized_keys.ts';
import { parseForwardPermit, permitsListen, permitsOpen } from '../../src/keys/forward_permit.ts';
import type { KeyOptions } from '../../src/keys/key_options.ts';
import { listenRows, openRows } from './authorized_keys_vectors.ts';
import { publicRows } from './tools.ts';

function optionsOf(options: string): KeyOptions | undefined {
  return parseAuthorizedKeys(`${options} ${publicRows[0]?.line}`).keys[0]?.options;
}

for (const [name, rows, permits] of [
  ['permitsOpen', openRows, permitsOpen],
  ['permitsListen', listenRows, permitsListen],
] as const) {
  describe(name, () => {
    for (const row of rows) {
      it(`allows what sshd allows with ${row.options}`, () => {
        const options = optionsOf(row.options);
        // sshd takes this for host and port, and then allows nothing.
        if (options === undefined) return assert.equal(row.options, 'permitopen="127.0.0.0/9"');
        for (const [host, port] of row.allowed) assert.equal(permits(options, host, port), true, `${host} ${port}`);
        for (const [host, port] of row.refused) assert.equal(permits(options, host, port), false, `${host} ${port}`);
      });
    }

    it('is tried with many options', () => assert.ok(rows.length >= 19));
  });
}

describe('parseForwardPermit', () => {
  it('takes host and port apart', () => {
    const permits: [value: string, host: string, port: number | '*'][] = [
      ['host.example:80', 'host.example', 80],
      ['host.example:*', 'host.example', '*'],
      ['[2001:db8::1]:65535', '2001:db8::1', 65535],
      ['[host]:1', 'host', 1],
      ['*:080', '*', 80],
      [':80', '', 80],
      ['[]:80', '', 80],
    ];
    for (const [value, host, port] of permits) {
      for (const bare of [false, true]) assert.deepEqual(parseForwardPermit(value, bare), { host, port }, value);
    }
  });

  it('takes a port alone for any host, where that may be', () => {
    assert.deepEqual(parseForwardPermit('8080', true), { host: '*', port: 8080 });
    assert.deepEqual(parseForwardPermit('*', true), { host: '*', port: '*' });
    for (const value of ['8080', '*', '', 'host'])
      assert.equal(typeof parseForwardPermit(value, false), 'string', value);
  });

  it('takes nothing else', () => {
    const ports = [
      'host:',
      'host:0',
      'host:65536',
      'host:-1',
      'host:+1',
      'host:1e1',
      'host: 80',
      'host:80 ',
      'host:ssh',
      'host:**',
    ];
    const hosts = [
      '',
      ':',
      '::1:80',
      '[::1]',
      '[::1]80',
      '[::1:80',
      '[::1]]:80',
      'host:1,host:2',
      'host',
      '[',
      ']',
      '[]',
    ];
    for (const value of [...ports, ...hosts]) {
      for (const bare of [false, true]) assert.equal(typeof parseForwardPermit(value, bare), 'string', value);
    }
  });
});
