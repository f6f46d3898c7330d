/**
 * The order in which ways to log in are tried: the caller's, steered by what the server says can continue (RFC 4252 §5.1).
 * Each key goes out once. Must not know the messages.
 */

import { printable } from '../bytes/text.ts';
import { DEFAULT_SIGNATURES } from '../core/algorithms/host_key_order.ts';
import { signatureAlgorithmFor } from '../core/auth/client_key.ts';
import type { AuthAttempt, Question } from '../core/events.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { plainAlgorithm } from '../keys/signature.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import type { AuthMethod, LoginSurroundings } from './auth.ts';
import { type Candidate, type Candidates, type KeyCandidate, loadCandidates } from './candidates.ts';

const SHA1_RSA = 'ssh-rsa';

/** Refused attempts before we stop by ourselves: OpenSSH's servers close at the sixth (MaxAuthTries). */
export const MAX_AUTH_FAILURES = 5;

export interface LoginOptions {
  readonly username: string;
  readonly methods: readonly AuthMethod[];
  readonly maxFailures: number;
  readonly crypto: CryptoProvider;
  /** Signature algorithms that may be used, by plain names. Default: all but legacy ones. */
  readonly signatures?: readonly string[] | undefined;
  /** Whether an agent's keys are used only where the caller names them. Default: false. */
  readonly identitiesOnly?: boolean | undefined;
  /** The connection, for agents: see `LoginSurroundings`. */
  readonly session?: LoginSurroundings['session'] | undefined;
}

type CredentialsQuestion = Extract<Question, { kind: 'credentials' }>;
type PromptsQuestion = Extract<Question, { kind: 'prompts' }>;

export class Login {
  readonly #options: LoginOptions;
  readonly #signatures: readonly string[];
  readonly #candidates: Promise<Candidates>;
  readonly #ended = new AbortController();
  /** What was tried and what came of it, in words. */
  readonly #tried: string[] = [];
  #current: { readonly candidate: Candidate | undefined; readonly what: string } | undefined;
  #failures = 0;
  /** Why a key was not used that the server would have taken: its passphrase is missing, or wrong. */
  #locked: SshError | undefined;
  /** Why a round of prompts could not be answered. */
  #unanswered: string | undefined;

  /** Loads all keys at once; a key that cannot be used is an error, however the login would go. */
  constructor(options: LoginOptions) {
    const { signatures = DEFAULT_SIGNATURES, identitiesOnly = false, session = () => undefined } = options;
    const surroundings = { ended: this.#ended.signal, session };
    this.#options = options;
    this.#signatures = signatures;
    this.#candidates = loadCandidates({ ...options, identitiesOnly, surroundings });
    this.#candidates.catch(() => {});
  }

  /** Rejects as soon as one of the keys turns out to be unusable; resolves when all are there. */
  async loaded(): Promise<void> {
    await this.#candidates;
  }

  /** The login is over, whatever came of it; agents are let go. */
  end(): void {
    this.#ended.abort();
  }

  /** The next attempt; throws `auth-failed` when there is none. */
  async credentials(question: CredentialsQuestion): Promise<AuthAttempt> {
    const { list, notes } = await this.#candidates;
    this.#note(question);
    if (this.#failures >= this.#options.maxFailures) {
      throw this.#failed(question, `stopped after ${this.#failures} refused attempts (maxAuthFailures)`);
    }
    const { methods } = question;
    if (methods === undefined && !startsWithoutList(list[0])) return this.#attempt({ method: 'none' }, undefined);
    for (const candidate of list) {
      const attempt = await this.#attemptWith(candidate, question);
      if (attempt !== undefined) return attempt;
    }
    throw this.#failed(question, [...notes, this.#advice(list, question)].join('; '));
  }

  /** Answers to the server's prompts in keyboard-interactive. */
  async prompts(question: PromptsQuestion): Promise<readonly string[]> {
    const candidate = this.#current?.candidate;
    if (candidate?.kind !== 'asked') throw new SshError('protocol', 'Prompts without keyboard-interactive');
    const { source } = candidate;
    const { title, instruction, prompts } = question;
    if (source.method === 'keyboard-interactive') return texts(await source.answer({ title, instruction, prompts }));
    const [prompt] = prompts;
    if (prompts.length === 1 && prompt?.echo === false)
      return texts([await source.password(source.tries - candidate.left)]);
    // no answer at all would break the exchange off; an empty one is refused, and the next method has its turn
    this.#unanswered = prompts.map(({ text }) => `"${printable(text.trim(), 80)}"`).join(', ');
    return prompts.map(() => '');
  }

  /** A new password for one that has expired. */
  async newPassword(prompt: string): Promise<string> {
    const source = this.#current?.candidate?.kind === 'asked' ? this.#current.candidate.source : undefined;
    if (source?.method === 'password' && source.newPassword !== undefined) {
      return secret(await source.newPassword(prompt));
    }
    throw authFailed(
      `The password of ${this.#user} has expired, and the server wants a new one ("${printable(prompt.trim(), 200)}"): ` +
        'change it with another client, or give password(…, { newPassword })',
    );
  }

  get #user(): string {
    return `"${printable(this.#options.username, 64)}"`;
  }

