/** A client's authentication with a fake rest of the core, for tests. Messages are hex. */

import assert from 'node:assert/strict';
import { fromHex, hex, utf8 } from '../../../src/bytes/text.ts';
import { ClientAuth, type ClientIdentity } from '../../../src/core/auth/client.ts';
import type { AuthAttempt, Event, Question } from '../../../src/core/events.ts';
import { defaultLimits, type Limits } from '../../../src/core/limits.ts';
import { type Quirks, quirksOf } from '../../../src/core/quirks.ts';
import type { MaybePromise } from '../../../src/crypto/provider.ts';
import { pattern } from '../tools.ts';

export const sessionId: Uint8Array = pattern(32, 100);

/** `string` of RFC 4251 §5, as hex. */
export function string(value: string | Uint8Array): string {
  const bytes = typeof value === 'string' ? utf8(value) : value;
  return bytes.length.toString(16).padStart(8, '0') + hex(bytes);
}

/** USERAUTH_REQUEST up to the method, as hex: RFC 4252 §5. */
export const request = (method: string): string => `32${string('ada')}${string('ssh-connection')}${string(method)}`;
export const SERVICE_ACCEPT: string = `06${string('ssh-userauth')}`;
export const SUCCESS = '34';
export const failure = (methods: string, partial: boolean): string => `33${string(methods)}${partial ? '01' : '00'}`;

interface Asked {
  readonly question: Question;
  readonly hold: boolean;
  readonly answered: (value: never) => void;
}

/** An authentication with a fake rest of the core. */
export class Desk {
  readonly auth: ClientAuth;
  readonly sent: string[] = [];
  readonly events: Event[] = [];
  readonly asked: Asked[] = [];
  /** What waits for promises. */
  readonly settling: { readonly value: Promise<unknown>; readonly next: (value: unknown) => void }[] = [];

  constructor(limits: Partial<Limits> = {}, quirks: Partial<Quirks> = {}, identity: Partial<ClientIdentity> = {}) {
    this.auth = new ClientAuth(
      { username: 'ada', ...identity },
      { ...defaultLimits, ...limits },
      {
        send: (payload) => void this.sent.push(hex(payload)),
        emit: (event) => void this.events.push(event),
        ask: (question, hold, answered) => void this.asked.push({ question, hold, answered }),
        settle: <T>(value: MaybePromise<T>, next: (value: T) => void) => {
          if (value instanceof Promise) this.settling.push({ value, next: next as (value: unknown) => void });
          else next(value);
        },
      },
    );
    this.auth.start(sessionId, quirksOf('', quirks));
  }

  receive(payload: string): void {
    this.auth.receive(fromHex(payload));
  }

  /** What was sent since the last call. */
  takeSent(): string[] {
    return this.sent.splice(0);
  }

  /** The only open question. */
  question(): Question {
    assert.equal(this.asked.length, 1, 'one question is open');
    return (this.asked[0] as Asked).question;
  }

  answer(value: unknown): void {
    const asked = this.asked.shift();
    assert.ok(asked !== undefined, 'a question is open');
    asked.answered(value as never);
  }

  /** Answers with an attempt; gives what was sent. */
  attempt(attempt: AuthAttempt): string[] {
    this.answer(attempt);
    return this.takeSent();
  }
}

/** A desk whose service is accepted and that asks for the first credentials. */
export function deciding(limits: Partial<Limits> = {}, identity: Partial<ClientIdentity> = {}): Desk {
  const desk = new Desk(limits, {}, identity);
  desk.receive(SERVICE_ACCEPT);
  desk.takeSent();
  return desk;
}

export const password: AuthAttempt = { method: 'password', password: 'gr\u00fcn' };
export const keyboard: AuthAttempt = { method: 'keyboard-interactive' };
export const none: AuthAttempt = { method: 'none' };
