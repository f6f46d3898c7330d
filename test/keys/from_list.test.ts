import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matchFromList, parseFromList } from '../../src/keys/from_list.ts';
import { addressRows } from './authorized_keys_vectors.ts';

function matches(list: string, address: string | undefined, host?: string): boolean {
  const patterns = parseFromList(list);
  assert.ok(typeof patterns === 'object', `${list}: ${patterns}`);
  return matchFromList(patterns, address, host);
}

describe('matchFromList and sshd', () => {
  for (const row of addressRows) {
    if (row.result === 'invalid') {
      it(`both refuse ${row.patterns}`, () => assert.equal(typeof parseFromList(row.patterns), 'string'));
      continue;
    }
    it(`match the same addresses with ${row.patterns}, if it is no list that is refused`, () => {
      const patterns = parseFromList(row.patterns);
      if (typeof patterns === 'string') {
        // sshd takes these for names, which no address matches, and compares zones.
        assert.match(row.patterns, /^[\da-f:.]+$|%|\/\d*$|^g::$/);
        assert.deepEqual(row.matching, row.patterns === 'fe80::1%2' ? ['fe80::1%2'] : []);
        return;
      }
      for (const address of row.matching) assert.equal(matchFromList(patterns, address), true, address);
      for (const address of row.other) {
        // sshd keeps such networks apart from IPv4; here they are the same.
        const mapped: boolean = row.patterns.startsWith('::ffff:10.') && address.startsWith('10.');
        assert.equal(matchFromList(patterns, address), mapped, address);
      }
    });
  }

  it('try many lists', () => assert.ok(addressRows.length > 60));
});

describe('matchFromList', () => {
  it('matches nothing without an address that is one', () => {
    for (const address of [undefined, '', 'UNKNOWN', '/run/socket', 'host.example', '10.0.0']) {
      for (const list of ['*', '0.0.0.0/0,::/0', 'host.example', '*,!10.0.0.0/8']) {
        assert.equal(matches(list, address, 'host.example'), false, `${list} ${address}`);
      }
    }
  });

  it('reads the address in every spelling, but compares it in one', () => {
    for (const address of [
      '2001:DB8::A',
      '2001:db8:0:0::a',
      '2001:0db8:0000:0000:0000:0000:0000:000a',
      '2001:db8::a%eth0',
    ]) {
      for (const list of ['2001:db8::a', '2001:db8::?', '2001:DB8::*', '2001:db8::/64'])
        assert.equal(matches(list, address), true);
      assert.equal(matches('*,!2001:db8::?', address), false);
    }
    for (const list of ['10.0.0.0/8', '10.*', '::ffff:10.0.0.0/104'])
      assert.equal(matches(list, '::ffff:10.1.2.3'), true, list);
    assert.equal(matches('::/0', '::ffff:10.1.2.3'), false);
  });

  it('matches names where there is one, in upper and lower case', () => {
    assert.equal(matches('*.Example,other', '192.0.2.1', 'Host.EXAMPLE'), true);
    assert.equal(matches('*.example', '192.0.2.1'), false);
    assert.equal(matches('*.example,!bad.example', '192.0.2.1', 'bad.example'), false);
    assert.equal(matches('192.0.2.1,!bad.example', '192.0.2.1', 'BAD.example'), false);
    assert.equal(matches('*.example,!192.0.2.1', '192.0.2.1', 'host.example'), false);
    assert.equal(matches('192.0.2.1,!bad.example', '192.0.2.1'), true);
  });

  it('lets no name pass for an address, but keeps it out as one', () => {
    for (const list of ['10.0.0.*', '10.*.*', '10.0.0.1?*', '2001:db8:*', '1?.?.?.*']) {
      for (const host of ['10.0.0.1.example', '10.0.0.1', '2001:db8:x']) {
        assert.equal(matches(list, '192.0.2.1', host), false, `${list} ${host}`);
      }
    }
    assert.equal(matches('*,!10.0.0.*', '192.0.2.1', '10.0.0.1.example'), false);
    assert.equal(matches('10*.example', '192.0.2.1', '10.0.0.1.example'), true);
  });
});

describe('parseFromList', () => {
  it('says what is wrong with an item', () => {
    const wrong: [list: string, reason: RegExp][] = [
      ['', /is empty/],
      ['!', /is empty/],
      ['10.0.0.1,', /is empty/],
      ['10.0.0.1,,::1', /is empty/],
      ['10.0.0.1, ::1', /^' ::1' has a blank/],
      ['a\tb', /has a blank/],
      ['10.0.0.1/8', /^'10.0.0.1\/8' is no network: it has bits set after the first 8$/],
      ['!10.0.0.0/33', /^'10.0.0.0\/33' is no network: it needs 0 to 32 bits/],
      ['host/8', /is no network/],
      ['10.*/8', /is no network/],
      ['127.1', /is no network/],
      ['010.0.0.1', /is no network/],
      ['!0x7f000001', /is no network/],
      ['host.0x', /is no network/],
      ['1.2.3.4.', /is no network/],
      ['[::1]', /is no network/],
      ['fe80::1%eth0', /has a zone/],
      ['*%eth0', /has a zone/],
      ['*'.repeat(1024), /is longer than 1023 characters/],
    ];
    for (const [list, reason] of wrong) assert.match(String(parseFromList(list)), reason, list);
  });

  it('takes names and patterns as they are', () => {
    for (const list of [
      'a',
      'host1',
      '1.example',
      '0x7f.example',
      'a_b',
      '*',
      '?',
      '*:*',
      'grün',
      '!!',
      '*'.repeat(1023),
    ]) {
      assert.equal(typeof parseFromList(list), 'object', list);
    }
  });
});
