/**
 * Peers that differ from the standards, as data: one table, keyed on the identification line, that callers can see and
 * override. A quirk is a fact about the peer; what follows from it is decided where the fact matters.
 */

/** What a peer does differently. */
export interface Quirks {
  /** Its `server-sig-algs` does not name rsa-sha2-256 and -512 although it verifies them (RFC 8332 §3.3). */
  readonly takesRsaSha2Unsaid: boolean;
  /** It loses a USERAUTH_REQUEST that comes before it has sent SERVICE_ACCEPT, or breaks off. */
  readonly acceptsServiceFirst: boolean;
  /**
   * The number that it gives the first channel of a connection. Where it is known, requests may follow CHANNEL_OPEN without
   * waiting for the confirmation. Should it refuse that channel, OpenSSH ends the connection over the request behind it, so
   * this is done only where a caller asks for it (`early`).
   */
  readonly firstChannel: number | undefined;
  /**
   * Bytes that a session takes from the request for its program on, before WINDOW_ADJUST says so. OpenSSH confirms a session
   * with a window of 0 and opens it, by 2 MiB, before it reads the next message; what it refuses to start drops what comes.
   */
  readonly sessionWindow: number;
  /**
   * What follows an attempt to log in that succeeds is passed on, as RFC 4252 §5.3 says, and what follows one that fails costs
   * no more than UNIMPLEMENTED. Dropbear breaks off over it.
   */
  readonly channelsBeforeSuccess: boolean;
  /** A client that breaks off over the host keys that a server tells after the login (`hostkeys-00@openssh.com`). */
  readonly losesHostKeys: boolean;
  /** Its SFTP server carries out one request after the other from INIT on, so they need not wait for VERSION. */
  readonly sftpBeforeVersion: boolean;
  /**
   * Its SFTP sessions write to one and the same file, and a second OPEN of a file that is being written changes nothing. Erlang's
   * empties the file then, and a gateway to a store of objects may begin another object.
   */
  readonly sharesOpenFiles: boolean;
  /**
   * The order of the two paths in SYMLINK that its SFTP server takes: the draft (draft-ietf-secsh-filexfer-02 §6.10) has the link
   * first, OpenSSH and most others have it last.
   */
  readonly symlinkOrder: 'openssh' | 'draft';
  /**
   * Extended requests of its SFTP server in place of what that announces: the version, or `undefined` for one that it does
   * wrong. ProFTPD (1.3.8) takes check-file and does not say so; its answers to home-directory are no packets.
   */
  readonly sftpExtensions: Readonly<Record<string, string | undefined>>;
  /**
   * What its SFTP server takes, whatever it says. Erlang's (25) gives one handle for two files when more than two are open.
   */
  readonly sftpLimits: { readonly maxOpenHandles?: number };
}

const none: Quirks = {
  takesRsaSha2Unsaid: false,
  acceptsServiceFirst: false,
  firstChannel: undefined,
  sessionWindow: 0,
  channelsBeforeSuccess: false,
  losesHostKeys: false,
  sftpBeforeVersion: false,
  sharesOpenFiles: false,
  symlinkOrder: 'openssh',
  sftpExtensions: {},
  sftpLimits: {},
};

/** The table. All rows that match count. */
export const quirkTable: readonly { readonly peer: RegExp; readonly quirks: Partial<Quirks> }[] = [
  { peer: /^SSH-2\.0-OpenSSH_7\.4/, quirks: { takesRsaSha2Unsaid: true } },
  {
    peer: /^SSH-2\.0-OpenSSH_([6-9]|\d\d)\./,
    quirks: { firstChannel: 0, sessionWindow: 32 * 1024, channelsBeforeSuccess: true, sftpBeforeVersion: true },
  },
  { peer: /^SSH-2\.0-(OpenSSH_|dropbear|mod_sftp|AsyncSSH_|paramiko_|puressh_)/, quirks: { sharesOpenFiles: true } },
  { peer: /^SSH-2\.0-(AsyncSSH_|Erlang\/|Twisted_)/, quirks: { symlinkOrder: 'draft' } },
  { peer: /^SSH-2\.0-Erlang\//, quirks: { sftpLimits: { maxOpenHandles: 2 } } },
  {
    peer: /^SSH-2\.0-mod_sftp/,
    quirks: { sftpExtensions: { 'check-file-handle': '1', 'check-file-name': '1', 'home-directory': undefined } },
  },
  { peer: /^SSH-2\.0-(TTSSH\/(1\.5\.|2\.[1-6]|2\.7[0-2])|TeraTerm SSH|Cisco-1\.)/, quirks: { losesHostKeys: true } },
  // its first channel is 0 too, but it ends the connection where a request comes in one piece with CHANNEL_OPEN
  { peer: /^SSH-2\.0-puressh_/, quirks: { sftpBeforeVersion: true } },
];

/** The quirks of the peer that identifies itself with this line; `overrides` wins over the table. */
export function quirksOf(identification: string, overrides: Partial<Quirks> = {}): Quirks {
  const rows = quirkTable.filter((row) => row.peer.test(identification)).map((row) => row.quirks);
  return Object.assign({}, none, ...rows, overrides);
}
