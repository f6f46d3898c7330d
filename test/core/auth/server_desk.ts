/** A server's authentication with a fake rest of the core, for tests. Messages are hex. */

import assert from 'node:assert/strict';
import { fromHex, hex } from '../../../src/bytes/text.ts';
import { ServerAuth, type ServerAuthConfig } from '../../../src/core/auth/server.ts';
import type { Event, LoginVerdict, Question } from '../../../src/core/events.ts';
import { defaultLimits, type Limits } from '../../../src/core/limits.ts';
import type { MaybePromise } from '../../../src/crypto/provider.ts';
import { memoCrypto } from '../../support/memo_crypto.ts';
import { testAlgorithms } from '../../support/test_keys.ts';
import { failure, sessionId, string } from './desk.ts';

export const SERVICE_REQUEST: string = `05${string('ssh-userauth')}`;
export const SERVICE_ACCEPT: string = `06${string('ssh-userauth')}`;

/** USERAUTH_REQUEST up to the method, as hex: RFC 4252 §5. */
export const request = (method: string, user = 'ada', service = 'ssh-connection'): string =>
  `32${string(user)}${string(service)}${string(method)}`;

/** With a password: RFC 4252 §8. */
export const password = (text: string, user?: string): string => `${request('password', user)}00${string(text)}`;

/** keyboard-interactive, with no language and no submethods: RFC 4256 §3.1. */
export const keyboard = (user?: string): string => `${request('keyboard-interactive', user)}${string('')}${string('')}`;

/** INFO_RESPONSE: RFC 4256 §3.4. */
export const responses = (...texts: string[]): string =>
  `3d${texts.length.toString(16).padStart(8, '0')}${texts.map(string).join('')}`;

export const accept: LoginVerdict = { verdict: 'accept' };
export const refuse: LoginVerdict = { verdict: 'refuse' };

/** What the server says when nothing is right. */
export const FAILURE: string = failure('publickey,password,keyboard-interactive', false);

interface Asked {
  readonly question: Question;
  readonly answered: (value: never) => void;
}

export interface DeskChanges extends Partial<Omit<ServerAuthConfig, 'limits'>> {
  readonly limits?: Partial<Limits>;
}

/** An authentication with a fake rest of the core. */
export class ServerDesk {
  readonly auth: ServerAuth;
  readonly sent: string[] = [];
  readonly events: Event[] = [];
  readonly asked: Asked[] = [];
  /** What waits for promises. */
  readonly settling: { readonly value: Promise<unknown>; readonly next: (value: unknown) => void }[] = [];

  constructor(changes: DeskChanges = {}) {
    const { limits, ...rest } = changes;
    this.auth = new ServerAuth(
      {
        crypto: memoCrypto,
        methods: ['publickey', 'password', 'keyboard-interactive'],
        signatures: testAlgorithms,
        banner: '',
        ...rest,
        limits: { ...defaultLimits, ...limits },
      },
      {
        send: (payload) => void this.sent.push(hex(payload)),
        emit: (event) => void this.events.push(event),
        ask: (question, hold, answered) => {
          assert.equal(hold, true, 'what comes meanwhile must wait');
          this.asked.push({ question, answered });
        },
        settle: <T>(value: MaybePromise<T>, next: (value: T) => void) => {
          if (value instanceof Promise) this.settling.push({ value, next: next as (value: unknown) => void });
          else next(value);
        },
      },
    );
  }

  receive(payload: string): void {
    assert.equal(this.asked.length + this.settling.length, 0, 'input is held while something is open');
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

  /** Answers the open question; gives what was sent. */
  answer(value: unknown): string[] {
    const asked = this.asked.shift();
    assert.ok(asked !== undefined, 'a question is open');
    asked.answered(value as never);
    return this.takeSent();
  }

  /** Receives a request that must be answered at once, without a question; gives what was sent. */
  say(payload: string): string[] {
    this.receive(payload);
    assert.deepEqual(this.asked, [], 'nobody is asked');
    return this.takeSent();
  }

  /** Receives a request and answers its question; gives what was sent. */
  attempt(payload: string, verdict: unknown): string[] {
    this.receive(payload);
    return this.answer(verdict);
  }
}

/** A desk that waits for a request. */
export function listening(changes: DeskChanges = {}): ServerDesk {
  const desk = new ServerDesk(changes);
  desk.auth.start(sessionId);
  desk.receive(SERVICE_REQUEST);
  desk.takeSent();
  return desk;
}
