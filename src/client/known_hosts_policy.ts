/**
 * The host key policies that stand on known_hosts files (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). Files come in as values with
 * two methods; must not know where they are.
 */

import { printable } from '../bytes/text.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import type { SshError } from '../errors.ts';
import {
  checkHostKey,
  formatKnownHostsLine,
  type HostKeyVerdict,
  type KnownHostsEntry,
  knownHostsName,
  knownKeyTypes,
  parseKnownHosts,
} from '../keys/known_hosts.ts';
import { type HostKeyOffer, type HostKeyPolicy, hostKeyError, hostName, keyName } from './host_key.ts';

/** A small file of text lines. */
export interface TextFile {
  /** Its path, for messages. */
  readonly name: string;
  /** The whole content; `undefined` when there is no such file. */
  read(): Promise<string | undefined>;
  /** Adds a line at the end, creating what is missing with access for the owner only. */
  append(line: string): Promise<void>;
}

/** Trusts the keys that stand in `files`; a host that is not there is refused. */
export function knownHostsIn(files: readonly TextFile[]): HostKeyPolicy {
  return {
    preferredKeyTypes: (host, port, crypto) => preferredTypes(files, host, port, crypto),
    async check(offer) {
      const verdict = await verdictOf(files, offer);
      if (verdict.state === 'unknown') throw unknownHost(offer, files);
      refuseUnlessKnown(verdict, offer);
    },
  };
}

/** Trusts the keys that stand in `file`, and puts the key of a host that is not there into it. A changed key is refused. */
export function acceptNewIn(file: TextFile): HostKeyPolicy {
  const files = [file];
  return {
    preferredKeyTypes: (host, port, crypto) => preferredTypes(files, host, port, crypto),
    async check(offer) {
      const verdict = await verdictOf(files, offer);
      if (verdict.state === 'unknown') await file.append(formatKnownHostsLine(offer.host, offer.port, offer.hostKey));
      else refuseUnlessKnown(verdict, offer);
    },
  };
}

async function entriesOf(files: readonly TextFile[]): Promise<KnownHostsEntry[]> {
  let entries: KnownHostsEntry[] = [];
  for (const file of files) {
    const text = await file.read();
    // not push(...): a file may have more lines than a call can take arguments
    if (text !== undefined) entries = entries.concat(parseKnownHosts(text, file.name).entries);
  }
  return entries;
}

async function preferredTypes(
  files: readonly TextFile[],
  host: string,
  port: number,
  crypto: CryptoProvider,
): Promise<readonly string[]> {
  return knownKeyTypes(crypto, await entriesOf(files), host, port);
}

async function verdictOf(files: readonly TextFile[], offer: HostKeyOffer): Promise<HostKeyVerdict> {
  return checkHostKey(offer.crypto, await entriesOf(files), offer.host, offer.port, offer.hostKey);
}

function refuseUnlessKnown(verdict: HostKeyVerdict, offer: HostKeyOffer): void {
  const host = hostName(offer.host, offer.port);
  if (verdict.state === 'revoked') {
    throw hostKeyError(
      'host-key-revoked',
      `The key that ${host} shows, ${keyName(offer)}, is revoked in ${printable(verdict.source)}:${verdict.line}`,
    );
  }
  if (verdict.state !== 'changed') return;
  const known = verdict.known.map(
    ({ type, fingerprint, source, line }) => `${printable(type, 64)} ${fingerprint} (${printable(source)}:${line})`,
  );
  throw hostKeyError(
    'host-key-changed',
    `The host key of ${host} has changed: it shows ${keyName(offer)}, but is known as ${known.join(', ')}. Somebody may be ` +
      'in between. If the new key is known to be right, remove the old one with ' +
      `\`ssh-keygen -R '${printable(knownHostsName(offer.host, offer.port))}' -f '${printable(verdict.known[0]?.source ?? '')}'\``,
  );
}

function unknownHost(offer: HostKeyOffer, files: readonly TextFile[]): SshError {
  const names = files.map((file) => printable(file.name)).join(', ');
  return hostKeyError(
    'host-key-unknown',
    `${hostName(offer.host, offer.port)} shows ${keyName(offer)}, and ${names} knows no key for it. If that fingerprint is ` +
      `right, accept it with pin('${offer.fingerprint}'), or have acceptNew() remember the key`,
  );
}
