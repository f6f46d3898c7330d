// docs/keys.md: a key in another format, under another passphrase.
import { readFile, writeFile } from 'node:fs/promises';
import {
  pureProvider as crypto,
  formatPrivateKey,
  formatPublicKey,
  keyFingerprint,
  parsePrivateKey,
} from '../../../src/node.ts';

const key = parsePrivateKey(await readFile('id.ppk'), crypto, { passphrase: 'the old one' });
const { blob } = key.publicKey;
await writeFile('id', formatPrivateKey(crypto, key, { passphrase: 'the new one' }), { mode: 0o600, flag: 'wx' });
await writeFile('id.pub', formatPublicKey(blob, { comment: key.comment }));
console.log(keyFingerprint(crypto, blob), keyFingerprint(crypto, blob, 'md5'));
