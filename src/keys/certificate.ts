/**
 * OpenSSH certificates: PROTOCOL.certkeys. What one says, whether its authority signed that, whether it holds here and now, and
 * making them. Nothing of a certificate may be believed before `verifyCertificate`. Must not know which authorities are trusted.
 */

import { copy, equalBytes } from '../bytes/bytes.ts';
import { DecodeError, Reader } from '../bytes/reader.ts';
import { decodeUtf8, printable } from '../bytes/text.ts';
import { Writer } from '../bytes/writer.ts';
import type { CryptoProvider, MaybePromise, RandomSource } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { formatTime } from './expiry_time.ts';
import { checkNames } from './key_arguments.ts';
import { ecdsaCurves, keyTypeOf, type PublicKey, parsePublicKey, readKeyParts } from './public_key.ts';
import { authorityAlgorithms, certificateName, type Signer, verifySignature } from './signature.ts';
import { ifDecodes } from './signature_body.ts';

/** Largest certificate in bytes: one with 256 principals of 200 characters, and a command. A limit on memory. */
export const MAX_CERTIFICATE = 65_536;
/** Most principals: OpenSSH's SSHKEY_CERT_MAX_PRINCIPALS. */
const MAX_PRINCIPALS = 256;
/** Most critical options, and most extensions: ten times what there are. */
const MAX_OPTIONS = 64;
/** `validBefore` of a certificate without an end. */
export const FOREVER = 0xffffffffffffffffn;

/** Bytes of a nonce that we make, as OpenSSH's: so no two certificates are alike before they are signed. */
const NONCE_SIZE = 32;

/** A certificate: a public key, and what an authority says about it. Times are seconds since 1970. */
export interface Certificate {
  /** The type that the blob begins with, `…-cert-v01@openssh.com`. */
  readonly type: string;
  readonly blob: Uint8Array;
  /** The key that is certified. */
  readonly key: PublicKey;
  readonly nonce: Uint8Array;
  /** The authority's number for it; 0 where it numbers none. */
  readonly serial: bigint;
  readonly kind: 'user' | 'host';
  /** Names the certificate in logs. */
  readonly keyId: string;
  /** The users, or the hosts, that it is for. */
  readonly principals: readonly string[];
  /** The first second in which it holds. */
  readonly validAfter: bigint;
  /** The first second in which it holds no more; `FOREVER`: it has no end. */
  readonly validBefore: bigint;
  /** Who does not know one of them must refuse. Values as in the blob: a text is an SSH string in it. */
  readonly criticalOptions: ReadonlyMap<string, Uint8Array>;
  readonly extensions: ReadonlyMap<string, Uint8Array>;
  readonly authority: PublicKey;
  /** The authority's signature blob, over `signed`. */
  readonly signature: Uint8Array;
  /** The bytes that the signature covers. */
  readonly signed: Uint8Array;
}

/** The types of certificates that puressh reads, each with that of the key in it. */
const plainTypes: ReadonlyMap<string, string> = new Map(
  [
    'ssh-ed25519',
    ...Object.keys(ecdsaCurves),
    'ssh-rsa',
    'sk-ssh-ed25519@openssh.com',
    'sk-ecdsa-sha2-nistp256@openssh.com',
  ].map((type) => [certificateName(type), type]),
);

/** Whether a key type is one of certificates, known or not. */
export function isCertificateType(type: string): boolean {
  return /-cert-v\d\d@openssh\.com$/.test(type);
}

/**
 * The certificate in `blob`. Throws `decode` for anything malformed, also for a certificate in place of the authority's key, and
 * `not-supported` for another type. With `crypto` points are also checked to lie on their curves. Verifies nothing.
 */
