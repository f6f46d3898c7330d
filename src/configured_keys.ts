/**
 * The keys that ssh_config(5) logs in with: those of files, with their certificates, then those of the agent. What is wrong with
 * one file stops nobody from using the others.
 */

import { equalBytes } from './bytes/bytes.ts';
import type { AuthMethod, IdentitiesMethod } from './client/auth.ts';
import type { HostConfig } from './config/host_config.ts';
import type { CryptoProvider, MaybePromise } from './crypto/provider.ts';
import { SshError } from './errors.ts';
import { type Certificate, certified, isCertificateType, parseCertificate } from './keys/certificate.ts';
import { keyTypeOf } from './keys/public_key.ts';
import type { Signer } from './keys/signature.ts';

/** One or several keys, as `keyFile` and `agent` of a runtime give them. */
export type KeyMethod = Extract<AuthMethod, { readonly method: 'publickey' }>;

/** Keys over the files of a runtime. */
export interface KeySources {
  keyFile(path: string, options: { readonly passphrase?: () => MaybePromise<string> }): KeyMethod;
  /** Without a path: the agent that the environment names. */
  agent(path?: string): KeyMethod;
  exists(path: string): Promise<boolean>;
  /** The blob of a certificate in a file, or of a public key. */
  publicBlob(path: string): Promise<Uint8Array>;
}

/** What to ask for, and to tell. */
export interface KeyQuestions {
  /** The passphrase of a key file, once the key is about to be used. */
  readonly passphrase?: ((path: string) => MaybePromise<string>) | undefined;
  /** A file whose key, or certificate, cannot be used, and why. */
  readonly onSkipped?: ((name: string, error: SshError) => void) | undefined;
}

/** The usual names, the cheapest to sign with first. Handles of security keys are left to the agent. */
const USUAL_FILES = ['~/.ssh/id_ed25519', '~/.ssh/id_ecdsa', '~/.ssh/id_rsa'];

/** Ways to log in with keys; files that are missing are left out. */
export async function keyMethodsOf(
  config: HostConfig,
  sources: KeySources,
  questions: KeyQuestions,
): Promise<KeyMethod[]> {
  if (!config.authMethods.includes('publickey')) return [];
  const { identityFiles = USUAL_FILES, certificateFiles, identityAgent } = config;
  const present: string[] = [];
  for (const path of identityFiles) {
    if ((await sources.exists(path)) || (await sources.exists(`${path}.pub`))) present.push(path);
    else if (config.identityFiles !== undefined) questions.onSkipped?.(path, missing(path));
  }
  const { passphrase } = questions;
  const certificates = (): Promise<Certificate[]> => readCertificates(certificateFiles, sources, questions);
  const files = present.map((path): IdentitiesMethod => {
    const file = sources.keyFile(path, passphrase === undefined ? {} : { passphrase: () => passphrase(path) });
    return {
      method: 'publickey',
      from: 'files',
      name: path,
      signers: async (crypto) => withCertificates(await usable(file, crypto, questions), await certificates()),
    };
  });
  if (identityAgent === 'none') return files;
  const agent = sources.agent(identityAgent);
  const ofAgent: IdentitiesMethod = {
    method: 'publickey',
    from: 'agent',
    name: agent.name ?? 'the agent',
    signers: async (crypto) => withCertificates(await signersOf(agent, crypto), await certificates()),
  };
  return [...files, ofAgent];
}

async function signersOf(method: KeyMethod, crypto: CryptoProvider): Promise<readonly Signer[]> {
  return 'signers' in method ? await method.signers(crypto) : [await method.signer(crypto)];
}

/** Those of a file; none where it cannot be used. */
async function usable(
  method: KeyMethod,
  crypto: CryptoProvider,
  { onSkipped }: KeyQuestions,
): Promise<readonly Signer[]> {
  try {
    return await signersOf(method, crypto);
  } catch (error) {
    if (!(error instanceof SshError) || error.code === 'aborted') throw error;
    onSkipped?.(method.name ?? 'a key', error);
    return [];
  }
}

async function readCertificates(
  paths: readonly string[],
  sources: KeySources,
  { onSkipped }: KeyQuestions,
): Promise<Certificate[]> {
  const certificates: Certificate[] = [];
  for (const path of paths) {
    try {
      const blob = await sources.publicBlob(path);
      if (!isCertificateType(keyTypeOf(blob))) throw new SshError('bad-argument', `${path} holds no certificate`);
      certificates.push(parseCertificate(blob));
    } catch (error) {
      if (!(error instanceof SshError)) throw error;
      onSkipped?.(path, error);
    }
  }
  return certificates;
}

/** Before each key its certificates, as OpenSSH tries them. */
function withCertificates(signers: readonly Signer[], certificates: readonly Certificate[]): Signer[] {
  return signers.flatMap((signer) => {
    const own = certificates.filter(({ key }) => equalBytes(key.blob, signer.publicKey));
    return [...own.map((certificate) => certified(signer, certificate)), signer];
  });
}

function missing(path: string): SshError {
  return new SshError('bad-local-file', `There is no file ${path}`, { path });
}
