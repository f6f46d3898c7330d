/**
 * Authentication on the client's side: RFC 4252, RFC 4256. One attempt at a time; what to try next is a question. Keys are
 * signed with at once, without the query round trip, unless that costs a person something; and the first request follows the one
 * for the service without waiting for its answer (RFC 4253 §10 orders the answers, not the requests). Does not know where keys and
 * passwords come from.
 */

import { Reader } from '../../bytes/reader.ts';
import { encodeFields } from '../../bytes/schema.ts';
import { printable, printableLines } from '../../bytes/text.ts';
import { Writer } from '../../bytes/writer.ts';
import { protocolError, SshError } from '../../errors.ts';
import { decode, encode } from '../../wire/message.ts';
import { DisconnectReason, SERVICE_CONNECTION, SERVICE_USERAUTH } from '../../wire/numbers.ts';
import { messageName } from '../../wire/table.ts';
import { transport } from '../../wire/transport.ts';
import { keyboardAuth, passwordAuth, publicKeyAuth, requestBody, userauth } from '../../wire/userauth.ts';
import { DEFAULT_SIGNATURES } from '../algorithms/host_key_order.ts';
import type { AuthAttempt, Context, Prompt } from '../events.ts';
import { serverSigAlgs } from '../ext_info.ts';
import type { Limits } from '../limits.ts';
import type { Quirks } from '../quirks.ts';
import { Timer } from '../timer.ts';
import type { Auth } from './auth.ts';
import { checkAcceptance, messageToSign, signatureAlgorithmFor, signatureOrRefusal, unproven } from './client_key.ts';

const INFO_RESPONSE = keyboardAuth.infoResponse.number;

type State =
  | { readonly at: 'idle' }
  /** The driver decides, signs, or asks a person; the server owes nothing for it. */
  | { readonly at: 'deciding' }
  /** The attempt's key can sign in several ways: which one the server takes is told with its keys, or before SERVICE_ACCEPT. */
  | { readonly at: 'held'; readonly attempt: KeyAttempt }
  /** The server is asked whether this key would do, if it signed with `algorithm` (RFC 4252 §7). */
  | {
      readonly at: 'querying';
      readonly attempt: KeyAttempt;
      readonly algorithm: string;
      readonly methods: readonly string[] | undefined;
    }
  /** The server owes an answer to this attempt. */
  | { readonly at: 'waiting'; readonly attempt: AuthAttempt }
  | { readonly at: 'done' };

type KeyAttempt = Extract<AuthAttempt, { method: 'publickey' }>;

/** Who logs in, and what is demanded of the way. */
export interface ClientIdentity {
  readonly username: string;
  /** Signature algorithms that may be used, by plain names. Default: all but legacy ones. */
  readonly signatures?: readonly string[] | undefined;
  /** Whether a login that no key has signed for is an error. */
  readonly requireSignature?: boolean | undefined;
}

export class ClientAuth implements Auth {
  readonly #identity: ClientIdentity;
  readonly #limits: Limits;
  readonly #context: Context;
  readonly #timer: Timer;
  readonly #succeeded: string[] = [];
  #state: State = { at: 'idle' };
  #service: 'unasked' | 'requested' | 'accepted' = 'unasked';
  #sessionId: Uint8Array = new Uint8Array(0);
  #serverSigAlgs: readonly string[] | undefined;
  #rounds = 0;
  #attempts = 0;

  constructor(identity: ClientIdentity, limits: Limits, context: Context) {
    this.#identity = identity;
    this.#limits = limits;
    this.#context = context;
    this.#timer = new Timer(limits.authTime);
  }

