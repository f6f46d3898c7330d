/** Bodies of channel requests, of channels to open, and of global requests: RFC 4254 §6, §7. */

/** The request of a session that forwards an agent, and the kind of the channels that follow from it: OpenSSH's names. */
export const AGENT_REQUEST = 'auth-agent-req@openssh.com';
export const AGENT_CHANNEL = 'auth-agent@openssh.com';

/** What follows `want reply` in CHANNEL_REQUEST, by request name. */
export const channelRequest = {
  'pty-req': {
    term: 'text',
    columns: 'uint32',
    rows: 'uint32',
    widthPixels: 'uint32',
    heightPixels: 'uint32',
    modes: 'string',
  },
  env: { name: 'text', value: 'text' },
  shell: {},
  exec: { command: 'string' },
  subsystem: { name: 'text' },
  'window-change': { columns: 'uint32', rows: 'uint32', widthPixels: 'uint32', heightPixels: 'uint32' },
  signal: { signal: 'name' },
  'auth-agent-req@openssh.com': {},
  'exit-status': { status: 'uint32' },
  'exit-signal': { signal: 'name', coreDumped: 'boolean', message: 'text', language: 'name' },
} as const;

/** What follows the fixed fields of CHANNEL_OPEN, by kind of channel: RFC 4254 §7.2. */
export const channelOpen = {
  'direct-tcpip': { host: 'text', port: 'uint32', originHost: 'text', originPort: 'uint32' },
  'forwarded-tcpip': { host: 'text', port: 'uint32', originHost: 'text', originPort: 'uint32' },
} as const;

/** What follows `want reply` in GLOBAL_REQUEST, by request name: RFC 4254 §7.1. */
export const globalRequest = {
  'tcpip-forward': { host: 'text', port: 'uint32' },
  'cancel-tcpip-forward': { host: 'text', port: 'uint32' },
} as const;

/** What REQUEST_SUCCESS carries after a `tcpip-forward` of port 0: RFC 4254 §7.1. */
export const forwardedPort = { port: 'uint32' } as const;
