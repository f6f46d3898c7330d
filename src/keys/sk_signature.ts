/**
 * Signatures of security keys: OpenSSH's PROTOCOL.u2f, and WebAuthn Level 2 §5.8.1, §6.1 for those that a browser had made.
 * What a key says about the person at it is told (`readPresence`), not judged.
 */

import { concat, equalBytes } from '../bytes/bytes.ts';
import { Reader } from '../bytes/reader.ts';
import { base64, latin1, utf8 } from '../bytes/text.ts';
import { Writer } from '../bytes/writer.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import type { PublicKey } from './public_key.ts';
import { fixedWidth, ifDecodes } from './signature_body.ts';

/** What a security key signs of itself, beside the message. */
export interface Presence {
  /** Somebody touched it. */
  readonly touched: boolean;
  /** It made sure who, by a PIN or a fingerprint. */
  readonly verified: boolean;
  /** How many signatures it says to have made. */
  readonly counter: number;
}

const WEBAUTHN = 'webauthn-sk-ecdsa-sha2-nistp256@openssh.com';
const SECURITY_KEYS: readonly string[] = ['sk-ssh-ed25519@openssh.com', 'sk-ecdsa-sha2-nistp256@openssh.com', WEBAUTHN];

// WebAuthn Level 2 §6.1
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_ATTESTED_KEY = 0x40;
const HAS_EXTENSIONS = 0x80;

/** What the signature in `blob` says of the person, once it was verified; `undefined` for one that is not of a security key. */
export function readPresence(blob: Uint8Array): Presence | undefined {
  return ifDecodes(() => {
    const reader = new Reader(blob);
    if (!SECURITY_KEYS.includes(reader.name())) return undefined;
    reader.string();
    const flags = reader.u8();
    const counter = reader.u32();
    return { touched: (flags & USER_PRESENT) !== 0, verified: (flags & USER_VERIFIED) !== 0, counter };
  });
}

/** A signature that a security key made for SSH: `more` is its flags and its counter. */
export function verifySecurityKey(
  crypto: CryptoProvider,
  key: PublicKey,
  message: Uint8Array,
  body: Uint8Array,
  more: Uint8Array,
): MaybePromise<boolean> {
  if (!('application' in key) || more.length !== 5) return false;
  const { digest } = crypto.hashes.sha256;
  const signed = concat(digest(utf8(key.application)), more, digest(message));
  if (key.type === 'sk-ssh-ed25519@openssh.com') {
    return body.length === 64 && crypto.ed25519.verify(key.publicKey, signed, body);
  }
  const signature = fixedWidth(body, 32);
  return signature !== undefined && crypto.ecdsa.p256.verify(key.point, signed, signature);
}

/** A signature that a security key made for a browser: behind flags and counter stand its origin, client data and extensions. */
export function verifyWebauthn(
  crypto: CryptoProvider,
  key: PublicKey,
  message: Uint8Array,
  body: Uint8Array,
  more: Uint8Array,
): MaybePromise<boolean> {
  const signature = fixedWidth(body, 32);
  if (key.type !== 'sk-ecdsa-sha2-nistp256@openssh.com' || signature === undefined) return false;
  const parts = ifDecodes(() => {
    const reader = new Reader(more);
    const read = {
      flags: reader.u8(),
      counter: reader.u32(),
      origin: reader.string(),
      clientData: reader.string(),
      extensions: reader.string(),
    };
    reader.expectEnd('signature');
    return read;
  });
  if (parts === undefined || !isForMessage(parts.clientData, parts.origin, message)) return false;
  const { flags, counter, clientData, extensions } = parts;
  // 0x40 would be the answer to another request, one that makes a key
  if ((flags & HAS_ATTESTED_KEY) !== 0 || ((flags & HAS_EXTENSIONS) !== 0) !== extensions.length > 0) return false;
  const { digest } = crypto.hashes.sha256;
  const data = new Writer()
    .raw(digest(utf8(key.application)))
    .u8(flags)
    .u32(counter)
    .raw(extensions);
  return crypto.ecdsa.p256.verify(key.point, concat(data.finish(), digest(clientData)), signature);
}

/** Whether the client data begin as browsers write them (WebAuthn Level 2 §5.8.1.1), with the message as the challenge. */
function isForMessage(clientData: Uint8Array, origin: Uint8Array, message: Uint8Array): boolean {
  // a quote would end the text of the origin, and what follows could be anything
  if (latin1(origin).includes('"')) return false;
  const challenge = base64(message).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  const start = concat(utf8(`{"type":"webauthn.get","challenge":"${challenge}","origin":"`), origin, utf8('"'));
  return equalBytes(clientData.subarray(0, start.length), start);
}
