/**
 * The host key policies that stand on known_hosts files (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). Files come in as values with
 * a few methods; must not know where they are.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { printable } from '../bytes/text.ts';
import { checkTable, flag, type OptionTable, object } from '../core/option_checks.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { Turns } from '../io/turns.ts';
import {
  checkHostKey,
  formatKnownHostsLine,
  type HostKeyVerdict,
  type KnownHostsEntry,
  knownAuthorities,
  knownHostsName,
  knownKeyTypes,
  matchKnownHosts,
  parseKnownHosts,
} from '../keys/known_hosts.ts';
import { replaceKeys } from '../keys/known_hosts_edit.ts';
import { type Krl, parseRevoked, revocationOf } from '../keys/krl.ts';
import type { PublicKey } from '../keys/public_key.ts';
import { type ShownKey, shownKey } from '../keys/shown_key.ts';
import {
  badCertificate,
  type HostKeyOffer,
  type HostKeyPolicy,
  type HostKeyUpdate,
  hostKeyError,
  hostName,
  keyName,
} from './host_key.ts';

/** Largest known_hosts file in characters: fifty thousand hosts and more. A limit on memory. */
const MAX_FILE = 16 * 1024 * 1024;

/** Files that hosts are added to: of several connections to a new host one decides which key it has. */
const remembering = new Turns();

/** A small file of text lines. */
export interface TextFile {
  /** Its path, for messages. */
  readonly name: string;
  /** The whole content; `undefined` when there is no such file. */
  read(): Promise<string | undefined>;
  /** Adds a line at the end, creating what is missing with access for the owner only. */
  append(line: string): Promise<void>;
  /**
   * Puts what `change` makes of the text in its place, so that whoever reads meanwhile finds the old text or the new one, whole;
   * `change` is called again if others have changed the file meanwhile. `undefined`: nothing is to be changed, which is what the
   * result says, too. Without this, keys are never updated.
   */
  edit?(change: (text: string | undefined) => string | undefined): Promise<boolean>;
}

/** A file of revoked keys: a key revocation list, or a public key in each line. */
export interface RevokedFile {
  /** Its path, for messages. */
  readonly name: string;
  /** The whole content. Rejects if there is none: no key is trusted then. */
  read(): Promise<Uint8Array>;
}

/** Options of `knownHostsIn`. */
export interface KnownHostsOptions {
  /**
   * Whether to remember the keys that a known server proves to have after the login, and to forget those that it has no more
   * (OpenSSH: UpdateHostKeys). Only where a line names the host, and no pattern. Default: false.
   */
  readonly update?: boolean | undefined;
  /** Keys and authorities that are revoked, whatever the files say. Default: none. */
  readonly revoked?: Krl | RevokedFile | undefined;
}

/** Options of `acceptNewIn`. */
export interface AcceptNewOptions extends KnownHostsOptions {
  /** As for `knownHostsIn`. Default: true. */
  readonly update?: boolean | undefined;
  /** Whether the names of new hosts are written hashed (OpenSSH: HashKnownHosts). Default: false. */
  readonly hash?: boolean | undefined;
}

const knownTable: OptionTable<KnownHostsOptions> = { update: flag, revoked: object };
const acceptTable: OptionTable<AcceptNewOptions> = { ...knownTable, hash: flag };

/** Trusts the keys, and the authorities, that stand in `files`; a host that is not there is refused. */
export function knownHostsIn(files: readonly TextFile[], options: KnownHostsOptions = {}): HostKeyPolicy {
  checkTable('knownHosts', options, knownTable);
  return {
    preferredKeyTypes: (host, port, crypto) => preferredTypes(files, host, port, crypto),
    async check(offer) {
      const verdict = await verdictOf(files, options.revoked, offer);
      if (verdict.state === 'unknown') throw unknownHost(offer, files);
      refuseUnlessKnown(verdict, offer);
    },
    ...(options.update === true ? updatesOf(files, options) : {}),
  };
}

/** Trusts what stands in `file`, and puts the key of a host that is not there into it. A changed key is refused. */
export function acceptNewIn(file: TextFile, options: AcceptNewOptions = {}): HostKeyPolicy {
  checkTable('acceptNew', options, acceptTable);
  const files = [file];
  const isNew = async (offer: HostKeyOffer): Promise<boolean> => {
    const verdict = await verdictOf(files, options.revoked, offer);
    refuseUnlessKnown(verdict, offer);
    return verdict.state === 'unknown';
  };
  return {
    preferredKeyTypes: (host, port, crypto) => preferredTypes(files, host, port, crypto),
    async check(offer) {
      if (!(await isNew(offer))) return;
      await remembering.run(file.name, async () => {
        // another connection to the host may have remembered this key meanwhile, or another one
        if (!(await isNew(offer))) return;
        const hashWith = options.hash === true ? offer.crypto : undefined;
        await file.append(formatKnownHostsLine(offer.host, offer.port, offer.key.key.blob, hashWith));
      });
    },
    ...(options.update === false ? {} : updatesOf(files, options)),
  };
}

