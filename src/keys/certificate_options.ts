/**
 * What a user's certificate restricts and permits: PROTOCOL.certkeys, "Critical options" and "Extensions". Certificates permit
 * nothing that they do not name. Must not know what a server does with it.
 */

import { DecodeError, Reader } from '../bytes/reader.ts';
import { decodeUtf8, printable } from '../bytes/text.ts';
import type { Certificate } from './certificate.ts';
import { type FromPattern, parseFromList } from './from_list.ts';

/** What a user may do who logs in with a certificate. */
export interface CertificateRights {
  /** Runs in place of whatever the client asks for. May be empty. */
  readonly command?: string;
  /** From where it may be used: see `matchFromList`. */
  readonly from?: readonly FromPattern[];
  /** A security key has to make sure who touches it. */
  readonly verifyRequired: boolean;
  /** A security key may sign without somebody touching it. */
  readonly noTouchRequired: boolean;
  readonly pty: boolean;
  readonly portForwarding: boolean;
  readonly agentForwarding: boolean;
  readonly x11Forwarding: boolean;
  /** Whether `~/.ssh/rc` runs. */
  readonly userRc: boolean;
}

/** Extensions that have no value, each with what it permits. */
const flags = {
  'no-touch-required': 'noTouchRequired',
  'permit-pty': 'pty',
  'permit-port-forwarding': 'portForwarding',
  'permit-agent-forwarding': 'agentForwarding',
  'permit-X11-forwarding': 'x11Forwarding',
  'permit-user-rc': 'userRc',
} as const;

/**
 * What a user's certificate allows, or the reason to refuse it: a critical option that is not known, or a value that cannot be
 * understood. Extensions that are not known mean nothing.
 */
export function certificateRights({ criticalOptions, extensions }: Certificate): CertificateRights | string {
  const rights = {
    ...{ verifyRequired: false, noTouchRequired: false, pty: false, portForwarding: false },
    ...{ agentForwarding: false, x11Forwarding: false, userRc: false },
  };
  for (const [name, permits] of Object.entries(flags)) {
    const value = extensions.get(name);
    if (value === undefined) continue;
    if (value.length > 0) return `Its extension '${name}' has a value, but takes none`;
    rights[permits] = true;
  }
  let restricted: Pick<CertificateRights, 'command' | 'from'> = {};
  for (const [name, value] of criticalOptions) {
    switch (name) {
      case 'force-command': {
        const command = textOf(value);
        if (command === undefined) return "Its 'force-command' is no text";
        restricted = { ...restricted, command };
        break;
      }
      case 'source-address': {
        const from = networksOf(textOf(value));
        if (typeof from === 'string') return from;
        restricted = { ...restricted, from };
        break;
      }
      case 'verify-required':
        if (value.length > 0) return "Its critical option 'verify-required' has a value, but takes none";
        rights.verifyRequired = true;
        break;
      default:
        return `Its critical option '${printable(name, 60)}' is not known`;
    }
  }
  return { ...rights, ...restricted };
}

/** The one SSH string in the value of an option. */
function textOf(value: Uint8Array): string | undefined {
  try {
    const reader = new Reader(value);
    const text = decodeUtf8(reader.string());
    reader.expectEnd('option');
    return text?.includes('\0') ? undefined : text;
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

/**
 * What a `source-address` allows, or the reason why it is none: addresses and networks alone may stand there; names and wildcards,
 * which an authority cannot mean, refuse.
 */
export function networksOf(text: string | undefined): FromPattern[] | string {
  if (text === undefined) return "Its 'source-address' is no text";
  const patterns = parseFromList(text);
  if (typeof patterns === 'string') return `In its 'source-address' ${patterns}`;
  const odd = patterns.some(({ form, negated }) => negated || form !== 'network');
  return odd ? `Its 'source-address' has more than networks in it: ${printable(text, 60)}` : patterns;
}
