/**
 * What a connection tells its driver, and what it asks. An event is a fact; a question is an event that must be answered with
 * `Connection.answer` or `Connection.refuse`. Commands are the methods of `Connection`.
 */

import type { MaybePromise } from '../crypto/provider.ts';
import type { SshError } from '../errors.ts';
import type { Certificate } from '../keys/certificate.ts';
import type { PublicKey } from '../keys/public_key.ts';
import type { Signer } from '../keys/signature.ts';
import type { Presence } from '../keys/sk_signature.ts';

export type Role = 'client' | 'server';

/** What one key exchange settled. `mac` is absent where the cipher authenticates by itself. */
export interface Negotiated {
  readonly kex: string;
  readonly hostKey: string;
  readonly toServer: DirectionAlgorithms;
  readonly toClient: DirectionAlgorithms;
}

export interface DirectionAlgorithms {
  readonly cipher: string;
  readonly mac?: string;
  readonly compression: string;
}

/** One prompt of keyboard-interactive (RFC 4256 §3.2), sanitised. */
export interface Prompt {
  readonly text: string;
  /** Whether what the user types may be shown. */
  readonly echo: boolean;
}

/** One way to log in that the client wants to try next. */
export type AuthAttempt =
  | { readonly method: 'none' }
  | { readonly method: 'password'; readonly password: string }
  | { readonly method: 'publickey'; readonly signer: Signer }
  | { readonly method: 'keyboard-interactive' };

/** One attempt of a client to log in, as its server sees it. Nothing is known about the user but the name. */
export type LoginAttempt =
  | { readonly method: 'none' }
  /** `newPassword`: the client wants the password changed to this (RFC 4252 §8). */
  | { readonly method: 'password'; readonly password: string; readonly newPassword?: string }
  /**
   * The client has proved that it holds this key. `certificate`: what it showed the key in; its authority has signed it, but who
   * that is, and whether it holds, is not looked at. `presence`: what a security key says of the person at it.
   */
  | {
      readonly method: 'publickey';
      readonly algorithm: string;
      readonly publicKey: PublicKey;
      readonly certificate?: Certificate;
      readonly presence?: Presence;
    }
  /** `submethods`: what the client would like, as a rule nothing (RFC 4256 §3.1). */
  | { readonly method: 'keyboard-interactive'; readonly submethods: string };

/** What a server says to an attempt. */
export type LoginVerdict =
  /** Logged in. */
  | { readonly verdict: 'accept' }
  /** Right, but one of these methods has to succeed as well (RFC 4252 §5.1). */
  | { readonly verdict: 'partial'; readonly methods: readonly string[] }
  | { readonly verdict: 'refuse' }
  /** Another round of questions; only to keyboard-interactive. */
  | {
      readonly verdict: 'prompt';
      readonly title: string;
      readonly instruction: string;
      readonly prompts: readonly Prompt[];
    }
  /** The password is right and has to be changed; only to `password`. */
  | { readonly verdict: 'change-password'; readonly prompt: string };

/** What the core cannot know by itself. The comment says what `answer` takes. */
export type Question =
  /** The provider or a signer is at work. Answer: what the promise gives. */
  | { readonly kind: 'work'; readonly promise: Promise<unknown> }
  /**
   * May this key speak for the host? `signature`, over the hash of the key exchange, has been verified. Answer: anything; refuse with
   * the reason why not.
   */
  | {
      readonly kind: 'host-key';
      readonly algorithm: string;
      readonly hostKey: Uint8Array;
      readonly signature: Uint8Array;
    }
  /**
   * What to try next. `methods`: what the server says can continue (`undefined` before it said so). `failed`: the attempt
   * just refused. `unsent`: not by the server, which was not sent any signature: it takes none of that key, or the key made
   * none, as `cause` says. `partial`: the server took it but wants more. Answer: an `AuthAttempt`; refuse to give up.
   */
  | {
      readonly kind: 'credentials';
      readonly methods: readonly string[] | undefined;
      readonly failed: AuthAttempt | undefined;
      readonly unsent?: boolean;
      readonly cause?: SshError;
      readonly partial: boolean;
      /** Signature algorithms that the server accepts (RFC 8308 §3.1), if it said so by now. */
      readonly serverSigAlgs: readonly string[] | undefined;
    }
  /** keyboard-interactive asks (never with no prompts: those are answered by the core). Answer: `string[]`, one per prompt. */
  | {
      readonly kind: 'prompts';
      readonly title: string;
      readonly instruction: string;
      readonly prompts: readonly Prompt[];
    }
  /** The server wants another password (RFC 4252 §8). Answer: the new password, a `string`. */
  | { readonly kind: 'new-password'; readonly prompt: string }
  /**
   * Would this key do? Nothing is proved yet, and the client learns only yes or no (RFC 4252 §7): the answer must not be
   * kept as if somebody had logged in. `succeeded`: the methods that this user has already got right. Answer: a `boolean`.
   */
  | {
      readonly kind: 'key-query';
      readonly username: string;
      readonly algorithm: string;
      readonly publicKey: PublicKey;
      readonly certificate?: Certificate;
      readonly succeeded: readonly string[];
    }
  /** May this user in? `succeeded`: the methods that this user has already got right. Answer: a `LoginVerdict`. */
  | {
      readonly kind: 'login';
      readonly username: string;
      readonly attempt: LoginAttempt;
      readonly succeeded: readonly string[];
    }
  /** What the client answered to the prompts of the last verdict, one each. Answer: a `LoginVerdict`. */
  | { readonly kind: 'responses'; readonly responses: readonly string[] };

