/** Certificates for public keys, as `ssh-keygen -s` makes them. */

import { printable } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import { type Certificate, signCertificate, USER_EXTENSIONS } from '../../keys/certificate.ts';
import { networksOf } from '../../keys/certificate_options.ts';
import { parsePrivateKey, signerOf } from '../../keys/private_key.ts';
import { parsePublicKey } from '../../keys/public_key.ts';
import { formatPublicKey, parsePublicKeyFile } from '../../keys/public_key_file.ts';
import type { Signer } from '../../keys/signature.ts';
import { bad } from '../arg_values.ts';
import type { CertifyChoice, KeygenAction } from '../keygen_args.ts';
import { print } from '../output.ts';
import { readKeyFile, refuseIfThere, writeKeyFile } from './files.ts';
import type { Tools } from './tools.ts';
import { secondsOf } from './validity.ts';

type Options = Map<string, string | Uint8Array>;

export async function sign(
  { authority, files, certify }: Extract<KeygenAction, { readonly action: 'sign' }>,
  tools: Tools,
): Promise<void> {
  const { crypto, force } = tools;
  const options = optionsOf(certify);
  const times = secondsOf(certify.validity, Date.now());
  for (const file of files) await refuseIfThere(certificatePath(file), force);
  const signer = await authorityOf(authority, tools);
  let { serial } = certify;
  for (const file of files) {
    const { blob, comment } = parsePublicKeyFile(await readKeyFile(file), file);
    const key = parsePublicKey(blob, crypto);
    const { kind, keyId, principals } = certify;
    const request = { key, kind, keyId, principals, serial, ...times, ...options };
    const certificate = await signCertificate(crypto, signer, request);
    const path = certificatePath(file);
    await writeKeyFile(path, formatPublicKey(certificate.blob, { comment }), 'all', force);
    await print(`${printable(path)}: ${said(certificate)}\n`);
    serial++; // as ssh-keygen: several keys of one call have numbers in a row
  }
}

function said({ kind, keyId, serial, principals }: Certificate): string {
  const names = principals.length === 0 ? '' : ` for ${printable(principals.join(','))}`;
  return `${kind} certificate "${printable(keyId)}", serial ${serial}${names}`;
}

/** `id_ed25519.pub` → `id_ed25519-cert.pub`. */
function certificatePath(file: string): string {
  return `${file.replace(/\.pub$/, '')}-cert.pub`;
}

async function authorityOf(file: string, { crypto, passphrases }: Tools): Promise<Signer> {
  const content = await readKeyFile(file);
  return await passphrases.opening(file, (passphrase) => {
    const options = { name: file, ...(passphrase === undefined ? {} : { passphrase }) };
    return signerOf(crypto, parsePrivateKey(content, crypto, options));
  });
}

/** `ssh-keygen -O` for certificates. */
function optionsOf({ kind, options }: CertifyChoice): { criticalOptions: Options; extensions: Options } {
  const criticalOptions: Options = new Map();
  const extensions: Options = new Map(kind === 'user' ? USER_EXTENSIONS : []);
  for (const option of options) {
    const [name, value] = split(option);
    if (kind === 'host' && !/^(?:critical|extension):/.test(name)) {
      throw bad(`-O ${printable(option)} is for users: a host certificate has no such options`);
    }
    const withheld = name.startsWith('no-') ? permitted(name.replace('no-', 'permit-')) : undefined;
    const granted = permitted(name);
    if (name === 'clear') extensions.clear();
    else if (name === 'force-command' || name === 'source-address') {
      if (value === undefined || value === '') throw bad(`-O ${name} needs a value: write ${name}=…`);
      const networks = name === 'source-address' ? networksOf(value) : [];
      // which nobody would be let in with
      if (typeof networks === 'string') throw bad(`-O ${printable(option)}: ${networks}`);
      criticalOptions.set(name, value);
    } else if (name === 'verify-required') criticalOptions.set(name, new Uint8Array(0));
    else if (name === 'no-touch-required') extensions.set(name, new Uint8Array(0));
    else if (/^(?:critical|extension):./.test(name)) {
      const target = name.startsWith('critical:') ? criticalOptions : extensions;
      target.set(name.slice(name.indexOf(':') + 1), value ?? new Uint8Array(0));
    } else if (withheld !== undefined && value === undefined) extensions.delete(withheld);
    else if (granted !== undefined && value === undefined) extensions.set(granted, new Uint8Array(0));
    else throw new SshError('bad-argument', `-O ${printable(option)} is no option of certificates`);
  }
  return { criticalOptions, extensions };
}

function permitted(name: string): string | undefined {
  return [...USER_EXTENSIONS.keys()].find((each) => each.toLowerCase() === name);
}

function split(option: string): readonly [string, string | undefined] {
  const at = option.indexOf('=');
  const name = at < 0 ? option : option.slice(0, at);
  const isOther = /^(?:critical|extension):/.test(name);
  return [isOther ? name : name.toLowerCase(), at < 0 ? undefined : option.slice(at + 1)];
}
