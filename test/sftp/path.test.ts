import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hex, toBytes, utf8 } from '../../src/bytes/text.ts';
import { joinPath, remotePath, temporaryPath } from '../../src/sftp/path.ts';

const ODD = new Uint8Array([0x66, 0xff]);

describe('remotePath', () => {
  it('is text where it can be, else the bytes', () => {
    assert.equal(remotePath(utf8('/é')), '/é');
    assert.deepEqual(remotePath(ODD), ODD);
  });
});

describe('joinPath', () => {
  it('puts one slash between', () => {
    assert.equal(joinPath('/a', 'b'), '/a/b');
    assert.equal(joinPath('/a/', 'b'), '/a/b');
    assert.equal(joinPath('/', 'b'), '/b');
    assert.equal(joinPath('', 'b'), 'b');
  });

  it('keeps bytes that are no text', () => {
    assert.equal(hex(joinPath('d', ODD) as Uint8Array), '642f66ff');
    assert.equal(hex(joinPath(ODD, 'd') as Uint8Array), '66ff2f64');
  });
});

describe('temporaryPath', () => {
  it('is a hidden name in the same directory, another one each time', () => {
    for (const [path, pattern] of [
      ['/a/b.txt', /^\/a\/\.b\.txt\.[0-9a-f]{16}\.part$/],
      ['b', /^\.b\.[0-9a-f]{16}\.part$/],
    ] as const) {
      assert.match(temporaryPath(path) as string, pattern);
      assert.notEqual(temporaryPath(path), temporaryPath(path));
    }
    assert.match(hex(temporaryPath(ODD) as Uint8Array), /^2e66ff2e/);
  });

  it('fits into 255 bytes, and cuts no character in half', () => {
    for (const name of ['x'.repeat(255), `${'x'.repeat(199)}${'é'.repeat(28)}`, '€'.repeat(85)]) {
      const path = temporaryPath(`/d/${name}`);
      assert.equal(typeof path, 'string', 'it is still text');
      assert.ok(toBytes(path).length - 3 <= 255);
    }
  });
});
