import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePem } from '../../src/keys/pem.ts';

const plain = '-----BEGIN PRIVATE KEY-----\nAQID\nBAUG\n-----END PRIVATE KEY-----\n';
const block = { label: 'PRIVATE KEY', encrypted: false, bytes: Uint8Array.of(1, 2, 3, 4, 5, 6) };

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
    assert.deepEqual(blocks, [{ label: 'EC PARAMETERS', encrypted: false, bytes: Uint8Array.of(5, 0) }, block]);
  });

  it('sees RFC 1421 headers, and that they say ENCRYPTED', () => {
    const headers = 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n';
    assert.deepEqual(parsePem(plain.replace('AQID', `${headers}AQID`)), [{ ...block, encrypted: true }]);
    assert.deepEqual(parsePem(plain.replace('AQID', 'Comment: mine\n\nAQID')), [block]);
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
