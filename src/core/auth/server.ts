/**
 * Authentication on the server's side: RFC 4252, RFC 4256. Decides what is a proper attempt, verifies signatures, counts, and
 * asks the driver about everything else; while it does, input is held. Does not know users.
 */

import { copy } from '../../bytes/bytes.ts';
import { Reader } from '../../bytes/reader.ts';
import { decodeFields, encodeFields } from '../../bytes/schema.ts';
import { printable } from '../../bytes/text.ts';
import { Writer } from '../../bytes/writer.ts';
import type { CryptoProvider, MaybePromise } from '../../crypto/provider.ts';
import { protocolError, SshError } from '../../errors.ts';
import { type Certificate, verifyCertificate } from '../../keys/certificate.ts';
import type { PublicKey } from '../../keys/public_key.ts';
import { parseShownKey, type ShownKey, verifyShown } from '../../keys/shown_key.ts';
import { signatureAlgorithms } from '../../keys/signature.ts';
import { readPresence } from '../../keys/sk_signature.ts';
import { decode, encode } from '../../wire/message.ts';
import { DisconnectReason, SERVICE_CONNECTION, SERVICE_USERAUTH } from '../../wire/numbers.ts';
import { messageName } from '../../wire/table.ts';
import { transport } from '../../wire/transport.ts';
import {
  keyboardAuth,
  passwordAuth,
  publicKeyAuth,
  requestBody,
  signedRequest,
  userauth,
} from '../../wire/userauth.ts';
import type { Context, LoginAttempt, LoginVerdict } from '../events.ts';
import type { Limits } from '../limits.ts';
import { Timer } from '../timer.ts';
import type { Auth } from './auth.ts';

export interface ServerAuthConfig {
  readonly crypto: CryptoProvider;
  readonly limits: Limits;
  /** Methods that a user may try, as FAILURE names them. */
  readonly methods: readonly string[];
  /** Signature algorithms that users may sign with, by plain names; with a certificate by the same. */
  readonly signatures: readonly string[];
  /** Text to show before the login (RFC 4252 §5.4); '' is none. */
  readonly banner: string;
}

/** Who tries what. */
interface Request {
  readonly username: string;
  readonly method: string;
}

type State =
  | { readonly at: 'idle' }
  /** SERVICE_REQUEST is awaited. */
  | { readonly at: 'service' }
  /** A request is awaited. */
  | { readonly at: 'listening' }
  /** The driver decides about this request; input is held. */
  | { readonly at: 'deciding'; readonly request: Request }
  /** INFO_RESPONSE with so many answers is awaited; another request abandons it. */
  | { readonly at: 'prompting'; readonly request: Request; readonly count: number }
  | { readonly at: 'done' };

export class ServerAuth implements Auth {
  readonly #config: ServerAuthConfig;
  readonly #context: Context;
  readonly #timer: Timer;
  #state: State = { at: 'idle' };
  #sessionId: Uint8Array = new Uint8Array(0);
  /** Of whom `succeeded` speaks, and what may come next. */
  #username = '';
  #succeeded: string[] = [];
  #methods: readonly string[];
  #greeted = false;
  #rounds = 0;
  #failures = 0;

  constructor(config: ServerAuthConfig, context: Context) {
    this.#config = config;
    this.#context = context;
    this.#methods = config.methods;
    this.#timer = new Timer(config.limits.loginTime);
    this.#timer.start();
  }

  /** Attempts are the client's. */
  readonly attempts = 0;
  readonly hopeful = undefined;

