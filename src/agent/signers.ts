/** The keys of an agent as what signs in puressh. Must not know how the agent is reached. */

import { DecodeError, Reader } from '../bytes/reader.ts';
import { printable } from '../bytes/text.ts';
import { keyTypeOf } from '../keys/public_key.ts';
import { plainAlgorithm, type Signer, signatureAlgorithms } from '../keys/signature.ts';
import type { Agent, AgentIdentity } from './agent.ts';
import { agentFailed } from './failure.ts';
import { SignFlag } from './messages.ts';

/** What signs with each of `identities`; what is no key at all is left out. `name`: how messages call the agent. */
export function signersOf(agent: Agent, identities: readonly AgentIdentity[], name = 'the agent'): Signer[] {
  return identities.flatMap((identity) => {
    const keyType = typeOf(identity.blob);
    return keyType === undefined ? [] : [signerOf(agent, identity, keyType, name)];
  });
}

function typeOf(blob: Uint8Array): string | undefined {
  try {
    return keyTypeOf(blob);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

function signerOf(agent: Agent, { blob, comment }: AgentIdentity, keyType: string, name: string): Signer {
  const known = [...signatureAlgorithms.values()].filter((row) => row.keyType === keyType);
  const algorithms = [...known.filter(({ legacy }) => !legacy), ...known.filter(({ legacy }) => legacy)];
  return {
    publicKey: blob,
    keyType,
    // a key of an unknown type signs with an algorithm of the same name, as all but RSA keys do
    algorithms: known.length === 0 ? [keyType] : algorithms.map((row) => row.name),
    comment,
    // many agents ask a person for every signature, and none says so
    queryFirst: true,
    async sign(message, algorithm) {
      const plain = plainAlgorithm(algorithm);
      const flags = { 'rsa-sha2-256': SignFlag.rsaSha256, 'rsa-sha2-512': SignFlag.rsaSha512 }[plain] ?? 0;
      const signature = await agent.sign(blob, message, flags);
      if (signature === undefined) throw agentFailed(`${name} refused to sign`);
      const made = innerName(signature);
      // agents that do not know the flags sign with SHA-1
      if (made === plain || (known.length === 0 && made !== undefined)) return signature;
      const shown = made === undefined ? 'something malformed' : printable(made, 64);
      throw agentFailed(`${name} was asked for a signature by ${printable(plain, 64)} and gave ${shown}`);
    },
  };
}

/** The name in a signature blob. */
function innerName(signature: Uint8Array): string | undefined {
  try {
    return new Reader(signature).name();
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}
