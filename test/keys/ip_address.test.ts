import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { describe, it } from 'node:test';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { formatIpAddress, inNetwork, parseIpAddress, parseIpNetwork } from '../../src/keys/ip_address.ts';
import { seededRandom } from '../support/random.ts';

const parsed = (text: string): string | undefined => {
  const bytes = parseIpAddress(text);
  return bytes === undefined ? undefined : hex(bytes);
};

describe('parseIpAddress', () => {
  // RFC 4291 §2.2 and §2.5.5, with the bytes that the groups spell out.
  const addresses: [text: string, bytes: string][] = [
    ['ABCD:EF01:2345:6789:ABCD:EF01:2345:6789', 'abcdef0123456789abcdef0123456789'],
    ['2001:DB8:0:0:8:800:200C:417A', '20010db80000000000080800200c417a'],
    ['2001:DB8::8:800:200C:417A', '20010db80000000000080800200c417a'],
    ['FF01::101', 'ff010000000000000000000000000101'],
    ['::1', '00000000000000000000000000000001'],
    ['::', '00000000000000000000000000000000'],
    ['0:0:0:0:0:0:13.1.68.3', '0000000000000000000000000d014403'],
    ['::13.1.68.3', '0000000000000000000000000d014403'],
    ['1::', '00010000000000000000000000000000'],
    ['1:2:3:4:5:6:7::', '00010002000300040005000600070000'],
    ['::2:3:4:5:6:7:8', '00000002000300040005000600070008'],
    ['2001:db8:1:2:3:4:192.0.2.33', '20010db80001000200030004c0000221'],
    ['192.0.2.33', 'c0000221'],
    ['0.0.0.0', '00000000'],
    ['255.255.255.255', 'ffffffff'],
  ];
  for (const [text, bytes] of addresses) it(`reads ${text}`, () => assert.equal(parsed(text), bytes));

  it('takes a mapped IPv4 address for the IPv4 address, in every spelling', () => {
    for (const text of ['::FFFF:129.144.52.38', '0:0:0:0:0:ffff:8190:3426', '::ffff:8190:3426']) {
      assert.equal(parsed(text), '81903426', text);
    }
    assert.equal(parsed('::fffe:129.144.52.38'), '00000000000000000000fffe81903426');
    assert.equal(parsed('1::ffff:129.144.52.38'), '00010000000000000000ffff81903426');
  });

  it('leaves out the zone of an IPv6 address', () => {
    assert.equal(parsed('fe80::1%eth0'), parsed('fe80::1'));
    assert.equal(parsed('127.0.0.1%lo'), undefined);
  });

  it('takes nothing else', () => {
    const others = [
      ...[
        '',
        ' ',
        '1',
        '1.2',
        '1.2.3',
        '1.2.3.4.5',
        '1.2.3.256',
        '1.2.3.04',
        '1.2.3.+4',
        '1.2.3.',
        '.1.2.3',
        ' 1.2.3.4',
      ],
      ...[
        '0x7f.0.0.1',
        '2130706433',
        '1.2.3.4 ',
        '1.2.3.٤',
        'localhost',
        '[::1]',
        '::1]',
        ':',
        ':::',
        '1:',
        ':1',
        '::1::',
      ],
      ...['1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4::5:6:7:8', '::1:2:3:4:5:6:7:8', '12345::', 'g::', '1.2.3.4::'],
      ...['::1.2.3', '::1.2.3.4:1', '1:2:3:4:5:6:7:1.2.3.4', '::-1', `${'0'.repeat(50)}::`, '%eth0', '::1/128'],
    ];
    for (const text of others) assert.equal(parsed(text), undefined, JSON.stringify(text));
  });

  it('agrees with node:net about what is an address', () => {
    const random = seededRandom('addresses');
    const alphabet = '::::....0012ff9';
    let found = 0;
    for (let i = 0; i < 20_000; i++) {
      const text = [...random(4 + (i % 8))].map((byte) => alphabet[byte % alphabet.length]).join('');
      assert.equal(parsed(text) !== undefined, isIP(text) !== 0, text);
      if (parsed(text) !== undefined) found++;
    }
    assert.ok(found > 100, `${found} addresses`);
  });
});