  get phase(): 'service' | 'auth' | 'open' {
    if (this.#state.at === 'done') return 'open';
    return this.#state.at === 'idle' || this.#state.at === 'service' ? 'service' : 'auth';
  }

  dueAt(now: number): number {
    return this.#timer.dueAt(now) ?? Number.POSITIVE_INFINITY;
  }

  tick(now: number): void {
    if (!this.#timer.expired(now)) return;
    throw new SshError('timeout', `Nobody logged in within ${this.#config.limits.loginTime} ms`, {
      fault: 'peer',
      phase: 'authentication',
      disconnect: DisconnectReason.byApplication,
    });
  }

  start(sessionId: Uint8Array): void {
    this.#sessionId = sessionId;
    this.#state = { at: 'service' };
  }

  /** No extension of a client concerns its login. */
  extInfo(): void {}

  /** A client that does not know a question of ours will not answer it: the time for the login ends the wait. */
  unimplemented(): void {}

  receive(payload: Uint8Array): void {
    const number = payload[0] as number;
    switch (number) {
      case transport.serviceRequest.number:
        this.#service(decode(transport.serviceRequest, payload).service);
        return;
      case userauth.request.number:
        this.#request(payload);
        return;
      case keyboardAuth.infoResponse.number:
        this.#responses(payload);
        return;
      default:
        throw protocolError(`${messageName(number)} is nothing that a client may send to log in`, {
          phase: 'authentication',
        });
    }
  }

  /** Also in the middle of a login, as OpenSSH's server does: paramiko asks before each attempt. */
  #service(service: string): void {
    if (service !== SERVICE_USERAUTH) throw unavailable(service);
    if (this.#state.at === 'service') this.#state = { at: 'listening' };
    else this.#countRound();
    this.#context.send(encode(transport.serviceAccept, { service }));
  }

  #request(payload: Uint8Array): void {
    const { user: username, service, method, rest } = decode(userauth.request, payload);
    if (service !== SERVICE_CONNECTION) throw unavailable(service);
    this.#countRound();
    this.#greet();
    // RFC 4252 §5: what was got right counts for one user only
    if (username !== this.#username) this.#startOver(username);
    const request = { username, method };
    this.#state = { at: 'deciding', request };
    if (method === 'none') this.#ask(request, { method });
    else if (!this.#methods.includes(method)) this.#fail();
    else if (method === 'publickey') this.#publicKey(request, rest);
    else if (method === 'password') this.#ask(request, passwordAttempt(rest));
    else if (method === 'keyboard-interactive') {
      const { submethods } = decodeFields(requestBody.keyboardInteractive, rest, method);
      this.#ask(request, { method, submethods: printable(submethods) });
    } else this.#fail();
  }

  #startOver(username: string): void {
    this.#username = username;
    this.#succeeded = [];
    this.#methods = this.#config.methods;
  }

  #greet(): void {
    if (this.#greeted) return;
    this.#greeted = true;
    const { banner } = this.#config;
    if (banner !== '') this.#context.send(encode(userauth.banner, { message: banner, language: '' }));
  }

  /** RFC 4252 §7: with a signature an attempt, without one a query. */
  #publicKey(request: Request, rest: Uint8Array): void {
    const signed = new Reader(rest).bool();
    const body = signed
      ? decodeFields(requestBody.publicKeySigned, rest, 'publickey')
      : { ...decodeFields(requestBody.publicKeyQuery, rest, 'publickey'), signature: undefined };
    const { algorithm } = body;
    // a copy, since a certificate may take time to verify
    const signature = body.signature && copy(body.signature);
    const shown = this.#keyFor(algorithm, body.publicKey);
    if (shown === undefined) this.#unfit(signed);
    else {
      // before anything of a certificate is believed
      this.#context.settle(isGenuine(this.#config.crypto, shown), (genuine) => {
        if (!genuine) this.#unfit(signed);
        else if (signature === undefined) this.#query(request, algorithm, shown);
        else this.#signed(request, algorithm, shown, signature);
      });
    }
  }

  /** A key that will not do: to show it is no attempt yet. */
  #unfit(signed: boolean): void {
    if (signed) this.#refused();
    else this.#fail();
  }

  #query({ username }: Request, algorithm: string, shown: ShownKey): void {
    const question = {
      kind: 'key-query',
      username,
      algorithm,
      ...keyOf(shown),
      succeeded: [...this.#succeeded],
    } as const;
    this.#context.ask(question, true, (acceptable: boolean) => {
      if (!acceptable) this.#fail();
      else this.#listen(encode(publicKeyAuth.ok, { algorithm, publicKey: shown.blob }));
    });
  }

  #signed(request: Request, algorithm: string, shown: ShownKey, signature: Uint8Array): void {
    const message = encodeFields(signedRequest, {
      sessionId: this.#sessionId,
      number: userauth.request.number,
      user: request.username,
      service: SERVICE_CONNECTION,
      method: 'publickey',
      signed: true,
      algorithm,
      publicKey: shown.blob,
    });
    // first the signature, then the question: nobody is asked about a key that was only shown
    const presence = readPresence(signature);
    this.#context.settle(verifyShown(this.#config.crypto, algorithm, shown, message, signature), (valid) => {
      const proved = { method: 'publickey', algorithm, ...keyOf(shown) } as const;
      if (valid) this.#ask(request, presence === undefined ? proved : { ...proved, presence });
      else this.#refused();
    });
  }

  /** The key, or the certificate, if it is sound and may sign with `algorithm`. */
  #keyFor(algorithm: string, blob: Uint8Array): ShownKey | undefined {
    const row = signatureAlgorithms.get(algorithm);
    if (row === undefined || !this.#config.signatures.includes(row.plain)) return undefined;
    try {
      const shown = parseShownKey(blob, this.#config.crypto);
      return row.keyType === shown.type ? shown : undefined;
    } catch {
      return undefined; // a damaged key is a key that does not fit
    }
  }

  #responses(payload: Uint8Array): void {
    const state = this.#state;
    if (state.at !== 'prompting') {
      throw protocolError('SSH_MSG_USERAUTH_INFO_RESPONSE without a question', { phase: 'authentication' });
    }
    this.#countRound();
    const { count, responses: body } = decode(keyboardAuth.infoResponse, payload);
    if (count !== state.count) {
      throw protocolError(`${state.count} prompts were answered with ${count} responses`, { phase: 'authentication' });
    }
    const reader = new Reader(body);
    const responses: string[] = [];
    for (let i = 0; i < count; i++) responses.push(reader.text());
    reader.expectEnd(keyboardAuth.infoResponse.name);
    this.#state = { at: 'deciding', request: state.request };
    this.#context.ask({ kind: 'responses', responses }, true, (verdict: LoginVerdict) =>
      this.#conclude(state.request, verdict),
    );
  }

  #ask(request: Request, attempt: LoginAttempt): void {
    const question = { kind: 'login', username: request.username, attempt, succeeded: [...this.#succeeded] } as const;
    this.#context.ask(question, true, (verdict: LoginVerdict) => this.#conclude(request, verdict));
  }

  #conclude(request: Request, verdict: LoginVerdict): void {
    switch (verdict.verdict) {
      case 'accept':
        this.#succeeded.push(request.method);
        this.#timer.stop();
        this.#state = { at: 'done' };
        this.#context.send(encode(userauth.success, {}));
        this.#context.emit({ type: 'authenticated', username: request.username, methods: this.#succeeded });
        return;
      case 'partial':
        this.#succeeded.push(request.method);
        this.#methods = verdict.methods;
        this.#fail(true);
        return;
      case 'refuse':
        if (request.method === 'none') this.#fail();
        else this.#refused();
        return;
      case 'prompt':
        this.#prompt(request, verdict);
        return;
      case 'change-password':
        if (request.method !== 'password') throw misuse(verdict.verdict, request);
        this.#listen(encode(passwordAuth.changeRequest, { prompt: verdict.prompt, language: '' }));
    }
  }

  #prompt(request: Request, round: Extract<LoginVerdict, { verdict: 'prompt' }>): void {
    if (request.method !== 'keyboard-interactive') throw misuse(round.verdict, request);
    const { title, instruction, prompts } = round;
    const writer = new Writer();
    for (const { text, echo } of prompts) writer.string(text).bool(echo);
    this.#state = { at: 'prompting', request, count: prompts.length };
    const body = { title, instruction, language: '', count: prompts.length, prompts: writer.finish() };
    this.#context.send(encode(keyboardAuth.infoRequest, body));
  }

  /** An attempt that was wrong. */
  #refused(): void {
    this.#failures++;
    if (this.#failures >= this.#config.limits.authFailures) throw tooMany(`${this.#failures} attempts were refused`);
    this.#fail();
  }

  #fail(partialSuccess = false): void {
    this.#listen(encode(userauth.failure, { methods: this.#methods, partialSuccess }));
  }

  #listen(payload: Uint8Array): void {
    this.#state = { at: 'listening' };
    this.#context.send(payload);
  }

  #countRound(): void {
    this.#rounds++;
    const { authRounds } = this.#config.limits;
    if (this.#rounds > authRounds) throw tooMany(`the login did not end within ${authRounds} rounds`);
  }
}

