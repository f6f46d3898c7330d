/**
 * A server tells its host keys after the login, and proves those that a client asks for: OpenSSH PROTOCOL §2.5. So clients can learn
 * a new key before the old one goes. Must not know what the connection is used for.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { Reader } from '../bytes/reader.ts';
import { Writer } from '../bytes/writer.ts';
import { SshError } from '../errors.ts';
import { isCertificateType, parseCertificate } from '../keys/certificate.ts';
import { hostKeyProof } from '../keys/host_key_proof.ts';
import { plainAlgorithm, type Signer, signatureAlgorithms } from '../keys/signature.ts';
import { ifDecodes } from '../keys/signature_body.ts';

/** Proofs for one client: all keys of a server some times over. Each costs a signature. */
const MOST_PROOFS = 256;

/** What a client gets for its request. */
export interface ProofAnswer {
  readonly ok: boolean;
  readonly body?: Uint8Array;
}

interface HostKey {
  readonly blob: Uint8Array;
  readonly signer: Signer;
}

export class HostKeyProofs {
  readonly #keys: readonly HostKey[];
  #proofs = 0;

  /** `signers` may show certificates: it is their keys that are told. */
  constructor(signers: readonly Signer[]) {
    const keys: HostKey[] = [];
    for (const signer of signers) {
      const blob = isCertificateType(signer.keyType) ? parseCertificate(signer.publicKey).key.blob : signer.publicKey;
      if (!keys.some((key) => equalBytes(key.blob, blob))) keys.push({ blob, signer });
    }
    this.#keys = keys;
  }

  /** The body of `hostkeys-00@openssh.com`. */
  list(): Uint8Array {
    const writer = new Writer();
    for (const { blob } of this.#keys) writer.string(blob);
    return writer.finish();
  }

  /**
   * The answer to `hostkeys-prove-00@openssh.com`: signatures of all keys that are asked for, or, if one of them is not ours, none.
   * `algorithm`: what the key exchange negotiated, which RSA keys sign with if it is for them.
   */
  async prove(body: Uint8Array, sessionId: Uint8Array, algorithm: string): Promise<ProofAnswer> {
    const asked = this.#askedKeys(body);
    if (asked === undefined) return { ok: false };
    this.#proofs += asked.length;
    if (this.#proofs > MOST_PROOFS) return { ok: false };
    const writer = new Writer();
    for (const { blob, signer } of asked) {
      writer.string(await signer.sign(hostKeyProof(sessionId, blob), proofAlgorithm(signer, algorithm)));
    }
    return { ok: true, body: writer.finish() };
  }

  /** Nothing for no keys, one twice, and one that is not ours. */
  #askedKeys(body: Uint8Array): HostKey[] | undefined {
    return ifDecodes(() => {
      const asked: HostKey[] = [];
      for (const reader = new Reader(body); reader.remaining > 0; ) {
        const blob = reader.string();
        const key = this.#keys.find((each) => equalBytes(each.blob, blob));
        if (key === undefined || asked.includes(key)) return undefined;
        asked.push(key);
      }
      return asked.length > 0 ? asked : undefined;
    });
  }
}

/** The negotiated algorithm if the key has it, else its best; never one with SHA-1, nor the name of one with certificates. */
function proofAlgorithm(signer: Signer, negotiated: string): string {
  const names = signer.algorithms.map(plainAlgorithm).filter((name) => signatureAlgorithms.get(name)?.legacy !== true);
  const wanted = plainAlgorithm(negotiated);
  const found = names.find((name) => name === wanted) ?? names[0];
  if (found === undefined)
    throw new SshError('bad-argument', `A host key of type ${signer.keyType} signs with SHA-1 only`);
  return found;
}