describe('formatIpAddress', () => {
  // RFC 5952 §4.
  const texts: [bytes: string, text: string][] = [
    ['20010db8000000000000000000000001', '2001:db8::1'],
    ['20010db8000000010001000100010001', '2001:db8:0:1:1:1:1:1'],
    ['20010db8000000000001000000000001', '2001:db8::1:0:0:1'],
    ['20010000000000010000000000000001', '2001:0:0:1::1'],
    ['20010db800000000000000000000aaaa', '2001:db8::aaaa'],
    ['00000000000000000000000000000000', '::'],
    ['00010000000000000000000000000000', '1::'],
    ['c0000221', '192.0.2.33'],
  ];
  for (const [bytes, text] of texts) it(`writes ${text}`, () => assert.equal(formatIpAddress(fromHex(bytes)), text));

  it('writes what URL writes, and what it reads again', () => {
    const random = seededRandom('groups');
    for (let i = 0; i < 3000; i++) {
      const address = new Uint8Array(16);
      for (const group of random(1 + (i % 8))) address[2 * (group % 8) + (i % 2)] = 1 + (group >> 3);
      address[0] = 0x20; // no mapped address
      const text = formatIpAddress(address);
      assert.equal(`[${text}]`, new URL(`http://[${hex(address).replace(/....(?=.)/g, '$&:')}]/`).hostname);
      assert.deepEqual(parseIpAddress(text), address);
    }
  });
});

describe('parseIpNetwork', () => {
  it('wants zeros behind the prefix, and a prefix that fits', () => {
    for (const text of [
      '10.0.0.0/8',
      '10.0.0.1/32',
      '0.0.0.0/0',
      '128.0.0.0/1',
      '::/0',
      '2001:db8::/32',
      '::1/128',
      '::/00',
    ]) {
      assert.equal(typeof parseIpNetwork(text), 'object', text);
    }
    for (const text of ['10.0.0.1/8', '10.0.0.0/6', '0.0.0.1/31', '2001:db8::/28', '::1/127', '255.255.255.255/0']) {
      assert.match(String(parseIpNetwork(text)), /^it has bits set after the first \d+$/, text);
    }
    for (const text of [
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '10.0.0.0/ 8',
      '::/129',
      '::/1e1',
      '::/0008',
    ]) {
      assert.match(String(parseIpNetwork(text)), /^it needs 0 to (?:32|128) bits behind the slash$/, text);
    }
    for (const text of ['', '/8', '10/8', '10.0.0/8', 'host', 'fe80::1%eth0']) {
      assert.equal(parseIpNetwork(text), 'it is no IP address', text);
    }
  });

  it('takes a network of mapped addresses for one of IPv4', () => {
    assert.deepEqual(parseIpNetwork('::ffff:10.0.0.0/104'), parseIpNetwork('10.0.0.0/8'));
    assert.deepEqual(parseIpNetwork('::ffff:10.0.0.1'), parseIpNetwork('10.0.0.1'));
    assert.deepEqual(parseIpNetwork('::ffff:0:0/96'), parseIpNetwork('0.0.0.0/0'));
  });
});

describe('inNetwork', () => {
  it('compares exactly the bits of the prefix', () => {
    for (let bits = 0; bits <= 32; bits++) {
      const network = parseIpNetwork(`0.0.0.0/${bits}`);
      assert.ok(typeof network === 'object');
      for (let bit = 0; bit < 32; bit++) {
        const address = new Uint8Array(4);
        address[bit >> 3] = 0x80 >> (bit & 7);
        assert.equal(inNetwork(address, network), bit >= bits, `${formatIpAddress(address)}/${bits}`);
      }
    }
  });

  it('keeps IPv4 and IPv6 apart', () => {
    const all6 = parseIpNetwork('::/0');
    const all4 = parseIpNetwork('0.0.0.0/0');
    assert.ok(typeof all6 === 'object' && typeof all4 === 'object');
    assert.equal(inNetwork(fromHex('00000000'), all6), false);
    assert.equal(inNetwork(new Uint8Array(16), all4), false);
  });
});
