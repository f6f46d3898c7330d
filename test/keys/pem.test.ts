import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePem } from '../../src/keys/pem.ts';

const plain = '-----BEGIN PRIVATE KEY-----\nAQID\nBAUG\n-----END PRIVATE KEY-----\n';
const block = { label: 'PRIVATE KEY', bytes: Uint8Array.of(1, 2, 3, 4, 5, 6) };

describe('parsePem', () => {
  const variants: Record<string, string> = {
    'as it should be': plain,
    'without the last line end': plain.trimEnd(),
    CRLF: plain.replaceAll('\n', '\r\n'),
    'CR alone': plain.replaceAll('\n', '\r'),
    'a byte order mark': `\ufeff${plain}`,
    indentation: plain.replaceAll(/^/gm, '    '),
    'spaces at the ends of lines': plain.replaceAll('\n', '  \n'),
    'literal \\n': plain.replaceAll('\n', '\\n'),
    'literal \\r\\n': plain.replaceAll('\n', '\\r\\n'),
    'spaces in place of line ends': plain.replaceAll('\n', ' '),
    'empty lines': plain.replaceAll('\n', '\n\n'),
    'text before and after': `Bag Attributes: <none>\n${plain}the end\n`,
    quotes: `"${plain}"`,
  };
  for (const [name, text] of Object.entries(variants)) {
    it(`reads a block with ${name}`, () => assert.deepEqual(parsePem(text), [block]));
  }

  it('reads several blocks', () => {
    const parameters = '-----BEGIN EC PARAMETERS-----\nBQA=\n-----END EC PARAMETERS-----\n';
    const blocks = parsePem(parameters + plain);
    assert.deepEqual(blocks, [{ label: 'EC PARAMETERS', bytes: Uint8Array.of(5, 0) }, block]);
  });

  it('sees RFC 1421 headers, and what they say about encryption', () => {
    const dek = { cipher: 'AES-128-CBC', vector: '00aA' };
    const cases: [string, object | undefined][] = [
      ['Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00aA\n\n', dek],
      ['Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC , 00aA\nComment: mine\n\n', dek],
      ['  Proc-Type:4,ENCRYPTED\r\n  DEK-Info:AES-128-CBC,00aA\r\n', dek],
      ['Proc-Type: 4,ENCRYPTED DEK-Info: AES-128-CBC,00aA ', dek],
      ['DEK-Info: DES-CBC\n\n', { cipher: 'DES-CBC' }],
      ['Proc-Type: 4,ENCRYPTED\n\n', {}],
      ['Comment: mine\n\n', undefined],
    ];
    for (const [headers, encryption] of cases) {
      for (const end of ['\n', ' ']) {
        const text = plain.replace('AQID\n', `${headers}AQID${end}`);
        assert.deepEqual(parsePem(text), [encryption === undefined ? block : { ...block, encryption }], headers);
      }
    }
  });

  it('reports what is not base64, and a block without end', () => {
    assert.deepEqual(parsePem(plain.replace('AQID', 'AQ!D')), [{ ...block, bytes: undefined }]);
    assert.deepEqual(parsePem(plain.replace('-----END PRIVATE', '-----END OTHER')), [
      { label: 'PRIVATE KEY', unclosed: true },
    ]);
    assert.deepEqual(parsePem('-----BEGIN PRIVATE KEY'), []);
    assert.deepEqual(parsePem('no armour here'), []);
  });

  it('takes linear time over many beginnings', { timeout: 10_000 }, () => {
    assert.equal(parsePem('-----BEGIN '.repeat(90_000)).length, 0);
    assert.equal(parsePem('-----BEGIN A-----'.repeat(60_000)).length, 1);
  });
});
