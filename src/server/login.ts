/**
 * Answers the core's questions about a login with the caller's functions, and keeps who it was. A refusal leaves in steps of
 * time, so that it tells little about why. RFC 4252, RFC 4256. Must not know sessions.
 */

import { printable } from '../bytes/text.ts';
import type { LoginVerdict, Question } from '../core/events.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { SshError, toSshError } from '../errors.ts';
import type { Clock } from '../io/clock.ts';
import { fingerprint } from '../keys/public_key.ts';
import type { Attempt, Login, LoginHandlers, LoginResult, Peer, QuestionRound, Step, UserKey } from './handlers.ts';
import { bothAllow } from './permissions.ts';

/** Milliseconds of one step: longer than a look-up in a file, short enough for an agent that shows many keys. */
const REFUSAL_STEP = 100;

/** The questions that are about a login. */
export type LoginQuestion = Extract<Question, { kind: 'key-query' | 'login' | 'responses' }>;

export interface LoginDeskParts {
  readonly handlers: LoginHandlers;
  readonly crypto: CryptoProvider;
  readonly clock: Clock;
  readonly peer: () => Peer;
  /** What a function of the caller threw. */
  readonly failed: (error: SshError) => void;
}

/** A conversation of keyboard-interactive: the caller's function runs on while the client answers. */
interface Conversation {
  answers:
    | { readonly resolve: (responses: readonly string[]) => void; readonly reject: (e: SshError) => void }
    | undefined;
  next: (verdict: LoginVerdict) => void;
  over: boolean;
}

/** What the steps of a login give together. */
type Granted = Pick<Login, 'permissions' | 'identity'>;

const NOTHING_YET: Granted = { permissions: {}, identity: undefined };

/** The methods that have a function, as FAILURE names them. */
export function methodsOf(handlers: LoginHandlers): string[] {
  const methods: string[] = [];
  if (handlers.publickey !== undefined) methods.push('publickey');
  if (handlers.keyboardInteractive !== undefined) methods.push('keyboard-interactive');
  if (handlers.password !== undefined) methods.push('password');
  return methods;
}

export class LoginDesk {
  readonly #parts: LoginDeskParts;
  #steps: Step[] = [];
  #granted: Granted = NOTHING_YET;
  #conversation: Conversation | undefined;

  constructor(parts: LoginDeskParts) {
    this.#parts = parts;
  }

  /** The answer that the question wants. Never rejects. */
  async answer(question: LoginQuestion): Promise<boolean | LoginVerdict> {
    const { clock } = this.#parts;
    const began = clock.now();
    const answer = await this.#decide(question);
    const isNone = question.kind === 'login' && question.attempt.method === 'none';
    if ((answer === false || (answer !== true && answer.verdict === 'refuse')) && !isNone) {
      const wait = REFUSAL_STEP - ((clock.now() - began) % REFUSAL_STEP);
      await new Promise<void>((resolve) => clock.after(wait, resolve));
    }
    return answer;
  }

  /** Who logged in, once the core says that somebody has. */
  login(username: string): Login {
    return { username, steps: this.#steps, ...this.#granted, peer: this.#parts.peer() };
  }

  /** The connection has ended: nobody answers any more. */
  end(): void {
    this.#abandon('The client has gone');
  }

  async #decide(question: LoginQuestion): Promise<boolean | LoginVerdict> {
    const { handlers } = this.#parts;
    if (question.kind === 'responses') return await this.#goOn(question.responses);
    this.#abandon('The client turned to another method');
    if (question.succeeded.length === 0) {
      this.#steps = [];
      this.#granted = NOTHING_YET;
    }
    const attempt = this.#attempt(question.username);
    if (question.kind === 'key-query') {
      return await this.#isAcceptable(attempt, this.#keyOf(question), question.algorithm);
    }
    const tried = question.attempt;
    switch (tried.method) {
      case 'none':
        return this.#verdict({ method: 'none' }, await this.#run(() => handlers.none?.(attempt)));
      case 'password': {
        const { password, newPassword } = tried;
        const all = { ...attempt, password, ...(newPassword === undefined ? {} : { newPassword }) };
        return this.#verdict({ method: 'password' }, await this.#run(() => handlers.password?.(all)));
      }
      case 'publickey': {
        const key = this.#keyOf(tried);
        if (this.#isUsed(attempt, key)) return { verdict: 'refuse' };
        const { algorithm } = tried;
        const result = await this.#run(() => handlers.publickey?.({ ...attempt, key, algorithm }));
        if (!isTouched(key, result)) return { verdict: 'refuse' };
        return this.#verdict({ method: 'publickey', key }, result);
      }
      case 'keyboard-interactive':
        return await this.#converse(attempt);
    }
  }

  #attempt(username: string): Attempt {
    return { username, peer: this.#parts.peer(), steps: [...this.#steps] };
  }

  #keyOf({ publicKey, certificate, presence }: Omit<UserKey, 'fingerprint'>): UserKey {
    return {
      fingerprint: fingerprint(this.#parts.crypto, publicKey.blob),
      publicKey,
      ...(certificate === undefined ? {} : { certificate }),
      ...(presence === undefined ? {} : { presence }),
    };
  }

  /** A login that takes two keys takes two different ones. */
  #isUsed({ steps }: Attempt, key: UserKey): boolean {
    return steps.some((step) => step.key?.fingerprint === key.fingerprint);
  }

  async #isAcceptable(attempt: Attempt, key: UserKey, algorithm: string): Promise<boolean> {
    if (this.#isUsed(attempt, key)) return false;
    const result = await this.#run(() => this.#parts.handlers.publickey?.({ ...attempt, key, algorithm }));
    return result !== false;
  }