  /** Books the result of the last attempt. */
  #note(question: CredentialsQuestion): void {
    const current = this.#current;
    this.#current = undefined;
    if (current === undefined) return;
    const { candidate, what } = current;
    if (candidate === undefined) return; // `none` only asks for the list
    if (question.cause !== undefined) {
      if (question.cause.code !== 'agent-failed') this.#locked ??= question.cause;
      this.#tried.push(`${what} (${question.cause.message})`);
      return;
    }
    if (question.unsent) {
      candidate.left++; // it is passed over from now on, and told of at the end
      return;
    }
    if (question.partial) {
      this.#tried.push(`${what} (accepted, but not enough)`);
      // what answers anything the server asks may be needed again for the next step
      if (candidate.kind === 'asked') candidate.left = candidate.source.method === 'password' ? 0 : 1;
      return;
    }
    this.#failures++;
    // a password goes to keyboard-interactive where the server turns out to have nothing else
    if (what === 'password' && !question.methods?.includes('password')) candidate.left++;
    this.#tried.push(this.#unanswered === undefined ? what : `${what} (cannot answer ${this.#unanswered})`);
    this.#unanswered = undefined;
  }

  async #attemptWith(candidate: Candidate, question: CredentialsQuestion): Promise<AuthAttempt | undefined> {
    if (candidate.left === 0) return undefined;
    const offers = (method: string): boolean => question.methods === undefined || question.methods.includes(method);
    if (candidate.kind === 'key') {
      const { signer, better } = candidate;
      if (!offers('publickey') || !this.#fits(candidate, question)) return undefined;
      if (better !== undefined && question.methods === undefined) return undefined;
      return this.#attempt({ method: 'publickey', signer }, candidate);
    }
    const { source } = candidate;
    if (source.method === 'password' && offers('password')) {
      const attempt = source.tries - candidate.left + 1;
      return this.#attempt({ method: 'password', password: secret(await source.password(attempt)) }, candidate);
    }
    if (offers('keyboard-interactive')) return this.#attempt({ method: 'keyboard-interactive' }, candidate);
    return undefined;
  }

  #attempt(attempt: AuthAttempt, candidate: Candidate | undefined): AuthAttempt {
    const what = candidate?.kind === 'key' ? `publickey ${candidate.name}` : attempt.method;
    this.#current = { candidate, what };
    if (candidate !== undefined) candidate.left--;
    return attempt;
  }

  /** Whether the key can sign with what this side allows and the server, if it said so, accepts. */
  #fits({ signer, better }: KeyCandidate, { serverSigAlgs }: CredentialsQuestion): boolean {
    const algorithm = signatureAlgorithmFor(signer, this.#signatures, serverSigAlgs);
    if (algorithm === undefined || better === undefined) return algorithm !== undefined;
    return signatureAlgorithmFor(better, this.#signatures, serverSigAlgs) !== algorithm;
  }

  /** What the caller can do about it. */
  #advice(candidates: readonly Candidate[], question: CredentialsQuestion): string {
    const { methods, serverSigAlgs } = question;
    const skipped = candidates.filter(
      (each) => each.kind === 'key' && each.left > 0 && each.better === undefined && !this.#fits(each, question),
    ) as KeyCandidate[];
    if (skipped.length > 0 && methods?.includes('publickey')) {
      const names = skipped.map(({ name }) => name).join(', ');
      const ours = skipped.some(
        ({ signer }) => signatureAlgorithmFor(signer, this.#signatures, undefined) === undefined,
      );
      const accepted = (ours ? this.#signatures : (serverSigAlgs ?? [])).map((name) => printable(name, 64)).join(', ');
      return ours
        ? `did not try ${names}, since only signatures by ${accepted} are allowed: see the options signatures and algorithms`
        : `did not try ${names}, since the server takes signatures by ${accepted} only${this.#sha1Advice(candidates, question)}`;
    }
    return `give auth another key or method that the server accepts${this.#sha1Advice(candidates, question)}`;
  }

  /** Servers that know SHA-1 only for RSA say so, or are too old to say what they take (RFC 8308). */
  #sha1Advice(candidates: readonly Candidate[], { methods, serverSigAlgs }: CredentialsQuestion): string {
    if (this.#signatures.includes(SHA1_RSA) || methods?.includes('publickey') !== true) return '';
    if (serverSigAlgs?.includes(SHA1_RSA) === false || serverSigAlgs?.some((name) => name.startsWith('rsa-')))
      return '';
    const hasRsa = candidates.some(
      (each) => each.kind === 'key' && each.signer.algorithms.some((name) => plainAlgorithm(name) === SHA1_RSA),
    );
    if (!hasRsa) return '';
    return `; if the server is so old that it takes RSA keys by SHA-1 only, allow that weak one with algorithms: 'legacy'`;
  }

  #failed(question: CredentialsQuestion, detail: string): SshError {
    const accepts = question.methods?.length ? question.methods.join(', ') : 'nothing more';
    const tried = this.#tried.length === 0 ? 'nothing' : this.#tried.join(', ');
    const message = `Login as ${this.#user} failed: tried ${tried}; the server accepts ${accepts}; ${detail}`;
    return authFailed(message, this.#locked);
  }
}

/** What a caller's function gave, which must be text; messages do not say what it was. */
function secret(value: string): string {
  if (typeof value === 'string') return value;
  throw new SshError('bad-argument', `A password or answer must be a string, not ${typeof value}`);
}

function texts(answers: readonly string[]): readonly string[] {
  if (!Array.isArray(answers)) throw new SshError('bad-argument', 'answer must give a list of strings, one a prompt');
  return answers.map(secret);
}

function authFailed(message: string, locked?: SshError): SshError {
  return new SshError(locked?.code ?? 'auth-failed', message, {
    cause: locked,
    fault: 'policy',
    phase: 'authentication',
    disconnect: DisconnectReason.noMoreAuthMethodsAvailable,
  });
}

/**
 * Whether the first candidate can be tried before the server has said what it accepts. Asking a person for a password that
 * the server would not take is worse than the round trip for the list.
 */
function startsWithoutList(first: Candidate | undefined): boolean {
  return (
    first !== undefined && (first.kind === 'key' || first.source.method !== 'password' || first.source.tries === 1)
  );
}
