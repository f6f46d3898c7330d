/** Bodies of channel requests: RFC 4254 §6. */

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
  'exit-status': { status: 'uint32' },
  'exit-signal': { signal: 'name', coreDumped: 'boolean', message: 'text', language: 'name' },
} as const;