async function textOf(file: TextFile): Promise<string> {
  const text = (await file.read()) ?? '';
  if (text.length <= MAX_FILE) return text;
  throw new SshError('limit', `${printable(file.name)} has ${text.length} characters; ${MAX_FILE} are read`);
}

async function entriesOf(files: readonly TextFile[]): Promise<KnownHostsEntry[]> {
  let entries: KnownHostsEntry[] = [];
  // not push(...): a file may have more lines than a call can take arguments
  for (const file of files) entries = entries.concat(parseKnownHosts(await textOf(file), file.name).entries);
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

/** Revoked lists first, by key and by authority: nothing else counts for what they name. */
async function verdictOf(
  files: readonly TextFile[],
  revoked: KnownHostsOptions['revoked'],
  offer: HostKeyOffer,
): Promise<HostKeyVerdict> {
  const { crypto, host, port, key, now } = offer;
  const list = await listOf(revoked);
  const revocation = list && revocationOf(crypto, list.krl, key);
  if (list !== undefined && revocation !== undefined) {
    const { what } = revocation;
    throw revokedKey(offer, what === 'key' || what === 'authority' ? what : 'certificate', list.name);
  }
  return checkHostKey(crypto, await entriesOf(files), host, port, key, now);
}

async function listOf(revoked: KnownHostsOptions['revoked']): Promise<{ krl: Krl; name: string } | undefined> {
  if (revoked === undefined) return undefined;
  if (!('read' in revoked)) return { krl: revoked, name: 'the key revocation list' };
  const { name } = revoked;
  const bytes = await revoked.read();
  try {
    return { krl: parseRevoked(bytes), name };
  } catch (error) {
    const why = error instanceof SshError ? error.message : String(error);
    throw hostKeyError('bad-local-file', `Nobody is trusted while ${printable(name)} cannot be read: ${why}`, error);
  }
}

function revokedKey(offer: HostKeyOffer, what: 'key' | 'authority' | 'certificate', where: string): SshError {
  const host = hostName(offer.host, offer.port);
  const whose = {
    key: `The key that ${host} shows, ${keyName(offer)}, is`,
    authority: `The authority that has certified the key of ${host}, ${keyName(offer)}, is`,
    certificate: `The certificate that ${host} shows for ${keyName(offer)} is`,
  };
  return hostKeyError('host-key-revoked', `${whose[what]} revoked in ${printable(where)}`);
}

function refuseUnlessKnown(verdict: HostKeyVerdict, offer: HostKeyOffer): void {
  const place = 'line' in verdict ? `${printable(verdict.source)}:${verdict.line}` : '';
  if (verdict.state === 'revoked') throw revokedKey(offer, verdict.what, place);
  if (verdict.state === 'bad-certificate') throw badCertificate(offer, verdict.reason, `its authority: ${place}`);
  if (verdict.state !== 'changed') return;
  const host = hostName(offer.host, offer.port);
  const known = verdict.known.map(
    ({ type, fingerprint, source, line }) => `${printable(type, 64)} ${fingerprint} (${printable(source)}:${line})`,
  );
  throw hostKeyError(
    'host-key-changed',
    `The host key of ${host} has changed: it shows ${keyName(offer)}, but is known as ${known.join(', ')}. Somebody may be ` +
      'in between. If the new key is known to be right, remove the old one with forgetHost(), or ' +
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

function updatesOf(files: readonly TextFile[], options: KnownHostsOptions): Pick<HostKeyPolicy, 'update'> {
  return { update: (update) => updateKeys(files, options.revoked, update) };
}

/**
 * Brings the first file that knows the used key by the name of the host up to date. As in OpenSSH, a host that is known by an
 * authority keeps what it has.
 */
async function updateKeys(
  files: readonly TextFile[],
  revoked: KnownHostsOptions['revoked'],
  { host, port, used, offered, prove, crypto }: HostKeyUpdate,
): Promise<void> {
  const all = await entriesOf(files);
  if (used.certificate !== undefined || knownAuthorities(crypto, all, host, port).length > 0) return;
  const entries = matchKnownHosts(crypto, all, host, port);
  const list = await listOf(revoked);
  const isNew = (key: PublicKey): boolean =>
    !entries.some(({ blob }) => equalBytes(blob, key.blob)) && !isRevoked(crypto, list?.krl, shownKey(key));
  const added = offered.filter(isNew);
  const change = { used: used.key.blob, all: offered.map(({ blob }) => blob), added: added.map(({ blob }) => blob) };
  const edited = (text: string): string | undefined => replaceKeys(crypto, text, host, port, change);
  for (const file of files) {
    if (file.edit === undefined || edited(await textOf(file)) === undefined) continue;
    await prove(added);
    await file.edit((text) => edited(text ?? ''));
    return;
  }
}

function isRevoked(crypto: CryptoProvider, krl: Krl | undefined, key: ShownKey): boolean {
  return krl !== undefined && revocationOf(crypto, krl, key) !== undefined;
}
