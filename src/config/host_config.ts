/** What ssh_config(5) files say about one host, as typed values. Paths are expanded; names of algorithms are as written. */

/** A server on the way: one part of ProxyJump. What is absent, the configuration of that host says. */
export interface JumpHost {
  readonly user?: string;
  readonly host: string;
  readonly port?: number;
}

/** How a host key that is not known is met: `StrictHostKeyChecking`, with `off` written as `no`. */
export type StrictHostKeyChecking = 'yes' | 'no' | 'ask' | 'accept-new';

/** A keyword and where its value comes from. */
export interface ConfigOrigin {
  readonly keyword: string;
  /** The file, or what else the line was read from. */
  readonly source: string;
  /** From 1. */
  readonly line: number;
}

/** Names of algorithms as OpenSSH writes them: `a,b`, `+a,b`, `-a*,b` or `^a,b`. Absent: the default. */
export interface ConfiguredAlgorithms {
  readonly kex?: string;
  readonly hostKeys?: string;
  readonly ciphers?: string;
  readonly macs?: string;
  /** `PubkeyAcceptedAlgorithms`: what users may sign with. */
  readonly signatures?: string;
}

/** The configuration of one host; see `resolveConfig`. */
export interface HostConfig {
  /** As it was asked for. */
  readonly originalHost: string;
  /** Where to connect: `HostName`, or the host as it was asked for. In lower case unless it is an address. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Whether a file, or the caller, named the user. */
  readonly userGiven: boolean;
  /** Absent where no file names any: the usual ones in `~/.ssh` are meant. `none` was dropped. */
  readonly identityFiles?: readonly string[];
  readonly certificateFiles: readonly string[];
  readonly identitiesOnly: boolean;
  /** The path of the agent's socket, `none` for no agent; absent: the one that the environment names. */
  readonly identityAgent?: string;
  /** In the order in which they are passed through; empty: none. */
  readonly proxyJump: readonly JumpHost[];
  /** Absent: OpenSSH's `~/.ssh/known_hosts` and `known_hosts2`. Empty: none. */
  readonly userKnownHostsFiles?: readonly string[];
  /** Absent: OpenSSH's `/etc/ssh/ssh_known_hosts` and `ssh_known_hosts2`. Empty: none. */
  readonly globalKnownHostsFiles?: readonly string[];
  readonly strictHostKeyChecking: StrictHostKeyChecking;
  /** Absent where no file says. */
  readonly updateHostKeys?: boolean | 'ask';
  readonly revokedHostKeys?: string;
  readonly hashKnownHosts: boolean;
  /** The name that the host's key is looked up under, in place of `host` and without a port. */
  readonly hostKeyAlias?: string;
  /** Bits that an RSA key of the host has at least. */
  readonly requiredRsaSize?: number;
  readonly algorithms: ConfiguredAlgorithms;
  /** Milliseconds; absent: the default. */
  readonly connectTimeout?: number;
  /** Milliseconds; 0: never. */
  readonly serverAliveInterval: number;
  readonly serverAliveCountMax: number;
  readonly compression: boolean;
  /** Whether to forward the agent, or the path of the one to forward. */
  readonly forwardAgent: boolean | string;
  /** Nothing is ever asked of a person. */
  readonly batchMode: boolean;
  /** Ways to log in that may be used, in order of preference; names of RFC 4252. */
  readonly authMethods: readonly string[];
  /** Whether that order is of `PreferredAuthentications`. */
  readonly authOrderGiven: boolean;
  /** Keywords that apply to the host and that puressh does not act on. */
  readonly ignored: readonly ConfigOrigin[];
  /** Where the values come from, by keyword in lower case. */
  readonly sources: ReadonlyMap<string, ConfigOrigin>;
}