/** Whether a certificate, if there is one, was signed by the authority that it names. */
function isGenuine(crypto: CryptoProvider, { certificate }: ShownKey): MaybePromise<boolean> {
  return certificate === undefined || verifyCertificate(crypto, certificate);
}

function keyOf({ key: publicKey, certificate }: ShownKey): {
  readonly publicKey: PublicKey;
  readonly certificate?: Certificate;
} {
  return certificate === undefined ? { publicKey } : { publicKey, certificate };
}

function passwordAttempt(rest: Uint8Array): LoginAttempt {
  if (!new Reader(rest).bool()) {
    const { password } = decodeFields(requestBody.password, rest, 'password');
    return { method: 'password', password };
  }
  const { oldPassword: password, newPassword } = decodeFields(requestBody.passwordChange, rest, 'password');
  return { method: 'password', password, newPassword };
}

function unavailable(service: string): SshError {
  return protocolError(`The client wants the service "${printable(service, 64)}", which is not to be had now`, {
    phase: 'authentication',
    disconnect: DisconnectReason.serviceNotAvailable,
  });
}

function tooMany(what: string): SshError {
  return new SshError('auth-failed', `Too many authentication failures: ${what}`, {
    fault: 'peer',
    phase: 'authentication',
    disconnect: DisconnectReason.noMoreAuthMethodsAvailable,
  });
}

function misuse(verdict: string, request: Request): SshError {
  return new SshError('bad-argument', `The verdict "${verdict}" does not fit the method ${request.method}`);
}
