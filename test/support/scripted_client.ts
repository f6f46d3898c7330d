/**
 * An SSH client that does what a test script says: it speaks packets and key exchange, and nothing by itself above them. Every
 * step of the handshake and the login is a call of its own, so that a script can leave it out, change it or repeat it; `send`
 * and `sendRaw` send what no client would. Its key exchange is written apart from `core/kex.ts`.
 */

import assert from 'node:assert/strict';
import { Reader } from '../../src/bytes/reader.ts';
import { encodeFields } from '../../src/bytes/schema.ts';
import { latin1, utf8 } from '../../src/bytes/text.ts';
import { exchanges } from '../../src/core/algorithms/exchanges.ts';
import type { Agreement, AgreementSecret } from '../../src/crypto/provider.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { type Signer, verifySignature } from '../../src/keys/signature.ts';
import { connection } from '../../src/wire/connection.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { decode, encode, type MessageOf } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { requestBody, signedRequest, userauth } from '../../src/wire/userauth.ts';
import { type EndOptions, ScriptedEnd } from './scripted_end.ts';

/** Whom a script logs in as, unless it says otherwise. */
export const USER = 'ada';

const none = new Uint8Array(0);

/** What a script may change in a signed request. */
export interface SignedChanges {
  readonly user?: string;
  readonly algorithm?: string;
  /** What goes on the wire in place of the key of the signer. */
  readonly publicKey?: Uint8Array;
  /** Changes what is signed. */
  readonly alter?: (message: Uint8Array) => Uint8Array;
  /** Changes the signature. */
  readonly damage?: (signature: Uint8Array) => Uint8Array;
}

export class ScriptedClient extends ScriptedEnd {
  /** The server's key, whose signature was verified. */
  hostKey: Uint8Array | undefined;
  /** What the server announced (RFC 8308). */
  readonly extensions: Map<string, string> = new Map();
  #secret: AgreementSecret | undefined;
  #publicValue: Uint8Array = none;

  constructor(options: EndOptions) {
    super('client', options);
  }

  // The key exchange, step by step; both KEXINITs come before it

  /** A public value of ours. */
  generate(): Uint8Array {
    const { secret, publicValue } = this.#agreement().generate(this.options.random);
    this.#secret = secret;
    this.#publicValue = publicValue;
    return publicValue;
  }

  /** Sends a public value, of ours unless another is given. */
  sendInit(publicValue: Uint8Array = this.generate()): void {
    this.send(encode(ecdh.init, { publicValue }));
  }

  /** Awaits the reply, verifies the server's signature, and makes the keys. */
  takeReply(): MessageOf<typeof ecdh.reply> {
    return this.readReply(this.expect(ecdh.reply.number));
  }

