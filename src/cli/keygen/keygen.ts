/** `puressh keygen`: makes, converts, shows and certifies keys. Each action is a function of files and passphrases. */

import { hostname } from 'node:os';
import { printable } from '../../bytes/text.ts';
import { nodeCrypto } from '../../crypto/native/node.ts';
import type { CryptoProvider } from '../../crypto/provider.ts';
import { keyFingerprint } from '../../keys/fingerprint.ts';
import { newKey } from '../../keys/generate.ts';
import type { PrivateKey } from '../../keys/key_pair.ts';
import { parsePrivateKey, peekPrivateKey } from '../../keys/private_key.ts';
import { formatPrivateKey, type WrittenFormat } from '../../keys/private_key_format.ts';
import { formatPublicKey, parsePublicKeyFile } from '../../keys/public_key_file.ts';
import type { KeygenAction, KeygenCommand } from '../keygen_args.ts';
import { print } from '../output.ts';
import { ownName } from '../own_name.ts';
import { readIfThere, readKeyFile, refuseIfThere, replaceKeyFile, writeKeyFile } from './files.ts';
import { Passphrases } from './passphrases.ts';
import { fingerprintLine, publicOf } from './public_half.ts';
import { show } from './show.ts';
import { sign } from './sign.ts';
import type { Tools } from './tools.ts';

type Action<A extends KeygenAction['action']> = Extract<KeygenAction, { readonly action: A }>;

export async function keygen(command: KeygenCommand): Promise<number> {
  const tools: Tools = {
    crypto: nodeCrypto[command.crypto],
    passphrases: new Passphrases(command.passphrase),
    force: command.force,
  };
  switch (command.action) {
    case 'make':
      await make(command, tools);
      break;
    case 'convert':
      await convert(command, tools, command.passphrase === 'none');
      break;
    case 'passphrase':
      await changePassphrase(command, tools);
      break;
    case 'public':
      await publicHalf(command, tools);
      break;
    case 'fingerprint':
      for (const file of command.files) await print(`${await fingerprintLine(file, command.hash, tools)}\n`);
      break;
    case 'show':
      for (const file of command.files) await print(await show(file, tools));
      break;
    case 'sign':
      await sign(command, tools);
      break;
  }
  return 0;
}

async function make({ request, comment, format, file }: Action<'make'>, tools: Tools): Promise<void> {
  const { crypto, passphrases, force } = tools;
  for (const path of [file, `${file}.pub`]) await refuseIfThere(path, force);
  const passphrase = await passphrases.fresh(file, 0);
  const key = await newKey(
    crypto,
    request,
    comment ?? [ownName(), hostname()].filter((each) => each !== undefined).join('@'),
  );
  await writeKeyFile(file, privateText(crypto, key, format, passphrase), 'owner', force);
  const { blob } = key.publicKey;
  await writeKeyFile(`${file}.pub`, formatPublicKey(blob, { comment: key.comment }), 'all', force);
  await print(`${keyFingerprint(crypto, blob)} ${printable(key.comment)}\n`);
}

async function convert(
  { format, comment, file, output }: Action<'convert'>,
  tools: Tools,
  inTheClear: boolean,
): Promise<void> {
  await refuseIfThere(output, tools.force);
  const { key, passphrase } = await opened(file, tools);
  const kept = inTheClear ? undefined : passphrase;
  const text = privateText(tools.crypto, key, format, kept, comment ?? (await commentOf(file, key)));
  await writeKeyFile(output, text, 'owner', tools.force);
}

async function changePassphrase({ file }: Action<'passphrase'>, tools: Tools): Promise<void> {
  const { key, format } = await opened(file, tools);
  const passphrase = await tools.passphrases.fresh(file, 1);
  const written = format === 'pkcs8' || format === 'ppk' ? format : 'openssh';
  await replaceKeyFile(file, privateText(tools.crypto, key, written, passphrase, await commentOf(file, key)));
}

async function publicHalf({ format, file, output }: Action<'public'>, tools: Tools): Promise<void> {
  await refuseIfThere(output, tools.force);
  const { blob, comment } = await publicOf(file, tools);
  await writeKeyFile(output, formatPublicKey(blob, { format, comment }), 'all', tools.force);
}

interface Opened {
  readonly key: PrivateKey;
  readonly format: string;
  readonly passphrase: string | undefined;
}

async function opened(file: string, { crypto, passphrases }: Tools): Promise<Opened> {
  const content = await readKeyFile(file);
  const { format } = peekPrivateKey(content, file);
  return await passphrases.opening(file, (passphrase) => {
    const options = { name: file, ...(passphrase === undefined ? {} : { passphrase }) };
    return { key: parsePrivateKey(content, crypto, options), format, passphrase };
  });
}

/** PEM has no place for a comment: the public key beside it may have one. */
async function commentOf(file: string, key: PrivateKey): Promise<string> {
  if (key.comment !== '') return key.comment;
  const beside = await readIfThere(`${file}.pub`);
  try {
    return beside === undefined ? '' : parsePublicKeyFile(beside).comment;
  } catch {
    return '';
  }
}

function privateText(
  crypto: CryptoProvider,
  key: PrivateKey,
  format: WrittenFormat,
  passphrase: string | undefined,
  comment: string = key.comment,
): string {
  return formatPrivateKey(crypto, key, { format, comment, ...(passphrase === undefined ? {} : { passphrase }) });
}
