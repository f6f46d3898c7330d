/**
 * The keys that a server tells after the login, and their proofs: OpenSSH PROTOCOL §2.5, `hostkeys-00@openssh.com` and
 * `hostkeys-prove-00@openssh.com`. What comes of them the policy decides. Must not know where keys are remembered.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { Reader } from '../bytes/reader.ts';
import { Writer } from '../bytes/writer.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { protocolError, SshError, toSshError } from '../errors.ts';
import type { Clock } from '../io/clock.ts';
import { HOST_KEYS, HOST_KEYS_PROVE, hostKeyProof } from '../keys/host_key_proof.ts';
import { fingerprint, type PublicKey, parsePublicKey } from '../keys/public_key.ts';
import type { ShownKey } from '../keys/shown_key.ts';
import { authorityAlgorithms, verifySignature } from '../keys/signature.ts';
import type { HostKeyPolicy } from './host_key.ts';
import type { GlobalReply } from './peer_requests.ts';

/** Keys that a server may tell: servers have fewer than ten, and each proof costs them a signature. */
const MAX_KEYS = 64;
/** Milliseconds that proofs are waited for. */
const PROOF_TIME = 30_000;

/** How far the keys of the server have come that it told after the login. */
export type HostKeyUpdateState =
  /** It told none, or nobody wants to know. */
  | { readonly state: 'none' }
  | { readonly state: 'proving' }
  /** With the reason why nothing was changed, if that is one. */
  | { readonly state: 'done'; readonly error?: SshError };

/** What an update needs of its connection. */
export interface UpdateParts {
  readonly policy: HostKeyPolicy;
  readonly host: string;
  readonly port: number;
  readonly crypto: CryptoProvider;
  readonly clock: Clock;
  onGlobal(name: string, handler: (body: Uint8Array) => boolean): () => void;
  request(name: string, body: Uint8Array): Promise<GlobalReply>;
  /** Of the connection, whose first key exchange is done. */
  sessionId(): Uint8Array;
  used(): ShownKey;
}

export class KeyUpdate {
  readonly #parts: UpdateParts;
  #state: HostKeyUpdateState = { state: 'none' };

  constructor(parts: UpdateParts) {
    this.#parts = parts;
    if (parts.policy.update === undefined) return;
    const off = parts.onGlobal(HOST_KEYS, (body) => {
      off(); // one list a connection: each costs proofs
      this.#start(body);
      return true;
    });
  }

  get state(): HostKeyUpdateState {
    return this.#state;
  }

  #start(body: Uint8Array): void {
    this.#state = { state: 'proving' };
    this.#update(body).then(
      () => {
        this.#state = { state: 'done' };
      },
      (error) => {
        this.#state = { state: 'done', error: toSshError(error, 'internal') };
      },
    );
  }

  async #update(body: Uint8Array): Promise<void> {
    const { policy, host, port, crypto } = this.#parts;
    const offered = readKeys(body, crypto);
    const used = this.#parts.used();
    if (!offered.some(({ blob }) => equalBytes(blob, used.key.blob))) {
      throw protocolError('The server does not list the host key that it has used among those that it has');
    }
    const prove = (keys: readonly PublicKey[]): Promise<void> => this.#prove(keys);
    await policy.update?.({ host, port, used, offered, prove, crypto });
  }

  async #prove(keys: readonly PublicKey[]): Promise<void> {
    if (keys.length === 0) return;
    const { crypto } = this.#parts;
    const request = new Writer();
    for (const { blob } of keys) request.string(blob);
    const { ok, body } = await this.#inTime(this.#parts.request(HOST_KEYS_PROVE, request.finish()));
    if (!ok) throw protocolError('The server does not prove that it holds the host keys that it told');
    const reader = new Reader(body);
    for (const key of keys) {
      const signature = reader.string();
      const proof = hostKeyProof(this.#parts.sessionId(), key.blob);
      if (await isProof(crypto, key, proof, signature)) continue;
      throw protocolError(`The server has no proof that it holds the host key ${fingerprint(crypto, key.blob)}`);
    }
    reader.expectEnd('proofs of host keys');
  }

  #inTime<T>(waiting: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const message = `The server has not proved its host keys within ${PROOF_TIME / 1000} s`;
      const late = (): void => reject(new SshError('timeout', message, { fault: 'peer', phase: 'open' }));
      const disarm = this.#parts.clock.after(PROOF_TIME, late);
      waiting.then(resolve, reject).finally(disarm);
    });
  }
}

/** The name in the signature is the server's choice among those for the key; none is with SHA-1, nor by a browser. */
async function isProof(
  crypto: CryptoProvider,
  key: PublicKey,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const name = new Reader(signature).name();
  return authorityAlgorithms(key.type).includes(name) && (await verifySignature(crypto, name, key, message, signature));
}

/** The keys of a list, each once; those of types that puressh does not know, certificates among them, are left out. */
function readKeys(body: Uint8Array, crypto: CryptoProvider): PublicKey[] {
  const reader = new Reader(body);
  const keys: PublicKey[] = [];
  for (let count = 0; reader.remaining > 0; count++) {
    if (count === MAX_KEYS)
      throw new SshError('limit', `The server tells more than ${MAX_KEYS} host keys`, { fault: 'peer' });
    const key = knownKey(reader.string(), crypto);
    if (key === undefined) continue;
    if (keys.some(({ blob }) => equalBytes(blob, key.blob))) throw protocolError('The server tells a host key twice');
    keys.push(key);
  }
  return keys;
}

function knownKey(blob: Uint8Array, crypto: CryptoProvider): PublicKey | undefined {
  try {
    return parsePublicKey(blob, crypto);
  } catch (error) {
    if (error instanceof SshError && error.code === 'not-supported') return undefined;
    throw error;
  }
}
