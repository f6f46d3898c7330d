/**
 * The one error class. Every failure that leaves puressh is an `SshError`: its `code` says what happened, its `fault`
 * who has to act, and, where the peer has to be told, `disconnect` the reason of RFC 4253 §11.1.
 * Knows nothing of any layer above.
 */

/** What happened. Stable strings, safe to switch on. */
export type SshErrorCode =
  | 'aborted' // an AbortSignal fired
  | 'agent-failed' // an agent refused, broke its protocol, or cannot be reached
  | 'auth-failed' // no method was accepted
  | 'bad-argument' // the caller passed something unusable
  | 'bad-config' // a line of ssh_config cannot be used
  | 'bad-local-file' // a local file could not be opened, read, written or renamed
  | 'channel-closed' // the channel ended while something was pending on it
  | 'channel-open-failed' // the peer refused a channel
  | 'connect-failed' // no byte stream to a server could be made
  | 'connection-closed' // this side closed the connection
  | 'connection-lost' // the byte stream ended or failed without a DISCONNECT
  | 'content-differs' // what stands at the other side is not what was sent
  | 'crypto' // a primitive refused its input (bad point, all-zero secret, bad length)
  | 'decode' // bytes do not have the shape they must have
  | 'disconnected' // the peer sent DISCONNECT
  | 'host-key-certificate' // a known authority vouches, but not for this host, time or use
  | 'host-key-changed' // the host is known under another key
  | 'host-key-mismatch' // the key is not the pinned one
  | 'host-key-revoked' // the key is marked @revoked
  | 'host-key-unknown' // the policy knows no key for this host
  | 'identification' // the peer does not identify itself as SSH 2
  | 'incomplete' // a transfer ended before every byte was there
  | 'internal' // puressh itself failed, which is worth a report
  | 'integrity' // a MAC or an authentication tag did not match
  | 'keepalive-timeout' // nothing came back for several keepalives
  | 'key-cipher-unsupported' // a key file's cipher or key derivation is unknown, or costs more than the limit
  | 'key-corrupt' // a key file is damaged
  | 'key-format-unsupported' // a key file of a kind that puressh does not read
  | 'key-passphrase-needed' // the key file is encrypted and no passphrase was given
  | 'key-passphrase-wrong' // the passphrase does not open the key file
  | 'key-exchange-failed' // the key exchange broke: bad public value, bad host signature
  | 'limit' // the peer or the caller exceeded a named limit
  | 'listen-failed' // there is nowhere to listen, or nothing can be accepted
  | 'no-common-algorithm' // negotiation found nothing both sides accept
  | 'not-supported' // the peer does not offer what was asked
  | 'protocol' // the peer broke a rule of the protocol
  | 'request-failed' // the peer answered FAILURE to a channel or global request
  | 'sftp-status' // the server answered an SFTP request with an error status
  | 'sftp-unavailable' // the peer offers no SFTP, or something else answers in its place
  | 'target-exists' // the destination exists and may not be replaced
  | 'timeout'; // a wait reached its limit

/** Who has to act: the peer's software, this program, the line between, or a policy that said no. */
export type Fault = 'peer' | 'local' | 'network' | 'policy';

/** Everything about a failure beside its message. */
export interface SshErrorInfo {
  /** Default: `local`. */
  readonly fault?: Fault;
  /** The phase of the connection, such as `identification`, `key-exchange`, `authentication`, `open`. */
  readonly phase?: string;
  /** Reason code for the DISCONNECT that tells the peer (RFC 4253 §11.1). */
  readonly disconnect?: number;
  /** SFTP status code (draft-ietf-secsh-filexfer-02 §7). */
  readonly status?: number;
  /** SFTP operation, such as `open` or `read`. */
  readonly operation?: string;
  /** The path the operation was about, sanitised for display. */
  readonly path?: string;
  /** How many bytes from the start, without a gap, a transfer had moved when it failed. */
  readonly transferred?: number;
  /** The error this one was made from. */
  readonly cause?: unknown;
}

/**
 * An error of puressh. Messages are sentences without a final period that name the offending value and what to do.
 * Text that came from the peer is sanitised before it enters a message.
 */
export class SshError extends Error {
  override readonly name = 'SshError';
  readonly code: SshErrorCode;
  readonly fault: Fault;
  readonly phase: string | undefined;
  readonly disconnect: number | undefined;
  readonly status: number | undefined;
  readonly operation: string | undefined;
  readonly path: string | undefined;
  readonly transferred: number | undefined;

  constructor(code: SshErrorCode, message: string, info: SshErrorInfo = {}) {
    super(message, info.cause === undefined ? undefined : { cause: info.cause });
    this.code = code;
    this.fault = info.fault ?? 'local';
    this.phase = info.phase;
    this.disconnect = info.disconnect;
    this.status = info.status;
    this.operation = info.operation;
    this.path = info.path;
    this.transferred = info.transferred;
  }
}

/** `value` as an `SshError`; anything else is wrapped with `code` and kept as its cause. */
export function toSshError(value: unknown, code: SshErrorCode, info: SshErrorInfo = {}): SshError {
  if (value instanceof SshError) return value;
  const message = value instanceof Error ? value.message : String(value);
  return new SshError(code, message, { ...info, cause: value });
}

/** The error for bytes from the peer that break a rule of the protocol; DISCONNECT reason 2, PROTOCOL_ERROR. */
export function protocolError(message: string, info: SshErrorInfo = {}): SshError {
  return new SshError('protocol', message, { fault: 'peer', disconnect: 2, ...info });
}