export type Event =
  /** The peer's identification, without CR LF, and the lines before it, sanitised. */
  | { readonly type: 'identified'; readonly identification: string; readonly greeting: readonly string[] }
  /** A key exchange ended, and with it `Connection.negotiated` changed. */
  | { readonly type: 'keys'; readonly first: boolean; readonly negotiated: Negotiated }
  /** Text to show before login (RFC 4252 §5.4), sanitised, line feeds kept. */
  | { readonly type: 'banner'; readonly text: string }
  /** A DEBUG message (RFC 4253 §11.3), sanitised. */
  | { readonly type: 'debug'; readonly text: string; readonly alwaysDisplay: boolean }
  /** Logged in; `methods` are those that succeeded, in order. */
  | { readonly type: 'authenticated'; readonly username: string; readonly methods: readonly string[] }
  | { readonly type: 'question'; readonly id: number; readonly question: Question }
  /** The peer confirmed a channel of ours. */
  | { readonly type: 'channel-opened'; readonly channel: number }
  /** The peer refused a channel of ours; its number is free again. */
  | { readonly type: 'channel-refused'; readonly channel: number; readonly error: SshError }
  /** The peer wants a channel: answer with `acceptChannel` or `refuseChannel`. */
  | {
      readonly type: 'channel-open-request';
      readonly channel: number;
      readonly kind: string;
      readonly body: Uint8Array;
    }
  /**
   * Data; `kind` is 0, or the type of extended data (1: stderr). Give it back with `consumed`. `exclusive`: nothing else is in
   * its memory, so whoever needs the data no more may free that.
   */
  | {
      readonly type: 'channel-data';
      readonly channel: number;
      readonly kind: number;
      readonly data: Uint8Array;
      readonly exclusive?: boolean;
    }
  | { readonly type: 'channel-eof'; readonly channel: number }
  /** The peer's request; if `wantReply`, `replyChannelRequest` must follow, in order. */
  | {
      readonly type: 'channel-request';
      readonly channel: number;
      readonly request: string;
      readonly wantReply: boolean;
      readonly body: Uint8Array;
    }
  /** The answer to our request `id` on a channel. */
  | { readonly type: 'channel-reply'; readonly channel: number; readonly id: number; readonly ok: boolean }
  /** What was queued on the channel has shrunk below its mark: write on. */
  | { readonly type: 'channel-drain'; readonly channel: number }
  /** Both sides closed, or our CLOSE found no answer in time. The number is free again. */
  | { readonly type: 'channel-closed'; readonly channel: number }
  /** The peer's request; if `wantReply`, `replyGlobalRequest` must follow, in order. */
  | {
      readonly type: 'global-request';
      readonly request: string;
      readonly wantReply: boolean;
      readonly body: Uint8Array;
    }
  /** The answer to our global request `id`. */
  | { readonly type: 'global-reply'; readonly id: number; readonly ok: boolean; readonly body: Uint8Array }
  /** The terminal state, exactly once and last. `undefined`: this side disconnected in good order. */
  | { readonly type: 'closed'; readonly cause: SshError | undefined };

/** What the parts of the core need from the whole. */
export interface Context {
  /** Queues a payload; the key exchange gate decides when it leaves. */
  send(payload: Uint8Array): void;
  emit(event: Event): void;
  /** Asks; `answered` runs when the answer is there. While `hold`, no further input is processed. */
  ask(question: Question, hold: boolean, answered: (value: never) => void): void;
  /** Runs `then` with the value: at once, or, if it is a promise, as a question of kind `work` that holds input. */
  settle<T>(value: MaybePromise<T>, then: (value: T) => void): void;
}
