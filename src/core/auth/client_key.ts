/** Logging in with a key, apart from its state: RFC 4252 §7. What is signed, with which algorithm, and what a server may say. */

import { equalBytes } from '../../bytes/bytes.ts';
import { encodeFields } from '../../bytes/schema.ts';
import { printable } from '../../bytes/text.ts';
import type { MaybePromise } from '../../crypto/provider.ts';
import { protocolError, SshError, type SshErrorCode } from '../../errors.ts';
import { plainAlgorithm, type Signer, signatureAlgorithms } from '../../keys/signature.ts';
import { decode } from '../../wire/message.ts';
import { DisconnectReason, SERVICE_CONNECTION } from '../../wire/numbers.ts';
import { publicKeyAuth, signedRequest, userauth } from '../../wire/userauth.ts';

/** What a signature covers: the session id and the request up to it. */
export function messageToSign(
  sessionId: Uint8Array,
  user: string,
  algorithm: string,
  publicKey: Uint8Array,
): Uint8Array {
  return encodeFields(signedRequest, {
    sessionId,
    number: userauth.request.number,
    user,
    service: SERVICE_CONNECTION,
    method: 'publickey',
    signed: true,
    algorithm,
    publicKey,
  });
}

/** Reads PK_OK, the answer to a query; throws `protocol` where it is about another key. */
export function checkAcceptance(payload: Uint8Array, signer: Signer, algorithm: string): void {
  const answer = decode(publicKeyAuth.ok, payload);
  // some servers name the type of the key in place of the algorithm
  const names = [algorithm, plainAlgorithm(algorithm), signer.keyType];
  if (names.includes(answer.algorithm) && equalBytes(answer.publicKey, signer.publicKey)) return;
  throw protocolError('The server accepts another key than the one that it was asked about', {
    phase: 'authentication',
  });
}

/** The error of a login that `requireSignature` forbids. */
export function unproven(user: string, succeeded: readonly string[]): SshError {
  const message =
    `The server let "${printable(user, 64)}" in by ${succeeded.join(', ')}, without a signature of a key, which ` +
    'requireSignature demands: it may not be the server that it seems';
  return new SshError('auth-failed', message, {
    fault: 'policy',
    phase: 'authentication',
    disconnect: DisconnectReason.byApplication,
  });
}

/** What is wrong with one key alone: the next has its turn. */
const OF_ONE_KEY: ReadonlySet<SshErrorCode> = new Set([
  'agent-failed',
  'key-passphrase-needed',
  'key-passphrase-wrong',
]);

/** A signature, or why there is none with this key. */
export function signatureOrRefusal(
  signer: Signer,
  message: Uint8Array,
  algorithm: string,
): MaybePromise<Uint8Array | SshError> {
  const refused = (error: unknown): SshError => {
    if (error instanceof SshError && OF_ONE_KEY.has(error.code)) return error;
    throw error;
  };
  try {
    const signature = signer.sign(message, algorithm);
    return signature instanceof Promise ? signature.catch(refused) : signature;
  } catch (error) {
    return refused(error);
  }
}

/**
 * The algorithm to sign with: the signer's first that is allowed and that the server accepts (RFC 8308 §3.1, RFC 8332 §3.3), where
 * that said what it does; `undefined`: none. Names of certificates count as those of their keys, as OpenSSH lists them. What
 * puressh does not know is for the server to decide.
 */
export function signatureAlgorithmFor(
  signer: Pick<Signer, 'algorithms'>,
  allowed: readonly string[],
  serverSigAlgs: readonly string[] | undefined,
): string | undefined {
  const isIn = (names: readonly string[], name: string): boolean =>
    names.includes(name) || names.includes(plainAlgorithm(name));
  return signer.algorithms.find(
    (name) =>
      !signatureAlgorithms.has(name) ||
      (isIn(allowed, name) && (serverSigAlgs === undefined || isIn(serverSigAlgs, name))),
  );
}
