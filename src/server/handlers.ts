/**
 * How a server is told who may log in and what may be forwarded: functions that take what is known and return what follows.
 * RFC 4252, RFC 4254 §7. Types only.
 */

import type { Prompt } from '../core/events.ts';
import type { MaybePromise } from '../crypto/provider.ts';
import type { Accepted, Listener } from '../io/listen.ts';
import type { BytePipe } from '../io/pipe.ts';
import type { ByteStreams } from '../io/streams.ts';
import type { Certificate } from '../keys/certificate.ts';
import type { ForwardPermit } from '../keys/forward_permit.ts';
import type { PublicKey } from '../keys/public_key.ts';
import type { Presence } from '../keys/sk_signature.ts';

/** Who is at the other end. */
export interface Peer {
  /** Where the connection comes from, where that is known. */
  readonly address?: string;
  readonly port?: number;
  /** The client's identification, such as `SSH-2.0-OpenSSH_9.6`, sanitised. */
  readonly identification: string;
}

/** A key that a user shows. */
export interface UserKey {
  /** SHA256 fingerprint, as OpenSSH prints it. */
  readonly fingerprint: string;
  readonly publicKey: PublicKey;
  /**
   * What the key was shown in. Its authority has signed it; whether that authority is to be trusted, and the certificate holds
   * for this user, here and now, is for the function to say: `userCertificates` does.
   */
  readonly certificate?: Certificate;
  /** What a security key says of the person at it, once a signature was verified. */
  readonly presence?: Presence;
}

/** A method that this user has already got right, in a login that takes several. */
export interface Step {
  readonly method: string;
  /** The key, where the method was `publickey`. */
  readonly key?: UserKey;
}

/** What every attempt to log in comes with. Nobody has proved to be `username` yet. */
export interface Attempt {
  readonly username: string;
  readonly peer: Peer;
  readonly steps: readonly Step[];
}

/** What a user who is logged in may do, as a line of `authorized_keys` can restrict it. Absent members restrict nothing. */
export interface Permissions {
  /** Run in place of whatever the client asks for. */
  readonly command?: string;
  /** Variables that the program gets beside the client's. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly pty?: boolean;
  readonly portForwarding?: boolean;
  readonly agentForwarding?: boolean;
  /** The only targets of `direct-tcpip`. */
  readonly permitOpen?: readonly ForwardPermit[];
  /** The only addresses of `tcpip-forward`. */
  readonly permitListen?: readonly ForwardPermit[];
}

/** What a user gets who was let in. */
export interface Grant {
  readonly permissions?: Permissions;
  readonly identity?: unknown;
  readonly noTouchRequired?: boolean;
}

/**
 * What comes of an attempt. `true`: logged in. `false`: no. `partial`: right, and one of these methods is wanted as well; what
 * each step restricts is restricted in the end, and `identity` is that of the last step that gave one. `noTouchRequired`: the
 * signature of a security key counts although nobody touched it; otherwise it does not. `changePassword`: the password is right and
 * expired, this is what the user is asked; only to `password`.
 */
export type LoginResult =
  | boolean
  | Grant
  | (Grant & { readonly partial: readonly string[] })
  | { readonly changePassword: string };

/** A round of questions (RFC 4256 §3.2). */
export interface QuestionRound {
  readonly title?: string;
  readonly instruction?: string;
  readonly prompts: readonly Prompt[];
}

/**
 * Who may log in. A method that has no function is not offered. Each function runs for users that do not exist too, and should
 * take as long for them: what is refused is answered in steps of time, but a step is no wall.
 */
export interface LoginHandlers {
  /** For whoever comes without proof: `true` makes an open server. */
  none?(attempt: Attempt): MaybePromise<LoginResult>;
  /** `newPassword`: the client also wants it changed to this. */
  password?(attempt: Attempt & { readonly password: string; readonly newPassword?: string }): MaybePromise<LoginResult>;
  /**
   * Runs for a key that is only shown, to tell the client whether it would do, and again once its signature is verified. Only
   * then anything comes of the result: keep nothing outside of it.
   */
  publickey?(attempt: Attempt & { readonly key: UserKey; readonly algorithm: string }): MaybePromise<LoginResult>;
  /** `ask` gives the answers, one each, and rejects with `aborted` when the client turns to another method or goes away. */
  keyboardInteractive?(
    attempt: Attempt,
    ask: (round: QuestionRound) => Promise<readonly string[]>,
  ): MaybePromise<LoginResult>;
}

/** Who is logged in. */
export interface Login {
  readonly username: string;
  readonly steps: readonly Step[];
  readonly permissions: Permissions;
  /** What the functions that let the user in gave as `identity`: of several the last. */
  readonly identity: unknown;
  readonly peer: Peer;
}

/** Where a client wants to be connected to, and on whose behalf (RFC 4254 §7.2). The peer's word, sanitised. */
export interface ForwardTarget {
  readonly host: string;
  readonly port: number;
  readonly originHost: string;
  readonly originPort: number;
}

/** What a client may have forwarded; what has no function is refused. */
export interface ForwardHandlers {
  /** Gives the connection to the target, or nothing to refuse. `signal` fires when the client has gone. */
  connect?(
    target: ForwardTarget,
    login: Login,
    signal: AbortSignal,
  ): MaybePromise<BytePipe | ByteStreams | undefined | false>;
  /** Listens for the client on `host` (RFC 4254 §7.1: '' and '*' are every address), or gives nothing to refuse. Port 0: any. */
  listen?(
    bind: { readonly host: string; readonly port: number },
    login: Login,
    accept: (accepted: Accepted) => void,
  ): MaybePromise<Listener | undefined | false>;
}
