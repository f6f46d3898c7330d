/**
 * What signs, out of what a caller has: the content of a key file, encrypted or not, and a certificate. A passphrase is not asked for
 * before a server has said that the key would do. Must not know where files are.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { printable } from '../bytes/text.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { certified, parseCertificate } from '../keys/certificate.ts';
import type { KdfLimits } from '../keys/kdf_limits.ts';
import { parsePrivateKey, peekPrivateKey, signerOf } from '../keys/private_key.ts';
import { keyTypeOf } from '../keys/public_key.ts';
import { blobIn } from '../keys/public_key_line.ts';
import { algorithmsOf, type Signer } from '../keys/signature.ts';

/** How often a person may mistype a passphrase; OpenSSH's NumberOfPasswordPrompts. */
const PASSPHRASE_TRIES = 3;

/** A passphrase, or what gives it: called when it is needed, and again, three times in all, where it is wrong. */
export type Passphrase = string | (() => MaybePromise<string>);

/** How to make a signer of a key file. */
export interface SignerOptions {
  /** What messages call the file, usually its path. */
  readonly name?: string | undefined;
  readonly passphrase?: Passphrase | undefined;
  /** Bounds on what a passphrase may cost to try. */
  readonly limits?: Partial<KdfLimits> | undefined;
  /** The blob of the public half, such as a `.pub` file beside it gives, for formats that encrypt their own. */
  readonly publicKey?: Uint8Array | undefined;
}

/**
 * What signs with the key in a file. One that is encrypted, and whose public half stands in the clear, is opened when it first signs,
 * unless its passphrase is there; then wrong ones throw `key-passphrase-wrong`, and none `key-passphrase-needed`. Every other error of
 * `parsePrivateKey` comes at once.
 */
export function signerOfFile(
  crypto: CryptoProvider,
  file: string | Uint8Array,
  options: SignerOptions = {},
): MaybePromise<Signer> {
  const { name, passphrase } = options;
  const { encrypted, publicBlob = options.publicKey, comment } = peekPrivateKey(file, name);
  if (!encrypted) return opened(crypto, file, options, undefined);
  if (typeof passphrase === 'string') return opened(crypto, file, options, passphrase);
  if (publicBlob !== undefined) return locked(publicBlob, comment, name, () => unlock(crypto, file, options));
  return passphrase === undefined ? opened(crypto, file, options, undefined) : unlock(crypto, file, options);
}

/** The signer with the certificate in place of its key; throws `bad-argument` where they do not belong together. */
export function withCertificate(signer: Signer, material: string | Uint8Array): Signer {
  return certified(signer, parseCertificate(blobIn(material)));
}

function opened(
  crypto: CryptoProvider,
  file: string | Uint8Array,
  { name, limits }: SignerOptions,
  passphrase: string | undefined,
): Signer {
  const key = parsePrivateKey(file, crypto, {
    ...(name === undefined ? {} : { name }),
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(limits === undefined ? {} : { limits }),
  });
  return signerOf(crypto, key);
}

async function unlock(crypto: CryptoProvider, file: string | Uint8Array, options: SignerOptions): Promise<Signer> {
  const { passphrase } = options;
  if (typeof passphrase !== 'function') return opened(crypto, file, options, passphrase);
  for (let attempt = 1; ; attempt++) {
    const given = await passphrase();
    if (typeof given !== 'string') {
      throw new SshError('bad-argument', `A passphrase must be a string, not ${typeof given}`);
    }
    try {
      return opened(crypto, file, options, given);
    } catch (error) {
      const isWrong = error instanceof SshError && error.code === 'key-passphrase-wrong';
      if (!isWrong || attempt === PASSPHRASE_TRIES) throw error;
    }
  }
}

function locked(
  publicKey: Uint8Array,
  comment: string | undefined,
  name: string | undefined,
  open: () => Promise<Signer>,
): Signer {
  const keyType = keyTypeOf(publicKey);
  let signer: Promise<Signer> | undefined;
  return {
    publicKey,
    keyType,
    algorithms: algorithmsOf(keyType),
    ...(comment === undefined ? {} : { comment }),
    queryFirst: true,
    async sign(message, algorithm) {
      signer ??= open();
      const opened = await signer;
      if (!equalBytes(opened.publicKey, publicKey)) {
        const file = printable(name ?? 'the key file');
        throw new SshError(
          'bad-argument',
          `The public key beside ${file} is not that of ${file}: remove it, or make it anew`,
        );
      }
      return await opened.sign(message, algorithm);
    },
  };
}