  get phase(): 'service' | 'auth' | 'open' {
    if (this.#state.at === 'done') return 'open';
    return this.#service === 'accepted' ? 'auth' : 'service';
  }

  get attempts(): number {
    return this.#attempts;
  }

  get hopeful(): number | undefined {
    if (this.#state.at !== 'waiting') return undefined;
    const { method } = this.#state.attempt;
    if (method === 'publickey') return this.#attempts;
    return method === 'password' && this.#isProven ? this.#attempts : undefined;
  }

  dueAt(now: number): number {
    return this.#timer.dueAt(now) ?? Number.POSITIVE_INFINITY;
  }

  /** Throws `timeout` when the server has owed an answer for too long. */
  tick(now: number): void {
    if (!this.#timer.expired(now)) return;
    throw new SshError('timeout', `The server did not answer within ${this.#limits.authTime} ms`, {
      fault: 'network',
      phase: 'authentication',
      disconnect: DisconnectReason.byApplication,
    });
  }

  /** Whether everything that is demanded of the way has been done, should the server accept now. */
  get #isProven(): boolean {
    return this.#identity.requireSignature !== true || this.#succeeded.includes('publickey');
  }

  /** The attempt that the server owes an answer to. */
  get #awaited(): AuthAttempt | undefined {
    return this.#state.at === 'waiting' || this.#state.at === 'querying' ? this.#state.attempt : undefined;
  }

  /** Requests the service, once the first keys are in use, and asks what to try first. */
  start(sessionId: Uint8Array, quirks: Quirks): void {
    this.#sessionId = sessionId;
    this.#service = 'requested';
    this.#send(encode(transport.serviceRequest, { service: SERVICE_USERAUTH }));
    if (!quirks.acceptsServiceFirst) this.#decide(undefined, undefined, 'refused');
  }

  /** What the server says about signatures; the latest counts. */
  extInfo(extensions: ReadonlyMap<string, Uint8Array>, quirks: Quirks): void {
    this.#serverSigAlgs = serverSigAlgs(extensions, quirks);
    this.#release();
  }

  unimplemented(number: number): void {
    if (this.#service !== 'requested' && this.#awaited === undefined) return;
    // it may also be about a message that has nothing to do with authentication
    const ours: readonly number[] = [transport.serviceRequest.number, userauth.request.number, INFO_RESPONSE];
    if (!ours.includes(number)) return;
    throw protocolError(`The server does not implement ${messageName(number)}`, { phase: 'authentication' });
  }

  /** A message that the phase table let through: 6, 51, 52, 53, 60–79. */
  receive(payload: Uint8Array): void {
    const number = payload[0] as number;
    switch (number) {
      case transport.serviceAccept.number:
        this.#accepted(decode(transport.serviceAccept, payload).service);
        return;
      case userauth.banner.number:
        this.#context.emit({ type: 'banner', text: printableLines(decode(userauth.banner, payload).message) });
        return;
      default:
        this.#answer(number, payload);
    }
  }

  #accepted(service: string): void {
    if (this.#service !== 'requested' || service !== SERVICE_USERAUTH) {
      throw protocolError(`SERVICE_ACCEPT for "${printable(service)}", which was not requested`);
    }
    this.#service = 'accepted';
    this.#timer.stop();
    if (this.#awaited !== undefined) this.#timer.start();
    if (this.#state.at === 'idle') this.#decide(undefined, undefined, 'refused');
    this.#release();
  }

  /** Goes on with a key whose server has said, or will not say any more, how it wants it to sign. */
  #release(): void {
    if (this.#state.at !== 'held') return;
    const { attempt } = this.#state;
    this.#state = { at: 'deciding' };
    this.#tryKey(attempt, undefined);
  }

  /** What the server says to a query: PK_OK or FAILURE, and nothing else (RFC 4252 §7). */
  #queried(state: Extract<State, { at: 'querying' }>, number: number, payload: Uint8Array): void {
    const { attempt, algorithm, methods } = state;
    if (number === userauth.failure.number) {
      this.#decide(decode(userauth.failure, payload).methods, attempt, 'refused');
      return;
    }
    if (number !== publicKeyAuth.ok.number) {
      throw protocolError(`Message ${number} is no answer to a publickey query`, { phase: 'authentication' });
    }
    checkAcceptance(payload, attempt.signer, algorithm);
    this.#state = { at: 'deciding' };
    this.#sign(attempt, algorithm, methods);
  }

  #answer(number: number, payload: Uint8Array): void {
    const state = this.#state;
    if ((state.at !== 'waiting' && state.at !== 'querying') || this.#service !== 'accepted') {
      throw protocolError(`${messageName(number)} without an authentication request`, { phase: 'authentication' });
    }
    const { attempt } = state;
    this.#timer.stop();
    if (state.at === 'querying') {
      this.#queried(state, number, payload);
    } else if (number === userauth.failure.number) {
      const { methods, partialSuccess } = decode(userauth.failure, payload);
      if (partialSuccess) this.#succeeded.push(attempt.method);
      this.#decide(methods, attempt, partialSuccess ? 'partial' : 'refused');
    } else if (number === userauth.success.number) {
      decode(userauth.success, payload);
      this.#succeeded.push(attempt.method);
      if (!this.#isProven) throw unproven(this.#identity.username, this.#succeeded);
      this.#state = { at: 'done' };
      this.#context.emit({ type: 'authenticated', username: this.#identity.username, methods: this.#succeeded });
    } else if (number === 60 && attempt.method === 'keyboard-interactive') {
      this.#prompted(attempt, payload);
    } else if (number === 60 && attempt.method === 'password') {
      this.#passwordExpired(attempt, payload);
    } else {
      throw protocolError(`Message ${number} is no answer to a ${attempt.method} request`, { phase: 'authentication' });
    }
  }

  #decide(
    methods: readonly string[] | undefined,
    attempt: AuthAttempt | undefined,
    outcome: 'refused' | 'partial' | 'unsent',
    cause?: SshError,
  ): void {
    this.#countRound();
    this.#state = { at: 'deciding' };
    const sigAlgs = (): readonly string[] | undefined => this.#serverSigAlgs;
    const question = {
      kind: 'credentials',
      methods: methods?.map((name) => printable(name, 64)),
      failed: outcome === 'partial' ? undefined : attempt,
      partial: outcome === 'partial',
      ...(outcome === 'unsent' ? { unsent: true } : {}),
      ...(cause === undefined ? {} : { cause }),
      get serverSigAlgs() {
        return sigAlgs();
      },
    } as const;
    this.#context.ask(question, false, (next: AuthAttempt) => this.#try(next, methods));
  }

  /** A server that goes on asking, and a driver that goes on answering, must come to an end. */
  #countRound(): void {
    this.#rounds++;
    if (this.#rounds <= this.#limits.authRounds) return;
    throw new SshError('limit', `Authentication did not end within ${this.#limits.authRounds} rounds`, {
      fault: 'peer',
      phase: 'authentication',
      disconnect: DisconnectReason.noMoreAuthMethodsAvailable,
    });
  }

  #try(attempt: AuthAttempt, methods: readonly string[] | undefined): void {
    switch (attempt.method) {
      case 'none':
        this.#request(attempt, new Uint8Array(0));
        return;
      case 'password':
        this.#request(attempt, encodeFields(requestBody.password, { change: false, password: attempt.password }));
        return;
      case 'keyboard-interactive':
        this.#request(attempt, encodeFields(requestBody.keyboardInteractive, { language: '', submethods: '' }));
        return;
      case 'publickey':
        this.#tryKey(attempt, methods);
    }
  }

