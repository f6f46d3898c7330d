/**
 * The ways to log in, as values that a caller lists in order of preference (RFC 4252, RFC 4256). What is secret stays behind
 * functions, so that showing or serialising options does not reveal it. Must not know when which one is tried.
 */

import type { SessionBinding } from '../agent/agent.ts';
import type { Prompt } from '../core/events.ts';
import { callback, checkTable, elsewhere, type OptionTable, object, text } from '../core/option_checks.ts';
import { whenReady } from '../crypto/maybe_promise.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { PrivateKey } from '../keys/key_pair.ts';
import { signerOf } from '../keys/private_key.ts';
import type { Signer } from '../keys/signature.ts';
import { type SignerOptions, signerOfFile, withCertificate } from './key_material.ts';

/** Log in with a key. */
export interface PublicKeyMethod {
  readonly method: 'publickey';
  /** How messages name the key, usually its file. */
  readonly name?: string;
  /** What signs; called once, as the connection starts. */
  signer(crypto: CryptoProvider): MaybePromise<Signer>;
}

/** The login that keys are wanted for. */
export interface LoginSurroundings {
  /** Fires when it is over, whatever came of it: nobody signs any more. */
  readonly ended: AbortSignal;
  /** The connection, for agents that want to know it; `undefined` before the server has proved who it is. */
  session(): Omit<SessionBinding, 'forwarding'> | undefined;
}

/** Log in with several keys, such as those of an agent. */
export interface IdentitiesMethod {
  readonly method: 'publickey';
  /** How messages name where they come from. */
  readonly name?: string;
  /** Those of files were named by the caller, and are tried before those of agents. */
  readonly from: 'agent' | 'files';
  /** What signs, best first; called once, as the connection starts. One without `algorithms` is named only: see `publicHalf`. */
  signers(crypto: CryptoProvider, login?: LoginSurroundings): MaybePromise<readonly Signer[]>;
}

/** Log in with a password. */
export interface PasswordMethod {
  readonly method: 'password';
  /** How often `password` may be asked: 1 for a fixed one, more where a person types. */
  readonly tries: number;
  /** The password; `attempt` counts from 1. */
  password(attempt: number): MaybePromise<string>;
  /** A new password, when the server says that the old one has expired. */
  newPassword?(prompt: string): MaybePromise<string>;
}

/** What a server asks in keyboard-interactive (RFC 4256 §3.2). All text is sanitised; line feeds and tabs stay. */
export interface KeyboardRequest {
  readonly title: string;
  readonly instruction: string;
  /** At least one. */
  readonly prompts: readonly Prompt[];
}

/** Log in by answering what the server asks. */
export interface KeyboardMethod {
  readonly method: 'keyboard-interactive';
  /** One answer a prompt. Runs once a round, and there may be several rounds. */
  answer(request: KeyboardRequest): MaybePromise<readonly string[]>;
}

/** One way to log in. */
export type AuthMethod = PublicKeyMethod | IdentitiesMethod | PasswordMethod | KeyboardMethod;

/** How often a person may mistype a password; OpenSSH's NumberOfPasswordPrompts. */
const PASSWORD_TRIES = 3;

/** Options of `password`. */
export interface PasswordOptions {
  /** Called when the server says that the password has expired (RFC 4252 §8). Default: the login fails. */
  readonly newPassword?: (prompt: string) => MaybePromise<string>;
}

const passwordTable: OptionTable<PasswordOptions> = { newPassword: callback };

/**
 * Log in with a password, or with what `ask` gives, which may be called three times if the server refuses. Where a server
 * has no password method but keyboard-interactive, a single prompt whose answer is not shown is answered with it.
 */
export function password(
  secret: string | ((attempt: number) => MaybePromise<string>),
  options: PasswordOptions = {},
): PasswordMethod {
  if (typeof secret !== 'string' && typeof secret !== 'function') {
    throw new SshError('bad-argument', `password() takes a string or a function that gives one, not ${typeof secret}`);
  }
  checkTable('password', options, passwordTable);
  return {
    method: 'password',
    tries: typeof secret === 'string' ? 1 : PASSWORD_TRIES,
    password: typeof secret === 'string' ? () => secret : secret,
    ...options,
  };
}

/** Options of `key`. */
export interface KeyMaterialOptions extends SignerOptions {
  /** A certificate that the server is shown in place of the key: what stands in a file `-cert.pub`, as text or bytes. */
  readonly certificate?: string | Uint8Array | undefined;
}

const keyTable: OptionTable<KeyMaterialOptions> = {
  name: text,
  passphrase: elsewhere, // whose value must not be shown
  limits: object,
  publicKey: elsewhere,
  certificate: elsewhere,
};

/**
 * Log in with a private key: the text or bytes of a key file, a parsed key, or anything that signs, such as an agent's
 * key. It is signed with at once, without asking the server first whether it would do, unless that takes a passphrase that is
 * not there yet, or the signer says so (`queryFirst`). A text in place of options is the name.
 */
export function key(
  material: string | Uint8Array | PrivateKey | Signer,
  options: string | KeyMaterialOptions = {},
): PublicKeyMethod {
  if (!['string', 'object'].includes(typeof material) || material === null) {
    throw new SshError('bad-argument', `key() takes a key file's content, a key, or a signer, not ${typeof material}`);
  }
  const named = typeof options === 'string' ? { name: options } : options;
  checkTable('key', named, keyTable);
  const { name, certificate } = named;
  return {
    method: 'publickey',
    ...(name === undefined ? {} : { name }),
    signer(crypto) {
      const signer = plainSigner(crypto, material, named);
      return certificate === undefined ? signer : whenReady(signer, (plain) => withCertificate(plain, certificate));
    },
  };
}

function plainSigner(
  crypto: CryptoProvider,
  material: string | Uint8Array | PrivateKey | Signer,
  options: SignerOptions,
): MaybePromise<Signer> {
  if (material instanceof PrivateKey) return signerOf(crypto, material);
  if (typeof material !== 'string' && !(material instanceof Uint8Array)) return material;
  return signerOfFile(crypto, material, options);
}

/** Log in by answering what the server asks, such as one-time codes: any number of rounds and prompts. */
export function keyboardInteractive(
  answer: (request: KeyboardRequest) => MaybePromise<readonly string[]>,
): KeyboardMethod {
  return { method: 'keyboard-interactive', answer };
}