  /** Takes a payload as the reply. */
  readReply(payload: Uint8Array): MessageOf<typeof ecdh.reply> {
    const reply = decode(ecdh.reply, payload);
    const { hostKey, publicValue: serverPublic, signature } = reply;
    assert.ok(this.#secret !== undefined && this.negotiated !== undefined, 'a script must send a public value first');
    const shared = this.#agreement().finish(this.#secret, serverPublic);
    assert.ok(!(shared instanceof Promise));
    const digest = this.takeSecret(shared, { hostKey, clientPublic: this.#publicValue, serverPublic });
    const key = parsePublicKey(hostKey, this.crypto);
    const valid = verifySignature(this.crypto, this.negotiated.hostKey, key, digest, signature);
    assert.equal(valid, true, "the server's signature over the exchange must be valid");
    this.hostKey = hostKey;
    return reply;
  }

  /** From the server's KEXINIT, which was taken, to its NEWKEYS. */
  finishExchange(): void {
    this.sendInit();
    this.takeReply();
    this.sendNewkeys();
    this.expect(transport.newkeys.number);
  }

  /** The whole first exchange, with the server's EXT_INFO where one was asked for. */
  handshake(): void {
    this.identify();
    this.sendKexinit();
    this.takeKexinit();
    this.finishExchange();
    if (this.options.extInfo !== false) this.takeExtInfo();
  }

  /** A later exchange that this side starts, while the server is quiet. */
  rekey(): void {
    this.sendKexinit();
    this.takeKexinit();
    this.finishExchange();
  }

  /** Awaits EXT_INFO and keeps what it says. */
  takeExtInfo(): void {
    const { count, pairs } = this.take(transport.extInfo);
    const reader = new Reader(pairs);
    for (let i = 0; i < count; i++) this.extensions.set(reader.name(), latin1(reader.string()));
    reader.expectEnd();
  }

  // The login, step by step: RFC 4252

  /** Asks for a service and awaits that it is granted. */
  requestService(service = 'ssh-userauth'): void {
    this.send(encode(transport.serviceRequest, { service }));
    assert.equal(this.take(transport.serviceAccept).service, service);
  }

  /** USERAUTH_REQUEST; `rest` is what the method adds. */
  request(method: string, rest: Uint8Array = none, user: string = USER): void {
    this.send(encode(userauth.request, { user, service: 'ssh-connection', method, rest }));
  }

  requestPassword(password: string, user?: string): void {
    this.request('password', encodeFields(requestBody.password, { change: false, password }), user);
  }

  requestKeyboard(user?: string): void {
    this.request(
      'keyboard-interactive',
      encodeFields(requestBody.keyboardInteractive, { language: '', submethods: '' }),
      user,
    );
  }

  /** Asks whether a key would do (RFC 4252 §7). */
  requestQuery(publicKey: Uint8Array, algorithm: string, user?: string): void {
    this.request('publickey', encodeFields(requestBody.publicKeyQuery, { signed: false, algorithm, publicKey }), user);
  }

  /** Proves that a key is ours, or something like it. */
  requestSigned(signer: Signer, changes: SignedChanges = {}): void {
    const { user = USER, algorithm = signer.algorithms[0] as string, publicKey = signer.publicKey } = changes;
    const { alter = (message) => message, damage = (signature) => signature } = changes;
    const message = encodeFields(signedRequest, {
      sessionId: this.sessionId ?? none,
      number: userauth.request.number,
      user,
      service: 'ssh-connection',
      method: 'publickey',
      signed: true,
      algorithm,
      publicKey,
    });
    const made = signer.sign(
      alter(message),
      signer.algorithms.includes(algorithm) ? algorithm : (signer.algorithms[0] as string),
    );
    assert.ok(!(made instanceof Promise));
    const signature = damage(made);
    this.request(
      'publickey',
      encodeFields(requestBody.publicKeySigned, { signed: true, algorithm, publicKey, signature }),
      user,
    );
  }

  /** The service, and a login that the server takes: by default with a password. */
  login(attempt: () => void = () => this.requestPassword('secret')): void {
    this.requestService();
    attempt();
    this.expect(userauth.success.number);
  }

  // Channels: RFC 4254

  /** Asks for a channel. */
  open(
    kind: string,
    sender: number,
    body: Uint8Array = none,
    window: number = 2 * 1024 * 1024,
    maxPacket = 32768,
  ): void {
    this.send(encode(connection.channelOpen, { kind, sender, window, maxPacket, body }));
  }

  /** A request on the channel that the server calls `recipient`. */
  channelRequest(recipient: number, request: string, body: Uint8Array = none, wantReply = true): void {
    this.send(encode(connection.channelRequest, { recipient, request, wantReply, body }));
  }

  /** A global request. */
  globalRequest(request: string, body: Uint8Array | string = none, wantReply = true): void {
    const bytes = typeof body === 'string' ? utf8(body) : body;
    this.send(encode(connection.globalRequest, { request, wantReply, body: bytes }));
  }

  #agreement(): Agreement {
    const row = exchanges.get(this.settle().kex);
    assert.ok(row?.kind === 'agreement');
    return row.agreement(this.crypto);
  }
}
