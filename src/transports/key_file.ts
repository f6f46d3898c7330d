/** Private keys in the user's files, on whatever file system a runtime has. */

import type { PublicKeyMethod } from '../client/auth.ts';
import { parsePrivateKey, signerOf } from '../keys/private_key.ts';
import { fileError } from './file_error.ts';
import { expandHome, type HomeSystem } from './home.ts';

export function keyFileOf(system: HomeSystem, path: string): PublicKeyMethod {
  return {
    method: 'publickey',
    name: path,
    async signer(crypto) {
      const file = expandHome(path, system.home);
      const bytes = await system.read(file).catch((error) => {
        throw fileError('read the private key', file, error);
      });
      return signerOf(crypto, parsePrivateKey(bytes, crypto, { name: file }));
    },
  };
}
