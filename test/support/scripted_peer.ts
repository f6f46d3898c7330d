/**
 * An SSH server that does what a test script says: it speaks packets and key exchange, and nothing by itself above them. Every
 * step of the handshake is a call of its own, so that a script can leave it out, change it or repeat it. Its key exchange is
 * written apart from `core/kex.ts`, straight from RFC 4253 §7–9 and RFC 5656 §4, so the two check each other.
 *
 * All is synchronous: `next` pumps the link until the client is quiet and then takes what it sent.
 */

import assert from 'node:assert/strict';
import { exchanges } from '../../src/core/algorithms/exchanges.ts';
import type { Kexinit } from '../../src/core/negotiate.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { keyPairOf } from '../../src/keys/key_pair.ts';
import { signerOf } from '../../src/keys/private_key.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { encode, type MessageOf } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { userauth } from '../../src/wire/userauth.ts';
import { type EndOptions, ScriptedEnd } from './scripted_end.ts';

export { namesOf } from './scripted_end.ts';

export interface PeerOptions extends EndOptions {
  /** Default: the Ed25519 key of `ed25519Signer`. */
  readonly hostKey?: Signer;
}

/** An Ed25519 signer whose seed is 32 times `byte`. */
export function ed25519Signer(crypto: CryptoProvider, byte: number): Signer {
  return signerOf(crypto, keyPairOf(crypto, { type: 'ssh-ed25519', seed: new Uint8Array(32).fill(byte) }));
}

export class ScriptedPeer extends ScriptedEnd {
  readonly hostKey: Signer;

  constructor(options: PeerOptions) {
    super('server', options);
    this.hostKey = options.hostKey ?? ed25519Signer(this.crypto, 7);
  }

  /** The client's line, without its end. */
  get clientLine(): Uint8Array | undefined {
    return this.peerLine;
  }

  /** The KEXINIT of the options, as fields. */
  override kexinit(): Kexinit {
    const fields = super.kexinit();
    return { ...fields, hostKey: fields.hostKey.filter((name) => this.hostKey.algorithms.includes(name)) };
  }

  /** Awaits the client's public value and makes the reply to it, with all keys. */
  reply(): MessageOf<typeof ecdh.reply> {
    return this.replyTo(this.take(ecdh.init).publicValue);
  }

  /** Awaits the client's public value and sends the reply to it. */
  sendReply(): void {
    this.send(encode(ecdh.reply, this.reply()));
  }

  replyTo(clientPublic: Uint8Array): MessageOf<typeof ecdh.reply> {
    const negotiated = this.settle();
    const row = exchanges.get(negotiated.kex);
    assert.ok(row?.kind === 'agreement');
    const responded = row.agreement(this.crypto).respond(this.options.random, clientPublic);
    assert.ok(!(responded instanceof Promise));
    const { publicValue, shared } = responded;
    const { publicKey: hostKey } = this.hostKey;
    const digest = this.takeSecret(shared, { hostKey, clientPublic, serverPublic: publicValue });
    const signature = this.hostKey.sign(digest, negotiated.hostKey);
    assert.ok(!(signature instanceof Promise));
    return { hostKey, publicValue, signature };
  }

  /** From the client's KEXINIT, which was taken, to its NEWKEYS. */
  finishExchange(): void {
    this.sendReply();
    this.sendNewkeys();
    this.expect(transport.newkeys.number);
  }

  /** The whole first exchange. */
  handshake(): void {
    this.identify();
    this.sendKexinit();
    this.takeKexinit();
    this.finishExchange();
  }

  /** A later exchange that this side starts, while the client is quiet. */
  rekey(): void {
    this.sendKexinit();
    this.takeKexinit();
    this.finishExchange();
  }

  /** Grants the authentication service and takes any first request. */
  login(): void {
    this.grantService();
    this.acceptLogin();
    this.pump();
  }

  /** Takes any authentication request and says SUCCESS. */
  acceptLogin(): void {
    this.expect(userauth.request.number);
    this.send(encode(userauth.success, {}));
  }

  grantService(): void {
    assert.equal(this.take(transport.serviceRequest).service, 'ssh-userauth');
    this.send(encode(transport.serviceAccept, { service: 'ssh-userauth' }));
  }
}
