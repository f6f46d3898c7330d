/** Reason codes and names that the RFCs assign. */

/** DISCONNECT reasons: RFC 4253 §11.1. */
export const DisconnectReason = {
  hostNotAllowedToConnect: 1,
  protocolError: 2,
  keyExchangeFailed: 3,
  reserved: 4,
  macError: 5,
  compressionError: 6,
  serviceNotAvailable: 7,
  protocolVersionNotSupported: 8,
  hostKeyNotVerifiable: 9,
  connectionLost: 10,
  byApplication: 11,
  tooManyConnections: 12,
  authCancelledByUser: 13,
  noMoreAuthMethodsAvailable: 14,
  illegalUserName: 15,
} as const;

/** CHANNEL_OPEN_FAILURE reasons: RFC 4254 §5.1. */
export const OpenFailureReason = {
  administrativelyProhibited: 1,
  connectFailed: 2,
  unknownChannelType: 3,
  resourceShortage: 4,
} as const;

/** The port of SSH: RFC 4253 §4.1. */
export const SSH_PORT = 22;

/** Service names: RFC 4250 §4.7. */
export const SERVICE_USERAUTH = 'ssh-userauth';
export const SERVICE_CONNECTION = 'ssh-connection';

/** Markers among the key exchange names: RFC 8308 §2.1 and OpenSSH PROTOCOL §1.9. Never chosen as methods. */
export const MARKER = {
  extInfoClient: 'ext-info-c',
  extInfoServer: 'ext-info-s',
  strictClient: 'kex-strict-c-v00@openssh.com',
  strictServer: 'kex-strict-s-v00@openssh.com',
} as const;