  #tryKey(attempt: KeyAttempt, methods: readonly string[] | undefined): void {
    const { signer } = attempt;
    if (this.#serverSigAlgs === undefined && this.#service === 'requested' && signer.algorithms.length > 1) {
      this.#state = { at: 'held', attempt };
      return;
    }
    const allowed = this.#identity.signatures ?? DEFAULT_SIGNATURES;
    const algorithm = signatureAlgorithmFor(signer, allowed, this.#serverSigAlgs);
    if (algorithm === undefined) {
      this.#decide(methods, attempt, 'unsent');
    } else if (signer.queryFirst) {
      this.#attempts++;
      this.#state = { at: 'querying', attempt, algorithm, methods };
      const { publicKey } = signer;
      this.#sendRequest('publickey', encodeFields(requestBody.publicKeyQuery, { signed: false, algorithm, publicKey }));
    } else {
      this.#sign(attempt, algorithm, methods);
    }
  }

  /** RFC 4252 §7: the signature covers the session id and the request up to it. */
  #sign(attempt: KeyAttempt, algorithm: string, methods: readonly string[] | undefined): void {
    const { signer } = attempt;
    const { publicKey } = signer;
    const message = messageToSign(this.#sessionId, this.#identity.username, algorithm, publicKey);
    this.#timer.stop(); // input is held meanwhile, SERVICE_ACCEPT too
    this.#context.settle(signatureOrRefusal(signer, message, algorithm), (signature) => {
      if (signature instanceof SshError) {
        this.#decide(methods, attempt, 'unsent', signature);
        return;
      }
      this.#request(
        attempt,
        encodeFields(requestBody.publicKeySigned, { signed: true, algorithm, publicKey, signature }),
      );
    });
  }

  #request(attempt: AuthAttempt, rest: Uint8Array): void {
    this.#attempts++;
    this.#state = { at: 'waiting', attempt };
    this.#sendRequest(attempt.method, rest);
  }

  #sendRequest(method: string, rest: Uint8Array): void {
    const user = this.#identity.username;
    this.#send(encode(userauth.request, { user, service: SERVICE_CONNECTION, method, rest }));
  }

  #wait(attempt: AuthAttempt, payload: Uint8Array): void {
    this.#state = { at: 'waiting', attempt };
    this.#send(payload);
  }

  #send(payload: Uint8Array): void {
    this.#timer.start();
    this.#context.send(payload);
  }

  /** RFC 4256 §3.2–3.4. A round without prompts wants an answer without responses. */
  #prompted(attempt: AuthAttempt, payload: Uint8Array): void {
    this.#countRound();
    const { title, instruction, count, prompts: body } = decode(keyboardAuth.infoRequest, payload);
    if (count > this.#limits.prompts) {
      throw protocolError(`The server asks ${count} questions at once; ${this.#limits.prompts} are allowed`);
    }
    const reader = new Reader(body);
    const prompts: Prompt[] = [];
    for (let i = 0; i < count; i++) prompts.push({ text: printableLines(reader.text(), 4096), echo: reader.bool() });
    reader.expectEnd(keyboardAuth.infoRequest.name);
    if (count === 0) {
      this.#wait(attempt, infoResponse([]));
      return;
    }
    this.#state = { at: 'deciding' };
    this.#context.ask(
      { kind: 'prompts', title: printableLines(title, 4096), instruction: printableLines(instruction, 4096), prompts },
      false,
      (responses: readonly string[]) => {
        if (responses.length !== count) {
          throw new SshError('bad-argument', `${count} prompts need ${count} responses, not ${responses.length}`);
        }
        this.#wait(attempt, infoResponse(responses));
      },
    );
  }

  #passwordExpired(attempt: AuthAttempt & { method: 'password' }, payload: Uint8Array): void {
    this.#countRound();
    const prompt = printableLines(decode(passwordAuth.changeRequest, payload).prompt, 4096);
    this.#state = { at: 'deciding' };
    this.#context.ask({ kind: 'new-password', prompt }, false, (newPassword: string) => {
      const body = { change: true, oldPassword: attempt.password, newPassword };
      this.#request(attempt, encodeFields(requestBody.passwordChange, body));
    });
  }
}

function infoResponse(responses: readonly string[]): Uint8Array {
  const writer = new Writer();
  for (const response of responses) writer.string(response);
  return encode(keyboardAuth.infoResponse, { count: responses.length, responses: writer.finish() });
}