export function parseCertificate(blob: Uint8Array, crypto?: Pick<CryptoProvider, 'ecdsa'>): Certificate {
  if (blob.length > MAX_CERTIFICATE) {
    throw new DecodeError(`A certificate of ${blob.length} bytes; ${MAX_CERTIFICATE} are read`);
  }
  const own = copy(blob);
  const type = keyTypeOf(own);
  const plain = plainTypes.get(type);
  if (plain === undefined) {
    throw new SshError('not-supported', `'${type}' is no certificate type that puressh supports`, { fault: 'peer' });
  }
  const reader = new Reader(own);
  reader.string();
  const nonce = reader.string();
  const keyAt = reader.at;
  readKeyParts(reader, plain, crypto);
  const key = parsePublicKey(new Writer().string(plain).raw(own.subarray(keyAt, reader.at)).finish());
  const fields = {
    serial: reader.u64(),
    kind: readKind(reader.u32()),
    keyId: readText(reader.string(), 'key id'),
    principals: readPrincipals(reader.string()),
    validAfter: reader.u64(),
    validBefore: reader.u64(),
    criticalOptions: readOptions(reader.string(), 'critical option'),
    extensions: readOptions(reader.string(), 'extension'),
  };
  reader.string(); // reserved: of no meaning, whatever it holds
  const authority = readAuthority(reader.string(), crypto);
  const signed = own.subarray(0, reader.at);
  const signature = reader.string();
  reader.expectEnd('certificate');
  return { type, blob: own, key, nonce, ...fields, authority, signature, signed };
}

function readKind(kind: number): Certificate['kind'] {
  if (kind === 1) return 'user';
  if (kind === 2) return 'host';
  throw new DecodeError(`A certificate of kind ${kind}: there are 1, for users, and 2, for hosts`);
}

/** What is not UTF-8 is refused: two names must never become one text. */
function readText(bytes: Uint8Array, what: string): string {
  const text = decodeUtf8(bytes);
  if (text === undefined || text.includes('\0')) throw new DecodeError(`The ${what} of a certificate is no text`);
  return text;
}

function readPrincipals(bytes: Uint8Array): string[] {
  const reader = new Reader(bytes);
  const principals: string[] = [];
  while (reader.remaining > 0) {
    if (principals.length === MAX_PRINCIPALS) throw new DecodeError(`More than ${MAX_PRINCIPALS} principals`);
    principals.push(readText(reader.string(), 'principal'));
  }
  return principals;
}

/** PROTOCOL.certkeys wants them sorted; each name may come once. Only the latter matters to what they mean. */
function readOptions(bytes: Uint8Array, what: string): Map<string, Uint8Array> {
  const reader = new Reader(bytes);
  const options = new Map<string, Uint8Array>();
  while (reader.remaining > 0) {
    const name = readText(reader.string(), what);
    if (options.has(name)) throw new DecodeError(`The ${what} '${printable(name, 60)}' comes twice`);
    if (options.size === MAX_OPTIONS) throw new DecodeError(`More than ${MAX_OPTIONS} of the kind ${what}`);
    options.set(name, reader.string());
  }
  return options;
}

function readAuthority(blob: Uint8Array, crypto: Pick<CryptoProvider, 'ecdsa'> | undefined): PublicKey {
  const type = keyTypeOf(blob);
  if (isCertificateType(type)) throw new DecodeError(`The authority of a certificate is itself one, ${type}`);
  return parsePublicKey(blob, crypto);
}

/**
 * Whether the authority that the certificate names has signed it. Who that authority is, and whether it is trusted, the caller
 * has to know. A signature with SHA-1, or one that a browser has made, counts for nothing, as in OpenSSH.
 */
export function verifyCertificate(crypto: CryptoProvider, certificate: Certificate): MaybePromise<boolean> {
  const { authority, signed, signature } = certificate;
  const name = ifDecodes(() => new Reader(signature).name()) ?? '';
  if (!authorityAlgorithms(authority.type).includes(name)) return false;
  return verifySignature(crypto, name, authority, signed, signature);
}

/** Whether a certificate holds; `reason` is for logs and messages. */
export type CertificateVerdict = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** What a certificate is wanted for. */
export interface CertificateUse {
  readonly kind: Certificate['kind'];
  /** The user, or the host as it was asked for, in lower case and without a port. Absent: the principals do not matter. */
  readonly principal?: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether a certificate without principals is for everybody. */
  readonly allowEmptyPrincipals: boolean;
}