  /** What a function of the caller says; one that fails lets nobody in. */
  async #run(ask: () => MaybePromise<LoginResult> | undefined): Promise<LoginResult> {
    try {
      const result = (await ask()) ?? false;
      if (isResult(result)) return result;
      this.#misused(
        'A function of auth gives a boolean, { permissions, identity }, { partial: [methods] } or { changePassword: text }',
      );
      return false;
    } catch (error) {
      this.#parts.failed(toSshError(error, 'internal', { phase: 'authentication' }));
      return false;
    }
  }

  #verdict(step: Step, result: LoginResult): LoginVerdict {
    if (result === false) return { verdict: 'refuse' };
    if (result !== true && 'changePassword' in result) {
      if (step.method === 'password') return { verdict: 'change-password', prompt: result.changePassword };
      this.#misused('changePassword is for the method password only');
      return { verdict: 'refuse' };
    }
    if (result !== true && 'partial' in result) {
      const offered = methodsOf(this.#parts.handlers);
      const missing = result.partial.find((method) => !offered.includes(method));
      if (missing !== undefined) {
        const name = printable(missing, 64);
        this.#misused(`partial names "${name}", for which auth has no function; it has some for ${offered.join(', ')}`);
        return { verdict: 'refuse' };
      }
      return this.#grant(step, result) ? { verdict: 'partial', methods: result.partial } : { verdict: 'refuse' };
    }
    return this.#grant(step, result === true ? {} : result) ? { verdict: 'accept' } : { verdict: 'refuse' };
  }

  /** Keeps what a step that was right gives; false: it cannot be had together with what was given before. */
  #grant(step: Step, { permissions, identity }: Partial<Granted>): boolean {
    const before = this.#granted;
    const all = before === NOTHING_YET ? (permissions ?? {}) : bothAllow(before.permissions, permissions ?? {});
    if (all === undefined) {
      this.#misused('Two steps of one login bind the user to two different commands');
      return false;
    }
    this.#steps.push(step);
    this.#granted = { permissions: all, identity: identity ?? before.identity };
    return true;
  }

  #misused(message: string): void {
    this.#parts.failed(new SshError('bad-argument', message, { phase: 'authentication' }));
  }

  #converse(attempt: Attempt): Promise<LoginVerdict> {
    return new Promise((next) => {
      const conversation: Conversation = { answers: undefined, next, over: false };
      this.#conversation = conversation;
      const { keyboardInteractive } = this.#parts.handlers;
      const asking = (round: QuestionRound): Promise<readonly string[]> => {
        const answers = ask(conversation, round);
        // that it fails must harm no program that has stopped waiting for it
        answers.catch(() => {});
        return answers;
      };
      const run = this.#run(() => keyboardInteractive?.call(this.#parts.handlers, attempt, asking));
      run.then((result) => {
        if (conversation.over) return;
        conversation.over = true;
        this.#conversation = undefined;
        conversation.next(this.#verdict({ method: 'keyboard-interactive' }, result));
      });
    });
  }

  #goOn(responses: readonly string[]): Promise<LoginVerdict> {
    return new Promise((next) => {
      const conversation = this.#conversation;
      if (conversation?.answers === undefined) {
        next({ verdict: 'refuse' });
        return;
      }
      conversation.next = next;
      const { resolve } = conversation.answers;
      conversation.answers = undefined;
      resolve(responses);
    });
  }

  #abandon(why: string): void {
    const conversation = this.#conversation;
    if (conversation === undefined) return;
    this.#conversation = undefined;
    conversation.over = true;
    conversation.answers?.reject(new SshError('aborted', why, { fault: 'peer', phase: 'authentication' }));
  }
}

/** Whether somebody touched the security key, as OpenSSH wants it unless it is told otherwise. */
function isTouched({ presence }: UserKey, result: LoginResult): boolean {
  if (presence === undefined || presence.touched) return true;
  return typeof result === 'object' && 'noTouchRequired' in result && result.noTouchRequired === true;
}

/** Programs in plain JavaScript may give anything: what is not understood must let nobody in. */
function isResult(value: unknown): value is LoginResult {
  if (typeof value !== 'object' || value === null) return typeof value === 'boolean';
  if ('permissions' in value && !isPermissions(value.permissions)) return false;
  if ('changePassword' in value) return typeof value.changePassword === 'string';
  if (!('partial' in value)) return ['permissions', 'identity', 'noTouchRequired'].some((name) => name in value);
  const { partial } = value;
  return Array.isArray(partial) && partial.length > 0 && partial.every((method) => typeof method === 'string');
}

function isPermissions(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && value !== null);
}

function ask(conversation: Conversation, round: QuestionRound): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    if (conversation.over) {
      reject(new SshError('aborted', 'The client does not answer any more', { phase: 'authentication' }));
      return;
    }
    if (conversation.answers !== undefined) {
      reject(new SshError('bad-argument', 'One round of questions at a time: await ask(…) before the next'));
      return;
    }
    const { title = '', instruction = '', prompts } = round;
    if (!prompts.every(({ text }) => typeof text === 'string' && text !== '')) {
      const message = `Each prompt needs a text that is not empty (RFC 4256 §3.3), after "${printable(title)}"`;
      reject(new SshError('bad-argument', message));
      return;
    }
    conversation.answers = { resolve, reject };
    conversation.next({ verdict: 'prompt', title, instruction, prompts });
  });
}
