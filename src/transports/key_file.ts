/**
 * Private keys in the user's files, on whatever file system a runtime has, with what stands beside them: `PATH.pub`, and a
 * certificate in `PATH-cert.pub`.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { printable } from '../bytes/text.ts';
import type { IdentitiesMethod } from '../client/auth.ts';
import { publicHalf } from '../client/identities.ts';
import { type Passphrase, signerOfFile, withCertificate } from '../client/key_material.ts';
import { checkTable, elsewhere, type OptionTable, object, shownValue, wrong } from '../core/option_checks.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { type Certificate, certified, parseCertificate } from '../keys/certificate.ts';
import type { KdfLimits } from '../keys/kdf_limits.ts';
import { type PeekedKey, peekPrivateKey } from '../keys/private_key.ts';
import { keyTypeOf } from '../keys/public_key.ts';
import { type PublicKeyFile, parsePublicKeyFile } from '../keys/public_key_file.ts';
import type { Signer } from '../keys/signature.ts';
import { fileError } from './file_error.ts';
import { expandHome, type HomeSystem } from './home.ts';

/** How to use a key file. */
export interface KeyFileOptions {
  /** The passphrase, or what gives it: called once the server would take the key, and again, three times in all, where it is wrong. */
  readonly passphrase?: Passphrase;
  /** Path of a certificate that is shown in place of the key. Default: `PATH-cert.pub`, if it is there, before the key itself. */
  readonly certificate?: string;
  /** Bounds on what a passphrase may cost to try. */
  readonly limits?: Partial<KdfLimits>;
}

const checks: OptionTable<KeyFileOptions> = {
  passphrase: elsewhere, // whose value must not be shown
  certificate: { expected: 'a path', fits: (value) => typeof value === 'string' },
  limits: object,
};

export function keyFileOf(system: HomeSystem, path: string, options: KeyFileOptions = {}): IdentitiesMethod {
  if (typeof path !== 'string') throw wrong('keyFile', `the path must be a string, not ${shownValue(path)}`);
  checkTable('keyFile', options, checks);
  if (!['undefined', 'string', 'function'].includes(typeof options.passphrase)) {
    throw wrong('keyFile', 'passphrase must be a string or a function that gives one');
  }
  return {
    method: 'publickey',
    from: 'files',
    name: path,
    signers: (crypto) => signersOf(system, expandHome(path, system.home), options, crypto),
  };
}

async function signersOf(
  system: HomeSystem,
  file: string,
  options: KeyFileOptions,
  crypto: CryptoProvider,
): Promise<readonly Signer[]> {
  const base = file.replace(/\.pub$/, '');
  const beside = publicKeyIn(await readBeside(system, `${base}.pub`));
  const content = await system.read(file).catch((error) => {
    if (beside !== undefined) return undefined;
    throw fileError('read the private key', file, error);
  });
  const { signer, certificate } = await signerIn(content, file, beside, options, crypto);
  if (options.certificate !== undefined) {
    const path = expandHome(options.certificate, system.home);
    const bytes = await system.read(path).catch((error) => {
      throw fileError('read the certificate', path, error);
    });
    return [withCertificate(signer, bytes)];
  }
  const own = certificate ?? certificateIn(await readBeside(system, `${base}-cert.pub`));
  // Whoever names a key, and not its certificate, wants the key tried too: the certificate may have expired.
  if (own === undefined || !equalBytes(own.key.blob, signer.publicKey)) return [signer];
  return [certified(signer, own), signer];
}

interface Found {
  readonly signer: Signer;
  readonly certificate?: Certificate | undefined;
}

/** What signs with the key in a file, or, of a public key or the handle of a security key, names it for an agent. */
async function signerIn(
  content: Uint8Array | undefined,
  file: string,
  beside: PublicKeyFile | undefined,
  { passphrase, limits }: KeyFileOptions,
  crypto: CryptoProvider,
): Promise<Found> {
  const found = content === undefined ? (beside as PublicKeyFile) : privateOrPublic(content, file);
  if ('blob' in found) return { signer: publicHalf(found.blob, keyTypeOf(found.blob), found.comment) };
  const { publicBlob, certificate } = found;
  const type = publicBlob === undefined ? '' : keyTypeOf(publicBlob);
  if (publicBlob !== undefined && type.startsWith('sk-')) {
    return { signer: publicHalf(publicBlob, type, found.comment) };
  }
  const material = { name: file, passphrase, limits, publicKey: beside?.blob };
  return {
    signer: await signerOfFile(crypto, content as Uint8Array, material),
    certificate: certificate && parseCertificate(certificate),
  };
}

function privateOrPublic(content: Uint8Array, file: string): PeekedKey | PublicKeyFile {
  try {
    return peekPrivateKey(content, file);
  } catch (error) {
    if (!(error instanceof SshError) || error.code !== 'key-format-unsupported') throw error;
    if (certificateIn(content) !== undefined) {
      const advice = 'give the key that it is for, which shows the certificate in KEY-cert.pub by itself';
      const message = `${printable(file)} is a certificate, and no key; ${advice}, or name this one as its certificate`;
      throw new SshError('key-format-unsupported', message);
    }
    const found = publicKeyIn(content);
    if (found === undefined) throw error;
    return found;
  }
}

/** A file that nobody named: one that is missing, or may not be read, is no failure. */
function readBeside(system: HomeSystem, path: string): Promise<Uint8Array | undefined> {
  return system.read(path).catch(() => undefined);
}

/** A public key, and no certificate; `undefined` where the file holds anything else. */
function publicKeyIn(content: Uint8Array | undefined): PublicKeyFile | undefined {
  const found = content && ifReadable(() => parsePublicKeyFile(content));
  return found !== undefined && ifReadable(() => parseCertificate(found.blob)) === undefined ? found : undefined;
}

/** What a file beside a key is, unless it is damaged: nobody asked for it. */
function certificateIn(content: Uint8Array | undefined): Certificate | undefined {
  return content && ifReadable(() => parseCertificate(parsePublicKeyFile(content).blob));
}

function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof SshError) return undefined;
    throw error;
  }
}