const USE_NAMES: readonly (keyof CertificateUse)[] = ['kind', 'principal', 'now', 'allowEmptyPrincipals'];

/** Critical options that somebody acts on: `userRestrictions` does. For hosts there are none. */
const knownCritical: Readonly<Record<Certificate['kind'], readonly string[]>> = {
  user: ['force-command', 'source-address', 'verify-required'],
  host: [],
};

/** Whether a certificate, which was verified, is for this use: kind, critical options, time, principals. */
export function judgeCertificate(certificate: Certificate, use: CertificateUse): CertificateVerdict {
  checkNames('judgeCertificate', use, USE_NAMES);
  const reason = refusalOf(certificate, use);
  return reason === undefined ? { ok: true } : { ok: false, reason };
}

function refusalOf(certificate: Certificate, use: CertificateUse): string | undefined {
  const { kind, principals, validAfter, validBefore, criticalOptions } = certificate;
  if (kind !== use.kind) return `it is for a ${kind}, not for a ${use.kind}`;
  for (const name of criticalOptions.keys()) {
    if (!knownCritical[kind].includes(name)) return `its critical option '${printable(name, 60)}' is not known`;
  }
  if (!Number.isFinite(use.now)) return 'the time is not known';
  const seconds = BigInt(Math.floor(use.now / 1000));
  if (seconds < validAfter) return `it is not valid before ${formatTime(validAfter)}`;
  if (seconds >= validBefore) return `it was valid until ${formatTime(validBefore)}`;
  if (principals.length === 0) return use.allowEmptyPrincipals ? undefined : 'it names no principals';
  if (use.principal === undefined || principals.includes(use.principal)) return undefined;
  const shown = principals.slice(0, 5).map((name) => `'${printable(name, 60)}'`);
  return `'${printable(use.principal, 60)}' is not among its principals ${shown.join(', ')}${principals.length > 5 ? ' …' : ''}`;
}

/** What an authority is to say. Times are seconds since 1970. */
export interface CertificateRequest {
  readonly key: PublicKey;
  readonly kind: Certificate['kind'];
  readonly keyId: string;
  /** Default: 0. */
  readonly serial?: bigint;
  /** Default: none, which is for nobody; OpenSSH before 10.3 takes such a one for every host. */
  readonly principals?: readonly string[];
  /** Default: 0, from ever. */
  readonly validAfter?: bigint;
  /** Default: `FOREVER`. */
  readonly validBefore?: bigint;
  /** A text is written as an SSH string; nothing stands for an option that only has to be there. Default: none. */
  readonly criticalOptions?: ReadonlyMap<string, string | Uint8Array>;
  /** As `criticalOptions`. Default: none; `USER_EXTENSIONS` are what `ssh-keygen -s` gives users. */
  readonly extensions?: ReadonlyMap<string, string | Uint8Array>;
}

const REQUEST_NAMES: readonly (keyof CertificateRequest)[] = [
  'key',
  'kind',
  'keyId',
  'serial',
  'principals',
  'validAfter',
  'validBefore',
  'criticalOptions',
  'extensions',
];

/** What `ssh-keygen -s` permits users unless it is told otherwise. */
export const USER_EXTENSIONS: ReadonlyMap<string, Uint8Array> = new Map(
  ['permit-X11-forwarding', 'permit-agent-forwarding', 'permit-port-forwarding', 'permit-pty', 'permit-user-rc'].map(
    (name) => [name, new Uint8Array(0)],
  ),
);

/**
 * A certificate of `authority`, which signs with its best algorithm. Throws `bad-argument` for what no certificate can say, and
 * for an authority that is a certificate itself, or only signs with SHA-1 or in a browser.
 */
