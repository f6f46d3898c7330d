/** Security keys that a program plays: they sign as PROTOCOL.u2f of OpenSSH says, and as browsers do. They are in no hardware. */

import { concat } from '../../src/bytes/bytes.ts';
import { base64, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { pureProvider as crypto } from '../../src/crypto/pure/index.ts';
import { encodePublicKey } from '../../src/keys/public_key.ts';
import { encodeSignature, type Signer } from '../../src/keys/signature.ts';
import { testKey } from './test_keys.ts';

export interface Touch {
  /** Default: yes. */
  readonly touched?: boolean;
  /** Default: no. */
  readonly verified?: boolean;
}

const { digest } = crypto.hashes.sha256;
const APPLICATION = 'ssh:';
const WEBAUTHN = 'webauthn-sk-ecdsa-sha2-nistp256@openssh.com';

/** Flags and counter: WebAuthn Level 2 §6.1. */
function state({ touched = true, verified = false }: Touch): Uint8Array {
  return new Writer()
    .u8((touched ? 1 : 0) | (verified ? 4 : 0))
    .u32(7)
    .finish();
}

/** A key of one kind; of another `touch` it is another key. */
export function securityKey(kind: 'ed25519' | 'ecdsa', touch: Touch = {}): Signer {
  const more = state(touch);
  const covered = (message: Uint8Array): Uint8Array => concat(digest(utf8(APPLICATION)), more, digest(message));
  const pair = testKey(kind === 'ed25519' ? 'ssh-ed25519' : 'ecdsa-sha2-nistp256', `security key ${more.join()}`);
  const secret = pair.secret();
  if (pair.publicKey.type === 'ssh-ed25519' && secret.type === 'ssh-ed25519') {
    const type = 'sk-ssh-ed25519@openssh.com';
    const publicKey = encodePublicKey({ type, publicKey: pair.publicKey.publicKey, application: APPLICATION });
    return {
      ...{ publicKey, keyType: type, algorithms: [type] },
      async sign(message) {
        return concat(encodeSignature(type, await crypto.ed25519.sign(secret.seed, covered(message))), more);
      },
    };
  }
  return ecdsaSigner(pair, async (sign, message) => {
    return concat(encodeSignature('sk-ecdsa-sha2-nistp256@openssh.com', await sign(covered(message))), more);
  });
}

/** A key that a browser uses for a page of `https://example.org`. */
export function webauthnKey(touch: Touch = {}): Signer {
  const more = state(touch);
  const origin = 'https://example.org';
  const pair = testKey('ecdsa-sha2-nistp256', 'browser');
  const signer = ecdsaSigner(pair, async (sign, message) => {
    const challenge = base64(message).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    const client = `{"type":"webauthn.get","challenge":"${challenge}","origin":"${origin}","crossOrigin":false}`;
    const body = await sign(concat(digest(utf8(APPLICATION)), more, digest(utf8(client))));
    return new Writer()
      .raw(concat(encodeSignature(WEBAUTHN, body), more))
      .string(origin)
      .string(client)
      .string('')
      .finish();
  });
  return { ...signer, algorithms: [WEBAUTHN] };
}

function ecdsaSigner(
  pair: ReturnType<typeof testKey>,
  make: (sign: (data: Uint8Array) => Promise<Uint8Array>, message: Uint8Array) => Promise<Uint8Array>,
): Signer {
  const { publicKey } = pair;
  const secret = pair.secret();
  if (publicKey.type !== 'ecdsa-sha2-nistp256' || secret.type !== 'ecdsa-sha2-nistp256') throw new Error('not P-256');
  const type = 'sk-ecdsa-sha2-nistp256@openssh.com';
  const sign = async (data: Uint8Array): Promise<Uint8Array> => {
    const made = await crypto.ecdsa.p256.sign(secret.scalar, data);
    return new Writer().mpint(made.subarray(0, 32)).mpint(made.subarray(32)).finish();
  };
  return {
    publicKey: encodePublicKey({ type, curve: 'p256', point: publicKey.point, application: APPLICATION }),
    keyType: type,
    algorithms: [type],
    sign: (message) => make(sign, message),
  };
}
