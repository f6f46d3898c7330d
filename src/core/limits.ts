/** Every limit of the core on what a peer can make us allocate, queue, loop over or wait for, in one table. */

/** Limits of one connection; sizes in bytes, times in milliseconds. */
export interface Limits {
  /** Lines before the identification (RFC 4253 §4.2 sets none; OpenSSH takes 1024). */
  readonly greetingLines: number;
  /** Length of one such line, and of an identification that never ends; OpenSSH takes 8192. */
  readonly greetingLine: number;
  /** The identification with its CR LF: RFC 4253 §4.2. */
  readonly identification: number;
  /** packet_length of a packet from the peer. RFC 4253 §6.1 asks for 35000; OpenSSH takes 256 KiB. Decompressed, too. */
  readonly packetLength: number;
  /** Names in one name-list of KEXINIT; real peers offer fewer than 40. */
  readonly namesInList: number;
  /** Extensions in one EXT_INFO; OpenSSH takes 1024. */
  readonly extensions: number;
  /** Answers of ours that wait to be sent before we stop reading, or, in a key exchange, give up. */
  readonly queuedReplies: number;
  /** Channels open at once, in both directions together. */
  readonly channels: number;
  /** Prompts in one keyboard-interactive round; OpenSSH takes 100. */
  readonly prompts: number;
  /** Rounds and attempts of authentication before we stop: no server, and no client, needs as many. */
  readonly authRounds: number;
  /** Key exchanges that a peer may begin before the login: each costs a server a signature, and none but the first is needed. */
  readonly earlyExchanges: number;
  /** Refused attempts to log in that a server takes; OpenSSH's MaxAuthTries. Queries of keys are not attempts. */
  readonly authFailures: number;
  /** From the start to the peer's identification. */
  readonly identificationTime: number;
  /** From our KEXINIT or the peer's to its NEWKEYS; the first exchange of a server counts towards `loginTime` instead. */
  readonly keyExchangeTime: number;
  /** From an authentication message of ours to its answer; a person who is asked is not timed. */
  readonly authTime: number;
  /** From the start to the end of the login, as a server allows it; OpenSSH's LoginGraceTime. */
  readonly loginTime: number;
  /** From our CLOSE of a channel to the peer's (some devices never send it). */
  readonly channelCloseTime: number;
}

export const defaultLimits: Limits = {
  greetingLines: 1024,
  greetingLine: 8192,
  identification: 255,
  packetLength: 256 * 1024,
  namesInList: 256,
  extensions: 1024,
  queuedReplies: 1024 * 1024,
  channels: 1024,
  prompts: 100,
  authRounds: 64,
  earlyExchanges: 16,
  authFailures: 6,
  identificationTime: 30_000,
  keyExchangeTime: 60_000,
  authTime: 120_000,
  loginTime: 120_000,
  channelCloseTime: 10_000,
};