export async function signCertificate(
  crypto: CryptoProvider,
  authority: Signer,
  request: CertificateRequest,
  random: RandomSource = crypto.random,
): Promise<Certificate> {
  checkNames('signCertificate', request, REQUEST_NAMES);
  const able = authorityAlgorithms(keyTypeOf(authority.publicKey));
  const algorithm = authority.algorithms.find((name) => able.includes(name));
  if (algorithm === undefined || isCertificateType(authority.keyType)) {
    throw new SshError('bad-argument', `A ${printable(authority.keyType, 64)} signer cannot be an authority`);
  }
  const { key, principals = [], criticalOptions = new Map(), extensions = new Map() } = request;
  const { kind, validAfter = 0n, validBefore = FOREVER } = request;
  if (kind !== 'user' && kind !== 'host') {
    throw new SshError(
      'bad-argument',
      `A certificate is of the kind 'user' or 'host', not '${printable(String(kind), 40)}'`,
    );
  }
  checkNumbers({ serial: request.serial, validAfter, validBefore });
  // a text would be as many names as it has letters
  if (!Array.isArray(principals) || principals.some((name) => typeof name !== 'string' || name === '')) {
    throw new SshError('bad-argument', 'The principals of a certificate are a list of names, none of which is empty');
  }
  if (validAfter >= validBefore) {
    const times = `from ${formatTime(validAfter)} until ${formatTime(validBefore)}`;
    throw new SshError('bad-argument', `A certificate that is valid ${times} would never be valid`);
  }
  const inner = key.blob.subarray(4 + key.type.length);
  const names = new Writer();
  for (const principal of principals) names.string(principal);
  const writer = new Writer(1024)
    .string(certificateName(key.type))
    .string(copy(random(NONCE_SIZE)))
    .raw(inner)
    .u64(request.serial ?? 0n)
    .u32(kind === 'user' ? 1 : 2)
    .string(request.keyId)
    .string(names.finish())
    .u64(validAfter)
    .u64(validBefore)
    .string(writeOptions(criticalOptions))
    .string(writeOptions(extensions))
    .string('')
    .string(authority.publicKey);
  const signed = copy(writer.finish());
  const signature = await authority.sign(signed, algorithm);
  try {
    return parseCertificate(new Writer(signed.length + signature.length + 4).raw(signed).string(signature).finish());
  } catch (error) {
    // what cannot be read again was asked for wrongly
    throw new SshError('bad-argument', `Not a certificate: ${(error as Error).message}`, { cause: error });
  }
}

function checkNumbers(numbers: Readonly<Record<string, bigint | undefined>>): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (value === undefined || (typeof value === 'bigint' && value >= 0n && value <= FOREVER)) continue;
    const shown = printable(String(value), 40);
    throw new SshError('bad-argument', `${name} of a certificate is a bigint from 0n to 2n ** 64n - 1n, not ${shown}`);
  }
}

/** PROTOCOL.certkeys wants them sorted by name. */
function writeOptions(options: ReadonlyMap<string, string | Uint8Array>): Uint8Array {
  const writer = new Writer();
  for (const name of [...options.keys()].sort()) {
    const value = options.get(name) as string | Uint8Array;
    writer.string(name).string(typeof value === 'string' ? new Writer().string(value).finish() : value);
  }
  return writer.finish();
}

/**
 * The signer with the certificate for its key in place of the key: it shows the certificate, and signs as before. Throws
 * `bad-argument` if the certificate is for another key.
 */
export function certified(signer: Signer, certificate: Certificate): Signer {
  if (!equalBytes(signer.publicKey, certificate.key.blob)) {
    const id = printable(certificate.keyId, 60);
    throw new SshError('bad-argument', `The certificate '${id}' (${certificate.type}) is not for this key`);
  }
  const plain = new Map(signer.algorithms.map((name) => [certificateName(name), name]));
  return {
    ...signer,
    publicKey: certificate.blob,
    keyType: certificate.type,
    algorithms: [...plain.keys()],
    sign: (message, algorithm) => signer.sign(message, plain.get(algorithm) ?? algorithm),
  };
}
